"""The state of a run, read from its directory: who trains there, the step, and the checkpoints to resume from.

Nothing here takes part in training or waits for it, and nothing needs torch. Whatever is in the directory, half
written, damaged or foreign, reading it raises no error.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_file, read_json, write_file
from neuro_divergent.core.storage.lock import Holder, holder
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.runs.directory import CHECKPOINTS, CONFIG, HEARTBEAT, LOCK, MODEL, RUN, SCORES, STATUS
from neuro_divergent.runs.values import count, number, part, rows

_BEST = "best.json"
_FEDERATION = "federation.json"  # of a directory that has settings, a status and a model, and is no run
_SEARCH, _LEADERBOARD = "auto.json", "leaderboard.json"  # of an automatic search, which writes the latter at its end
QUARANTINE = "set-aside"
REMOVED = "model_removed"
"""Field of the status of a finished run whose model was deleted to save room."""

STALE = 300.0
"""Seconds without a heartbeat after which training counts as stalled, by default."""

Ending = Literal["finished", "interrupted", "failed", "diverged"]
State = Literal["running", "stalled", "finished", "interrupted", "failed", "diverged", "killed", "damaged"]

_STEP = re.compile(r"step-(\d{9,18})")
_MOST_BYTES = 1024**2
_MOST_LETTERS = 1000
_PATIENCE = 10


@dataclass(frozen=True)
class CheckpointSummary:
    """A checkpoint, as seen without reading it.

    Attributes:
        name: Its directory.
        step: Steps done when it was written.
        bytes: Its size.
        time: When it was written, in seconds since 1970.
        is_best: Whether it is the best by the metric of the run.
        is_complete: Whether it has a manifest. What the files hold is not compared with that.
    """

    name: str
    step: int
    bytes: int
    time: float
    is_best: bool
    is_complete: bool


@dataclass(frozen=True)
class RunSummary:
    """What is known of a run; what is not is ``None``.

    Attributes:
        path: Its directory.
        state: ``running`` while a process holds the lock, ``stalled`` if that process gives no sign of life;
            ``finished``, ``interrupted``, ``failed`` or ``diverged`` as it wrote at its end; ``killed`` if it wrote
            nothing; ``damaged`` if its files cannot be read.
        message: The last message of the run.
        step: Optimizer steps done.
        total_steps: Steps planned.
        phase: Its phase: ``training``, ``validation``, ``saving``, ``refit`` (on all rows) or ``finishing``.
        attempt: Which start of the run this is.
        quiet: Seconds since the last sign of life, of a run that somebody holds.
        holder: Who holds it.
        time: When it last changed, in seconds since 1970.
        model: Name of the architecture, or ``auto`` for an automatic search.
        data: Where the table is.
        horizon: Steps to forecast.
        metric: Name of the result that decides about the best checkpoint.
        best: The best of it so far.
        score: Scores of the finished model: ``part`` of the data, ``mae``, ``mase``, ``skill``.
        checkpoints: Checkpoints to resume from, in the order of steps; none if they are at an address such as
            ``s3://bucket``.
        quarantined: Damaged checkpoints.
        damaged: Files that cannot be read.
    """

    path: Path
    state: State
    message: str
    step: int | None
    total_steps: int | None
    phase: str | None
    attempt: int | None
    quiet: float | None
    holder: Holder | None
    time: float
    model: str | None
    data: str | None
    horizon: int | None
    metric: str | None
    best: float | None
    score: dict[str, Any] | None
    checkpoints: tuple[CheckpointSummary, ...]
    quarantined: tuple[CheckpointSummary, ...]
    damaged: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.resolve().name

    @property
    def is_search(self) -> bool:
        """Whether it is an automatic search for a model, which has no steps of its own."""
        return _is_search(self.path)

    @property
    def is_healthy(self) -> bool:
        """Whether it runs or is finished."""
        return self.state in ("running", "finished")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**asdict(self), "path": str(self.path), "name": self.name}


def write_status(
    run: Path,
    state: Literal["running"] | Ending,
    *,
    step: int | None = None,
    total_steps: int | None = None,
    message: str = "",
) -> None:
    """Write the state of a run.

    Without a step, that of the last heartbeat counts.
    """
    content = {
        "state": state,
        "step": step,
        "total_steps": total_steps,
        "message": message,
        "time": time.time(),
        "pid": os.getpid(),
        "host": socket.gethostname(),
    }
    write_file(run / STATUS, strict_json.dumps(content, indent=2) + b"\n")


def is_run(path: Path) -> bool:
    """Whether a directory looks like that of a run."""
    marks = (CONFIG, STATUS, RUN, CHECKPOINTS, f"{MODEL}/{MANIFEST}")
    return _time_of(path / _FEDERATION) is None and any(_time_of(path / mark) is not None for mark in marks)


def _is_search(path: Path) -> bool:
    return _time_of(path / _SEARCH) is not None


def list_runs(root: str | Path, *, stale: float = STALE) -> list[RunSummary]:
    """Describe the runs in a directory, the ones that changed last first.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, training=nd.TrainingConfig(max_steps=5))
        >>> for name in ("first", "second"):
        ...     _ = forecaster.fit(nd.datasets.air_passengers(), run=f"runs/{name}")
        >>> [(run.name, run.state, run.model) for run in nd.runs.list_runs("runs")]
        [('second', 'finished', 'nlinear'), ('first', 'finished', 'nlinear')]
    """
    runs = [describe_run(item.path, stale=stale) for item in _inside(Path(root)) if is_run(Path(item.path))]
    return sorted(runs, key=lambda run: run.time, reverse=True)


def describe_run(path: str | Path, *, stale: float = STALE) -> RunSummary:
    """Describe the run in a directory.

    It counts as stalled after ``stale`` seconds without a heartbeat, or ten times as many while it does not beat yet
    (data is read) or no more (results are written).

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> _ = forecaster.fit(nd.datasets.air_passengers(), run="runs/flights")
        >>> run = nd.runs.describe_run("runs/flights")
        >>> run.name, run.state, run.step, run.model, run.horizon
        ('flights', 'finished', 20, 'nlinear', 12)
        >>> sorted(run.score)
        ['mae', 'mase', 'part', 'skill']
    """
    path = Path(path)
    files = _Files(path)
    who = holder(path / LOCK)
    status, beat, config, scores = files.json(STATUS), files.json(HEARTBEAT), files.toml(CONFIG), files.json(SCORES)
    place = _checkpoint_directory(path, config)
    best = files.json(str(place / _BEST))
    checkpoints = tuple(_checkpoints(place, best.get("checkpoint")))
    has_model = _time_of(path / MODEL / MANIFEST)
    quiet, phase = (None, None) if who is None else _heartbeat_age(path, who, beat)
    state = _state(status, has_model, STATUS in files.damaged)
    if quiet is not None:
        state = "stalled" if quiet > patience(stale, phase) else "running"
    elif state == "finished" and _is_search(path) and _time_of(path / _LEADERBOARD) is None:
        state = "interrupted"  # with the best model so far
    elif state == "finished" and has_model is None and status.get(REMOVED) is not True:
        state = "damaged"
        files.damaged.append(MODEL)
    reports = [report for report in (beat, status) if count(report.get("step")) is not None]
    latest = max(reports, key=lambda report: number(report.get("time")) or 0.0, default={})
    seen = (number(status.get("time")), number(beat.get("time")), has_model, _time_of(path))
    return RunSummary(
        path=path,
        state=state,
        message=_text(status.get("message")) or "",
        step=count(latest.get("step", max((item.step for item in checkpoints), default=None))),
        total_steps=count(latest.get("total_steps")),
        phase=phase,
        attempt=count(beat.get("attempt")),
        quiet=quiet,
        holder=who,
        time=max((moment for moment in seen if moment is not None), default=0.0),
        model=_text(part(config, "model").get("name")) or ("auto" if _is_search(path) else None),
        data=_text(part(config, "data").get("path")),
        horizon=count(part(config, "task").get("horizon")),
        metric=_text(best.get("metric")),
        best=number(best.get("value")),
        score=_score(scores),
        checkpoints=checkpoints,
        quarantined=tuple(_checkpoints(place / QUARANTINE, None)),
        damaged=tuple(files.damaged),
    )


def read_heartbeat(run: Path) -> dict[str, Any]:
    """Return the last heartbeat of a run, or nothing where there is none that can be read."""
    return _Files(run).json(HEARTBEAT)


def patience(stale: float, phase: str | None) -> float:
    """Return the longest time without a heartbeat in a phase, in seconds; ``None`` is before the first one."""
    return stale * (_PATIENCE if phase in (None, "finishing") else 1)


class _Files:
    """Reads the files of a run, and remembers which of them were damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[str] = []

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a file, or nothing."""
        return self._read(name, lambda path: read_json(path, _MOST_BYTES))

    def toml(self, name: str) -> dict[str, Any]:
        """Return the content of a file, or nothing."""
        return self._read(name, lambda path: tomllib.loads(read_file(path, limit=_MOST_BYTES).decode("utf-8")))

    def _read(self, name: str, read: Callable[[Path], Any]) -> dict[str, Any]:
        path = self.path / name
        if not os.path.lexists(path):
            return {}
        with suppress(NeuroDivergentError, ValueError, RecursionError):
            content = read(path)
            if isinstance(content, dict):
                return content
        # A file that was replaced or removed meanwhile is not damaged, but its content is not known either.
        self.damaged.append(path.name)
        return {}


def _state(status: dict[str, Any], model_time: float | None, is_damaged: bool) -> State:
    """Return how a run ended that nobody holds."""
    said, when = status.get("state"), number(status.get("time"))
    if model_time is not None and (when is None or said == "finished" or when < model_time):
        return "finished"  # unless the model is older than a later start
    if said in get_args(Ending):
        return cast(State, said)
    return "damaged" if is_damaged or (status and said != "running") else "killed"


def _heartbeat_age(path: Path, who: Holder, beat: dict[str, Any]) -> tuple[float, str | None]:
    """Return the seconds since the last heartbeat, and its phase."""
    now = time.time()
    written = number(beat.get("time"))
    if written is not None and (who.pid is None or (beat.get("pid"), beat.get("host")) == (who.pid, who.host)):
        # The clock of another machine may be wrong, and so may that of a file server: the later one counts.
        moments = [written, _time_of(path / HEARTBEAT) or written]
        return min(max(now - moment, 0.0) for moment in moments), _text(beat.get("phase"))
    return (0.0 if who.since is None else max(now - who.since, 0.0)), None


def _checkpoint_directory(path: Path, config: dict[str, Any]) -> Path:
    """Return where the checkpoints of a run are; those at an address are not looked for."""
    place = part(config, CHECKPOINTS).get("directory")
    if isinstance(place, str) and place not in ("", "none"):
        return Path(place).absolute()
    return (path / CHECKPOINTS).absolute()


def _checkpoints(directory: Path, best: object) -> Iterator[CheckpointSummary]:
    for item in sorted(_inside(directory), key=lambda item: item.name):
        match = _STEP.match(item.name)
        if match is None:
            continue
        files = list(_inside(Path(item.path), directories=False))
        yield CheckpointSummary(
            name=item.name,
            step=int(match[1]),
            bytes=sum(_size(file) for file in files),
            time=_time_of(Path(item.path)) or 0.0,
            is_best=item.name == best,
            is_complete=any(file.name == MANIFEST for file in files),
        )


def _inside(path: Path, *, directories: bool = True) -> list[os.DirEntry[str]]:
    """Return the directories or files in a directory that are not hidden; none if it cannot be read."""
    try:
        with os.scandir(path) as found:
            return [
                item
                for item in found
                if not item.name.startswith(".") and item.is_dir(follow_symlinks=False) is directories
            ]
    except (OSError, ValueError):  # the latter for what cannot be the name of a file
        return []


def _size(item: os.DirEntry[str]) -> int:
    try:
        return item.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _time_of(path: Path) -> float | None:
    """Return when a file or directory changed, or ``None`` if there is none."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    return None if stat.S_ISLNK(found.st_mode) else found.st_mtime


def _score(scores: dict[str, Any]) -> dict[str, Any] | None:
    row = next((row for row in rows(scores.get("scores")) if row.get("name") == scores.get("model")), None)
    if row is None:
        return None
    return {"part": _text(scores.get("part")), **{key: number(row.get(key)) for key in ("mae", "mase", "skill")}}


def _text(value: object) -> str | None:
    """Return text on one line, without control characters."""
    if not isinstance(value, str):
        return None
    line = " ".join(value[:_MOST_LETTERS].split())
    return line if line.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in line)
