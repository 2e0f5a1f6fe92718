"""Errors of forecasts of held-out values, and which errors were known when a forecast was made.

The errors of an efficient forecast are uncorrelated with errors that were known when it was made. Errors within one
forecast are usually correlated: a deviation at the first step often persists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.rules.base import NotEnoughError

ENOUGH_GROUPS = 10  # least number of independent groups of values for a standard error


class Estimate(NamedTuple):
    """A mean with its standard error."""

    mean: float
    error: float

    @property
    def distance(self) -> float:
        """The mean in standard errors."""
        return self.mean / self.error if self.error > 0 else math.copysign(math.inf, self.mean) if self.mean else 0.0


@dataclass(frozen=True, eq=False)
class Errors:
    """Forecasts and observed values, sorted by series and time.

    Attributes:
        frame: ``actual``, ``forecast``, baselines and intervals of each.
        error: Forecast minus observed value.
        step: Step of the horizon, from 1.
        series: Index of the series.
        window: Index of the forecast: the same series and cutoff.
        cutoff: Index of the cutoff, over all series.
        place: Position of the row in a contiguous sequence of times; sequences are 100,000 apart.
    """

    frame: pl.DataFrame
    error: Floats
    step: Ints
    series: Ints
    window: Ints
    cutoff: Ints
    place: Ints

    @classmethod
    def of(cls, evidence: Evidence) -> Errors:
        """Read the backtest.

        Raises:
            NotEnoughError: If a column is missing or nothing was observed.
        """
        frame = evidence.backtest
        assert frame is not None
        needed = {evidence.time, "cutoff", "step", "actual", "forecast"}
        missing = sorted(needed - set(frame.columns))
        if missing:
            raise NotEnoughError(f"the forecasts of held-out values have no column {missing[0]!r}")
        names = pl.lit(0) if evidence.id is None else pl.col(evidence.id).cast(pl.String)
        try:
            table = (
                frame.with_columns(
                    pl.col("actual", "forecast").cast(pl.Float64),
                    pl.col("step").cast(pl.Int64),
                    _series=names.rank("dense").cast(pl.Int64),
                    _cutoff=pl.col("cutoff").rank("dense").cast(pl.Int64),
                )
                .sort("_series", evidence.time, "step")
                .with_columns(_place=_places(evidence.time))
                .filter(pl.col("actual").is_finite() & pl.col("forecast").is_finite())
            )
        except pl.exceptions.PolarsError as error:
            line = " ".join(str(error).split())[:120]
            raise NotEnoughError(f"the forecasts of held-out values are not usable: {line}") from None
        if not len(table):
            raise NotEnoughError("no held-out value was observed")
        series, cutoff = (table[name].to_numpy().astype(np.int64) for name in ("_series", "_cutoff"))
        return cls(
            frame=table,
            error=(table["forecast"] - table["actual"]).to_numpy().astype(np.float64),
            step=table["step"].to_numpy().astype(np.int64),
            series=series,
            window=np.unique(series * (int(cutoff.max()) + 1) + cutoff, return_inverse=True)[1].astype(np.int64),
            cutoff=cutoff,
            place=table["_place"].to_numpy().astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.error)

    @property
    def mean_absolute(self) -> float:
        """The mean absolute error."""
        return float(np.abs(self.error).mean())

    @property
    def groups(self) -> Ints:
        """Groups of values that count as one observation each: by cutoff, else by series, else by forecast.

        Errors of series at the same time are correlated, and so are the steps of one forecast.
        """
        for found in (self.cutoff, self.series):
            if len(np.unique(found)) >= ENOUGH_GROUPS:
                return found
        return self.window

    def require_groups(self) -> None:
        """Raise ``NotEnoughError`` if there are too few forecasts."""
        count = len(np.unique(self.groups))
        if count < ENOUGH_GROUPS:
            raise NotEnoughError(f"there are {count} forecasts of held-out values, and {ENOUGH_GROUPS} are needed")

    def mean(self, values: Floats) -> Estimate:
        """Return the mean of values of all rows, with its standard error between groups."""
        return grouped_mean(values, self.groups)

    def pairs(self, lag: int) -> tuple[Ints, Ints]:
        """Return rows that lie ``lag`` steps apart, the earlier of which was known when the later was forecast."""
        keys = self.place
        found = np.minimum(np.searchsorted(keys, keys - lag), len(keys) - 1)
        later = np.flatnonzero((keys[found] == keys - lag) & (self.step <= lag))
        return found[later], later.astype(np.int64)


def grouped_mean(values: Floats, groups: Ints) -> Estimate:
    """Return a mean with its standard error clustered by groups."""
    _, places = np.unique(groups, return_inverse=True)
    mean = float(values.mean())
    count = int(places.max()) + 1
    if count < 2:
        return Estimate(mean, math.inf)
    away = np.bincount(places, values - mean)
    return Estimate(mean, math.sqrt(float(np.square(away).sum()) * count / (count - 1)) / len(values))


def _places(time: str) -> pl.Expr:
    """Number rows so that two of them differ by one exactly if they are consecutive in time."""
    same_series = pl.col("_series") == pl.col("_series").shift(1)
    same_window = (pl.col("_cutoff") == pl.col("_cutoff").shift(1)) & (pl.col("step") == pl.col("step").shift(1) + 1)
    next_window = (pl.col("step") == 1) & (pl.col("cutoff") == pl.col(time).shift(1))
    follows = (same_series & (same_window | next_window)).fill_null(value=False)
    return (1 + 100_000 * (~follows).cast(pl.Int64)).cum_sum()
