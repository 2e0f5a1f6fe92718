"""Quantiles of tomorrow's prices with covariates that are known ahead, and their calibration on days held out.

Runs in seconds on prices made here. With real ones (a table with ``unique_id``, ``ds``, ``y``, ``exog_1``, ``exog_2``):

    python examples/electricity_prices.py epf.parquet
"""

import sys
from datetime import datetime

import numpy as np
import polars as pl

import neuro_divergent as nd


def made_up(days: int = 120) -> pl.DataFrame:
    """Prices that follow the load and the wind, more wildly when they are high."""
    random = np.random.default_rng(0)
    hours = np.arange(24 * days)
    load = 50 + 10 * np.sin(2 * np.pi * hours / 24) + 3 * np.sin(2 * np.pi * hours / 168)
    wind = 10 + 4 * np.sin(hours / 37) + random.normal(0, 1, len(hours))
    price = 0.8 * load - 1.2 * wind + random.gamma(2.0, 0.05 * load) - 0.1 * load
    start = datetime(2025, 1, 1)
    times = pl.datetime_range(start, start.replace(year=2027), "1h", eager=True)[: len(hours)]
    return pl.DataFrame({"unique_id": "market", "ds": times, "y": price, "exog_1": load, "exog_2": wind})


real = len(sys.argv) > 1
data = pl.read_parquet(sys.argv[1]) if real else made_up()
levels = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95]

forecaster = nd.Forecaster(
    nd.NHITS(hidden_size=256 if real else 32),
    horizon=24,
    input_size=168 if real else 72,
    loss=nd.QuantileLoss(levels, monotone=True),  # quantiles that cannot cross
    test=24 * 7 * (104 if real else 3),
    training=nd.TrainingConfig(max_steps=2000 if real else 200),
).fit(data, future=["exog_1", "exog_2"], calendar=["hour", "day_of_week"])

evaluation = nd.evaluate(forecaster, levels=[50, 80, 90])
print(evaluation.table.select("name", "mae", "skill"))
held = ", ".join(f"{row['level']:.0f} % holds {row['coverage']:.1f} %" for row in evaluation.coverage.to_dicts())
print(f"network: {held}")

# The network's own quantiles may claim too much or too little; conformal prediction puts them right, while it learns
# from each day that passes and without training anything again.
conformal = nd.evaluate(nd.Conformal(forecaster, method="adaptive").calibrate(), levels=[50, 80, 90])
held = ", ".join(f"{row['level']:.0f} % holds {row['coverage']:.1f} %" for row in conformal.coverage.to_dicts())
print(f"conformal: {held}")
