"""The time until a forecast is as good as theirs, on the hourly series of the M4 competition."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import neuralforecast.models
import numpy as np
import polars as pl
import torch
from neuralforecast import NeuralForecast

import neuro_divergent as nd
from neuro_divergent.evaluation import metrics
from versus import theirs
from versus.cell import Cell, Options

SECTION = "time to quality: NHITS on M4 hourly, 414 series, 48 test steps"
HORIZON, INPUT_SIZE, SEASON, STEPS = 48, 240, 24, 1000
KEY = ["unique_id", "ds"]


def measure(options: Options) -> list[Cell]:
    """Train theirs once with its defaults and ours before and after it."""
    data = Hourly(options.data)
    first = _ours(data, options.threads)
    seconds, other = _theirs(data, options.threads)
    second = _ours(data, options.threads)
    reached = [run.seconds_until(other["mae"]) for run in (first, second)]
    blind = _score_blind(data, options.threads)
    return [
        Cell(
            section=SECTION,
            name=f"seconds until validation MAE {other['mae']:.1f}",
            ours=sum(reached) / 2,
            theirs=seconds,
            unit="s",
            goal=10,
            note="theirs: defaults, robust scaler, 1,000 steps; ours: defaults",
        ),
        Cell(
            section=SECTION,
            name="seconds of the whole fit",
            ours=(first.total + second.total) / 2,
            theirs=seconds,
            unit="s",
        ),
        *_quality(first.scores, other, "best epoch by validation, which here is the test part"),
        *_quality(blind, other, "ours trained without a look at the test part"),
    ]


def _quality(mine: dict[str, float], other: dict[str, float], note: str) -> list[Cell]:
    return [
        Cell(section=SECTION, name=name, ours=mine[name], theirs=other[name], unit="", note=note)
        for name in ("mae", "smape", "owa")
    ]


class Watch(nd.Callback):
    """Notes the clock and the error at each validation."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []

    def validation_end(self, trainer: nd.Trainer) -> None:
        """Note both."""
        self.seen.append((time.perf_counter(), trainer.state.metrics["validation_mae"]))


@dataclass(frozen=True)
class OurRun:
    """A training of ours: when it began, what each validation gave, how long it took and how good it was."""

    began: float
    seen: list[tuple[float, float]]
    total: float
    scores: dict[str, float]

    def seconds_until(self, error: float) -> float:
        """Return the time from the call of ``fit`` until the validation error was low enough; infinite if never."""
        return next((when - self.began for when, found in self.seen if found <= error), float("inf"))


class Hourly:
    """The series, the test part, and what is needed for the scores of the competition."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.train = self._read("m4_hourly_train").select("unique_id", pl.col("ds").cast(pl.Int64), "y").sort(KEY)
        lengths = self.train.group_by("unique_id").agg(pl.len().cast(pl.Int64).alias("length"))
        test = self._read("m4_hourly_test").join(lengths, on="unique_id")
        test = test.select("unique_id", pl.col("ds").cast(pl.Int64) + pl.col("length"), "y")
        self.test = test.sort(KEY)
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


def _theirs(data: Hourly, threads: int) -> tuple[float, dict[str, float]]:
    """Train their NHITS with its defaults."""
    torch.set_num_threads(threads)
    model = neuralforecast.models.NHITS(
        h=HORIZON, input_size=INPUT_SIZE, scaler_type="robust", max_steps=STEPS, **theirs.QUIET
    )
    forecaster = NeuralForecast([model], freq=1)
    began = time.perf_counter()
    forecaster.fit(data.train)
    seconds = time.perf_counter() - began
    return seconds, data.scores(forecaster.predict(), "NHITS")


def _ours(data: Hourly, threads: int) -> OurRun:
    """Train ours with its defaults; its validation part is the test part, so that it is watched on the same values."""
    watch = Watch()
    forecaster = nd.Forecaster(
        "nhits", horizon=HORIZON, validation=HORIZON, training=nd.TrainingConfig(threads=threads)
    )
    began = time.perf_counter()
    forecaster.fit(data.whole, callbacks=[watch])
    total = time.perf_counter() - began
    assert forecaster.fitted.task.history == INPUT_SIZE
    return OurRun(began, watch.seen, total, data.scores(forecaster.predict(data.train), "forecast"))


def _score_blind(data: Hourly, threads: int) -> dict[str, float]:
    """Return the scores of ours when it is trained on the training part alone, as theirs is."""
    training = nd.TrainingConfig(threads=threads)
    forecaster = nd.Forecaster("nhits", horizon=HORIZON, validation=HORIZON, training=training)
    return data.scores(forecaster.fit(data.train).predict(), "forecast")
