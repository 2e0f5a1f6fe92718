"""Heavy tails: Student's t distribution on the logarithm of a volatility index, and intervals for the next two weeks.

Runs in seconds on a series made here. With the real index (a table with ``unique_id``, ``ds`` and ``y``):

    python examples/volatility.py vix_ohlc.parquet
"""

import sys

import numpy as np
import polars as pl

import neuro_divergent as nd


def made_up(days: int = 1500) -> pl.DataFrame:
    """A level that returns to its mean, moved by shocks with three degrees of freedom."""
    random = np.random.default_rng(0)
    shocks = 0.05 * random.standard_t(3, days)
    level = np.zeros(days)
    for day in range(1, days):
        level[day] = 0.97 * level[day - 1] + shocks[day]
    return pl.DataFrame({"unique_id": "index", "ds": np.arange(days), "y": 20 * np.exp(level)})


real = len(sys.argv) > 1
data = made_up()
if real:
    # Exchanges close on holidays, which are no missing values: days of trading are counted instead.
    table = pl.read_parquet(sys.argv[1]).sort("ds")
    data = table.select("unique_id", pl.int_range(pl.len()).alias("ds"), "y")


def trained(loss: nd.losses.Loss) -> nd.evaluation.Evaluation:
    """Train the same network with a loss and score it on days that it never saw."""
    forecaster = nd.Forecaster(
        nd.MLP(hidden_size=64, num_layers=2),
        horizon=10,
        input_size=40,
        loss=loss,
        series_scaler="log",
        test=0.2,
        training=nd.TrainingConfig(max_steps=1000 if real else 200),
    ).fit(data)
    print(forecaster.predict(levels=[90]).tail(1))
    return nd.evaluate(forecaster, levels=[50, 80, 95])


for name, loss in {"normal": nd.losses.Normal(), "Student's t": nd.losses.StudentT()}.items():
    evaluation = trained(loss)
    held = ", ".join(f"{row['level']:.0f} % holds {row['coverage']:.1f} %" for row in evaluation.coverage.to_dicts())
    print(f"{name}: {held}")
