"""The hourly series of the M4 competition, and its scores."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.evaluation import metrics

HORIZON, INPUT_SIZE, SEASON, STEPS = 48, 240, 24, 1000
KEY = ["unique_id", "ds"]


class Hourly:
    """The series, the test part, and what is needed for the scores of the competition.

    Attributes:
        train: The training part.
        test: The test part, numbered on from the training part.
        whole: Both.
    """

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self.train = self._read("m4_hourly_train").select("unique_id", pl.col("ds").cast(pl.Int64), "y").sort(KEY)
        lengths = self.train.group_by("unique_id").agg(pl.len().cast(pl.Int64).alias("length"))
        test = self._read("m4_hourly_test").join(lengths, on="unique_id")
        self.test = test.select("unique_id", pl.col("ds").cast(pl.Int64) + pl.col("length"), "y").sort(KEY)
        self.whole = pl.concat([self.train, self.test]).sort(KEY)

    def scores(self, frame: pl.DataFrame, column: str) -> dict[str, float]:
        """Return MAE, sMAPE, MASE and OWA of forecasts of the test part."""
        forecast = self.test.join(frame, on=KEY, how="left", validate="1:1").sort(KEY)[column].to_numpy()
        found = self._errors(forecast)
        smape, mase = (found[name] / self._naive[name] for name in ("smape", "mase"))
        return {**found, "owa": (smape + mase) / 2}

    def _errors(self, forecast: Any) -> dict[str, float]:
        actual = self.test["y"].to_numpy().reshape(-1, HORIZON)
        forecast = np.asarray(forecast, np.float64).reshape(-1, HORIZON)
        return {
            "mae": metrics.mae(actual, forecast),
            "smape": metrics.smape(actual, forecast),
            "mase": metrics.mase(actual, forecast, self._seasonal_error),
        }

    @cached_property
    def _seasonal_error(self) -> Any:
        counts = self.train.group_by("unique_id", maintain_order=True).len()["len"].to_numpy()
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return metrics.seasonal_error(self.train["y"].to_numpy(), offsets, offsets[1:], SEASON)

    @cached_property
    def _naive(self) -> dict[str, float]:
        """Scores of Naive2, the yardstick of the competition."""
        ids = self.test["unique_id"].unique()
        frame = self._read("m4_naive2").filter(pl.col("unique_id").is_in(ids.implode())).sort(KEY)
        return self._errors(frame[frame.columns[-1]].to_numpy())

    def _read(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self._directory / f"{name}.parquet")
