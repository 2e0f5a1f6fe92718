"""The directory of a run: its settings, its state and its results."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent import __version__
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
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.runs.renamed import with_present_names
from neuro_divergent.training.state import MAY_CHANGE, differences

if TYPE_CHECKING:
    from neuro_divergent.core.config import Config
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.runs.status import Ending
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
SCORES = "scores.json"
CONTROL = "control"
CHECKPOINTS = "checkpoints"
MODEL = "model"
VALIDATED = "validated"
REFIT = "refit"
PRETRAINED = "pretrained"
FORMAT = 1
_LIMIT = 16 * 1024**2


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run.

    Before training it holds ``config.toml``, for people, and ``run.json``, with the settings and a fingerprint of the
    data, for resuming; ``data.json`` describes the data. While a process works on it, it holds ``lock``.
    ``status.json`` and ``heartbeat.json`` have its state, ``events.jsonl`` has a line for every event, and
    ``environment.json`` has versions and machine. A file in ``control/`` is a request. ``checkpoints/`` has the states
    to resume from, ``history.parquet`` the losses and rates when training has ended and ``context.parquet`` the
    ends of the series. ``pretrained/`` has the weights it started with, if they came from pre-training.
    ``validated/`` has the model that did not see the validation part, and ``refit/`` the checkpoints of the second
    training, on all rows.
    """

    path: Path

    @property
    def has_begun(self) -> bool:
        """Whether there is a run to resume."""
        return (self.path / RUN).is_file()

    @property
    def is_finished(self) -> bool:
        """Whether the run is finished, with everything written."""
        try:
            status = strict_json.loads((self.path / STATUS).read_bytes(), STATUS)
        except (OSError, UntrustedFileError):
            return False
        return isinstance(status, dict) and status.get("state") == "finished" and (self.path / MODEL).is_dir()

    def check_free(self) -> None:
        """Refuse a path that exists; leftovers of a run that was killed before it began do not count."""
        try:
            is_free = not self.path.exists() or (self.path.is_dir() and _is_leftover(self.path))
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read: {error.strerror or error}.") from error
        if not is_free:
            hint = "resume it (--resume), " if self.has_begun else ""
            raise InputError(f"{self.path}: exists already; {hint}choose another path with --output, or remove it.")

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the directory and hold its lock; write the final status at the end.

        A new directory in which no training began is removed again.
        """
        from neuro_divergent.runs.status import write_status

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
                    with suppress(StorageError):  # another error is being raised
                        write_status(self.path, _state_after(error), message=str(error))
                else:
                    _remove_new(missing)
                raise
            write_status(self.path, "finished")

    def begin(self, config: Config, panel: Panel) -> None:
        """Write the settings, before training starts or resumes; the caller holds the lock."""
        from neuro_divergent.data.profile import describe_data
        from neuro_divergent.runs.status import write_status

        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        document = {
            "format": FORMAT,
            "version": __version__,
            "created": self._document()["created"] if self.has_begun else now,
            "config": config.to_dict(),
            "data": fingerprint(panel),
        }
        write_status(self.path, "running")
        write_file(self.path / DATA, strict_json.dumps(describe_data(panel, trimmed=True), indent=1))
        write_file(self.path / CONFIG, config.to_toml().encode("utf-8"))
        write_file(self.path / RUN, strict_json.dumps(document, indent=1))

    def callbacks(self, checkpoints: Checkpointing) -> list[Callback]:
        """Return the callbacks that write the directory while training runs, and let it be interrupted.

        Signals can be handled in the main thread only.
        """
        from neuro_divergent.training.callbacks.control import Control
        from neuro_divergent.training.callbacks.environment import EnvironmentNote
        from neuro_divergent.training.callbacks.events import EventLog
        from neuro_divergent.training.callbacks.heartbeat import Heartbeat
        from neuro_divergent.training.callbacks.interruption import Interruption
        from neuro_divergent.training.callbacks.layers import LayerMonitor

        is_main = threading.current_thread() is threading.main_thread()
        events = EventLog(self.path / EVENTS, history=self.path / HISTORY)
        place = self.checkpoint_location(checkpoints)
        checkpointer = checkpoints.replace(directory=place).build(saved=events.checkpointed)
        return [
            Heartbeat(self.path / HEARTBEAT),
            LayerMonitor(events),
            events,
            Control(self.path / CONTROL, events=events, checkpoints=checkpointer),
            checkpointer,
            *([Interruption()] if is_main else []),
            EnvironmentNote(self.path / ENVIRONMENT),  # last: it runs git, and signals should be handled by then
        ]

    def vectorized_callbacks(self, checkpoints: Checkpointing) -> list[Callback]:
        """Return the callbacks that write the directory of a run that is trained in one step with others.

        Norms by layer are not computed then, and requests are not looked for.
        """
        from neuro_divergent.training.callbacks.environment import EnvironmentNote
        from neuro_divergent.training.callbacks.events import EventLog
        from neuro_divergent.training.callbacks.heartbeat import Heartbeat

        events = EventLog(self.path / EVENTS, history=self.path / HISTORY)
        place = self.checkpoint_location(checkpoints)
        checkpointer = checkpoints.replace(directory=place).build(saved=events.checkpointed)
        return [
            Heartbeat(self.path / HEARTBEAT),
            events,
            checkpointer,
            EnvironmentNote(self.path / ENVIRONMENT),
        ]

    def refit_callbacks(self, checkpoints: Checkpointing) -> list[Callback]:
        """Return the callbacks that write the directory during the second training, on all rows.

        Its rows are not part of the history: they have no validation, and its steps begin again.
        """
        from neuro_divergent.training.callbacks.control import Control
        from neuro_divergent.training.callbacks.events import EventLog
        from neuro_divergent.training.callbacks.heartbeat import Heartbeat
        from neuro_divergent.training.callbacks.interruption import Interruption

        is_main = threading.current_thread() is threading.main_thread()
        checkpointer = checkpoints.replace(directory=self.refit_location(checkpoints), on_improvement=False).build()
        return [
            Heartbeat(self.path / HEARTBEAT, phase="refit"),
            Control(self.path / CONTROL, events=EventLog(self.path / EVENTS), checkpoints=checkpointer),
            checkpointer,
            *([Interruption()] if is_main else []),
        ]

    def checkpoint_location(self, checkpoints: Checkpointing) -> str | Path:
        """Return where checkpoints are: in this directory, or at another place that the settings name."""
        return checkpoints.directory or self.path / CHECKPOINTS

    def refit_location(self, checkpoints: Checkpointing) -> str | Path:
        """Return where checkpoints of the second training are."""
        place = checkpoints.directory
        return self.path / REFIT if place is None else f"{str(place).rstrip('/')}/{REFIT}"

    def remove_refit(self, checkpoints: Checkpointing) -> None:
        """Remove what an earlier end of the first training left, because its steps go on."""
        from neuro_divergent.core.storage.store import open_store

        if (self.path / VALIDATED).exists():
            store = open_store(self.refit_location(checkpoints))
            for name in store.names():
                store.remove(name)
            shutil.rmtree(self.path / VALIDATED)

    def latest_refit(self, checkpoints: Checkpointing) -> dict[str, Any] | None:
        """Return the state to resume the second training from, or ``None`` if nothing was saved yet."""
        from neuro_divergent.core.storage.store import open_store
        from neuro_divergent.training.checkpointing.resume import find_latest

        return find_latest(open_store(self.refit_location(checkpoints)))

    def latest(self, checkpoints: Checkpointing) -> dict[str, Any] | None:
        """Return the state to resume from, or ``None`` if nothing was saved yet.

        If the run continued with one thread after a later step, the state says which, so that it does so again.
        """
        from neuro_divergent.core.storage.store import open_store
        from neuro_divergent.runs.events import read_events
        from neuro_divergent.training.checkpointing.resume import find_latest

        state = find_latest(open_store(self.checkpoint_location(checkpoints)))
        if state is not None and isinstance(state.get("threads"), dict):
            later = [event["step"] for event in read_events(self.path, "threads")]
            later = [step for step in later if step >= state["state"]["step"]]
            state["threads"] |= {"one_after": later[-1]} if later else {}
        return state

    def stored_config(self) -> dict[str, Any]:
        """Return the settings the run was begun with, as plain values."""
        return with_present_names(self._document()["config"])

    def require_same(self, config: Config) -> None:
        """Refuse to resume with settings that would change the result."""
        before, now = _comparable(self.stored_config()), _comparable(config.to_dict())
        if found := list(differences(before, now)):
            raise ConfigError(
                f"{self.path}: the settings differ from those the run was begun with: {'; '.join(found)}. Use those, "
                "or allow changes (allow_changes=True, --allow-changes)."
            )

    def require_same_data(self, panel: Panel) -> None:
        """Refuse to resume with other data."""
        before = self._document()["data"]
        now = fingerprint(panel, before["sha256"])
        if before != now:
            then = f"{before['rows']:,} rows of {before['series']:,} series then"
            counts = f"{then}, {now['rows']:,} of {now['series']:,}"
            raise DataError(
                f"{self.path}: the data have changed since the run began ({counts} now). Begin a new run, or allow "
                "changes (allow_changes=True, --allow-changes)."
            )

    def clear(self) -> None:
        """Remove the files of an earlier run; the caller holds the lock."""
        for name in (CHECKPOINTS, MODEL, PRETRAINED, VALIDATED, REFIT, CONTROL):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (RUN, STATUS, HEARTBEAT, EVENTS, HISTORY, ENVIRONMENT, DATA, CONTEXT):
            with suppress(FileNotFoundError):
                (self.path / name).unlink()

    def _document(self) -> dict[str, Any]:
        path = self.path / RUN
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{self.path}: there is no run to resume.") from None
        except OSError as error:
            raise StorageError(f"{path}: cannot be read: {error.strerror or error}.") from error
        document = strict_json.loads(content, str(path), _LIMIT)
        if not isinstance(document, dict) or type(document.get("format")) is not int:
            raise UntrustedFileError(f"{path}: does not describe a run.")
        if document["format"] > FORMAT:
            raise NewerFormatError(path, document["format"], FORMAT)
        data = document.get("data")
        is_described = isinstance(document.get("config"), dict) and isinstance(document.get("created"), str)
        if not is_described or not isinstance(data, dict) or set(data) != _FINGERPRINT:
            raise UntrustedFileError(f"{path}: does not describe a run.")
        return document


_FINGERPRINT = {"rows", "series", "sha256"}


def fingerprint(panel: Panel, known: str | None = None) -> dict[str, Any]:
    """Return a SHA-256 that changes with the data, and their counts; see ``data.panel_store.fingerprint``."""
    from neuro_divergent.data.panel_store.fingerprint import fingerprint as of

    return of(panel, known)


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that must not change: all but where data and checkpoints are, how long and where it runs."""
    sections = {"data": {"path"}, "training": MAY_CHANGE}
    return {
        key: {name: item for name, item in value.items() if name not in sections.get(key, ())}
        if isinstance(value, dict)
        else value
        for key, value in values.items()
        if key not in ("checkpoints", "nodes")
    }


def _is_leftover(path: Path) -> bool:
    """Whether a directory is empty or holds only what is written before ``run.json``."""
    names = {item.name for item in path.iterdir()}
    return not names or (
        LOCK in names and all(name in (LOCK, STATUS, DATA, CONFIG) or name[0] == "." for name in names)
    )


def _state_after(error: BaseException) -> Ending:
    if isinstance(error, Interrupted) or not isinstance(error, Exception):  # ended by a signal or a key
        return "interrupted"
    return "diverged" if isinstance(error, DivergedError) else "failed"


def _remove_new(missing: list[Path]) -> None:
    """Remove directories that were made and not used."""
    if missing:
        shutil.rmtree(missing[0], ignore_errors=True)
    for place in missing[1:]:
        with suppress(OSError):  # someone else may have put something there meanwhile
            place.rmdir()
