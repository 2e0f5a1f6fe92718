"""A training step, and the memory of training, on data that is 200 times larger."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from timing import in_turns, run
from versus.cell import Cell, Options
from versus.series import LARGE, SMALL, daily_series

SECTION = "large data: NLinear, 1,000 series x 10,000 steps"
OUR_STEPS, THEIR_STEPS = 205, 25
PROBE = Path(__file__).with_name("memory_probe.py")


def measure(options: Options) -> list[Cell]:
    """Compare the step with theirs and with our own on small data, and the memory of training."""
    mine, other, own = in_turns(
        options.rounds,
        lambda: options.ours("step_seconds", "NLinear", LARGE, OUR_STEPS),
        lambda: options.theirs("step_seconds", "NLinear", LARGE, THEIR_STEPS),
        lambda: options.ours("step_seconds", "NLinear", SMALL, OUR_STEPS),
    )
    return [
        Cell(section=SECTION, name="step", ours=mine * 1e3, theirs=other * 1e3, unit="ms", goal=40),
        Cell(
            section=SECTION,
            name="step beside our own on small data",
            ours=mine * 1e3,
            theirs=own * 1e3,
            unit="ms",
            goal=1.15,
            limit=True,
        ),
        *_memory(options),
    ]


def _memory(options: Options) -> list[Cell]:
    """Compare the peak memory of reading a Parquet file and training from it, in fresh processes."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "large.parquet"
        daily_series(*LARGE).write_parquet(path)
        rounds = range(max(1, options.rounds // 2))
        ways = [("ours", kind) for kind in ("path", "disk", "polars")]
        ways += [("theirs", kind) for kind in ("polars", "pandas")]
        peaks = {way: median(_probe(*way, path, options.threads) for _ in rounds) for way in ways}
    polars, pandas = peaks["theirs", "polars"], peaks["theirs", "pandas"]
    note = f"theirs with polars, with pandas {pandas:,.0f}"

    def cell(name: str, kind: str, goal: float | None = None) -> Cell:
        return Cell(
            section=SECTION, name=name, ours=peaks["ours", kind], theirs=polars, unit="MB", goal=goal, note=note
        )

    return [
        cell("peak memory of fit(path) above the import", "path", goal=3),
        cell("  with a panel on disk", "disk"),
        cell("  with the same polars table", "polars"),
    ]


def _probe(side: str, kind: str, path: Path, threads: int) -> float:
    """Return the megabytes that a fresh process needs for ``fit`` beyond those after the import."""
    printed = run([sys.executable, str(PROBE), side, kind, str(path)], threads)
    found = json.loads(printed.splitlines()[-1])
    return (found["peak"] - found["imported"]) / 1e6
