"""The directory of a run: what was asked for, where it stands, and what came out."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent import __version__
from neuro_divergent.core import strict_json
from neuro_divergent.core.atomic import write_file
from neuro_divergent.core.errors import (
    ConfigError,
    DataError,
    DivergedError,
    InputError,
    Interrupted,
    NewerFormatError,
    StorageError,
    UntrustedFileError,
)
from neuro_divergent.core.lock import RunLock
from neuro_divergent.training.state import MAY_CHANGE, differences

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.run import RunConfig
    from neuro_divergent.forecasting.run_status import Ending
    from neuro_divergent.training.callbacks.base import Callback
    from neuro_divergent.training.callbacks.checkpointing import Checkpointing

CONFIG = "config.toml"
RUN = "run.json"
LOCK = "lock"
HEARTBEAT = "heartbeat.json"
STATUS = "status.json"
EVENTS = "events.jsonl"
HISTORY = "history.parquet"
ENVIRONMENT = "environment.json"
DATA = "data.json"
CONTEXT = "context.parquet"
CONTROL = "control"
CHECKPOINTS = "checkpoints"
MODEL = "model"
PRETRAINED = "pretrained"
FORMAT = 1
_LIMIT = 16 * 1024**2


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run.

    Before training it holds ``config.toml``, for people, and ``run.json``, which tells a resumed run what was asked for
    and on which data; ``data.json`` says more about those. While a process works on it, it holds ``lock``.
    ``status.json`` and ``heartbeat.json`` say where it stands, ``events.jsonl`` has a line for everything that happens,
    and ``environment.json`` says what it runs on. A file in ``control/`` asks for something. ``checkpoints/`` has the
    states to go on from, ``history.parquet`` the losses and rates when training has ended and ``context.parquet`` the
    ends of the series. ``pretrained/`` has the weights it started with, if they came from pre-training.
    """

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where training writes its checkpoints."""
        return self.path / CHECKPOINTS

    @property
    def has_begun(self) -> bool:
        """Whether there is a run to go on with."""
        return (self.path / RUN).is_file()

    @property
    def is_finished(self) -> bool:
        """Whether the run has come to its end, with everything written."""
        try:
            status = strict_json.loads((self.path / STATUS).read_bytes(), STATUS)
        except (OSError, UntrustedFileError):
            return False
        return isinstance(status, dict) and status.get("state") == "finished" and (self.path / MODEL).is_dir()

    def check_free(self) -> None:
        """Refuse a place that is taken; what a run left that was killed before it began does not count.

        Raises:
            InputError: If there is something.
            StorageError: If nobody may look.
        """
        try:
            is_free = not self.path.exists() or (self.path.is_dir() and _is_false_start(self.path))
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read: {error.strerror or error}.") from error
        if not is_free:
            hint = "go on with it (--resume), " if self.has_begun else ""
            raise InputError(f"{self.path}: exists already; {hint}choose another place with --output, or remove it.")

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the directory and hold its lock; write at the end how it ended.

        A directory that is new and in which no training began is taken away again.

        Raises:
            StorageError: If it cannot be made.
            InputError: If another process works on it.
        """
        from neuro_divergent.forecasting.run_status import write_status

        missing = [place for place in (self.path, *self.path.parents) if not place.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be written: {error.strerror or error}.") from error
        with RunLock(self.path / LOCK):
            try:
                yield
            except BaseException as error:
                if self.has_begun:
                    with suppress(StorageError):  # there is another error to tell about
                        write_status(self.path, _state_after(error), message=str(error))
                else:
                    _take_away(missing)
                raise
            write_status(self.path, "finished")

    def begin(self, config: RunConfig, panel: Panel) -> None:
        """Write what is asked for, before training starts or goes on; the caller holds the lock."""
        from neuro_divergent.data.health import describe_data
        from neuro_divergent.forecasting.run_status import write_status

        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        document = {
            "format": FORMAT,
            "version": __version__,
            "created": self._document()["created"] if self.has_begun else now,
            "config": config.to_dict(),
            "data": fingerprint(panel),
        }
        write_status(self.path, "running")
        write_file(self.path / DATA, strict_json.dumps(describe_data(panel), indent=1))
        write_file(self.path / CONFIG, config.to_toml().encode("utf-8"))
        write_file(self.path / RUN, strict_json.dumps(document, indent=1))

    def callbacks(self, checkpoints: Checkpointing) -> list[Callback]:
        """Return what keeps the directory up to date while training runs, and lets it be interrupted.

        Signals are heard in the main thread only, so they are not elsewhere.
        """
        from neuro_divergent.training.callbacks.control import Control
        from neuro_divergent.training.callbacks.environment import EnvironmentNote
        from neuro_divergent.training.callbacks.events import EventLog
        from neuro_divergent.training.callbacks.heartbeat import Heartbeat
        from neuro_divergent.training.callbacks.interruption import Interruption
        from neuro_divergent.training.callbacks.layers import LayerMonitor

        is_main = threading.current_thread() is threading.main_thread()
        events = EventLog(self.path / EVENTS, history=self.path / HISTORY)
        checkpointer = checkpoints.replace(directory=self.place_of(checkpoints)).build(saved=events.checkpointed)
        return [
            Heartbeat(self.path / HEARTBEAT),
            LayerMonitor(events),
            events,
            Control(self.path / CONTROL, events=events, checkpoints=checkpointer),
            checkpointer,
            *([Interruption()] if is_main else []),
            EnvironmentNote(self.path / ENVIRONMENT),  # last, because it asks git, and signals should be heard by then
        ]

    def place_of(self, checkpoints: Checkpointing) -> str | Path:
        """Return where checkpoints are: in here, or at another place that is named."""
        return checkpoints.directory or self.checkpoints

    def latest(self, checkpoints: Checkpointing) -> dict[str, Any] | None:
        """Return the state to go on from, or ``None`` if nothing was saved yet.

        If the run went on with one thread after a later step, the state tells which, so that it does so again.
        """
        from neuro_divergent.core.store import open_store
        from neuro_divergent.forecasting.run_events import read_events
        from neuro_divergent.training.resume import find_latest

        state = find_latest(open_store(self.place_of(checkpoints)))
        if state is not None and isinstance(state.get("threads"), dict):
            later = [event["step"] for event in read_events(self.path, "threads")]
            later = [step for step in later if step >= state["state"]["step"]]
            state["threads"] |= {"one_after": later[-1]} if later else {}
        return state

    def asked(self) -> dict[str, Any]:
        """Return what the run was begun with, as plain values.

        Raises:
            InputError: If there is no run.
            UntrustedFileError: If it is damaged or was written by a newer version.
        """
        return self._document()["config"]  # type: ignore[no-any-return]

    def require_same(self, config: RunConfig) -> None:
        """Refuse to go on with settings that would make another run of it.

        Raises:
            ConfigError: With all differences.
        """
        before, now = _comparable(self.asked()), _comparable(config.to_dict())
        if found := list(differences(before, now)):
            raise ConfigError(
                f"{self.path}: the settings differ from those the run was begun with: {'; '.join(found)}. Take those, "
                "or allow changes (allow_changes=True, --allow-changes)."
            )

    def require_same_data(self, panel: Panel) -> None:
        """Refuse to go on with other data.

        Raises:
            DataError: If a number, name or time is different.
        """
        before, now = self._document()["data"], fingerprint(panel)
        if before != now:
            counts = (
                f"{before['rows']:,} rows of {before['series']:,} series then, {now['rows']:,} of {now['series']:,}"
            )
            raise DataError(
                f"{self.path}: the data have changed since the run began ({counts} now). Begin a new run, or allow "
                "changes (allow_changes=True, --allow-changes)."
            )

    def clear(self) -> None:
        """Forget an earlier run in this place; the caller holds the lock."""
        for name in (CHECKPOINTS, MODEL, PRETRAINED, CONTROL):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (RUN, STATUS, HEARTBEAT, EVENTS, HISTORY, ENVIRONMENT, DATA, CONTEXT):
            with suppress(FileNotFoundError):
                (self.path / name).unlink()

    def _document(self) -> dict[str, Any]:
        path = self.path / RUN
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{self.path}: there is no run to go on with.") from None
        except OSError as error:
            raise StorageError(f"{path}: cannot be read: {error.strerror or error}.") from error
        document = strict_json.loads(content, str(path), _LIMIT)
        if not isinstance(document, dict) or type(document.get("format")) is not int:
            raise UntrustedFileError(f"{path}: does not describe a run.")
        if document["format"] > FORMAT:
            raise NewerFormatError(path, document["format"], FORMAT)
        data = document.get("data")
        is_described = isinstance(document.get("config"), dict) and isinstance(document.get("created"), str)
        if not is_described or not isinstance(data, dict) or set(data) != _PRINT:
            raise UntrustedFileError(f"{path}: does not describe a run.")
        return document


_PRINT = {"rows", "series", "sha256"}


def fingerprint(panel: Panel) -> dict[str, Any]:
    """Return what tells whether data are the same: all numbers, names and times, and how many there are."""
    digest = hashlib.sha256()
    for name in ("offsets", "y", "mask", "past_x", "future_x", "static_x", "weight"):
        array = getattr(panel, name)
        digest.update(name.encode())
        if array is not None:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(memoryview(array).cast("B") if array.flags.c_contiguous else array.tobytes())
    for names in (panel.ids, panel.starts):
        digest.update("\0".join(str(value) for value in names.to_list()).encode("utf-8", "surrogatepass"))
    return {"rows": len(panel), "series": panel.num_series, "sha256": digest.hexdigest()}


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that must not change: all but where data and checkpoints are, how long and where it runs."""
    sections = {"data": {"path"}, "training": MAY_CHANGE}
    return {
        key: {name: item for name, item in value.items() if name not in sections.get(key, ())}
        if isinstance(value, dict)
        else value
        for key, value in values.items()
        if key != "checkpoints"
    }


def _is_false_start(path: Path) -> bool:
    """Whether a directory is empty or holds only what is written before ``run.json``."""
    names = {item.name for item in path.iterdir()}
    return not names or (
        LOCK in names and all(name in (LOCK, STATUS, DATA, CONFIG) or name[0] == "." for name in names)
    )


def _state_after(error: BaseException) -> Ending:
    if isinstance(error, Interrupted) or not isinstance(error, Exception):  # somebody ended it, by a signal or a key
        return "interrupted"
    return "diverged" if isinstance(error, DivergedError) else "failed"


def _take_away(missing: list[Path]) -> None:
    """Remove directories that were made for nothing."""
    if missing:
        shutil.rmtree(missing[0], ignore_errors=True)
    for place in missing[1:]:
        with suppress(OSError):  # someone else may have put something there meanwhile
            place.rmdir()
