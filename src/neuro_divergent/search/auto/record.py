"""What a search knows of each candidate, and what it tells those who watch it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.search.auto.candidate import Candidate

NOT_TRIED, PROBE, FULL = "", "probe", "full"


@dataclass
class Record:
    """How far a candidate came.

    Attributes:
        candidate: The candidate.
        round: Last round that it finished.
        forecasts: Its out-of-fold forecasts of that round, ``(cut-offs, series, horizon)``; NaN where there are none.
        score: Their score; NaN before.
        steps: Steps of training that a validation part found best.
        history: Rows of history of a network.
        stopped: Why its training was stopped early, if it was.
        reason: Why it was left out or failed; ``None`` if it was not.
        failed: Whether it failed.
        kept: Round whose forecasts, steps and network count: the better one of a network.
        seeds: Seeds whose forecasts are averaged, of a network.
        done: Series that a statistical model has forecast.
    """

    candidate: Candidate
    round: str = NOT_TRIED
    forecasts: Floats | None = None
    score: float = float("nan")
    steps: int = 0
    history: int = 0
    stopped: str | None = None
    reason: str | None = None
    failed: bool = False
    kept: str = NOT_TRIED
    seeds: int = 1
    done: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.candidate.name

    @property
    def is_complete(self) -> bool:
        """Whether it has forecasts of all windows, so that it can be combined."""
        return bool(self.kept) and self.forecasts is not None and bool(np.isfinite(self.score))


@dataclass(frozen=True)
class Progress:
    """A message of a search in progress.

    Attributes:
        phase: What is being done: ``back-tests``, ``combination`` or ``refit``.
        running: Candidates at work.
        done: Candidates with a score.
        total: Candidates of the portfolio.
        best: Name and score of the best one so far; ``None`` before.
        metric: The metric.
        left: Seconds left.
    """

    phase: str
    running: tuple[str, ...]
    done: int
    total: int
    best: tuple[str, float] | None
    metric: str
    left: float
