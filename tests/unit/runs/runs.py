"""Run directories made by hand, as training would leave them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.atomic import write_directory
from neuro_divergent.runs.status import write_status

CONFIG = """
[data]
path = "sales.csv"
[model]
name = "{model}"
hidden_size = {hidden}
[task]
horizon = {horizon}
[training]
batch_size = {batch}
[training.optimizer]
name = "adamw"
lr = {lr}
betas = [0.9, 0.999]
[checkpoints]
mode = "{mode}"
"""


def make_run(
    path: Path,
    *,
    state: Any = "finished",
    mae: float | None = 1.0,
    best: float | None = 0.5,
    steps: int = 3,
    time: float = 1e9,
    part: str = "test",
    data: str = "aa",
    **settings: Any,
) -> Path:
    """Write a run with a history of some steps, a checkpoint for each and a model."""
    path.mkdir(parents=True)
    values = {"model": "nhits", "hidden": 64, "horizon": 24, "batch": '"auto"', "lr": 0.001, "mode": "min", **settings}
    (path / "config.toml").write_text(CONFIG.format(**values))
    write_status(path, state, step=steps, total_steps=steps, message="")
    status = json.loads((path / "status.json").read_text())
    (path / "status.json").write_text(json.dumps({**status, "time": time}))
    run = {
        "format": 1,
        "version": "0",
        "created": "now",
        "config": {},
        "data": {"rows": 1, "series": 1, "sha256": data},
    }
    (path / "run.json").write_text(json.dumps(run))
    with (path / "events.jsonl").open("w") as file:
        for step in range(1, steps + 1):
            row = {"event": "row", "time": time, "step": step, "epoch": 0, "seconds": step / 2, "train_loss": 1 / step}
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    for step in range(1, steps + 1):
        write_directory(path / "checkpoints" / f"step-{step:09d}", [("weights", b"w" * 1000 * step)])
    if best is not None:
        note = {"checkpoint": "step-000000001", "step": 1, "metric": "validation_loss", "value": best}
        (path / "checkpoints" / "best.json").write_text(json.dumps(note))
    if state == "finished":
        write_directory(path / "model", [("model.json", b"{}")])
    if mae is not None:
        scores = [{"name": values["model"], "mae": mae, "bias": -mae, "skill": 1 - mae}, {"name": "drift", "mae": 9.0}]
        coverage = [{"level": 80.0, "coverage": 80 + mae, "width": 1.0}]
        content = {"model": values["model"], "part": part, "seconds": 9.0, "parameters": 7, "scores": scores}
        (path / "scores.json").write_text(json.dumps({**content, "coverage": coverage}))
    return path
