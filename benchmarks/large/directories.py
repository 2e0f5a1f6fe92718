"""Beside NeuralForecast's data set of one directory per series: time per step and memory, on the same series."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from large.panels import HORIZON, INPUT_SIZE, LENGTH, WINDOWS, show, write_panel
from large.training import probe
from timing import process_bytes, run

NAMES = ("NLinear", "NHITS")
STEPS = 30
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-bench" / "bin" / "python"
PROBE = "import sys; sys.path.insert(0, {here!r}); from large.directories import theirs; theirs({path!r}, {name!r})"


def theirs(path: str, name: str) -> None:
    """Train NeuralForecast's network on a directory for each series, and print the same."""
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    import neuralforecast.models
    from neuralforecast import NeuralForecast
    from pytorch_lightning import Callback

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Clock(Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.times: list[float] = []

        def on_train_batch_end(self, *_: Any) -> None:
            self.times.append(time.perf_counter())

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    model = getattr(neuralforecast.models, name)(
        h=HORIZON, input_size=INPUT_SIZE, max_steps=STEPS, windows_batch_size=WINDOWS, batch_size=32,
        scaler_type="identity", callbacks=[Clock()], **quiet,
    )  # fmt: skip
    files = sorted(str(item) for item in Path(path).iterdir())
    forecaster = NeuralForecast([model], freq=1)
    forecaster.fit(files)
    times = forecaster.models[0].trainer_kwargs["callbacks"][0].times  # a copy of the one that was given
    spent = 1000 * (times[-1] - times[9]) / (len(times) - 10)
    print(json.dumps({"milliseconds": spent, "RssAnon": process_bytes("RssAnon")}))


def measure(directory: Path, series: int) -> dict[str, Any]:
    """Return time per step and memory of both sides; nothing where NeuralForecast is not installed."""
    known = ENVIRONMENT.exists() and subprocess.run(
        [ENVIRONMENT, "-c", "import neuralforecast"], capture_output=True, check=False
    )
    if not known or known.returncode:
        print("\n(e) skipped: NeuralForecast is not installed; 'make .venv-bench/.ready' installs it.")
        return {}
    panel = write_panel(directory, series * LENGTH)
    files = _write_directories(directory / "series", series)
    here, found, table = str(Path(__file__).resolve().parents[1]), {}, []
    for name in NAMES:
        code = PROBE.format(here=here, path=str(files), name=name)
        sides = {
            "ours": probe(panel, name, True, STEPS, disk=True, cold=True),
            "theirs": json.loads(run([str(ENVIRONMENT), "-c", code], 1).splitlines()[-1]),
        }
        ratio = sides["theirs"]["milliseconds"] / sides["ours"]["milliseconds"]
        found[name] = {**sides, "ratio": ratio}
        times = [sides[side]["milliseconds"] for side in ("ours", "theirs")]
        table.append([name, *times, ratio, *(sides[side]["RssAnon"] / 2**20 for side in ("ours", "theirs"))])
    columns = ["", "ours ms", "theirs ms", "times faster", "ours MB", "theirs MB"]
    show(f"(e) Step of 1,024 windows beside NeuralForecast, {series:,} series of {LENGTH:,} rows", columns, table)
    return found


def _write_directories(path: Path, series: int) -> Path:
    """Write a directory with a Parquet file for each series, as NeuralForecast wants them."""
    random = np.random.default_rng(0)
    for number in range(series):
        place = path / f"unique_id={number}"
        place.mkdir(parents=True, exist_ok=True)
        values = random.standard_normal(LENGTH, dtype=np.float32)
        frame = pl.DataFrame({"unique_id": [str(number)] * LENGTH, "ds": np.arange(LENGTH), "y": values})
        frame.write_parquet(place / "data.parquet")
    return path
