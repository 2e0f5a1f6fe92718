"""Scores of several models on the same rows of a table of forecasts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.io.table import Table
from neuro_divergent.evaluation.scoring.columns import ModelColumns, numbers
from neuro_divergent.evaluation.scoring.formulas import Values
from neuro_divergent.evaluation.scoring.groups import Groups, mean_of_parts
from neuro_divergent.evaluation.scoring.history import RowHistory
from neuro_divergent.evaluation.scoring.requests import Request
from neuro_divergent.evaluation.scoring.steps import Steps


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores models on the same rows of a table.

    Attributes:
        series: Column of ids; ``time`` and ``target`` are those of times and observed values.
        requests: Scores to compute.
        models: All models that are scored; a row counts if none of them lacks a value.
        quantiles: Levels of the quantiles that count.
        by: Columns to group by.
        each_series: Whether to score each series separately and take the mean.
        weights: Weight of each row, or ``None`` if all are equal.
        history: History of the series, if it was given.
    """

    table: Table
    series: str | None
    time: str
    target: str
    requests: tuple[Request, ...]
    models: dict[str, ModelColumns]
    quantiles: tuple[float, ...]
    by: tuple[str, ...]
    each_series: bool
    weights: Floats | None
    history: RowHistory | None

    def scores(self, model: ModelColumns) -> dict[str, Floats]:
        """Return each score of a model for each group; NaN where it is undefined."""
        values = self._values(model)
        return {request.label: self._score(request, model, values) for request in self.requests}

    @cached_property
    def groups(self) -> Groups:
        """The groups of the rows that count."""
        return Groups.of(self.table.frame, self.by).take(self._rows)

    @cached_property
    def _parts(self) -> Groups:
        """What is scored separately: the groups, or the series in each of them."""
        if not self.each_series or self.series is None or self.series in self.by:
            return self.groups
        return Groups.of(self.table.frame, (*self.by, self.series)).take(self._rows)

    @cached_property
    def _numbers(self) -> dict[str, Floats]:
        """The observed values, and every column that a score needs."""
        columns = [name for model in self.models.values() for name in self._needed_columns(model)]
        return {name: numbers(self.table, name) for name in dict.fromkeys([self.target, *columns])}

    @cached_property
    def _rows(self) -> Ints:
        """Rows in which no needed value is missing."""
        return np.flatnonzero(~np.any([np.isnan(values) for values in self._numbers.values()], axis=0))

    def _needed_columns(self, model: ModelColumns) -> list[str]:
        """Return the columns of a model that the scores need."""
        needs = {request.metric.needs for request in self.requests}
        columns = [model.point] if "point" in needs and model.point else []
        if "quantiles" in needs and model.quantiles:
            columns += [model.quantiles[level] for level in self.quantiles]
        levels = {request.number for request in self.requests if request.metric.needs == "intervals"}
        return columns + [
            ends[level] for level in model.levels if level in levels for ends in (model.lower, model.upper)
        ]

    @cached_property
    def _common(self) -> Values:
        """Values that all models share."""
        rows, history = self._rows, self.history
        if not any(request.metric.scaled for request in self.requests):
            history = None  # not needed, and slow to compute
        return Values(
            group=self._parts.codes,
            num_groups=self._parts.count,
            actual=self._numbers[self.target][rows],
            forecast=np.full(len(rows), np.nan),
            weight=None if self.weights is None else self.weights[rows],
            scale=None if history is None else history.scale[rows],
            squared_scale=None if history is None else history.squared_scale[rows],
        )

    @cached_property
    def _steps(self) -> Steps:
        last = None if self.history is None else self.history.last
        return Steps.of(self.table, self.series, self.time, last)

    def _values(self, model: ModelColumns) -> Values:
        rows, known, values = self._rows, self._numbers, self._common
        if model.point is not None and model.point in known:
            values = dataclasses.replace(values, forecast=known[model.point][rows])
            if any(request.metric.ordered for request in self.requests):
                actual, forecast = (self._steps.before(known[name]) for name in (self.target, model.point))
                values = dataclasses.replace(values, before=(actual[rows], forecast[rows]))
        ends = {level: (model.lower[level], model.upper[level]) for level in model.levels}
        return dataclasses.replace(
            values,
            quantiles={
                level: known[name][rows]
                for level, name in model.quantiles.items()
                if level in self.quantiles and name in known
            },
            intervals={
                level: (known[lower][rows], known[upper][rows])
                for level, (lower, upper) in ends.items()
                if lower in known and upper in known
            },
        )

    def _score(self, request: Request, model: ModelColumns, values: Values) -> Floats:
        values = values if request.number is None else values.only(request.number)
        given = {"point": model.point, "quantiles": values.quantiles, "intervals": values.intervals}
        if not given[request.metric.needs]:
            return np.full(self.groups.count, np.nan)
        assert request.metric.measure is not None
        scores = request.metric.measure(values)
        if self._parts is self.groups:
            return scores
        return mean_of_parts(scores, self._parts, self.groups, values.weight)
