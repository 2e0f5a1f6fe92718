"""The picture of README and first page: a forecast of the demonstration."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.site.tutorials import ROOT

PICTURE = ROOT / "docs" / "images" / "forecast.svg"
_SHOWN = "AirPassengers"


def write_picture(target: Path = PICTURE) -> Path:
    """Run ``nd demo``, and draw the airline passengers with their forecast, in colours for light and dark pages."""
    from neuro_divergent.reporting.export import write_figure
    from neuro_divergent.reporting.figures.forecast import forecast_figure
    from neuro_divergent.runs.tables import RunTables

    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "demo"
        command = [str(Path(sys.executable).parent / "nd"), "demo", "--output", str(run), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        tables = RunTables(run)
        names = {"id": tables.id, "time": tables.time, "target": tables.target}
        figure = forecast_figure(
            tables.context, tables.forecasts, series=_SHOWN, backtest=tables.backtest, levels=[80, 95], **names
        )
        write_figure(figure, target)
    return target
