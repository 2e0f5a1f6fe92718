"""Presets of the leaderboard: public data sets with horizon, history and test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from neuro_divergent.core.errors import InputError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A data set and its forecasting task.

    Attributes:
        name: Name on the command line.
        season_length: Rows in a season.
        test: Rows at the end of each series that are held out; windows there are one horizon apart.
        validation: Rows before those for early stopping and intervals.
        frequency: Step between two rows, where it cannot be inferred from the times.
        read: Converts the tables of the files into one long table.
        reference: File of the reference forecasts of the test part for OWA, if there is one.
    """

    name: str
    title: str
    files: tuple[str, ...]
    horizon: int
    input_size: int
    season_length: int
    test: int
    validation: int
    future: tuple[str, ...] = ()
    calendar: tuple[str, ...] = ()
    frequency: str | None = None
    read: Callable[[list[pl.DataFrame]], pl.DataFrame] = lambda tables: tables[0]
    reference: str | None = None

    def load(self, directory: Path) -> pl.DataFrame:
        """Return the data set as one long table, with the test part at the end of each series."""
        for file in self.files:
            if not (directory / file).is_file():
                raise InputError(
                    f"{directory}: has no {file}, which {self.name} needs. Pass the directory of the data sets "
                    "with --data."
                )
        return self.read([pl.read_parquet(directory / file) for file in self.files])

    def naive2(self, directory: Path) -> pl.DataFrame | None:
        """Return the reference forecasts of the test part, ``unique_id``, ``step``, ``naive2``, or ``None``."""
        if self.reference is None or not (directory / self.reference).is_file():
            return None
        table = pl.read_parquet(directory / self.reference)
        return table.select("unique_id", pl.col("ds").alias("step"), pl.col("y").alias("naive2"))


def preset_named(name: str) -> Preset:
    """Return the preset with a name."""
    if name not in PRESETS:
        raise InputError(f"Unknown benchmark {name!r}.{did_you_mean(name, PRESETS)} Known: {', '.join(PRESETS)}.")
    return PRESETS[name]


def _train_and_test(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Append the test rows, whose times are steps, to the training rows of their series."""
    train, test = tables
    ends = train.group_by("unique_id").agg(pl.col("ds").max().alias("end"))
    moved = test.join(ends, on="unique_id", how="inner").with_columns(
        (pl.col("ds") + pl.col("end")).cast(train["ds"].dtype)
    )
    return pl.concat([train, moved.select(train.columns)]).sort("unique_id", "ds")


def _long(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Unpivot one column for each channel into one row for each value."""
    table = tables[0].rename({"date": "ds"})
    return table.unpivot(index="ds", variable_name="unique_id", value_name="y").sort("unique_id", "ds")


def _row_numbers(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Use row numbers as times: markets close on holidays, which are not missing values."""
    return tables[0].sort("ds").select("unique_id", pl.int_range(pl.len()).over("unique_id").alias("ds"), "y")


_ALL = (
    Preset(
        name="m4-hourly", title="M4 competition, 414 hourly series, 48 hours ahead",
        horizon=48, input_size=240, season_length=24, test=48, validation=48,
        files=("m4_hourly_train.parquet", "m4_hourly_test.parquet"),
        read=_train_and_test, reference="m4_naive2.parquet",
    ),
    Preset(
        name="m4-monthly", title="M4 competition, 300 of the monthly series, 18 months ahead",
        horizon=18, input_size=36, season_length=12, test=18, validation=18,
        files=("m4_monthly_sub300_train.parquet", "m4_monthly_sub300_test.parquet"),
        read=_train_and_test, reference="m4_naive2.parquet",
    ),
    Preset(
        name="m4-yearly", title="M4 competition, 23,000 yearly series, 6 years ahead",
        horizon=6, input_size=7, season_length=1, test=6, validation=6,
        files=("m4_yearly_train.parquet", "m4_yearly_test.parquet"),
        read=_train_and_test, reference="m4_naive2.parquet",
    ),
    Preset(
        name="m3-monthly", title="M3 competition, 1,428 monthly series, 18 months ahead",
        horizon=18, input_size=24, season_length=12, test=18, validation=18,
        files=("m3_monthly_train.parquet", "m3_monthly_test.parquet"), read=_train_and_test,
    ),
    Preset(
        name="etth1", title="Electricity transformer, 7 channels, hourly, 96 hours ahead",
        horizon=96, input_size=336, season_length=24, test=2880, validation=2880,
        files=("etth1.parquet",), read=lambda tables: _long([tables[0].head(14400)]),
    ),
    Preset(
        name="ettm1", title="Electricity transformer, 7 channels, every 15 minutes, 96 steps ahead",
        horizon=96, input_size=336, season_length=96, test=11520, validation=11520,
        files=("ettm1.parquet",), read=lambda tables: _long([tables[0].head(57600)]),
    ),
    Preset(
        name="electricity-weekly", title="Electricity of 321 clients, weekly, 8 weeks ahead",
        horizon=8, input_size=26, season_length=52, test=8, validation=16,
        files=("monash_electricity_weekly.parquet",),
    ),
    Preset(
        name="epf", title="Electricity prices of 5 markets, hourly, a day ahead, with two forecasts known ahead",
        horizon=24, input_size=168, season_length=168, test=17472, validation=4368,
        files=("epf.parquet",), future=("exog_1", "exog_2"), calendar=("hour", "day_of_week"),
    ),
    Preset(
        name="vic-elec",
        title="Electricity demand of Victoria, every 30 minutes, a day ahead, with temperature and holidays",
        horizon=48, input_size=336, season_length=336, test=4368, validation=4368,
        files=("vic_elec.parquet",),
        future=("temperature", "holiday"), read=lambda tables: tables[0].with_columns(pl.col("holiday").cast(pl.Int8)),
    ),
    Preset(
        name="bike-sharing", title="Bikes rented, daily, a week ahead, with weather and holidays",
        horizon=7, input_size=28, season_length=7, test=112, validation=56,
        files=("bike_sharing_daily.parquet",), future=("temp", "hum", "windspeed", "holiday", "workingday"),
    ),
    Preset(
        name="car-parts", title="Sales of 2,674 car parts, monthly and mostly zero, 12 months ahead",
        horizon=12, input_size=12, season_length=12, test=12, validation=12,
        files=("carparts.parquet",), read=lambda tables: tables[0].drop_nulls("y"),
    ),
    Preset(
        name="vix", title="Volatility index, trading days, 10 days ahead",
        horizon=10, input_size=60, season_length=5, test=1500, validation=1500,
        files=("vix_ohlc.parquet",), read=_row_numbers,
    ),
)  # fmt: skip
PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}
"""All presets by name."""
