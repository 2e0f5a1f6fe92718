"""Makes run directories, as training leaves them, without training."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

CONFIG = """[data]
path = "sales.csv"
target = "y"
time = "ds"
id = "store"

[model]
name = "{model}"

[task]
horizon = 6

[training]
max_steps = {steps}

[training.optimizer]
name = "adamw"
lr = {rate}
"""


def row(step: int, **more: Any) -> dict[str, Any]:
    """Return a row of a history, with a loss that falls."""
    return {
        "event": "row",
        "time": 1_700_000_000 + step * 0.1,
        "step": step,
        "seconds": step * 0.1,
        "epoch": step // 100,
        "train_loss": 1.0 / step,
        "learning_rate": 0.001,
        "gradient_norm": 0.5,
        "samples_per_second": 320.0,
        **more,
    }


def processes(step: int, *busy: float, host: str = "node") -> dict[str, Any]:
    """An event about as many processes as there are times."""
    count = len(busy)
    columns = {"samples_per_second": 160.0, "waiting": 0.25, "memory_bytes": 10**9, "device": "cpu", "host": host}
    lists = {name: [value] * count for name, value in columns.items()}
    return {"event": "processes", "time": 1_700_000_000 + step * 0.1, "step": step, **lists, "busy_seconds": [*busy]}


def line(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"


def start(step: int = 0, **more: Any) -> dict[str, Any]:
    return {"event": "start", "time": 1_700_000_000.0, "step": step, "total_steps": 1000, "layers": ["a", "b"], **more}


def make_run(
    path: Path, *, model: str = "nhits", rate: float = 0.001, steps: int = 40, series: tuple[str, ...] = ("A", "B"),
    state: str = "finished", mae: float = 1.5, results: bool = True, age: float = 0.0,
) -> Path:  # fmt: skip
    """Make a run of ``steps`` rows; with its results, if it is finished."""
    path.mkdir(parents=True)
    (path / "config.toml").write_text(CONFIG.format(model=model, rate=rate, steps=steps))
    (path / "run.json").write_text(json.dumps({"format": 1, "created": "2026-01-01T00:00:00+0000"}))
    (path / "environment.json").write_text(json.dumps({"python": "3.11", "cores": 2}))
    (path / "data.json").write_text(json.dumps({"rows": 100, "series": len(series)}))
    (path / "lock").write_text("")
    events = [start(), *(row(step) for step in range(1, steps + 1))]
    events.insert(
        5, {"event": "layers", "time": 1.0, "step": 4, **{key: [1.0, 2.0] for key in ("gradient", "weight", "update")}}
    )
    events[-1]["validation_loss"] = 0.25
    events.append({"event": "checkpoint", "time": 2.0, "step": steps})
    if state == "finished":
        events.append({"event": "end", "time": 3.0, "step": steps, "reason": "all steps are done"})
    (path / "events.jsonl").write_text("".join(map(line, events)))
    now = time.time() - age
    (path / "heartbeat.json").write_text(
        json.dumps({"pid": 1, "host": "x", "time": now, "step": steps, "total_steps": 1000, "phase": "training"})
    )
    (path / "status.json").write_text(json.dumps({"state": state, "time": now, "message": "", "step": steps}))
    checkpoint = path / "checkpoints" / f"step-{steps:09d}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").write_text("{}")
    (path / "checkpoints" / "best.json").write_text(
        json.dumps({"checkpoint": checkpoint.name, "metric": "validation_loss", "value": mae / 10})
    )
    if results and state == "finished":
        _make_results(path, model, series, mae)
    return path


def _make_results(path: Path, model: str, series: tuple[str, ...], mae: float) -> None:
    (path / "model").mkdir()
    (path / "model" / "manifest.json").write_text("{}")
    scores = {
        "model": model,
        "part": "test",
        "note": "A note.",
        "notes": [],
        "scores": [
            {"name": model, "mae": mae, "mase": 0.8, "skill": 0.2},
            {"name": "seasonal naive", "mae": 2.0, "mase": 1.0, "skill": 0.0},
        ],
    }
    (path / "scores.json").write_text(json.dumps(scores))
    (path / "report.html").write_text("<!doctype html><title>report</title><script>alert(1)</script>")
    begin = datetime(2024, 1, 1)
    past = [(name, begin + timedelta(days=day), float(day % 7)) for name in series for day in range(30)]
    context = pl.DataFrame(past, schema={"store": pl.String, "ds": pl.Datetime("us"), "y": pl.Float64}, orient="row")
    context.write_parquet(path / "context.parquet")
    ahead = [
        (name, begin + timedelta(days=30 + day), day % 7 + 0.1, day % 7 - 1.0, day % 7 + 1.0)
        for name in series
        for day in range(6)
    ]
    names = {"store": pl.String, "ds": pl.Datetime("us"), **dict.fromkeys(("forecast", "lo-80", "hi-80"), pl.Float64)}
    frame = pl.DataFrame(ahead, schema=names, orient="row")
    frame.write_csv(path / "forecasts.csv", datetime_format="%Y-%m-%dT%H:%M:%S%.6f")
    held_out = [
        (name, begin + timedelta(days=24 + day), begin + timedelta(days=23), day + 1, (24 + day) % 7 + 0.0,
         (24 + day) % 7 + 0.2, 3.0, (24 + day) % 7 - 1.0, (24 + day) % 7 + 1.0)
        for name in series
        for day in range(6)
    ]  # fmt: skip
    schema: dict[str, Any] = {
        "store": pl.String, "ds": pl.Datetime("us"), "cutoff": pl.Datetime("us"), "step": pl.Int64,
        **dict.fromkeys(("actual", "forecast", "seasonal naive", "lo-80", "hi-80"), pl.Float64),
    }  # fmt: skip
    pl.DataFrame(held_out, schema=schema, orient="row").write_parquet(path / "backtest.parquet")
