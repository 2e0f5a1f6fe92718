"""Day-ahead prices of five electricity markets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.config import register
from neuro_divergent.data.scaling.base import SeriesScaler

if TYPE_CHECKING:
    from torch import Tensor

    from competition.cells import Forecasts

MARKETS = ("NP", "PJM", "BE", "FR", "DE")
COVARIATES = ("exog_1", "exog_2")
HORIZON = 24
WEEK = 7 * 24
TEST = 104 * WEEK  # rows
VALIDATION = 42 * WEEK
# MAE of the references, both recalibrated every day: an ensemble of four deep networks, and one of four linear models.
DNN = {"NP": 1.683, "PJM": 2.862, "BE": 5.870, "FR": 3.866, "DE": 3.413}
LEAR = {"NP": 1.738, "PJM": 3.013, "BE": 6.140, "FR": 3.980, "DE": 3.609}
_LARGEST = 20.0  # a forecast of asinh beyond this would be a price of hundreds of millions


@register("asinh")
class AsinhSeriesScaler(SeriesScaler):
    """Takes ``asinh((y - median) / spread)``, which is linear around the median and logarithmic in the spikes.

    The spread is the median distance from the median, times 1.4826 (Uniejewski, Weron and Ziel, 2018).
    """

    def fit(self, values: Array) -> Array:
        """Return median and spread."""
        median = np.median(values)
        return np.array([median, 1.4826 * np.median(np.abs(values - median)) or 1.0])

    def transform(self, values: Tensor, fitted: Tensor) -> Tensor:
        """Return the inverse hyperbolic sine of the standardised prices."""
        return ((values - fitted[..., 0]) / fitted[..., 1]).asinh()

    def inverse(self, values: Tensor, fitted: Tensor) -> Tensor:
        """Undo it."""
        return values.clamp(-_LARGEST, _LARGEST).sinh() * fitted[..., 1] + fitted[..., 0]


def read(directory: Path, market: str, *, held_out: int = 0) -> pl.DataFrame:
    """Return hours, prices and the two covariates of a market, without the last ``held_out`` rows."""
    whole = pl.read_parquet(directory / "epf.parquet").filter(pl.col("unique_id") == market).sort("ds")
    return whole.head(len(whole) - held_out).drop("unique_id")


def add_lags(table: pl.DataFrame, before: int) -> pl.DataFrame:
    """Return a table in which a window of one day has the inputs of the published networks.

    Prices of two and of seven days ago and the covariates of seven days ago are known ahead, so they become columns. In
    the rows of a window, which are those of yesterday and today, they are of two, three, seven and eight days ago. All
    columns but the price itself are transformed by asinh. The first week is left out.

    Args:
        table: Hours, prices and covariates.
        before: Rows that median and spread of each column are measured on, from the first.
    """
    scaler = AsinhSeriesScaler()
    columns = {"y": table["y"].to_numpy().astype(np.float64)}
    columns |= {name: table[name].to_numpy().astype(np.float64) for name in COVARIATES}
    scaled = {}
    for name, values in columns.items():
        median, spread = scaler.fit(values[:before])
        scaled[name] = pl.Series(np.arcsinh((values - median) / spread))
    added = {name: scaled[name] for name in COVARIATES}
    added |= {"price_2": scaled["y"].shift(2 * HORIZON), "price_7": scaled["y"].shift(WEEK)}
    added |= {f"{name}_7": scaled[name].shift(WEEK) for name in COVARIATES}
    return table.with_columns(**added).slice(WEEK)


def prices(directory: Path, market: str) -> Forecasts:
    """Return the prices of the test part, one row per day."""
    return read(directory, market)["y"].to_numpy().astype(np.float64)[-TEST:].reshape(-1, HORIZON)
