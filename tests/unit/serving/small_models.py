"""Small fitted models, and requests for them made from tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent import Forecaster, TrainingConfig
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.serving.export.exporter import exportable
from neuro_divergent.serving.export.torch_runner import TorchRunner
from neuro_divergent.serving.exported_model import ExportedModel

HORIZON, INPUT_SIZE = 6, 24
REGIONS = ("north", "south", "west")


def series_table(
    ids: Sequence[Any] = ("A", "B", "C"),
    *,
    rows: int = 80,
    start: dt.datetime = dt.datetime(2024, 2, 1),
    every: str = "1h",
    seed: int = 0,
) -> pl.DataFrame:
    """Return series of a daily cycle with noise, and covariates of every kind."""
    random = np.random.default_rng(seed)
    times = pl.datetime_range(start, start + dt.timedelta(days=8000), every, eager=True).head(rows)
    frames = [
        pl.DataFrame(
            {
                "unique_id": [name] * rows,
                "ds": times,
                "y": (10 + place + np.sin(np.arange(rows) / 4) + 0.3 * random.normal(size=rows)).round(3),
                "price": random.normal(size=rows).round(3),
                "weather": random.choice(["rain", "snow", "sun"], rows),
                "promo": random.integers(0, 2, rows).astype(float),
                "event": random.choice(["fair", "game", "no"], rows),
                "region": [REGIONS[place % 3]] * rows,
                "size": [float(place + 1)] * rows,
            }
        )
        for place, name in enumerate(ids)
    ]
    return pl.concat(frames)


def fit(architecture: Any, table: pl.DataFrame, *, task: dict[str, Any] | None = None, **schema: Any) -> Forecaster:
    """Return a forecaster after two steps of training."""
    settings = {"horizon": HORIZON, "input_size": INPUT_SIZE, **(task or {})}
    forecaster = Forecaster(architecture, **settings, training=TrainingConfig(max_steps=2, batch_size=16))
    forecaster.fit(table, **schema)
    return forecaster


def exported(model: ForecastModel, **options: Any) -> ExportedModel:
    """Return an exported model whose graph is run by torch, which takes no time to trace."""
    module, description = exportable(model, **options)
    return ExportedModel(description, TorchRunner(module))


def to_series(table: pl.DataFrame, model: ExportedModel, future: pl.DataFrame | None = None) -> list[dict[str, Any]]:
    """Return the series of a table as a request has them."""
    description = model.description
    found = []
    groups = [((None,), table)] if description.id is None else table.group_by(description.id, maintain_order=True)
    for (name,), rows in groups:
        item: dict[str, Any] = {"y": rows[description.target].to_list(), "end": _end(rows[description.time][-1])}
        if name is not None:
            item["id"] = name
        if description.past:
            item["past"] = {feature.name: rows[feature.name].to_list() for feature in description.past}
        if description.future:
            assert future is not None
            ahead = future if name is None else future.filter(pl.col(str(description.id)) == name)
            item["future"] = {
                feature.name: [*rows[feature.name].to_list(), *ahead[feature.name].to_list()]
                for feature in description.future
            }
        if description.static:
            item["static"] = {feature.name: rows[feature.name][-1] for feature in description.static}
        found.append(item)
    return found


def _end(time: Any) -> Any:
    return time.isoformat() if hasattr(time, "isoformat") else time
