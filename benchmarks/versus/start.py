"""The time until something happens in a fresh process."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from timing import in_turns, process_seconds, run_python
from versus.cell import Cell, Options

SECTION = "a fresh process"
OUR_FORECAST = "import neuro_divergent as nd; nd.Forecaster.load({path!r}).predict()"
THEIR_FORECAST = "from neuralforecast import NeuralForecast; NeuralForecast.load({path!r}).predict()"
HELP = "from neuro_divergent.interfaces.cli.main import run; run()"


def measure(options: Options) -> list[Cell]:
    """Compare the import and the first forecast, both without the start of Python itself, and time ``nd --help``."""
    threads = options.threads
    with tempfile.TemporaryDirectory() as directory:
        paths = _save(Path(directory), options)
        empty, mine, other, first, their_first, usage = in_turns(
            options.rounds,
            lambda: run_python("pass", threads),
            lambda: run_python("import neuro_divergent", threads),
            lambda: run_python("import neuralforecast", threads),
            lambda: run_python(OUR_FORECAST.format(path=paths["ours"]), threads),
            lambda: run_python(THEIR_FORECAST.format(path=paths["theirs"]), threads),
            lambda: process_seconds(_help_command(), threads),
        )
    note = f"without the {empty * 1e3:.0f} ms that Python itself needs to start"
    return [
        Cell(section=SECTION, name="import", ours=mine - empty, theirs=other - empty, unit="s", goal=30, note=note),
        Cell(
            section=SECTION,
            name="import, load, predict (100 series)",
            ours=first,
            theirs=their_first,
            unit="s",
            goal=2.5,
            note="with the start of Python",
        ),
        Cell(
            section=SECTION,
            name="nd --help",
            ours=usage,
            theirs=0.3,
            unit="s",
            goal=1,
            limit=True,
            note="with the start of Python",
        ),
    ]


def _save(directory: Path, options: Options) -> dict[str, str]:
    """Write a model of each side, trained for a few steps."""
    paths = {name: str(directory / name) for name in ("ours", "theirs")}
    options.ours("save", "NHITS", paths["ours"])
    options.theirs("save", "NHITS", paths["theirs"])
    return paths


def _help_command() -> list[str]:
    """Return the installed command where there is one, else the function that it calls."""
    installed = Path(sys.executable).with_name("nd")
    return [str(installed), "--help"] if installed.exists() else [sys.executable, "-c", HELP, "--help"]
