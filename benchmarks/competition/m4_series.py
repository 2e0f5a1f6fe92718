"""Series of the M4 competition, and its scores."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from competition.cells import Forecasts
from neuro_divergent.evaluation import metrics

HORIZONS = {"hourly": 48, "yearly": 6, "monthly": 18}
SEASONS = {"hourly": 24, "yearly": 1, "monthly": 12}
# sMAPE and MASE of the yardstick: published, and for monthly series those of the 300 that there are.
NAIVE2 = {"hourly": (18.383, 2.395), "yearly": (16.342, 3.974), "monthly": (14.280, 1.014)}
_FILES = {"monthly": "monthly_sub300"}


class Series:
    """All series of one frequency that are here.

    Args:
        directory: Where the data sets are.
        frequency: ``hourly``, ``yearly`` or ``monthly``, of which there are 300 series.
        held_out: Rows at the end of the training part to leave out; forecasts are then of the rows that follow, so that
            settings can be chosen without a look at the test part.
    """

    def __init__(self, directory: Path, frequency: str, held_out: int = 0) -> None:
        self._directory, self.frequency = directory, frequency
        self.horizon, self.season = HORIZONS[frequency], SEASONS[frequency]
        whole = self._read("train").sort("unique_id", "ds").group_by("unique_id", maintain_order=True).agg("y")
        self.ids = whole["unique_id"]
        series = [np.asarray(values, np.float64) for values in whole["y"].to_list()]
        self.train = [values[: len(values) - held_out] for values in series]
        if held_out:
            begins = [len(values) for values in self.train]
            target = [values[at : at + self.horizon] for values, at in zip(series, begins, strict=True)]
            self.test = np.stack(target)
        else:
            test = self._read("test").sort("unique_id", "ds")
            assert test["unique_id"].unique(maintain_order=True).to_list() == self.ids.to_list()
            self.test = test["y"].to_numpy().astype(np.float64).reshape(-1, self.horizon)

    def table(self, rows: int) -> pl.DataFrame:
        """Return the last rows of each series as a long table; shorter series have fewer."""
        kept = [values[-rows:] for values in self.train]
        lengths = [len(values) for values in kept]
        return pl.DataFrame(
            {
                "unique_id": self.ids.to_numpy().repeat(lengths),
                "ds": np.concatenate([np.arange(length) for length in lengths]),
                "y": np.concatenate(kept),
            }
        )

    def matrix(self, table: pl.DataFrame, column: str) -> Forecasts:
        """Return a table of forecasts as one row per series, in the order of ``ids``."""
        ordered = table.sort("unique_id", "ds")
        assert ordered["unique_id"].unique(maintain_order=True).to_list() == self.ids.to_list()
        return ordered[column].to_numpy().astype(np.float64).reshape(-1, self.horizon)

    def scores(self, forecast: Forecasts) -> dict[str, float]:
        """Return sMAPE, MASE and OWA."""
        smape = metrics.smape(self.test, forecast)
        mase = metrics.mase(self.test, forecast, self._seasonal_error)
        reference = NAIVE2[self.frequency]
        return {"smape": smape, "mase": mase, "owa": (smape / reference[0] + mase / reference[1]) / 2}

    def naive2(self) -> Forecasts:
        """Return the forecasts of the yardstick, as the organisers published them."""
        table = pl.read_parquet(self._directory / "m4_naive2.parquet")
        return self.matrix(table.filter(pl.col("unique_id").is_in(self.ids.implode())), "y")

    @cached_property
    def _seasonal_error(self) -> Forecasts:
        offsets = np.concatenate([[0], np.cumsum([len(series) for series in self.train])]).astype(np.int64)
        return metrics.seasonal_error(np.concatenate(self.train), offsets, offsets[1:], self.season)

    def _read(self, part: str) -> pl.DataFrame:
        name = _FILES.get(self.frequency, self.frequency)
        return pl.read_parquet(self._directory / f"m4_{name}_{part}.parquet")
