"""Makes runs of very many series, as forecasting by blocks leaves them, and looks at them in a process of its own."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np
import polars as pl

from tests.dashboard.run_maker import make_run

HORIZON = 24
_SERIES_WITH_BACKTEST = 40_000
_WIDTH = 7

Kind = Literal["text", "numbers"]


def name_of(number: int, kind: Kind) -> str:
    """Return the name of a series; the order of names is that of their numbers."""
    return f"Store-{number:0{_WIDTH}d}" if kind == "text" else str(number)


def forecast_of(number: int, step: int) -> float:
    """Return what is forecast of a series at a step from 0 on."""
    return number % 1000 + step / 32


def make_large_run(path: Path, series: int, kind: Kind, *, as_csv: bool = False) -> Path:
    """Make a run with forecasts of so many series for 24 steps, one past value of each, and a backtest of some."""
    make_run(path, series=("A",))
    (path / "forecasts.csv").unlink()
    numbers = np.arange(series, dtype=np.int32)
    ids = pl.Series("store", numbers)
    if kind == "text":
        ids = pl.select(pl.lit("Store-") + ids.cast(pl.String).str.zfill(_WIDTH)).to_series().alias("store")
    steps = np.arange(HORIZON, dtype=np.int32)
    values = (numbers % 1000)[:, None] + steps.astype(np.float32) / 32
    forecast = pl.Series(values.astype(np.float32).reshape(-1))
    columns = {"forecast": forecast, "lo-80": forecast - 1, "hi-80": forecast + 1}
    rows = np.repeat(numbers, HORIZON)
    frame = pl.DataFrame({"store": ids.gather(rows), "ds": np.tile(steps, series) + 100, **columns})
    if as_csv:
        frame.write_csv(path / "forecasts.csv")
    else:
        frame.write_parquet(path / "forecasts.parquet", compression="lz4", row_group_size=2**18, statistics=False)
    context = pl.DataFrame(
        {"store": ids, "ds": np.full(series, 99, np.int32), "y": (numbers % 1000).astype(np.float32)}
    )
    context.write_parquet(path / "context.parquet", compression="lz4")
    some = np.linspace(0, series, min(series, _SERIES_WITH_BACKTEST), endpoint=False).astype(np.int64)
    places = (some[:, None] * HORIZON + np.arange(HORIZON)).reshape(-1)
    backtest = frame[places].with_columns(
        pl.col("ds") - HORIZON, cutoff=pl.lit(75, pl.Int32), step=pl.col("ds") - 99, actual=pl.col("forecast") + 0.5
    ).with_columns(pl.col("forecast").alias("seasonal naive"))  # fmt: skip
    backtest.write_parquet(path / "backtest.parquet")
    return path


@dataclass(frozen=True)
class Look:
    """What a dashboard answered, the seconds of the processor it took, and how its memory grew, in bytes.

    Attributes:
        answers: By name of a request.
        seconds: By name of a request.
        grown: Resident memory at the end compared with that before the first request about series.
        peak: The largest resident memory compared with that.
    """

    answers: dict[str, Any]
    seconds: dict[str, float]
    grown: int
    peak: int


def look_at(root: Path, requests: dict[str, tuple[str, dict[str, Any]]]) -> Look:
    """Send requests about the only run in a directory to a dashboard that has never seen it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_look, root, requests).result()


def _look(root: Path, requests: dict[str, tuple[str, dict[str, Any]]]) -> Look:
    from neuro_divergent.interfaces.dashboard.app import create_app
    from neuro_divergent.interfaces.dashboard.settings import Settings
    from tests.dashboard.client import TOKEN, Client

    small = make_run(root.parent / "small" / "run")
    for place in (small.parent, root):  # the first makes everything ready that is needed but once
        client = Client(create_app(Settings(root=place, token=TOKEN)), token=TOKEN)
        (listed,) = client.get("/api/runs").json()["runs"]
        target = f"/api/runs/{listed['id']}"
        if place != root:
            client.get(f"{target}/forecast?series=A")
    answers, seconds, before = {}, {}, _memory("VmRSS")
    for name, (path, parameters) in requests.items():
        begin = time.process_time()
        reply = client.get(f"{target}/{path}?{urlencode(parameters)}")
        seconds[name] = time.process_time() - begin
        assert reply.status == 200, reply.body
        answers[name] = reply.json()
    client.close()
    return Look(answers, seconds, _memory("VmRSS") - before, _memory("VmHWM") - before)


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
