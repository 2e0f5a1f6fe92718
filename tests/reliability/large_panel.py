"""Panels with very many rows, and what processes do with them that may have little memory of their own.

``python -m tests.reliability.large_panel FUNCTION ARGUMENTS`` calls one of the functions at the end in a process of its
own; arguments and results are JSON.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.writing import write_parts
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.training.callbacks.base import Callback

ROOT = Path(__file__).parents[2]
LENGTH = 10_000
MEGABYTE = 1_000_000
STEPS, KILLED_AFTER = 60, 35
_AT_ONCE = 2**22
_RESULT = "RESULT"


def series_values(first: int, count: int, length: int = LENGTH) -> Floats32:
    """Return the values of some series, ``(count, length)``: a level, a season of 24 steps and noise."""
    values = np.empty((count, length), np.float32)
    season = np.tile(np.sin(np.arange(24) * (2 * np.pi / 24)).astype(np.float32) * 3, length // 24 + 1)[:length]
    for place in range(count):
        noise = np.random.default_rng(first + place).standard_normal(length, np.float32)
        values[place] = noise / 2 + season + np.float32(10 + (first + place) % 17)
    return values


def panel_of(first: int, count: int, length: int = LENGTH, *, covariate: bool = False) -> Panel:
    """Return some series as a panel in memory."""
    y = series_values(first, count, length).reshape(-1)
    extra: dict[str, Any] = {"past_x": np.roll(y, 1)[:, None], "past": (Feature("x"),)} if covariate else {}
    return Panel(
        schema=Schema(past=("x",), frequency=1) if covariate else Schema(frequency=1),
        ids=pl.Series("unique_id", np.arange(first, first + count)),
        starts=pl.Series("ds", np.zeros(count, np.int64)),
        frequency=Frequency.parse("1"),
        offsets=np.arange(count + 1) * length,
        y=y,
        **extra,
    )


def write_large_panel(directory: Path, rows: int, length: int = LENGTH, *, covariate: bool = False) -> None:
    """Write a panel to disk, some series at a time."""
    series, at_once = rows // length, max(1, _AT_ONCE // length)
    parts = (
        panel_of(first, min(at_once, series - first), length, covariate=covariate)
        for first in range(0, series, at_once)
    )
    write_parts(parts, directory)


def write_large_table(directory: Path, rows: int, files: int = 20) -> None:
    """Write the same series as Parquet files."""
    directory.mkdir()
    for number, some in enumerate(np.array_split(np.arange(rows // LENGTH), files)):
        first, count = int(some[0]), len(some)
        frame = pl.DataFrame(
            {
                "unique_id": np.repeat(some, LENGTH),
                "ds": np.tile(np.arange(LENGTH), count),
                "y": series_values(first, count).reshape(-1),
            }
        )
        frame.write_parquet(directory / f"{number:03}.parquet", compression="uncompressed", statistics=False)


def own_memory() -> dict[str, int]:
    """Return the anonymous memory of this process in bytes: what it has touched, and what it was promised."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[name].split()[0]) * 1024 for name in ("RssAnon", "VmData")}


def limit_memory(megabytes: int | None) -> None:
    """Refuse this process more anonymous memory; read-only maps of files do not count."""
    if megabytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * MEGABYTE, megabytes * MEGABYTE))


class Started:
    """A function of this module that runs in a process of its own."""

    def __init__(self, function: str, *arguments: Any) -> None:
        settings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __name__, function, json.dumps(arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=settings,
        )

    def result(self, code: int = 0, timeout: float = 1800) -> Any:
        """Wait for it, and return what the function returned; ``None`` where it was to end in another way."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        finally:
            self.process.kill()
        assert self.process.returncode == code, (self.process.returncode, out[-2000:], err[-4000:])
        found = [line.removeprefix(_RESULT) for line in out.splitlines() if line.startswith(_RESULT)]
        return json.loads(found[-1]) if found else None


class _Kill(Callback):
    """Kills the process after some steps, the first time."""

    def __init__(self, after: int) -> None:
        self.after = after

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.after:
            os.kill(os.getpid(), signal.SIGKILL)


def convert(source: str, directory: str, megabytes: int) -> dict[str, Any]:
    """Convert Parquet files into a stored panel."""
    limit_memory(megabytes)
    build = getattr(Panel, "build", Panel.from_parquet)
    panel = build(source, directory, frequency=1)
    return {"rows": len(panel), "series": panel.num_series, **own_memory()}


def fit(data: str | int, run: str, megabytes: int | None, killed_after: int | None = None) -> dict[str, Any]:
    """Train in a run directory, on a stored panel or on so many rows in memory."""
    limit_memory(megabytes)
    source = panel_of(0, data // LENGTH) if isinstance(data, int) else data
    forecaster = nd.Forecaster("nlinear", horizon=24, input_size=96, training=_training())
    callbacks = [] if killed_after is None else [_Kill(killed_after)]
    checkpoints = nd.callbacks.Checkpointing(every_steps=10)
    prepared = forecaster._prepare(source, {})
    training_run = TrainingRun.of(forecaster, RunDirectory(Path(run)), source, prepared, checkpoints)
    with training_run.opened():
        training_run.train(forecaster, prepared, callbacks=callbacks)
    return _outcome(forecaster)


def resume(run: str, megabytes: int) -> dict[str, Any]:
    """Resume a run that was killed."""
    limit_memory(megabytes)
    return _outcome(TrainingRun.resumed(RunDirectory(Path(run))).fit())


def fit_and_report(data: str, run: str, megabytes: int) -> dict[str, Any]:
    """Fit as ``nd train`` does: with scores, forecasts, diagnosis and report."""
    limit_memory(megabytes)
    training = _training().replace(max_steps=20)
    forecaster = nd.Forecaster("nlinear", horizon=24, input_size=96, training=training)
    forecaster.fit(data, run=run)
    files = {item.name for item in Path(run).iterdir()}
    return {"files": sorted(files), "scores": json.loads((Path(run) / "scores.json").read_text()), **own_memory()}


def score(model: str, data: str | int, megabytes: int | None) -> dict[str, Any]:
    """Forecast a stored panel with a saved model, and score it on the ends of the series."""
    limit_memory(megabytes)
    panel = panel_of(0, data // LENGTH) if isinstance(data, int) else Panel.open(data)
    forecaster = nd.Forecaster.load(model)
    forecasts = forecaster.predict(panel, levels=[80])
    evaluation = nd.evaluate(forecaster, panel, last=48)
    return {
        "rows": forecasts.height,
        "sum": float(forecasts["forecast"].cast(pl.Float64).sum()),
        "hash": int(forecasts.hash_rows(seed=1).sum()),
        "scores": evaluation.table.to_dicts(),
        **own_memory(),
    }


def fit_together(*panels: str) -> list[int]:
    """Fit to panels in one of several processes, and return the memory that it has for itself after each."""
    training = nd.TrainingConfig(max_steps=5, batch_size=64, threads=1, strategy="data_parallel")
    taken = []
    for panel in panels:
        nd.Forecaster("nlinear", horizon=24, input_size=96, training=training, refit=False).fit(panel)
        taken.append(own_memory()["RssAnon"])
    return taken


def _training() -> nd.TrainingConfig:
    return nd.TrainingConfig(
        max_steps=STEPS, validate_every=20, batch_size=256, threads=1, seed=1, log_every=5, early_stopping=None
    )


def _outcome(forecaster: nd.Forecaster) -> dict[str, Any]:
    """Return what must be equal however and wherever the data are: weights, losses and intervals."""
    predictor, history = forecaster.fitted.predictor, forecaster.history
    assert predictor.intervals is not None
    weights = predictor.network.state_dict()
    return {
        "weights": {name: value.double().flatten().tolist() for name, value in weights.items()},
        "losses": history.select("step", "train_loss", "validation_loss").to_dict(as_series=False),
        "trained_on": str(forecaster.fitted.trained_on),
        "intervals": predictor.intervals.errors.double().flatten().tolist()[::97],
        "memory": own_memory(),
    }


def main() -> None:
    """Call the function that the command names, and write its result."""
    name, arguments = sys.argv[1:]
    sys.stdout.write(_RESULT + json.dumps(globals()[name](*json.loads(arguments))) + "\n")
    sys.stdout.flush()
    os._exit(0)  # torch aborts now and then when the interpreter is torn down


if __name__ == "__main__":
    main()
