"""Continuous training among the runs: what a list shows of it, and what its page shows."""

from __future__ import annotations

import math
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import NeuroDivergentError, StorageError, UntrustedFileError
from neuro_divergent.core.storage.lock import holder
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.interfaces.dashboard.database_copy import DatabaseStamp, copied, database_stamp, time_of
from neuro_divergent.interfaces.dashboard.list_row import list_row
from neuro_divergent.interfaces.dashboard.passwords import without_passwords
from neuro_divergent.interfaces.dashboard.pipelines import is_directory
from neuro_divergent.interfaces.dashboard.registries import DAMAGES
from neuro_divergent.runs.status import is_run
from neuro_divergent.runs.values import is_step, number

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
    from neuro_divergent.lifecycle.continuous.status import ContinuousStatus

# The names are those of ``lifecycle.continuous``, which is imported when something is read: it takes a second.
CONFIG, DATABASE, LOCK = "continuous.toml", "state.db", "lock"
_ATTEMPTS, _RUN = "attempts", "run"
_MOST_BYTES = 1024**2
_MOST_LOOKS = 3000
_SECONDS_UNTIL_RETRY = 10.0
_SETTINGS = ("triggers", "updates", "arrivals", "gate", "shadow", "groups", "model", "task")
_SECRET = ("address", "query")  # of a source

Json = dict[str, Any]


@dataclass(frozen=True)
class ContinuousEntry:
    """Continuous training, as it was when it was last read; without ``status`` it cannot be, and its row says why."""

    id: str
    path: Path
    row: Json
    stamp: DatabaseStamp
    read_at: float
    status: ContinuousStatus | None
    config: ContinuousConfig | None

    @property
    def is_held(self) -> bool:
        """Whether a tick is under way."""
        return bool(self.row["state"] == "running")

    def runs(self) -> list[Path]:
        """Return the directories of its trainings."""
        numbers = [] if self.status is None else [attempt["number"] for attempt in self.status.attempts]
        found = [run_of(self.path, number) for number in numbers]
        return [path for path in found if path is not None]


def is_continuous(path: Path) -> bool:
    """Whether a directory is one of continuous training."""
    try:
        return stat.S_ISREG(os.lstat(path / CONFIG).st_mode)
    except (OSError, ValueError):
        return False


def describe_continuous(key: str, path: Path, known: ContinuousEntry | None) -> ContinuousEntry:
    """Describe the continuous training in a directory, unless its files are unchanged since it was ``known``."""
    stamp = (*database_stamp(path / DATABASE), *database_stamp(path / CONFIG))
    now, is_running = time.monotonic(), holder(path / LOCK) is not None
    is_same = known is not None and known.stamp == stamp and known.is_held == is_running
    if known is not None and is_same and (known.status is not None or now - known.read_at < _SECONDS_UNTIL_RETRY):
        return known
    try:
        config, status = _read(path)
    except NeuroDivergentError as error:
        row = list_row("continuous", key, path.name, "damaged", message=str(error), time=time_of(stamp))
        return ContinuousEntry(key, path, row, stamp, now, None, None)
    status = replace(status, is_running=is_running, path=str(path))
    return ContinuousEntry(key, path, _row(key, config, status, time_of(stamp)), stamp, now, status, config)


def run_of(path: Path, attempt: Any) -> Path | None:
    """Return the directory of a training; ``None`` if it is not there, or a link is on the way."""
    if not is_step(attempt):
        return None
    place = path
    for name in (_ATTEMPTS, f"{attempt:04d}", _RUN):
        place = place / name
        if not is_directory(place):
            return None
    return place if is_run(place) else None


class ContinuousView:
    """What the page of continuous training shows.

    Args:
        entry: What was read; its status is there.
        id_of: Gives the id of a run directory.
        registry: Id of the registry, if that is shown here.
        aliases: Aliases of the model in it.
    """

    def __init__(
        self, entry: ContinuousEntry, id_of: Callable[[Path], str], registry: str | None, aliases: Sequence[Json]
    ) -> None:
        assert entry.status is not None
        assert entry.config is not None
        self.status, self.config = entry.status, entry.config
        self._path, self._id_of, self._registry, self._aliases = entry.path, id_of, registry, list(aliases)

    def details(self) -> Json:
        """Return where it stands, with the decisions and what they rest on, the newest first."""
        found = self.status
        values: Json = without_passwords(found.to_dict())
        return {
            **{name: values[name] for name in ("name", "path", "registry", "batches", "end", "incidents", "skipped")},
            **{name: values[name] for name in ("requested", "waiting_hooks", "is_running")},
            "registry_id": self._registry,
            "sentence": state_sentence(found),
            "champion": champion_of(found),
            "aliases": self._aliases,
            "comparison": None if values["comparison"] is None else self._comparison(values["comparison"]),
            "attempts": [self._attempt(item) for item in reversed(values["attempts"])],
            "looks": [_look(item) for item in values["looks"][-_MOST_LOOKS:]],
            "decisions": values["decisions"][::-1],
            "settings": self._settings(),
        }

    def _comparison(self, comparison: Json) -> Json:
        log_value, shadow = number(comparison.get("log_value")) or 0.0, self.config.shadow
        return {
            **comparison,
            "log_value": log_value,
            # What lies beyond needs no more digits, and would not be a number.
            "value": math.exp(min(log_value, 700.0)),
            "threshold": shadow.threshold,
            "fraction": min(max(log_value / math.log(shadow.threshold), 0.0), 1.0),
            "max_blocks": shadow.max_blocks,
        }

    def _attempt(self, attempt: Json) -> Json:
        run = run_of(self._path, attempt["number"])
        return {**attempt, "run_id": None if run is None else self._id_of(run)}

    def _settings(self) -> Json:
        """Return the settings without those that may hold secrets: addresses, queries and hooks."""
        values = self.config.to_dict()
        source = {name: value for name, value in values.get("source", {}).items() if name not in _SECRET}
        shown: Json = without_passwords({"source": source, **{name: values.get(name) for name in _SETTINGS}})
        return shown


def registry_places(entry: ContinuousEntry) -> list[Path]:
    """Return where the registry may be that the settings name, if it is a directory.

    A path that is not absolute is seen from where the ticks are called, usually the directory above.
    """
    if entry.config is None or "://" in entry.config.registry:
        return []
    named = entry.config.registry
    return [(base / named).resolve() for base in (Path.cwd(), entry.path.parent)]


def champion_of(status: ContinuousStatus) -> int | None:
    """Return the version that serves, as far as the state tells it."""
    if status.comparison is not None:
        serving = status.comparison.get("serving")
        return serving if isinstance(serving, int) else None
    versions = [item["version"] for item in status.attempts if item["state"] == "champion"]
    return versions[-1] if versions else None


def state_sentence(status: ContinuousStatus) -> str:
    """Return where continuous training stands in words."""
    champion, comparison = champion_of(status), status.comparison
    quarantined = sum(item.get("state") == "quarantined" for item in status.incidents)
    parts = ["A tick is under way." if status.is_running else "It waits for the next tick."]
    if champion is None:
        parts.append("There is no champion yet.")
    elif comparison is None:
        parts.append(f"Version {champion} serves as champion; nothing is compared with it.")
    elif comparison["purpose"] == "rollback":
        parts.append(
            f"Version {champion} serves as champion since it replaced version {comparison['shadow']}, which is still "
            "compared with it."
        )
    else:
        parts.append(f"Version {champion} serves as champion; version {comparison['shadow']} runs in its shadow.")
    if quarantined:
        what = "1 incident of the feed is" if quarantined == 1 else f"{quarantined} incidents of the feed are"
        parts.append(f"{what} in quarantine.")
    if status.requested:
        parts.append(f"The next tick trains: {status.requested}")
    return " ".join(parts)


def _read(path: Path) -> tuple[ContinuousConfig, ContinuousStatus]:
    """Read settings and state.

    Raises:
        NeuroDivergentError: If they cannot be read.
    """
    from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
    from neuro_divergent.lifecycle.continuous.status import read_status

    settings = read_file(path / CONFIG, limit=_MOST_BYTES)
    with _copied_if_there(path / DATABASE) as place:
        try:
            (place / CONFIG).write_bytes(settings)
            return ContinuousConfig.from_toml(place / CONFIG), read_status(place)
        except NeuroDivergentError as error:
            raise StorageError(str(error).replace(str(place), str(path))) from error
        except DAMAGES as error:
            raise UntrustedFileError(f"{path / DATABASE}: is damaged: {error}.") from error


@contextmanager
def _copied_if_there(database: Path) -> Iterator[Path]:
    """Give a directory with a copy of a database; before the first tick there is none, and nothing is copied."""
    if os.path.lexists(database):
        with copied(database) as copy:
            yield copy.parent
    else:
        with tempfile.TemporaryDirectory(prefix="nd-dashboard-") as directory:
            yield Path(directory)


def _row(key: str, config: ContinuousConfig, status: ContinuousStatus, moment: float) -> Json:
    source = config.to_dict().get("source", {})
    return list_row(
        "continuous",
        key,
        Path(status.path).name,
        "running" if status.is_running else "waiting",
        message=state_sentence(status),
        step=status.batches,
        time=moment,
        model=str(config.run.model["name"]),
        data=str(source.get("path") or source.get("name") or ""),
        horizon=config.run.task.horizon,
    )


def _look(look: Json) -> Json:
    """Return a test for drift; its words only if something was found, since there are many of them."""
    is_found = bool(look.get("is_drift") or look.get("is_worse"))
    return {**look, "sentence": look.get("sentence") if is_found else None}
