"""The panels on which defaults are compared: what is known, and what is to be forecast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Values = npt.NDArray[np.float64]
Half = Literal["chosen on", "held out"]
Read = Callable[[Path], dict[str, Values]]

_LAST = datetime(2020, 1, 1)


@dataclass(frozen=True)
class PanelCase:
    """A panel of series and the steps at their ends that are forecast.

    Attributes:
        name: Name of the panel.
        half: Whether defaults were chosen with it, or it was held out.
        every: Step between rows, as polars writes it.
        horizon: Steps to forecast.
        season: Rows in a season, for MASE and the seasonal naive forecast.
        cutoffs: Number of forecasts of each series; one horizon apart, the last one ends with the series.
        series: The series by name, with their test part.
    """

    name: str
    half: Half
    every: str
    horizon: int
    season: int
    cutoffs: int
    series: dict[str, Values]

    @cached_property
    def scale(self) -> Values:
        """Mean absolute difference of values one season apart before the first cut-off, for each series."""
        known = [values[: len(values) - self.cutoffs * self.horizon] for values in self.series.values()]
        lags = [self.season if len(values) > self.season else 1 for values in known]
        return np.array([np.abs(v[lag:] - v[:-lag]).mean() for v, lag in zip(known, lags, strict=True)])

    def known(self, cutoff: int) -> dict[str, Values]:
        """Return the series as they are known at a cut-off, of which 0 is the first."""
        left = (self.cutoffs - cutoff) * self.horizon
        return {name: values[: len(values) - left] for name, values in self.series.items()}

    def targets(self, cutoff: int) -> Values:
        """Return what follows a cut-off, ``(series, horizon)``."""
        left = (self.cutoffs - cutoff) * self.horizon
        rows = [values[len(values) - left : len(values) - left + self.horizon] for values in self.series.values()]
        return np.stack(rows)

    def table(self, cutoff: int, *, dated: bool) -> pl.DataFrame:
        """Return what is known at a cut-off as a long table; all series end at the same time, an integer or a date."""
        known = self.known(cutoff)
        lengths = [len(values) for values in known.values()]
        longest = max(lengths)
        times = pl.Series(np.arange(longest, dtype=np.int64))
        if dated:
            unit = self.every.lstrip("0123456789")
            step = int(self.every.removesuffix(unit))
            first = pl.Series([_LAST]).dt.offset_by(f"-{longest * step}{unit}")
            times = pl.datetime_range(first[0], _LAST, self.every, eager=True)[:longest]
        return pl.DataFrame(
            {
                "unique_id": np.repeat(list(known), lengths),
                "ds": pl.concat([times[longest - length :] for length in lengths]),
                "y": np.concatenate(list(known.values())),
            }
        )


def scores(case: PanelCase, forecasts: Values) -> dict[str, float]:
    """Return MASE and sMAPE of forecasts ``(cutoffs, series, horizon)``; series that never change have no MASE."""
    targets = np.stack([case.targets(cutoff) for cutoff in range(case.cutoffs)])
    error = np.abs(forecasts - targets)
    size = np.abs(forecasts) + np.abs(targets)
    usable = case.scale > 0
    scaled = error[:, usable] / case.scale[usable][:, None]
    return {
        "mase": float(scaled.mean()),
        "smape": float((200 * error / np.where(size > 0, size, 1)).mean()),
    }


def all_cases(directory: Path) -> Iterator[PanelCase]:
    """Read every panel from a directory of data sets."""
    for name, (half, every, horizon, season, cutoffs, read) in _PANELS.items():
        yield PanelCase(name, half, every, horizon, season, cutoffs, read(directory))


def _long(directory: Path, name: str) -> dict[str, Values]:
    table = pl.read_parquet(directory / f"{name}.parquet").sort("unique_id", "ds")
    table = table.filter(pl.col("y").is_not_null().all().over("unique_id"))
    return _series(table)


def _competition(directory: Path, name: str) -> dict[str, Values]:
    train, test = (
        _series(pl.read_parquet(directory / f"{name}_{part}.parquet").sort("unique_id", "ds"))
        for part in ("train", "test")
    )
    return {name: np.concatenate([values, test[name]]) for name, values in train.items()}


def _series(table: pl.DataFrame) -> dict[str, Values]:
    grouped = table.group_by("unique_id", maintain_order=True).agg("y")
    return {name: np.asarray(values, np.float64) for name, values in grouped.iter_rows()}


def _wide(directory: Path, name: str) -> dict[str, Values]:
    table = pl.read_parquet(directory / f"{name}.parquet").drop("date")
    # Sentinels for missing values are in three channels of the weather; they would decide every score.
    kept = [column for column in table.columns if float(table[column].min()) > -9000]  # type: ignore[arg-type]
    return {column: table[column].to_numpy().astype(np.float64) for column in kept}


def _shortened(series: dict[str, Values]) -> dict[str, Values]:
    """Return the last 20 to 60 rows of each series."""
    lengths = np.random.default_rng(1).integers(20, 61, len(series))
    return {name: values[-length:] for (name, values), length in zip(series.items(), lengths, strict=True)}


def _some_yearly(first: int, last: int) -> Read:
    def read(directory: Path) -> dict[str, Values]:
        series = _competition(directory, "m4_yearly")
        order = np.random.default_rng(0).permutation(list(series))
        return {name: series[name] for name in order[first:last]}

    return read


def _chosen(name: str, *series: str) -> Read:
    return lambda directory: {key: _long(directory, name)[key] for key in series}


def _quiet_weeks(directory: Path) -> dict[str, Values]:
    """Return thirteen weeks of demand without the heat of the last summer."""
    return {name: values[-24368:-20000] for name, values in _long(directory, "vic_elec").items()}


_PANELS: dict[str, tuple[Half, str, int, int, int, Read]] = {
    "electricity weekly": ("chosen on", "1w", 8, 52, 1, partial(_long, name="monash_electricity_weekly")),
    "M3 monthly": ("chosen on", "1mo", 18, 12, 1, partial(_competition, name="m3_monthly")),
    "M3 monthly, short": ("chosen on", "1mo", 12, 12, 1, lambda place: _shortened(_competition(place, "m3_monthly"))),
    "M4 yearly, 1,000": ("chosen on", "1y", 6, 1, 1, _some_yearly(0, 1000)),
    "ETTh1": ("chosen on", "1h", 48, 24, 20, partial(_wide, name="etth1")),
    "car parts": ("chosen on", "1mo", 12, 12, 1, partial(_long, name="carparts")),
    "tourism": ("chosen on", "1q", 8, 4, 1, partial(_long, name="hier_tourism")),
    "bikes": ("chosen on", "1d", 14, 7, 10, partial(_long, name="bike_sharing_daily")),
    "VIX": ("chosen on", "1d", 20, 5, 20, partial(_long, name="vix_ohlc")),
    "demand, 13 weeks": ("chosen on", "30m", 336, 336, 1, _quiet_weeks),
    "M4 hourly": ("held out", "1h", 48, 24, 1, partial(_competition, name="m4_hourly")),
    "M4 monthly, 300": ("held out", "1mo", 18, 12, 1, partial(_competition, name="m4_monthly_sub300")),
    "M4 yearly, 4,000 others": ("held out", "1y", 6, 1, 1, _some_yearly(1000, 5000)),
    "ETTm1": ("held out", "15m", 96, 96, 20, partial(_wide, name="ettm1")),
    "weather": ("held out", "10m", 144, 144, 10, partial(_wide, name="weather")),
    "labour": ("held out", "1mo", 8, 12, 3, partial(_long, name="hier_labour")),
    "prices of electricity": ("held out", "1h", 24, 24, 28, partial(_long, name="epf")),
    "prices of energy": ("held out", "1d", 20, 5, 20, partial(_long, name="energy_spot_daily")),
    "demand": ("held out", "30m", 48, 48, 28, partial(_long, name="vic_elec")),
    "temperature": ("held out", "1d", 28, 7, 10, _chosen("classic", "MelbourneMinTemp")),
    "gasoline": ("held out", "1w", 13, 52, 8, _chosen("classic", "USGasoline")),
    "classic monthly": (
        "held out", "1mo", 12, 12, 4, _chosen("classic", "AirPassengers", "MonthlyMilk", "WineInd", "Sunspots")
    ),
}  # fmt: skip
HALVES: dict[str, Half] = {name: panel[0] for name, panel in _PANELS.items()}
DESCRIPTIONS = {name: f"{panel[2]} steps of {panel[1]}" for name, panel in _PANELS.items()}
