"""Charts for the tests of what draws them."""

import numpy as np

from neuro_divergent.reporting.chart import ForecastChart

PAST, AHEAD = 36, 12


def chart(title: str = "a series", level: float = 90.0) -> ForecastChart:
    """Return three years of a season and the year that follows."""
    time = np.arange(PAST + AHEAD)
    wave = 100 + time + 20 * np.sin(2 * np.pi * time / 12)
    forecast = np.where(time >= PAST, wave, np.nan)
    return ForecastChart(
        title=title,
        times=[f"t{place}" for place in time],
        actual=np.where(time < PAST, wave, np.nan),
        backtest=np.full(len(time), np.nan),
        forecast=forecast,
        bands={level: (forecast - 15, forecast + 15)},
        future=PAST,
    )
