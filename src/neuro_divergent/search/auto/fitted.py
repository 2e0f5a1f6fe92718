"""The fitted state of an automatic forecaster: its members, their weights, and the errors of the combination."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.core.arrays import Array, Floats, Floats32, Ints
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows, across
from neuro_divergent.evaluation.conformal.request import RequestedLevels
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.search.auto.intervals import ErrorIntervals, spread_at
from neuro_divergent.search.auto.member import Member
from neuro_divergent.search.auto.plan import Plan

Bounds = dict[float, tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class FittedAuto:
    """Fitted members and how they are combined.

    Attributes:
        plan: Which members there are, and how much each counts.
        members: The members, in that order.
        intervals: Errors of the combination.
        context: The end of each series, or all of it; without series in a model that was saved without.
        groups: Group of each series of the context.
        ahead: Forecasts of members for what follows the context, where they are known already, by name.
        backend: Kind of table to return.
    """

    plan: Plan
    members: tuple[Member, ...]
    intervals: ErrorIntervals
    context: Panel
    groups: Ints
    backend: Backend
    ahead: dict[str, Floats32] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        """Steps to forecast."""
        return self.plan.setting.horizon

    def forecast(self, panel: Panel, series: Ints, targets: Ints, groups: Ints | None = None) -> Floats:
        """Return the combination of the members' forecasts of windows, ``(windows, horizon)``.

        Args:
            panel: The series, with covariates for the targets too.
            series: Index of each window's series.
            targets: First target row of each window.
            groups: Group of each series of the panel; unset, by its rows before its first window.
        """
        if groups is None:
            groups = self.groups_of(panel, series, targets)
        weights = self.plan.weights(groups)[:, series]
        total = np.zeros((len(series), self.horizon))
        for member, own in zip(self.members, weights, strict=True):
            if own.any():
                total += own[:, None] * _double(member.forecast(panel, series, targets))
        return total

    def forecast_ahead(self, panel: Panel | None, future: Floats32 | None) -> tuple[Floats, Floats]:
        """Return forecasts of what follows each series of a panel, or of the context, and the spread of each series.

        Args:
            panel: The series; ``None`` for the context, for which some forecasts are known already.
            future: Covariates known ahead, ``(series, horizon, features)``.
        """
        source = self.context if panel is None else panel
        series, ends = np.arange(source.num_series), source.offsets[1:]
        groups = self.groups if panel is None else self.groups_of(source, series, ends)
        spread = spread_at(source, series, ends, self.plan.history)
        longer = source.extended(self.horizon, future)
        targets = longer.offsets[1:] - self.horizon
        weights = self.plan.weights(groups)
        total = np.zeros((source.num_series, self.horizon))
        for member, own in zip(self.members, weights, strict=True):
            known = self.ahead.get(member.name) if panel is None else None
            if own.any():
                made = member.forecast(longer, series, targets) if known is None else known
                total += own[:, None] * _double(made)
        return total, spread

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values."""
        requested = RequestedLevels(levels, quantiles)
        panel = windows.panel
        series, rows = windows.locate(np.arange(len(windows)))
        if windows.joint:
            series, rows = across(panel, rows)
        targets = rows + windows.input_size
        point = self.forecast(panel, series, targets)
        actual, observed = panel.values_from(targets, self.horizon)
        spread = spread_at(panel, series, targets, self.plan.history)
        bounds = self.intervals.bounds(point, spread, requested.all)
        result = WindowForecasts(series, targets, _single(point), actual, observed)
        return dataclasses.replace(
            result,
            lower={level: _single(bounds[level][0]) for level in requested.levels},
            upper={level: _single(bounds[level][1]) for level in requested.levels},
            quantiles={q: _single(requested.quantile(q, point, bounds)) for q in requested.quantiles},
        )

    def groups_of(self, panel: Panel, series: Ints, targets: Ints) -> Ints:
        """Return the group of each series of a panel, by its rows before its first window."""
        ends = panel.offsets[1:].copy()
        np.minimum.at(ends, series, targets)
        return self.plan.groups_of(panel, ends)

    @property
    def has_context(self) -> bool:
        """Whether it holds the ends of series, to forecast without other data."""
        return self.context.num_series > 0


def _single(values: Floats) -> Array:
    return values.astype(np.float32)


def _double(values: Floats | Floats32) -> Floats:
    """Return forecasts of a member as they are stored, in single precision: those made later are the same then."""
    return values.astype(np.float32).astype(np.float64)
