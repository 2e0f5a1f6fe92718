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
from neuro_divergent.search.auto.executor import Executor
from neuro_divergent.search.auto.member import Member
from neuro_divergent.search.auto.plan import Plan, PlannedMember
from neuro_divergent.search.auto.record import FULL, PROBE
from neuro_divergent.search.auto.store import SearchDirectory

REFIT = "refit"
_CHUNK = 2.0  # seconds of a task of a statistical model, at least


@dataclass
class Refit:
    """Fits the members of a plan to all rows.

    A network that cannot be fitted in time is replaced by the one of its back-test, which has not seen the last rows; a
    statistical model is left out, and the others take its weight.

    Attributes:
        unfitted: Networks that there is no time for.
        notes: What was replaced or left out, by member.
        ahead: Forecasts of the statistical members for what follows the data.
    """

    plan: Plan
    panel: Panel
    executor: Executor
    budget: Budget
    ledger: Ledger
    directory: SearchDirectory
    unfitted: set[str] = field(default_factory=set)
    notes: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, Floats32] = field(default_factory=dict)
    _fitted: set[str] = field(default_factory=set)

    def run(self) -> tuple[Plan, tuple[Member, ...]]:
        """Return the plan of what could be fitted, and its members."""
        setting = self.plan.setting
        for member in self.plan.members:
            if member.kind == "statistical":
                self.ahead[member.name] = np.full((self.panel.num_series, setting.horizon), np.nan, np.float32)
        for stored in self.directory.results():
            if stored.round == REFIT and stored.result is not None:
                self._accept(stored.name, stored.series, stored.result)
        for task, outcome in self.executor.run(self._tasks()):
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
        chosen = [found.get(item.name) or Member(item.candidate, setting) for item in plan.members]
        return plan, tuple(chosen)

    def _tasks(self) -> Iterator[FitTask]:
        """Yield networks first, which take longest, then the series of statistical models in parts."""
        setting = self.plan.setting
        nothing = np.zeros(0, np.int64)
        for member in self.plan.members:
            if member.kind == "network" and member.name not in self._fitted | self.unfitted:
                yield FitTask(
                    member.candidate,
                    setting,
                    REFIT,
                    nothing,
                    (),
                    steps=member.steps,
                    history=member.history or None,
                    seconds=max(self.budget.left, 1.0),
                    directory=str(self.directory.network(member.name, REFIT)),
                )
        for member in self.plan.members:
            if member.kind == "statistical":
                yield from self._parts(member)

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
