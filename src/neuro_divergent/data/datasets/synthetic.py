"""Series whose making is known, to test and to learn with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field, PositiveInt, field_validator

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.config import Config
from neuro_divergent.data.cleaning.frequency import Frequency

_REGIONS = ("east", "north", "south", "west")
_WEATHER = ("rain", "snow", "sun")


class Synthetic(Config):
    """Synthetic series with level, trend, seasonality and noise; the same settings always give the same table.

    Attributes:
        num_series: How many series.
        length: Rows of each.
        frequency: Step between rows, such as ``"1h"``, ``"1d"``, ``"1mo"`` or ``1``.
        start: First time, ISO 8601; not used where the frequency is a number, which starts at 0.
        level: Mean of the levels of the series, which spread around it by a fifth.
        trend: Mean change per step.
        seasonalities: Lengths of the seasons in steps. Each has two harmonics, with amplitudes and phases of its own in
            each series.
        amplitude: Mean amplitude of a season.
        noise: Standard deviation of the noise.
        intermittent: Fraction of steps where the series is exactly 0, as in the demand of spare parts.
        covariates: Adds the columns ``price`` and ``weather`` (a category; both known ahead), ``visitors`` (known only
            in the past), ``size`` and ``region`` (a category; both static), all of which move the target.
        regime_change: Where in a series its level jumps, as a fraction of the length.
        missing: Fraction of targets that are missing.
        seed: Seed of everything random.

    Examples:
        >>> import neuro_divergent as nd
        >>> hourly = nd.datasets.Synthetic(num_series=2, length=100, frequency="1h", seasonalities=(24,), missing=0.1)
        >>> table = hourly.frame()
        >>> table.columns, table.height
        (['unique_id', 'ds', 'y'], 200)
        >>> 0 < table["y"].null_count() < 40
        True
        >>> nd.datasets.Synthetic(length=5, covariates=True).frame().columns[3:]
        ['price', 'weather', 'visitors', 'size', 'region']
    """

    num_series: int = Field(default=1, ge=1)
    length: int = Field(default=200, ge=1)
    frequency: str | int = "1d"
    start: str = "2020-01-01"
    level: float = 100.0
    trend: float = 0.0
    seasonalities: tuple[PositiveInt, ...] = (7,)
    amplitude: float = Field(default=10.0, ge=0)
    noise: float = Field(default=1.0, ge=0)
    intermittent: float = Field(default=0.0, ge=0, lt=1)
    covariates: bool = False
    regime_change: float | None = Field(default=None, gt=0, lt=1)
    missing: float = Field(default=0.0, ge=0, lt=1)
    seed: int = Field(default=0, ge=0)

    @field_validator("frequency")
    @classmethod
    def _is_frequency(cls, value: str | int) -> str | int:
        Frequency.parse(value)
        return value

    @field_validator("start")
    @classmethod
    def _is_time(cls, value: str) -> str:
        datetime.fromisoformat(value)
        return value

    def frame(self) -> pl.DataFrame:
        """Return the series as a long table: ``unique_id``, ``ds``, ``y`` and the covariates."""
        names = [f"series-{number:0{len(str(self.num_series - 1))}d}" for number in range(self.num_series)]
        index = np.repeat(np.arange(self.num_series), self.length)
        columns: dict[str, Any] = {"unique_id": pl.Series(names).gather(index), "ds": self._times()}
        # Each series has a generator of its own, so it does not change when more of them are made.
        made = [self._series(np.random.default_rng((self.seed, number))) for number in range(self.num_series)]
        columns["y"] = pl.Series(np.concatenate([series.pop("y") for series in made])).fill_nan(None)
        columns |= {name: np.concatenate([series[name] for series in made]) for name in made[0]}
        return pl.DataFrame(columns)

    def _times(self) -> pl.Series:
        frequency = Frequency.parse(self.frequency)
        first = pl.Series([0]) if frequency.unit == "" else pl.Series([datetime.fromisoformat(self.start)])
        times = frequency.time_at(first.new_from_index(0, self.length), np.arange(self.length))
        return times.gather(np.tile(np.arange(self.length), self.num_series))

    def _series(self, random: np.random.Generator) -> dict[str, Any]:
        steps = np.arange(self.length, dtype=np.float64)
        level = self.level * (1 + 0.2 * random.standard_normal())
        y = level + self.trend * (1 + 0.5 * random.standard_normal()) * steps
        for season in self.seasonalities:
            y += self._season(random, steps, season)
        noise = self.noise * random.standard_normal(self.length)
        jump = self.level * 0.5 * random.choice([-1.0, 1.0])
        if self.regime_change is not None:
            y[int(self.regime_change * self.length) :] += jump
        columns = self._covariates(random, y) if self.covariates else {}
        y += noise
        y[random.random(self.length) < self.intermittent] = 0.0
        y[random.random(self.length) < self.missing] = np.nan
        return {"y": y, **columns}

    def _season(self, random: np.random.Generator, steps: Floats, season: int) -> Floats:
        waves = np.zeros_like(steps)
        for harmonic in (1, 2):
            size = self.amplitude / harmonic * random.uniform(0.5, 1.5)
            waves += size * np.sin(2 * np.pi * (harmonic * steps / season + random.random()))
        return waves

    def _covariates(self, random: np.random.Generator, y: Floats) -> dict[str, Any]:
        """Make covariates and add their effect to the series."""
        price = 10 + random.standard_normal(self.length).cumsum() * 0.1
        weather = random.integers(len(_WEATHER), size=self.length)
        visitors = random.poisson(50, self.length).astype(np.float64)
        size, region = random.uniform(1, 5), int(random.integers(len(_REGIONS)))
        unit = max(self.amplitude, 1.0)
        y += unit * (-0.5 * (price - 10) + 0.5 * (weather - 1) + 0.2 * (size - 3) + 0.3 * (region - 1.5))
        # What visitors do shows one step later: known too late to be used ahead, and still worth knowing.
        y[1:] += unit * 0.02 * (visitors[:-1] - 50)
        return {
            "price": price,
            "weather": np.asarray(_WEATHER)[weather],
            "visitors": visitors,
            "size": np.full(self.length, size),
            "region": np.full(self.length, _REGIONS[region]),
        }
