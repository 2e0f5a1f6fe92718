"""Where continuous training stands, in plain values, for the terminal and the dashboard."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.lock import holder
from neuro_divergent.lifecycle.continuous.clock import SHADOW
from neuro_divergent.lifecycle.continuous.continuous import CONFIG, LAST_TICK, LOCK
from neuro_divergent.lifecycle.continuous.journal import DATABASE, Journal
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig

_DECISIONS = 50


@dataclass(frozen=True)
class ContinuousStatus:
    """State of continuous training.

    Attributes:
        path: Its directory.
        name: Name of the model.
        registry: Its registry.
        is_running: Whether a tick is under way.
        batches: Batches of rows that were taken in.
        end: Time of the last final row that was acted on; ``None`` before the first training.
        attempts: Trainings, the oldest first.
        comparison: The comparison that is under way: versions, purpose, evidence and blocks; ``None`` if none is.
        incidents: Incidents of the feed.
        looks: Tests for drift: time, level, whether it was found, and words.
        decisions: The latest decisions, the oldest first.
        waiting_hooks: Decisions whose hooks have not run yet.
        skipped: Ticks that were skipped because another one was under way.
        requested: Why the next tick trains, if somebody asked for it.
        last_tick: When a tick last ended without an error, in seconds since 1970; before the first one, when the one
            that is under way began; ``None`` if there is none either.
    """

    path: str
    name: str
    registry: str
    is_running: bool
    batches: int = 0
    end: str | None = None
    attempts: list[dict[str, Any]] = field(default_factory=list)
    comparison: dict[str, Any] | None = None
    incidents: list[dict[str, Any]] = field(default_factory=list)
    looks: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    waiting_hooks: int = 0
    skipped: int = 0
    requested: str | None = None
    last_tick: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def is_continuous(path: Path) -> bool:
    """Whether a directory is one of continuous training."""
    return (path / CONFIG).is_file()


def read_status(path: str | Path) -> ContinuousStatus:
    """Read the state of continuous training; also while a tick is under way.

    Raises:
        InputError: If there is none.
    """
    path = Path(path)
    config = ContinuousConfig.from_toml(path / CONFIG)
    common: dict[str, Any] = {
        "path": str(path),
        "name": config.name,
        "registry": config.registry,
        "is_running": holder(path / LOCK) is not None,
        "last_tick": _last_tick(path),
    }
    if not (path / DATABASE).is_file():
        return ContinuousStatus(**common)
    with Journal(path) as journal:
        looks = [{"row": row, **_look(content)} for row, content in journal.looks().items()]
        return ContinuousStatus(
            **common,
            batches=int(journal.value("batch", 0)),
            end=journal.value("end"),
            attempts=[vars(attempt) for attempt in journal.attempts()],
            comparison=_comparison(journal),
            incidents=journal.incidents(),
            looks=looks,
            decisions=[vars(decision) for decision in journal.decisions(_DECISIONS)],
            waiting_hooks=len(journal.undelivered()),
            skipped=int(journal.value("skipped", 0)),
            requested=journal.value("requested"),
        )


def _look(content: dict[str, Any]) -> dict[str, Any]:
    names = ("at", "version", "alpha", "is_drift", "is_worse", "sentence")
    ratio = (content.get("degradation") or {}).get("ratio")
    return {**{name: content.get(name) for name in names}, "ratio": ratio}


def _last_tick(path: Path) -> float | None:
    """Return when a tick last ended without an error; before the first one, when the one that is under way began."""
    for name in (LAST_TICK, *([LOCK] if holder(path / LOCK) is not None else [])):
        try:
            return (path / name).stat().st_mtime
        except OSError:
            continue
    return None


def _comparison(journal: Journal) -> dict[str, Any] | None:
    stored = journal.value(SHADOW)
    if stored is None:
        return None
    state = stored["state"]
    return {
        "serving": stored["serving"],
        "shadow": stored["shadow"],
        "purpose": state["purpose"],
        "blocks": state["process"]["blocks"],
        "log_value": state["process"]["log_value"],
        "sentence": state["sentence"],
    }
