"""The search: rounds of back-tests that spend a time budget on the candidates that deserve it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.search.auto.backtest import FitResult, FitTask, run_task
from neuro_divergent.search.auto.budget import Budget
from neuro_divergent.search.auto.candidate import Setting
from neuro_divergent.search.auto.executor import Executor
from neuro_divergent.search.auto.preset import Preset
from neuro_divergent.search.auto.record import FULL, PROBE, Progress, Record
from neuro_divergent.search.auto.results import Results
from neuro_divergent.search.auto.store import SearchDirectory

SHORTEST = 10.0
"""Seconds of budget below which only naive forecasts are tried: others need as long to be imported."""

_PROBE_STEPS = 20  # enough to measure costs; forecasts after so few say little about later ones
_PROBE_SERIES = 6
_CHEAP = 0.02  # fraction of the budget below which a candidate needs no probe
_FEWEST_STEPS = 100
_LEAST_STEPS = 0.4  # fraction of the usual steps below which a network is not worth its time
_FEWEST_SERIES = 40
_ENOUGH_SERIES = 150  # to judge on; dear statistical models are left out before there are fewer
_CHEAPEST = 2  # statistical models that are never left out for that
_STATISTICAL = 0.25  # fraction of the time left for the back-tests of all statistical models
_ONE_NETWORK, _ONE_STATISTICAL = 0.2, 0.4  # fraction of the budget that one candidate may take
_PROBES = 0.35  # fraction of the budget after which no probe is begun
_ONE_PROBE = 0.05  # fraction of it after which a probe is ended
_HOPELESS = 1.5  # times the best probe beyond which a statistical model does not go on
_CLOSING = 0.04  # fraction of the budget kept for combination, intervals and files
_MOST_ROWS, _MOST_SEASONS = 1000, 10
_SEEDED = 6  # networks that are back-tested with more seeds
_SEEDS_END = 0.6  # fraction of the budget after which no back-test with another seed is begun
_CHUNK = 2.0  # seconds of a task of a statistical model, at least
_RETRAINED = 0.2  # fraction of the budget that all trainings of a network may take for a second one in its back-test


@dataclass
class Search(Results):
    """A search in progress.

    Attributes:
        setting: What all candidates share.
        preset: How thorough the search is.
        budget: The clock.
        executor: Runs tasks.
        directory: Where finished tasks are stored.
        improved: Called when a better combination is known, with the search itself.
        progress: Called with a message now and then.
    """

    setting: Setting
    preset: Preset
    budget: Budget
    executor: Executor
    directory: SearchDirectory
    improved: Callable[[Search], None] | None = None
    progress: Callable[[Progress], None] | None = None
    phase: str = "back-tests"
    _running: list[str] = field(default_factory=list)
    _best: float = math.inf

    def run(self) -> None:
        """Back-test the candidates, from cheap to dear, as long as the budget lasts."""
        noted = self.directory.progress().get("series")
        if isinstance(noted, int):
            self.judge_on(noted)
        for record in list(self.records.values()):
            if record.candidate.kind == "naive":
                task = FitTask(record.candidate, self.setting, FULL, self.series, self.cutoffs.backs)
                self.accept(task, run_task(task, self.cutoffs.panel))
        self._restore()
        self._report()
        self._consider()
        if not len(self.cutoffs) or self.budget.seconds < SHORTEST:
            for record in self.records.values():
                if not record.round:
                    record.reason = "not tried: " + ("the budget is too short" if len(self.cutoffs) else "no back-test")
            return
        for outcome in self.executor.run(self._started(self._probes())):
            self._take(*outcome)
        self._leave_out_hopeless()
        self._choose_sample()
        for outcome in self.executor.run(self._started(self._full_tasks())):
            self._take(*outcome)
        for record in self.records.values():
            if not record.is_complete and record.reason is None:
                record.reason = f"time ran out after {len(record.done):,} of {len(self.series):,} series"

    def refit_cost(self, record: Record) -> float:
        """Return the seconds that it takes to fit a candidate to all rows."""
        kind = record.candidate.kind
        if kind == "naive":
            return 0.0
        if kind == "network":
            return self.ledger.predict(record.name, record.steps or self.preset.steps)
        return self.ledger.predict(record.name, self._rows(np.arange(self.cutoffs.panel.num_series), 1))

    def time_for_tasks(self, reserved: float) -> float:
        """Return the seconds left for back-tests, if some processor seconds are needed for fitting the members."""
        return self.budget.left - _CLOSING * self.budget.seconds - reserved / self.executor.jobs

    # Rounds

    def _probes(self) -> Iterator[FitTask]:
        """Yield a short task of each candidate, the cheapest first, for a part of the budget."""
        waiting = [record for record in self.records.values() if not record.round and record.reason is None]
        for record in sorted(waiting, key=self._probe_cost):
            limit = _PROBES * self.budget.seconds - self.budget.spent
            if self._probe_cost(record) > limit or self._full_cost(record) <= _CHEAP * self.budget.seconds:
                continue
            is_network = record.candidate.kind == "network"
            yield FitTask(
                record.candidate,
                self.setting,
                PROBE,
                self.series if is_network else self.series[:_PROBE_SERIES],
                self.cutoffs.backs if is_network else self.cutoffs.backs[:1],
                steps=_PROBE_STEPS if is_network else 0,
                validated=True,
                retrained=False,
                seconds=max(min(limit, _ONE_PROBE * self.budget.seconds), 1.0),
                directory=str(self.directory.network(record.name, PROBE)) if is_network else None,
            )

    def _probe_cost(self, record: Record) -> float:
        if record.candidate.kind == "network":
            return self.ledger.predict(record.name, _PROBE_STEPS)
        return self.ledger.predict(record.name, self._rows(self.series[:_PROBE_SERIES], 1))

    def _choose_sample(self) -> None:
        """Judge on fewer series, if the statistical models would take too long on all."""
        if "series" in self.directory.progress():
            return
        size = len(self.series)
        waiting = [record for record in self._waiting("statistical") if self.ledger.of(record.name).work > 0]
        waiting.sort(key=lambda record: self.ledger.unit(record.name))
        rows = self._rows(self.series, len(self.cutoffs)) / max(size, 1)
        room = _STATISTICAL * max(self.time_for_tasks(0.0), 0.0) * self.executor.jobs
        while waiting:
            each = rows * sum(self.ledger.unit(record.name) for record in waiting)
            fitting = min(size, int(room / max(each, 1e-9)))
            if fitting >= min(size, _ENOUGH_SERIES) or len(waiting) <= _CHEAPEST:
                size = min(size, max(fitting, _FEWEST_SERIES))
                break
            dearest = waiting.pop()
            dearest.reason = f"too dear: with it, only {fitting} series could be judged on"
        self.directory.note(series=size)
        self.judge_on(size)

    def _leave_out_hopeless(self) -> None:
        """Leave out statistical models that are much worse than others on a few series."""
        others = [record for record in self._waiting("statistical") if record.round == PROBE]
        ranked = sorted(others, key=lambda record: record.score)
        for record in ranked[1:]:
            if record.score > _HOPELESS * ranked[0].score:
                record.reason = f"error of {record.score / ranked[0].score:.1f} times the best on a few series"

    def _full_tasks(self) -> Iterator[FitTask]:
        """Yield the back-tests of what is left, alternately networks, in their order, and statistical models."""
        networks = self._waiting("network")
        others = sorted(self._waiting("statistical"), key=lambda record: self.ledger.unit(record.name))
        for place in range(max(len(networks), len(others))):
            if place < len(networks):
                yield from self._network_task(networks[place])
            if place < len(others):
                yield from self._statistical_tasks(others[place])
        yield from self._seed_tasks()

    def _network_task(self, record: Record) -> Iterator[FitTask]:
        name = record.name
        room = min(self._room(record), _ONE_NETWORK * self.budget.seconds * self.executor.jobs)
        fixed, unit = self.ledger.of(name).fixed, max(self.ledger.unit(name), 1e-6)
        retrained = self._is_retrained(record)
        # Its own refit, of as many steps, has to fit in as well.
        trainings = (2 if retrained else 1) + 1 / self.executor.jobs
        steps = min(self.preset.steps, int((room - fixed) / (unit * trainings)))
        fewest = max(min(_FEWEST_STEPS, self.preset.steps), int(_LEAST_STEPS * self.preset.steps))
        if steps < fewest:
            record.reason = (
                f"too dear: {fewest} steps and its refit take {unit * trainings * fewest + fixed:.0f} s, "
                f"{max(room, 0.0):.0f} s are left for it"
            )
            return
        yield FitTask(
            record.candidate,
            self.setting,
            FULL,
            self.series,
            self.cutoffs.backs,
            steps=steps,
            validated=True,
            retrained=retrained,
            seconds=max(room, 1.0),
            directory=str(self.directory.network(name, FULL)),
        )

    def _statistical_tasks(self, record: Record) -> Iterator[FitTask]:
        """Yield the series of a statistical model in parts, so that it can be stopped in between."""
        missing = self._missing(record)
        while len(missing) and not record.failed:
            cost, refit = (
                self.ledger.predict(record.name, self._rows(missing, len(self.cutoffs))),
                self.refit_cost(record),
            )
            room, most = self._room(record), _ONE_STATISTICAL * self.budget.seconds
            if (cost + refit) / self.executor.jobs > room or max(cost, refit) / self.executor.jobs > most:
                record.reason = (
                    f"too dear: its back-tests take about {cost:.0f} s more of processor time, and all series "
                    f"{refit:.0f} s; {max(room, 0.0):.0f} s are left"
                )
                return
            per_series = self.ledger.unit(record.name) * self._rows(missing, len(self.cutoffs)) / len(missing)
            size = max(int(_CHUNK / max(per_series, 1e-9)), 1) if self.ledger.of(record.name).work else _PROBE_SERIES
            part, missing = missing[:size], missing[size:]
            yield FitTask(record.candidate, self.setting, FULL, part, self.cutoffs.backs, seconds=max(room, 1.0))

    def _missing(self, record: Record) -> Ints:
        """Return the series that a statistical model has not forecast yet."""
        return np.array([place for place in self.series.tolist() if place not in record.done], np.int64)

    def _seed_tasks(self) -> Iterator[FitTask]:
        """Yield the best networks with other seeds, because the score of one seed is partly chance."""
        for number in range(2, self.preset.judged_seeds + 1):
            best = [record for record in self.complete if record.candidate.kind == "network"][:_SEEDED]
            for record in best:
                cost = self._full_cost(record)
                is_late = self.budget.spent + cost / self.executor.jobs > _SEEDS_END * self.budget.seconds
                if record.seeds >= number or is_late or cost > self._room(record):
                    continue
                seed = int(record.candidate.settings.get("training.seed", self.setting.seed)) + number - 1
                settings = {**record.candidate.settings, "training.seed": seed}
                candidate = record.candidate.replace(name=f"{record.name}_{number}", settings=settings)
                for task in self._network_task(record):
                    yield dataclasses.replace(task, candidate=candidate, directory=None)

    # Costs

    def _room(self, record: Record) -> float:
        """Return the seconds left for back-tests, when the members so far and this one are to be fitted again."""
        members = [item for item in self.complete[:4] if item is not record]
        return self.time_for_tasks(sum(self.refit_cost(item) for item in members))

    def _full_cost(self, record: Record) -> float:
        """Return the processor seconds of a full back-test."""
        if record.candidate.kind == "network":
            trainings = 2 if self._is_retrained(record) else 1
            return self.ledger.predict(record.name, trainings * (record.steps or self.preset.steps))
        return self.ledger.predict(record.name, self._rows(self._missing(record), len(self.cutoffs)))

    def _is_retrained(self, record: Record) -> bool:
        """Whether a network is trained again on all rows before the cut-offs, once its number of steps is known.

        That makes its back-test fairer, but not its forecasts better: it is done where it is cheap.
        """
        three = 3 * self.preset.steps * self.ledger.unit(record.name)
        return three <= _RETRAINED * self.budget.seconds * self.executor.jobs

    def _rows(self, series: Ints, cutoffs: int) -> float:
        """Return the rows that a statistical model is estimated from, over some series and cut-offs."""
        most = max(_MOST_ROWS, _MOST_SEASONS * self.setting.season)  # that statistical models use
        return float(np.minimum(self.cutoffs.panel.lengths[series], most).sum()) * cutoffs

    def _waiting(self, kind: str) -> list[Record]:
        return [
            record
            for record in self.records.values()
            if record.candidate.kind == kind and record.round != FULL and record.reason is None
        ]

    # Results

    def _restore(self) -> None:
        """Take up what was finished before an interruption."""
        for stored in self.directory.results():
            if stored.round not in (PROBE, FULL):
                continue  # of the refit, which forecasts what follows the data
            if self.owner(stored.name) not in self.records:
                continue  # of a version with other candidates
            record = self.records[self.owner(stored.name)]
            candidate = record.candidate.replace(name=stored.name)
            task = FitTask(candidate, self.setting, stored.round, stored.series, self.cutoffs.backs)
            if stored.result is not None:
                self.accept(task, stored.result)
            elif stored.name == record.name:
                record.reason, record.failed = stored.reason, True

    def _started(self, tasks: Iterable[FitTask]) -> Iterator[FitTask]:
        """Pass tasks on as they are begun."""
        for task in tasks:
            self._running.append(task.candidate.name)
            self._report()
            yield task

    def _take(self, task: FitTask, outcome: FitResult | Exception) -> None:
        """Store what a task gave, and see whether the combination is better with it."""
        if task.candidate.name in self._running:
            self._running.remove(task.candidate.name)
        record = self.records[self.owner(task.candidate.name)]
        if isinstance(outcome, Exception):
            reason = f"{type(outcome).__name__}: {' '.join(str(outcome).split())}"[:300]
            self.directory.save(task, reason)
            if task.candidate.name == record.name:
                record.reason, record.failed = reason, True
        else:
            self.directory.save(task, outcome)
            self.accept(task, outcome)
        self.directory.note(spent=self.budget.spent)
        self._report()
        if record.is_complete:
            self._consider()

    def _consider(self) -> None:
        """Tell whoever wants to know that a better combination may be known now."""
        best = min((record.score for record in self.complete), default=math.inf)
        if best < self._best or not self.complete:
            self._best = best
            if self.improved is not None:
                self.improved(self)

    def _report(self) -> None:
        if self.progress is None:
            return
        best = self.complete[:1]
        self.progress(
            Progress(
                phase=self.phase,
                running=tuple(dict.fromkeys(self._running)),
                done=len(self.complete),
                total=len(self.records),
                best=(best[0].name, best[0].score) if best else None,
                metric=self.setting.metric,
                left=self.budget.left,
            )
        )
