"""Small run directories, as training leaves them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from .figures.backtests import BEGIN, make_backtest

NAMES = ["007", "<script>alert(1)</script>"]


def write_run(path: Path) -> Path:
    """Write every file that a figure is made of."""
    path.mkdir()
    (path / "config.toml").write_text(
        '[data]\ntarget = "units"\ntime = "when"\nid = "store"\n[model]\nname = "nhits"\n'
        '[training.clip]\nname = "norm"\nlimit = 1.0\n',
        encoding="utf-8",
    )
    _events(path / "events.jsonl")
    backtest = make_backtest(NAMES).rename({"unique_id": "store", "ds": "when"})
    backtest.write_parquet(path / "backtest.parquet")
    times = [BEGIN + timedelta(hours=hour) for hour in range(13)]
    context = pl.DataFrame({"store": np.repeat(NAMES, 13), "when": times * 2, "units": np.arange(26.0)})
    context.write_parquet(path / "context.parquet")
    ahead = [datetime(2024, 1, 1, 13), datetime(2024, 1, 1, 14)]
    forecasts = pl.DataFrame({"store": np.repeat(NAMES, 2), "when": ahead * 2, "forecast": [1.0, 2.0, 3.0, 4.0]})
    forecasts.with_columns((pl.col("forecast") - 1).alias("lo-80"), (pl.col("forecast") + 1).alias("hi-80")).write_csv(
        path / "forecasts.csv"
    )
    weights = {"layer": "a.weight", "mean": 0.0, "std": 1.0, "edges": [-2.0, 0.0, 2.0], "counts": [3, 4]}
    block = {"name": "(network)", "kind": "Net", "depth": 0, "inputs": [None, 4], "outputs": [None, 2], "parameters": 9}
    documents = {
        "scores": {
            "model": "nhits",
            "part": "validation",
            "scores": [{"name": "nhits", "mae": 1.0}, {"name": "drift", "mae": 2.0}],
            "coverage": [{"level": 80.0, "coverage": 75.0, "width": 1.0}],
        },
        "calibration": {
            "part": "validation",
            "levels": [{"level": 80.0, "coverage": 75.0, "width": 1.0}],
            "pit": {"edges": [0.0, 0.5, 1.0], "shares": [0.4, 0.6]},
        },
        "network": {"parameters": 9, "blocks": [block], "weights": [weights, {**weights, "layer": "b.weight"}]},
        "diagnosis": {"findings": []},
        "data": {"rows": 26},
        "environment": {"python": "3"},
    }
    for name, document in documents.items():
        (path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return path


def _events(path: Path) -> None:
    events = [{"event": "start", "time": 0.0, "step": 0, "layers": ["a.weight", "b.weight"]}]
    for step in (10, 20, 30):
        norms = {"gradient": [0.1, 0.2], "weight": [1.0, 2.0], "update": [1e-3, 1e-3]}
        events.append({"event": "layers", "time": 1.0, "step": step, **norms})
        speeds = {"samples_per_second": [2.5, 2.5], "busy_seconds": [0.02, 0.05], "waiting": [0.6, 0.1]}
        places = {"host": ["one", "two"], "device": ["cpu", "cpu"], "memory_bytes": [10**9, None]}
        events.append({"event": "processes", "time": 1.0, "step": step, **places, **speeds})
        row = {"seconds": 1.0, "epoch": 0, "train_loss": 1 / step, "learning_rate": 1e-3, "gradient_norm": step / 20}
        events.append(
            {"event": "row", "time": 1.0, "step": step, **row, "samples_per_second": 5.0, "validation_loss": 2 / step}
        )
    path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events), encoding="utf-8")
