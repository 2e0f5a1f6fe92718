"""Tables of clients that forecast one another's kind of series."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd

HORIZON, INPUT_SIZE = 4, 8


def table(client: int, rows: int = 60, series: int = 1, seed: int = 0) -> pl.DataFrame:
    """Return waves with a level and a phase of their own."""
    random = np.random.default_rng([seed, client])
    time = np.arange(rows)
    parts = []
    for number in range(series):
        wave = 10 * (client + 1) + 5 * np.sin(2 * np.pi * (time + random.integers(12)) / 12)
        values = wave + random.normal(0, 0.3, rows)
        parts.append(pl.DataFrame({"unique_id": f"s{number}", "ds": time, "y": values}))
    return pl.concat(parts)


def forecaster(architecture: Any = None, **changes: Any) -> nd.Forecaster:
    """Return a small forecaster; settings of training and task can be changed."""
    training = {"optimizer": nd.optimizers.AdamW(lr=1e-2), **changes.pop("training", {})}
    task = {"horizon": HORIZON, "input_size": INPUT_SIZE, "validation": 8, **changes}
    return nd.Forecaster(architecture or nd.NLinear(), training=nd.TrainingConfig(**training), **task)


def federation(
    clients: int = 4, model: nd.Forecaster | None = None, rows: int = 60, **settings: Any
) -> nd.federated.Federation:
    """Return a federation of small clients."""
    made = nd.federated.Federation(
        model or forecaster(), **{"rounds": 3, "local_epochs": 2, "vectorize": False, **settings}
    )
    for number in range(clients):
        made.add_client(f"client-{number}", table(number, rows))
    return made
