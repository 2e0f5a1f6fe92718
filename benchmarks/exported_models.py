"""Trained and exported models for the benchmarks of serving: 96 hours of history, 24 of forecast."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np

HORIZON, INPUT_SIZE, STEPS = 24, 96, 20
END = "2024-01-31T23:00:00"


def histories(count: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return series of a daily cycle with noise, ``(count, INPUT_SIZE)``."""
    random = np.random.default_rng(seed)
    cycle = np.sin(np.arange(INPUT_SIZE) / 24 * 2 * np.pi)
    return np.round(10 + cycle + 0.1 * random.normal(size=(count, INPUT_SIZE)), 4)


def request(count: int) -> bytes:
    """Return a request by series as JSON."""
    import msgspec

    rows = histories(count).tolist()
    return msgspec.json.encode({"series": [{"id": f"S{n}", "end": END, "y": row} for n, row in enumerate(rows)]})


def write_csv(path: Path, count: int) -> Path:
    """Write the same series as a CSV file."""
    last = dt.datetime.fromisoformat(END)
    times = [str(last - dt.timedelta(hours=INPUT_SIZE - 1 - step)) for step in range(INPUT_SIZE)]
    lines = ["unique_id,ds,y"]
    for number, row in enumerate(histories(count).tolist()):
        lines += [f"S{number},{time},{value}" for time, value in zip(times, row, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def export(name: str, directory: Path, *, int8: bool = False) -> Path:
    """Train an architecture for a few steps, save it and export it beside; return the directory of the model."""
    import polars as pl

    import neuro_divergent as nd
    from neuro_divergent.serving.export.exporter import export_model
    from neuro_divergent.serving.export_file import stored_digest

    training = nd.TrainingConfig(max_steps=STEPS, threads=1)
    forecaster = nd.Forecaster(name, horizon=HORIZON, input_size=INPUT_SIZE, training=training)
    rows = 10 * INPUT_SIZE
    times = pl.datetime_range(dt.datetime(2023, 12, 1), dt.datetime(2024, 12, 1), "1h", eager=True).head(rows)
    parts = [
        pl.DataFrame({"unique_id": [f"S{n}"] * rows, "ds": times, "y": np.tile(row, 10)})
        for n, row in enumerate(histories(8))
    ]
    forecaster.fit(pl.concat(parts))
    path = directory / name
    forecaster.save(path)
    export_model(forecaster, path.with_suffix(".onnx"), digest=stored_digest(path))
    if int8:
        export_model(forecaster, path.with_suffix(".int8.onnx"), format="onnx-int8", digest=stored_digest(path))
    return path
