"""A trial of a study, as it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from neuro_divergent.search.parameter import Point

MOST_ATTEMPTS = 3  # to run a trial, of which the last is by itself
State = Literal["running", "stopped", "complete", "pruned", "failed", "refused"]


@dataclass(frozen=True)
class Trial:
    """One point of the space and what came of it.

    Attributes:
        number: Counted from 0, in the order in which trials were begun.
        state: ``running``, ``stopped`` (the time of the search was up, and it can be continued), ``complete``,
            ``pruned`` (ended early), ``failed`` or ``refused`` (its network cannot be built).
        settings: Its point.
        origin: Where the point comes from: ``defaults``, ``queue`` or ``method``.
        values: Objectives and constraints by name; empty unless it is complete.
        reason: Why it failed, was pruned, stopped or refused.
        is_feasible: Whether it meets the constraints.
        attempts: How often it was begun; more than once if a process died.
        started: When, in seconds since 1970; ``None`` if not known.
        finished: When; ``None`` while it runs.
        reports: What it reported on the way, by twentieths of its steps, or by folds.
    """

    number: int
    state: State
    settings: Point
    origin: str = "method"
    values: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    is_feasible: bool = True
    attempts: int = 1
    started: float | None = None
    finished: float | None = None
    reports: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the directory of its run."""
        return f"{self.number:05d}"

    @property
    def counts(self) -> bool:
        """Whether it is one of the trials that were asked for."""
        return self.state != "refused"

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.state not in ("running", "stopped")

    @property
    def is_candidate(self) -> bool:
        """Whether it can be the best one."""
        return self.state == "complete" and self.is_feasible

    @property
    def seconds(self) -> float | None:
        """How long it took, in wall time."""
        return None if self.started is None or self.finished is None else self.finished - self.started

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "seconds": self.seconds}


def best_of(trials: Sequence[Trial], name: str, sign: int) -> Trial | None:
    """Return the trial with the least value of an objective, or the greatest if ``sign`` is -1."""
    candidates = [trial for trial in trials if trial.is_candidate]
    return min(candidates, key=lambda trial: (sign * trial.values[name], trial.number), default=None)
