"""The last round: the chosen members are fitted to all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from neuro_divergent.core.arrays import Floats32, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.search.auto.backtest import FitResult, FitTask
from neuro_divergent.search.auto.budget import Budget, Ledger
from neuro_divergent.search.auto.candidate import Candidate
from neuro_divergent.search.auto.executor import Executor
from neuro_divergent.search.auto.member import Member
from neuro_divergent.search.auto.plan import Plan, PlannedMember
from neuro_divergent.search.auto.record import FULL, PROBE
from neuro_divergent.search.auto.store import SearchDirectory

REFIT = "refit"
_CHUNK = 2.0  # seconds of a task of a statistical model, at least
_CLOSING = 0.03  # fraction of the budget kept for what follows, and for trainings that take longer than predicted


@dataclass
class Refit:
    """Fits the members of a plan to all rows.

    A network that cannot be fitted in time is replaced by the one of its back-test, which has not seen the last rows; a
    statistical model is left out, and the others take its weight. In the time that is left then, networks are fitted
    again with other seeds, and the mean of all seeds takes their place.

    Attributes:
        seeds: Seeds of each network at most.
        unfitted: Networks that there is no time for.
        notes: What was replaced or left out, by member.
        ahead: Forecasts of the statistical members for what follows the data.
        chosen: The plan of what could be fitted, without further seeds.
    """

    plan: Plan
    panel: Panel
    executor: Executor
    budget: Budget
    ledger: Ledger
    directory: SearchDirectory
    unfitted: set[str] = field(default_factory=set)
    seeds: int = 1
    notes: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, Floats32] = field(default_factory=dict)
    chosen: Plan = field(init=False)
    _fitted: set[str] = field(default_factory=set)
    _running: dict[str, float] = field(default_factory=dict)  # predicted seconds of networks at work

    def run(self) -> tuple[Plan, tuple[Member, ...]]:
        """Return the plan of what could be fitted, with all seeds, and its members."""
        setting = self.plan.setting
        for member in self.plan.members:
            if member.kind == "statistical":
                self.ahead[member.name] = np.full((self.panel.num_series, setting.horizon), np.nan, np.float32)
        for stored in self.directory.results():
            if stored.round == REFIT and stored.result is not None:
                self._accept(stored.name, stored.series, stored.result)
        for task, outcome in self.executor.run(self._tasks()):
            self._running.pop(task.candidate.name, None)
            if isinstance(outcome, FitResult):
                self.directory.save(task, outcome)
                self._accept(task.candidate.name, task.series, outcome)
            else:
                self.notes[task.candidate.name] = f"{type(outcome).__name__}: {' '.join(str(outcome).split())}"[:300]
        lost = {name for name, made in self.ahead.items() if not self._is_whole(name)}
        members = [item for item in self.plan.members if item.name not in lost]
        found = {item.name: self._member(item) for item in members}
        lost |= {name for name, member in found.items() if member is None}
        plan = self.plan
        if lost:
            plan = _fallback(plan) if len(lost) == len(plan.members) else plan.without(lost)
        self.ahead = {name: made for name, made in self.ahead.items() if name not in lost}
        for name in lost:
            self.notes.setdefault(name, "left out: it could not be fitted to all series in time")
        self.chosen = plan
        plan = plan.with_seeds({member.name: self._other_seeds(member) for member in plan.members})
        for member in self.chosen.members:
            if others := len(self._other_seeds(member)):
                self.notes[member.name] = f"the mean of {others + 1} seeds"
        chosen = [found.get(item.name) or self._member(item) for item in plan.members]
        return plan, tuple(item or Member(plan.members[place].candidate, setting) for place, item in enumerate(chosen))

    def _tasks(self) -> Iterator[FitTask]:
        """Yield networks first, which take longest, then the series of statistical models in parts."""
        for member in self.plan.members:
            if member.kind == "network" and member.name not in self._fitted | self.unfitted:
                yield self._network_task(member, member.candidate)
        for member in self.plan.members:
            if member.kind == "statistical":
                yield from self._parts(member)
        yield from self._seed_tasks()

    def _network_task(self, member: PlannedMember, candidate: Candidate) -> FitTask:
        self._running[candidate.name] = self.ledger.predict(member.name, member.steps)
        return FitTask(
            candidate,
            self.plan.setting,
            REFIT,
            np.zeros(0, np.int64),
            (),
            steps=member.steps,
            history=member.history or None,
            seconds=max(self.budget.left, 1.0),
            directory=str(self.directory.network(candidate.name, REFIT)),
        )

    def _seed_tasks(self) -> Iterator[FitTask]:
        """Yield networks with other seeds, as long as there is time, where that lowers the variance most per second."""
        counts = {member.name: 1 for member in self.plan.members if member.kind == "network"}
        costs = {member.name: self.ledger.predict(member.name, member.steps) for member in self.plan.members}
        members = {member.name: member for member in self.plan.members}

        def gain(name: str) -> float:
            member, count = members[name], counts[name]
            weight = max(member.weight, *member.group_weights.values(), 0.0)
            return weight**2 / (count * (count + 1)) / max(costs[name], 1e-6)

        while True:
            left = self.budget.left - _CLOSING * self.budget.seconds - sum(self._running.values()) / self.executor.jobs
            possible = [
                name
                for name, count in counts.items()
                if count < self.seeds and name not in self.unfitted | set(self.notes) and costs[name] <= left
            ]
            if not possible:
                return
            name = max(possible, key=gain)
            counts[name] += 1
            candidate = self._with_seed(members[name], counts[name])
            if candidate.name not in self._fitted:
                yield self._network_task(members[name], candidate)

    def _with_seed(self, member: PlannedMember, number: int) -> Candidate:
        """Return a network with another seed; the first one has its own."""
        seed = int(member.settings.get("training.seed", self.plan.setting.seed)) + number - 1
        settings = {**member.settings, "training.seed": seed}
        return Candidate(name=f"{member.name}_{number}", kind=member.kind, model=member.model, settings=settings)

    def _other_seeds(self, member: PlannedMember) -> list[Candidate]:
        """Return the other seeds of a member that were fitted to all rows; none if it was not itself."""
        if member.kind != "network" or member.name not in self._fitted:
            return []
        found = [self._with_seed(member, number) for number in range(2, self.seeds + 1)]
        return [item for item in found if item.name in self._fitted]

    def _parts(self, member: PlannedMember) -> Iterator[FitTask]:
        missing = np.flatnonzero(~np.isfinite(self.ahead[member.name]).all(1))
        if not len(missing):
            return
        each = self.ledger.predict(member.name, float(self.panel.lengths.mean()))
        size = min(max(int(_CHUNK / max(each, 1e-6)), 1), max(len(missing) // (2 * self.executor.jobs), 1))
        for begin in range(0, len(missing), size):
            if self.budget.left <= 0 or member.name in self.notes:
                return
            part = missing[begin : begin + size]
            yield FitTask(member.candidate, self.plan.setting, REFIT, part, (0,), seconds=max(self.budget.left, 1.0))

    def _accept(self, name: str, series: Ints, result: FitResult) -> None:
        steps = {member.name: member.steps for member in self.plan.members}
        for member in self.plan.members:
            steps |= {self._with_seed(member, number).name: member.steps for number in range(2, self.seeds + 1)}
        if name in self.ahead and len(result.forecasts):
            self.ahead[name][series] = result.forecasts[0]
        elif name in steps and result.steps >= steps[name]:
            self._fitted.add(name)

    def _is_whole(self, name: str) -> bool:
        """Whether a statistical member has forecasts of all series; single ones that failed are the naive forecast."""
        made = self.ahead[name]
        return bool(np.isfinite(made).any(1).all())

    def _member(self, member: PlannedMember) -> Member | None:
        setting = self.plan.setting
        if member.kind != "network":
            return Member(member.candidate, setting)
        place = self.directory.network(member.name, REFIT)
        if member.name not in self._fitted or not place.is_dir():
            place = backtest_network(self.directory, member)
            why = self.notes.get(member.name, "there was no time to fit it to all rows")
            self.notes[member.name] = f"its back-test model is used: {why}"
        if not place.is_dir():
            return None
        return Member(member.candidate, setting, Forecaster.load(place))


def backtest_network(directory: SearchDirectory, member: PlannedMember) -> Path:
    """Return the place of the network of a back-test, of the full one if there is one."""
    full = directory.network(member.name, FULL)
    return full if full.is_dir() else directory.network(member.name, PROBE)


def _fallback(plan: Plan) -> Plan:
    """Return the plan of the seasonal naive forecast alone."""
    member = PlannedMember(name="seasonal_naive", kind="naive", model="seasonal_naive", weight=1.0)
    return plan.replace(members=(member,))
