"""A run from the panel to the fitted combination: search or a known plan, weights, refit, intervals, leaderboard."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Floats, Floats32, Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory, write_file
from neuro_divergent.core.threads import available_cores
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.task import Task
from neuro_divergent.runs.directory import fingerprint
from neuro_divergent.search.auto.artifact import AutoParts, pack_auto, unpack_auto
from neuro_divergent.search.auto.backtest import FitResult, FitTask
from neuro_divergent.search.auto.budget import Budget, Ledger
from neuro_divergent.search.auto.candidate import Setting, has_statistical
from neuro_divergent.search.auto.combination import Weights
from neuro_divergent.search.auto.config import AutoConfig
from neuro_divergent.search.auto.cutoffs import Cutoffs, choose_cutoffs, choose_series
from neuro_divergent.search.auto.executor import Executor
from neuro_divergent.search.auto.files import LEADERBOARD
from neuro_divergent.search.auto.fitted import FittedAuto
from neuro_divergent.search.auto.groups import SeriesTraits
from neuro_divergent.search.auto.intervals import ErrorIntervals
from neuro_divergent.search.auto.leaderboard import REFERENCE, Leaderboard, prepare_comparison
from neuro_divergent.search.auto.member import Member
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.naive import NAIVE
from neuro_divergent.search.auto.plan import Plan, PlannedMember
from neuro_divergent.search.auto.portfolio import Portfolio, choose_portfolio, find_candidate
from neuro_divergent.search.auto.record import FULL, Progress, Record
from neuro_divergent.search.auto.refit import Refit, backtest_network
from neuro_divergent.search.auto.search import SHORTEST, Search
from neuro_divergent.search.auto.standings import standings, standings_of_plan
from neuro_divergent.search.auto.store import SearchDirectory

_LEAST_WEIGHT = 0.02  # members with less are not worth the time of fitting them
_CLOSING = 0.02  # fraction of the budget kept for intervals and files


@dataclass
class AutoRun:
    """A run of an automatic forecaster.

    Attributes:
        config: The settings.
        panel: The series.
        backend: Kind of the input table.
        budget: The clock, which runs since the call of ``fit``.
        directory: Where finished tasks are stored.
        season: Rows in a season.
        is_kept: Whether the directory outlives the run, so that the best model so far is written there.
        progress: Called whenever something begins or ends.
    """

    config: AutoConfig
    panel: Panel
    backend: Backend
    budget: Budget
    directory: SearchDirectory
    season: int
    is_kept: bool
    progress: Callable[[Progress], None] | None = None
    notes: list[str] = field(default_factory=list)

    def search(self) -> AutoParts:
        """Search, combine, fit the members to all rows, and say how it came out."""
        setting = self._setting()
        settings = {"config": self.config.to_dict(), "data": self._fingerprint()}
        with self.directory.opened(settings):
            if self.directory.is_finished:
                return unpack_auto(read_directory(self.directory.model), str(self.directory.model))
            self.budget = Budget(
                self.config.seconds, spent=self.budget.spent + float(self.directory.progress().get("spent", 0.0))
            )
            cutoffs = self._cutoffs(self.config.details.cutoffs, self.config.details.series)
            with Executor(self.panel, self._jobs()) as executor:
                search = self._prepare(setting, cutoffs, executor)
                prepare_comparison()
                search.run()
                search.phase = "combination"
                records, weights, unfitted = self._affordable(search)
                plan = self._plan(search, records, weights)
                search.phase = "refit"
                refit = Refit(plan, self.panel, executor, self.budget, search.ledger, self.directory, unfitted)
                refit.seeds = self.config.details.seeds
                plan, members = refit.run()
            intervals = ErrorIntervals.of(search.cutoffs, self._left_out(search, weights), plan.history)
            fitted = self._fitted(plan, members, intervals, refit, whole=False)
            search.phase = "leaderboard"
            leaderboard = standings(search, refit.chosen, weights, notes=self.notes, member_notes=refit.notes)
            parts = AutoParts(self.config, fitted, leaderboard)
            if self.is_kept:
                self._write(parts, leaderboard)
            return parts

    def _fingerprint(self) -> str:
        """Return the fingerprint of the data, as an earlier version computed it where the search was begun by one."""
        before = self.directory.settings().get("data") if self.directory.has_begun else None
        return str(fingerprint(self.panel, before)["sha256"])

    def replay(self, plan: Plan) -> AutoParts:
        """Fit the members of a plan and measure their errors at its cut-offs, without a search."""
        if plan.setting.horizon != self.config.horizon:
            raise InputError(f"plan: is for a horizon of {plan.setting.horizon}, not {self.config.horizon}.")
        settings = {"config": self.config.to_dict(), "data": self._fingerprint(), "plan": plan.to_dict()}
        self.budget = Budget(math.inf)
        series = choose_series(self.panel, plan.judged, seed=plan.setting.seed)
        cutoffs = Cutoffs(self.panel, series, plan.setting.horizon, plan.backs)
        with self.directory.opened(settings), Executor(self.panel, self._jobs()) as executor:
            made = self._member_backtests(plan, cutoffs, executor)
            refit = Refit(plan, self.panel, executor, self.budget, Ledger(), self.directory)
            fitted_plan, members = refit.run()
            groups = self._groups(plan.setting, series, cutoffs.earliest)
            weights = plan.weights(groups)
            combined = sum(
                own[None, :, None] * made[member.name] for own, member in zip(weights, plan.members, strict=True)
            )
            intervals = ErrorIntervals.of(cutoffs, np.asarray(combined, np.float64), plan.history)
            fitted = self._fitted(fitted_plan, members, intervals, refit, whole=False)
            leaderboard = standings_of_plan(plan, cutoffs, made, np.asarray(combined))
            parts = AutoParts(self.config, fitted, leaderboard)
            if self.is_kept:
                self._write(parts, leaderboard)
            return parts

    # Preparation

    def _setting(self) -> Setting:
        config = self.config
        return Setting(horizon=config.horizon, season=self.season, metric=config.metric, seed=config.seed)

    def _jobs(self) -> int:
        if self.config.jobs is not None:
            return self.config.jobs
        return 1 if self.budget.seconds < SHORTEST else available_cores()

    def _cutoffs(self, count: int, most: int) -> Cutoffs:
        backs = choose_cutoffs(self.panel, self.config.horizon, count, self.season)
        series = choose_series(self.panel, most, seed=self.config.seed)
        if backs:
            enough = self.panel.offsets[1:] - self.panel.first_observed - backs[0] >= 3
            order = choose_series(self.panel, self.panel.num_series, seed=self.config.seed)
            series = order[enough[order]][:most]  # series without a history say nothing
        return Cutoffs(self.panel, series, self.config.horizon, backs)

    def _groups(self, setting: Setting, series: Ints, back: int) -> Ints:
        ends = np.maximum(self.panel.offsets[1:][series] - back, self.panel.offsets[:-1][series])
        return SeriesTraits.of(self.panel, series, ends, horizon=setting.horizon, season=setting.season).groups

    def _prepare(self, setting: Setting, cutoffs: Cutoffs, executor: Executor) -> Search:
        details, known = self.config.details, has_statistical()
        ends = np.maximum(
            self.panel.offsets[1:][cutoffs.series] - cutoffs.earliest, self.panel.offsets[:-1][cutoffs.series]
        )
        traits = SeriesTraits.of(self.panel, cutoffs.series, ends, horizon=setting.horizon, season=setting.season)
        portfolio = self._chosen(choose_portfolio(self.panel, traits, details, statistical=known))
        self.notes += portfolio.reasons
        if not known:
            self.notes.append("Statistical models were left out: they need pip install 'neuro-divergent[statistical]'.")
        return Search(
            cutoffs=cutoffs,
            setting=setting,
            preset=details,
            budget=self.budget,
            executor=executor,
            directory=self.directory,
            scoring=Scoring.of(setting.metric, cutoffs, setting.season),
            groups=traits.groups,
            ledger=Ledger(guesses=dict(portfolio.guesses)),
            records={item.name: Record(item) for item in portfolio.candidates},
            improved=self._keep if self.is_kept else None,
            progress=self.progress,
        )

    def _chosen(self, portfolio: Portfolio) -> Portfolio:
        """Return the candidates that the user wants; naive ones always."""
        wanted = self.config.models
        if wanted is None:
            return portfolio
        known = {item.name: item for item in portfolio.candidates}
        kept = [item for item in portfolio.candidates if item.kind == "naive"]
        kept += [known.get(name) or find_candidate(name) for name in wanted if name not in NAIVE]
        return Portfolio(tuple(kept), (), portfolio.guesses)

    # Combination

    def _affordable(self, search: Search) -> tuple[list[Record], Weights | None, set[str]]:
        """Return candidates, their weights, and the networks that there is no time to fit to all rows.

        Those are used as they were back-tested. A statistical model has nothing to fall back on and is left out.
        """
        records, unfitted = search.complete, set[str]()
        if not records:
            return [search.records[self._simplest()]], None, unfitted
        left = search.budget.left - _CLOSING * search.budget.seconds
        while True:
            _, weights = search.weights(records)
            used = [record for record, weight in zip(records, _most(weights), strict=True) if weight >= _LEAST_WEIGHT]
            costs = {record.name: search.refit_cost(record) for record in used if record.name not in unfitted}
            needed = max(sum(costs.values()) / search.executor.jobs, max(costs.values(), default=0.0))
            if needed <= left or not any(costs.values()):
                return records, weights, unfitted
            dearest = max(costs, key=lambda name: costs[name])
            if search.records[dearest].candidate.kind == "network":
                unfitted.add(dearest)
                continue
            reason = f"too dear: fitting it to all rows takes about {costs[dearest]:.0f} s, {left:.0f} s are left"
            search.records[dearest].reason = reason
            records = [record for record in records if record.name != dearest]

    def _simplest(self) -> str:
        """Return the naive forecast for series that are too short for a back-test."""
        return REFERENCE if self.season > 1 and float(np.median(self.panel.lengths)) > self.season else "naive"

    def _plan(self, search: Search, records: list[Record], weights: Weights | None) -> Plan:
        overall = np.ones(1) if weights is None else weights.overall
        groups = {} if weights is None else weights.by_group
        most = overall if weights is None else _most(weights)
        kept = [place for place in range(len(records)) if most[place] >= _LEAST_WEIGHT]
        own = {group: made[kept] / max(made[kept].sum(), 1e-12) for group, made in groups.items()}
        total = overall[kept].sum()
        fractions = overall[kept] / total if total > 0 else np.full(len(kept), 1 / len(kept))
        members = [
            PlannedMember(
                **dict(records[place].candidate),
                weight=float(fraction),
                group_weights={group: float(made[number]) for group, made in own.items()},
                steps=records[place].steps,
                history=records[place].history,
            )
            for number, (place, fraction) in enumerate(zip(kept, fractions, strict=True))
        ]
        task = Task(horizon=self.config.horizon, season_length=self.season)
        return Plan(
            setting=search.setting,
            members=tuple(sorted(members, key=lambda member: -member.weight)),
            backs=search.cutoffs.backs,
            judged=max(len(search.series), 1),
            history=task.history_for(self.panel),
        )

    def _left_out(self, search: Search, weights: Weights | None) -> Floats:
        if weights is not None:
            return weights.forecast
        return np.zeros((0, len(search.series), self.config.horizon))

    def _fitted(
        self, plan: Plan, members: tuple[Member, ...], intervals: ErrorIntervals, refit: Refit | None, *, whole: bool
    ) -> FittedAuto:
        """Return the fitted state; ``whole`` keeps all rows, for members whose forecasts are not made yet."""
        panel = self.panel
        groups = plan.groups_of(panel, panel.offsets[1:])
        ahead = dict(refit.ahead) if refit is not None else {}
        context = panel
        if not whole:
            ends, longer = panel.offsets[1:], panel.extended(plan.setting.horizon)
            targets = longer.offsets[1:] - plan.setting.horizon
            for member in members:
                if member.candidate.kind == "naive":
                    made = member.forecast(longer, np.arange(len(ends)), targets)
                    ahead[member.name] = made.astype(np.float32)
                elif member.candidate.kind == "statistical":
                    ahead[member.name] = _complete(ahead[member.name], member, longer, targets)
            context = panel.tail(max(plan.history, *(member.history for member in members)))
        return FittedAuto(plan, members, intervals, context, groups, self.backend, ahead)

    def _keep(self, search: Search) -> None:
        """Write the best combination so far as a model; networks are those of the back-tests."""
        records, weights = search.weights() if search.complete else ([search.records[self._simplest()]], None)
        plan = self._plan(search, records, weights)
        members = []
        for member in plan.members:
            network = None
            if member.kind == "network":
                network = Forecaster.load(backtest_network(self.directory, member))
            members.append(Member(member.candidate, plan.setting, network))
        intervals = ErrorIntervals.of(search.cutoffs, self._left_out(search, weights), plan.history)
        fitted = self._fitted(plan, tuple(members), intervals, None, whole=True)
        leaderboard = Leaderboard(self.config.metric, (), "The search was not finished.")
        write_directory(self.directory.model, pack_auto(AutoParts(self.config, fitted, leaderboard)))

    def _write(self, parts: AutoParts, leaderboard: Leaderboard) -> None:
        write_directory(self.directory.model, pack_auto(parts))
        self.directory.note(spent=min(self.budget.spent, 1e12))
        write_file(self.directory.path / LEADERBOARD, strict_json.dumps(leaderboard.to_dict(), indent=1))

    def _member_backtests(self, plan: Plan, cutoffs: Cutoffs, executor: Executor) -> dict[str, Floats]:
        """Return the out-of-fold forecasts of the members of a plan."""
        shape = len(cutoffs), len(cutoffs.series), plan.setting.horizon
        tasks = [
            FitTask(
                member.candidate,
                plan.setting,
                FULL,
                cutoffs.series,
                plan.backs,
                steps=member.steps,
                history=member.history or None,
                directory=str(self.directory.network(member.name, FULL)) if member.kind == "network" else None,
            )
            for member in plan.members
            if plan.backs
        ]
        found = {member.name: np.zeros(shape) for member in plan.members}
        for task, outcome in executor.run(tasks):
            if not isinstance(outcome, FitResult):
                warnings.warn(f"{task.candidate.name}: no back-test ({outcome}).", stacklevel=2)
                continue
            found[task.candidate.name] = np.nan_to_num(outcome.forecasts.astype(np.float64), nan=0.0)
        return found


def _most(weights: Weights) -> Floats:
    """Return the largest weight of each member over all series and groups."""
    most: Floats = np.max([weights.overall, *weights.by_group.values()], axis=0)
    return most


def _complete(made: Floats32, member: Member, panel: Panel, targets: Ints) -> Floats32:
    """Return forecasts with the seasonal naive one where a member has none."""
    if np.isfinite(made).all():
        return made
    simple = Member(member.candidate.replace(kind="naive", model=REFERENCE), member.setting)
    naive = simple.forecast(panel, np.arange(panel.num_series), targets)
    return np.where(np.isfinite(made), made, naive).astype(np.float32)
