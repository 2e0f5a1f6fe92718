"""What is made of a panel with very many series: a run with its report, forecasts by parts, intervals, folds.

``python -m tests.reliability.large_results STAGE PANEL PLACE MEGABYTES`` does one of it with little memory of its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SERIES, ROWS, HORIZON, HISTORY = 200_000, 100, 24, 24
MEGABYTE = 1_000_000


def write_panel(path: Path) -> None:
    """Write twenty million rows of two hundred thousand series."""
    import numpy as np
    import polars as pl

    from neuro_divergent.data.cleaning.frequency import Frequency
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.schema import Schema

    noise = np.random.default_rng(0).standard_normal(SERIES * ROWS, np.float32) / 5
    season = np.sin(np.arange(ROWS) * (2 * np.pi / 12)).astype(np.float32)
    Panel(
        schema=Schema(id="unique_id", frequency=1),
        ids=pl.Series("unique_id", np.arange(SERIES)),
        starts=pl.Series("ds", np.zeros(SERIES, np.int64)),
        frequency=Frequency.parse("1"),
        offsets=np.arange(SERIES + 1) * ROWS,
        y=(noise.reshape(SERIES, ROWS) + season).reshape(-1) + 3,
    ).save(path)


def run_stage(stage: str, panel: Path, place: Path, megabytes: int) -> dict[str, Any]:
    """Do one stage in a process that may have so much memory of its own, and return what it says."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", __name__, stage, str(panel), str(place), str(megabytes)]
    done = subprocess.run(arguments, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def train(panel: Path, place: Path) -> dict[str, Any]:
    """Train in a run directory: scores, forecasts of all series, diagnosis, figures and report."""
    import neuro_divergent as nd
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.run_config import RunConfig
    from neuro_divergent.workflow.train_run import train_run

    training = nd.TrainingConfig(max_steps=20, batch_size=256, threads=1)
    task = {"horizon": HORIZON, "input_size": HISTORY, "validation": HORIZON, "refit": False}
    values = {"data": {"id": "unique_id"}, "model": {"name": "nlinear"}, "task": task, "training": training.to_dict()}
    config = RunConfig.from_dict(values)
    outcome = train_run(config, place / "run", Panel.open(panel))
    assert outcome.evaluation is not None
    assert outcome.forecasts is not None
    return {"windows": outcome.evaluation.windows, "shown": outcome.forecasts["unique_id"].n_unique()}


def use(panel: Path, place: Path) -> dict[str, Any]:
    """Forecast by parts, evaluate on the panel as new data, calibrate intervals and cross-validate one fold."""
    import neuro_divergent as nd
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.evaluation.evaluate import evaluate
    from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
    from neuro_divergent.serving.scoring.score_files import score_files

    model = nd.Forecaster.load(place / "run" / "model")
    summary = score_files(place / "run" / "model", panel, place / "forecasts", levels=[80])
    opened = Panel.open(panel)
    scored = evaluate(model, opened, last=HORIZON, levels=[80])
    intervals = nd.Conformal(model).calibrate(opened, last=HORIZON)
    template = nd.Forecaster("nlinear", horizon=6, input_size=HISTORY, training=model.training)
    folds = nd.cross_validate(template, opened, TimeSeriesSplit(n_splits=1, test_size=6), baselines=False)
    return {
        "parts": len(summary.parts),
        "rows": summary.rows,
        "windows": scored.windows,
        "kept": scored.forecasts.height,
        "calibrated": repr(intervals),
        "forecasts": folds.forecasts.height,
    }


def main() -> None:
    """Set the limit before anything large is imported, and do the stage."""
    stage, panel, place, megabytes = sys.argv[1:]
    limit = int(megabytes) * MEGABYTE
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    result = {"train": train, "use": use}[stage](Path(panel), Path(place))
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
