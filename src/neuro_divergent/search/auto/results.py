"""What the back-tests of a search gave: the forecasts and the score of each candidate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.search.auto.backtest import FitResult, FitTask
from neuro_divergent.search.auto.budget import Ledger
from neuro_divergent.search.auto.combination import Weights, choose_weights
from neuro_divergent.search.auto.cutoffs import Cutoffs
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.naive import NAIVE
from neuro_divergent.search.auto.record import FULL, PROBE, Record

REFERENCE = NAIVE[0]


@dataclass
class Results:
    """Results of back-tests by candidate.

    Attributes:
        cutoffs: Windows that all candidates forecast.
        scoring: Scores out-of-fold forecasts.
        groups: Group of each series of the windows.
        ledger: Seconds by candidate.
        records: All candidates by name.
    """

    cutoffs: Cutoffs
    scoring: Scoring
    groups: Ints
    ledger: Ledger
    records: dict[str, Record]

    @property
    def series(self) -> Ints:
        """The series that are judged on."""
        return self.cutoffs.series

    @property
    def complete(self) -> list[Record]:
        """Candidates with forecasts of all windows, the best first; networks of a probe only if there are no others."""
        found = [record for record in self.records.values() if record.is_complete]
        if any(record.candidate.kind == "network" and record.round == FULL for record in found):
            found = [record for record in found if record.round == FULL]
        return sorted(found, key=lambda record: record.score)

    def weights(self, among: Iterable[Record] | None = None) -> tuple[list[Record], Weights]:
        """Return the candidates that can be combined and their weights; all that are complete unless given."""
        records = self.complete if among is None else list(among)
        return records, choose_weights(self.forecasts(records), self.scoring, self.groups)

    def forecasts(self, records: Iterable[Record]) -> Floats:
        """Return out-of-fold forecasts, ``(candidates, cut-offs, series, horizon)``; 0 in windows without history."""
        return np.stack(
            [np.nan_to_num(record.forecasts, nan=0.0) for record in records if record.forecasts is not None]
        )

    def judge_on(self, size: int) -> None:
        """Go on with the first series only."""
        if size >= len(self.series):
            return
        self.cutoffs = self.cutoffs.some(size)
        self.scoring = self.scoring.part(series=np.arange(size))
        self.groups = self.groups[:size]
        for record in self.complete:
            assert record.forecasts is not None
            record.forecasts = record.forecasts[:, :size]
            record.score = self.scoring.score(record.forecasts)

    def owner(self, name: str) -> str:
        """Return the candidate that a task belongs to: another seed of it has its name and a number."""
        base, _, number = name.rpartition("_")
        return base if name not in self.records and number.isdecimal() else name

    def accept(self, task: FitTask, result: FitResult) -> None:
        """Take what a task gave: its forecasts, and what it cost."""
        record = self.records[self.owner(task.candidate.name)]
        self.ledger.add(
            record.name,
            wall=result.wall,
            processor=result.processor,
            work=result.work,
            measured=result.measured,
            is_cold=result.is_cold,
        )
        whole = result.forecasts.shape[:2] == (len(self.cutoffs), len(task.series))
        if task.round == PROBE and record.candidate.kind != "network":
            part = self.scoring.part(np.array([0]), np.arange(len(task.series)))
            record.round, record.score = PROBE, part.score(result.forecasts.astype(np.float64))
        elif whole and task.candidate.name != record.name:
            self._accept_seed(record, task, result)
        elif whole and record.candidate.kind == "network":
            self._accept_network(record, task, result)
        elif whole:
            self._accept_part(record, task, result)

    def _accept_network(self, record: Record, task: FitTask, result: FitResult) -> None:
        """Keep the forecasts of a network, unless an earlier round gave better ones."""
        forecasts = self._filled(self._placed(task, result))
        score = self.scoring.score(forecasts)
        record.round = FULL if FULL in (record.round, task.round) else PROBE
        if not record.kept or score < record.score:
            record.forecasts, record.score, record.kept = forecasts, score, task.round
            record.steps, record.history, record.stopped = result.steps, result.history, result.stopped
        if not np.isfinite(score):
            record.reason, record.failed = "its forecasts are not finite", True

    def _accept_seed(self, record: Record, task: FitTask, result: FitResult) -> None:
        """Average the forecasts of a network, and the steps that were best, over its seeds."""
        forecasts = self._filled(self._placed(task, result))
        if record.forecasts is None or not np.isfinite(self.scoring.score(forecasts)):
            return
        record.seeds += 1
        record.forecasts = record.forecasts + (forecasts - record.forecasts) / record.seeds
        record.score = self.scoring.score(record.forecasts)
        record.steps = round(record.steps + (result.steps - record.steps) / record.seeds)

    def _accept_part(self, record: Record, task: FitTask, result: FitResult) -> None:
        """Add the forecasts of some series, and score the candidate when it has all."""
        if record.forecasts is None:
            record.forecasts = np.full(self.scoring.actual.shape, np.nan)
        made = self._placed(task, result)
        record.forecasts = np.where(np.isnan(made), record.forecasts, made)
        record.done |= set(task.series.tolist())
        if set(self.series.tolist()) <= record.done:
            record.forecasts = self._filled(record.forecasts)
            record.round, record.kept, record.score = FULL, FULL, self.scoring.score(record.forecasts)

    def _placed(self, task: FitTask, result: FitResult) -> Floats:
        """Return the forecasts of a task at the places of its series among those that are judged on."""
        made = np.full(self.scoring.actual.shape, np.nan)
        places = {name: place for place, name in enumerate(self.series.tolist())}
        known = [(place, places[name]) for place, name in enumerate(task.series.tolist()) if name in places]
        mine, theirs = np.array(known, np.int64).reshape(-1, 2).T
        made[:, theirs] = result.forecasts[:, mine]
        return made

    def _filled(self, forecasts: Floats) -> Floats:
        """Return forecasts with the seasonal naive one where a candidate has none."""
        reference = self.records[REFERENCE].forecasts
        return forecasts if reference is None else np.where(np.isfinite(forecasts), forecasts, reference)
