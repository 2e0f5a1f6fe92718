"""Small fitted models and tables of many series for tests of scoring."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.serving.export.exporter import exportable
from neuro_divergent.serving.export.torch_runner import TorchRunner
from neuro_divergent.serving.exported_model import ExportedModel

HORIZON, HISTORY = 3, 8
START = datetime(2024, 1, 1)


def series_table(lengths: list[int], *, seed: int = 0, covariates: bool = False, end: int = 60) -> pl.DataFrame:
    """Return daily series that end at various days, sorted by series and time."""
    generator = np.random.default_rng(seed)
    frames = []
    for number, length in enumerate(lengths):
        first = end - length - number % 3
        days = [START + timedelta(days=first + step) for step in range(length)]
        values = 10 + number + generator.standard_normal(length)
        columns: dict[str, Any] = {"store": [f"s{number:03d}"] * length, "day": days, "sales": values}
        if covariates:
            columns |= {
                "price": generator.uniform(1, 2, length),
                "promo": generator.integers(0, 2, length).astype(float),
                "region": [("north", "south")[number % 2]] * length,
            }
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


def known_ahead(table: pl.DataFrame) -> pl.DataFrame:
    """Return the covariate known ahead for the steps after each series."""
    ends = table.group_by("store", maintain_order=True).agg(pl.col("day").max())
    steps = [ends.with_columns(pl.col("day") + timedelta(days=step)) for step in range(1, HORIZON + 1)]
    return pl.concat(steps).sort("store", "day").with_columns(promo=pl.int_range(pl.len()).cast(pl.Float64) % 2)


def fit(table: pl.DataFrame, **settings: Any) -> nd.Forecaster:
    """Return a forecaster that was trained for a moment."""
    task = {name: settings.pop(name) for name in ("series_scaler",) if name in settings}
    forecaster = nd.Forecaster(
        settings.pop("model", "nlinear"),
        horizon=HORIZON,
        input_size=HISTORY,
        training=nd.TrainingConfig(max_steps=3, seed=1),
        **task,
    )
    return forecaster.fit(table, target="sales", time="day", id="store", **settings)


def exported(model: Any, digest: str = "v1") -> ExportedModel:
    """Return a model as it would be after an export, run by torch."""
    module, description = exportable(model, levels=[80], digest=digest)
    return ExportedModel(description, TorchRunner(module))


def read_forecasts(directory: Path) -> pl.DataFrame:
    """Return all forecasts in a directory, sorted by series and time."""
    frame = pl.concat([pl.read_parquet(path) for path in sorted(directory.glob("*.parquet"))])
    return frame.sort("store", "day")


def assert_same_forecasts(directory: Path, expected: pl.DataFrame) -> None:
    """Compare forecasts with those of ``predict``."""
    found = read_forecasts(directory)
    assert found.columns == [*expected.columns, "made_at", "model_version"]
    assert_frame_equal(
        found.drop("made_at", "model_version"), expected.sort("store", "day"), rel_tol=1e-4, abs_tol=1e-4
    )


def contents(directory: Path) -> dict[str, bytes]:
    """Return the files of a directory but the lock."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.name != ".lock"}
