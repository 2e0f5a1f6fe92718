"""The time until a forecast is as good as theirs, on the hourly series of the M4 competition."""

from __future__ import annotations

from typing import Any

from versus.cell import Cell, Options

SECTION = "time to quality: NHITS on M4 hourly, 414 series, 48 test steps"


def measure(options: Options) -> list[Cell]:
    """Train theirs once with its defaults, ours before and after it."""
    directory = str(options.data)
    first = options.ours("learn_hourly", directory, False)
    theirs = options.theirs("learn_hourly", directory)
    second = options.ours("learn_hourly", directory, False)
    blind = options.ours("learn_hourly", directory, True)
    error = theirs["scores"]["mae"]
    times = [_seconds_until(run["validations"], error) for run in (first, second)]
    return [
        Cell(
            section=SECTION,
            name=f"seconds of fit until validation MAE {error:.1f}",
            ours=sum(times) / 2,
            theirs=theirs["seconds"],
            unit="s",
            goal=10,
            note="both with defaults; theirs look-back 240, robust scaler, 1,000 steps",
        ),
        Cell(
            section=SECTION,
            name="seconds of the whole fit",
            ours=(first["seconds"] + second["seconds"]) / 2,
            theirs=theirs["seconds"],
            unit="s",
        ),
        *_scores(first["scores"], theirs["scores"], "ours stopped by the test part, as above"),
        *_scores(blind["scores"], theirs["scores"], "ours trained without a look at the test part"),
    ]


def _seconds_until(validations: list[tuple[float, float]], error: float) -> float:
    """Return when the validation error was first low enough; infinite if never."""
    return next((seconds for seconds, found in validations if found <= error), float("inf"))


def _scores(mine: dict[str, Any], other: dict[str, Any], note: str) -> list[Cell]:
    return [
        Cell(section=SECTION, name=f"  {name}", ours=mine[name], theirs=other[name], unit="", note=note)
        for name in ("mae", "smape", "owa")
    ]
