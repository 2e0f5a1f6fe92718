"""The task of a side, read with the standard library and pandas alone, which all environments have."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd


class Task:
    """What is to be forecast, from the directory that the command line names.

    Attributes:
        horizon: Steps to forecast.
        season: Rows in a season.
        frequency: Step between rows, as pandas writes it; the dates of all panels end with 1 January 2020.
        budget: Seconds that there are.
        cutoffs: Number of forecasts.
    """

    def __init__(self) -> None:
        self._directory = Path(sys.argv[1])
        values: dict[str, Any] = json.loads((self._directory / "task.json").read_text("utf-8"))
        self.horizon, self.season = int(values["horizon"]), int(values["season"])
        self.budget, self.cutoffs = float(values["budget"]), int(values["cutoffs"])
        self.frequency = _FREQUENCIES[values["every"]]

    def known(self, cutoff: int) -> pd.DataFrame:
        """Return the panel as it is known at a cut-off."""
        return pd.read_parquet(self._directory / f"known-{cutoff}.parquet")

    def write(self, cutoff: int, table: pd.DataFrame, column: str) -> None:
        """Write the forecasts of a cut-off, which are in a column of a table."""
        found = table.rename(columns={column: "forecast"})[["unique_id", "ds", "forecast"]]
        found.to_csv(self._directory / f"forecast-{cutoff}.csv", index=False)


_FREQUENCIES = {
    "10m": "10min",
    "15m": "15min",
    "30m": "30min",
    "1h": "h",
    "1d": "D",
    "1w": "W-WED",
    "1mo": "MS",
    "1q": "QS",
    "1y": "YS",
}
