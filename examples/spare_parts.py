"""Demand that is mostly zero: DeepAR with a negative binomial distribution, and paths to plan a stock with.

Runs in seconds on counts made here. With the sales of real car parts (a table with ``unique_id``, ``ds`` and ``y``):

    python examples/spare_parts.py carparts.parquet
"""

import sys

import numpy as np
import polars as pl

import neuro_divergent as nd


def made_up(parts: int = 40, months: int = 60) -> pl.DataFrame:
    """Counts with a rate of their own for each part and a season of twelve months."""
    random = np.random.default_rng(0)
    season = 1 + 0.5 * np.sin(2 * np.pi * np.arange(months) / 12)
    rate = random.gamma(2.0, 0.5, (parts, 1)) * season
    counts = random.negative_binomial(1.5, 1.5 / (1.5 + rate))
    names = np.repeat([f"part-{number:02d}" for number in range(parts)], months)
    return pl.DataFrame({"unique_id": names, "ds": np.tile(np.arange(months), parts), "y": counts.reshape(-1)})


real = len(sys.argv) > 1
data = pl.read_parquet(sys.argv[1]).drop_nulls("y") if real else made_up()
horizon = 12 if real else 6

forecaster = nd.Forecaster(
    nd.DeepAR(hidden_size=64 if real else 16, num_layers=2 if real else 1),
    horizon=horizon,
    input_size=12,
    loss=nd.losses.NegativeBinomial(),
    scaler="mean_abs",  # keeps zero at zero
    test=horizon,
    training=nd.TrainingConfig(max_steps=1000 if real else 150, batch_size=64),
).fit(data)

# Quantiles of counts are counts: how many to have on the shelf in each month for nine months out of ten to be served.
forecast = forecaster.predict(quantiles=[0.5, 0.9])
print(forecast.head(horizon))

# A month is not the question, though: how much is needed until the end? That takes whole paths.
paths = forecaster.simulate(200, seed=1)
total = paths.group_by("unique_id", "path").agg(pl.col("value").sum())
stock = total.group_by("unique_id").agg(pl.col("value").quantile(0.9, "higher").alias("enough in 9 of 10 cases"))
print(stock.sort("unique_id").head(3))

evaluation = nd.evaluate(forecaster, levels=[80])
print(evaluation.table.select("name", "mae", "bias"))
print(f"80 % intervals hold {evaluation.coverage['coverage'][0]:.0f} % of the counts")
