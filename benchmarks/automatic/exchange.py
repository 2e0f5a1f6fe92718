"""What is handed to the program of one side, and what it hands back.

DIR/  task.json            horizon, season, step between rows, budget, number of cut-offs
      known-0.parquet ...  the panel as it is known at each cut-off: unique_id, ds, y
      forecast-0.csv  ...  what the side wrote: unique_id, ds, forecast
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import polars as pl

from default_settings.panels import PanelCase, Values

HERE = Path(__file__).resolve().parent


def write_task(case: PanelCase, directory: Path, *, budget: float) -> None:
    """Write a panel for a side to forecast."""
    task = {"horizon": case.horizon, "season": case.season, "every": case.every, "budget": budget}
    (directory / "task.json").write_text(json.dumps({**task, "cutoffs": case.cutoffs}), encoding="utf-8")
    for cutoff in range(case.cutoffs):
        case.table(cutoff, dated=True).write_parquet(directory / f"known-{cutoff}.parquet")


def run_side(python: Path, side: str, directory: Path) -> float:
    """Run the program of a side, pass on what it prints, and return the seconds that it took.

    Raises:
        RuntimeError: If it fails, with the end of what it wrote.
    """
    command = [str(python), "-m", f"automatic.sides.{side}", str(directory)]
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NIXTLA_ID_AS_COL": "1"}
    began = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{side}: {done.stderr[-2000:]}")
    seconds = time.monotonic() - began
    print(done.stdout, end="", flush=True)
    return seconds


def read_forecasts(case: PanelCase, directory: Path) -> Values:
    """Return what a side forecast, ``(cutoffs, series, horizon)``."""
    order = pl.DataFrame({"unique_id": list(case.series), "place": np.arange(len(case.series))})
    found = []
    for cutoff in range(case.cutoffs):
        table = pl.read_csv(directory / f"forecast-{cutoff}.csv", schema_overrides={"unique_id": pl.String})
        ordered = table.join(order, on="unique_id").sort("place", "ds")
        found.append(ordered["forecast"].to_numpy().astype(np.float64).reshape(len(case.series), case.horizon))
    return np.stack(found)
