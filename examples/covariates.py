"""Covariates known in the past, known ahead and constant, and scores beside the baselines."""

import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.evaluate import evaluate

HORIZON = 14
table = Synthetic(num_series=10, length=400, seasonalities=(7,), covariates=True).frame()
print(table.head(3))

# The last two weeks are still to come: of them we know prices and weather, but not the target.
last = pl.col("ds") > pl.col("ds").max() - pl.duration(days=HORIZON)
past, coming = table.filter(~last), table.filter(last)

forecaster = nd.Forecaster(
    nd.NHITS(hidden_size=64),
    horizon=HORIZON,
    input_size=42,
    test=2 * HORIZON,
    training=nd.TrainingConfig(max_steps=300, threads=1),
)
forecaster.fit(past, past="visitors", future=("price", "weather"), static=("size", "region"), calendar=("day_of_week",))

print(evaluate(forecaster).table.select("name", "mae", "mase", "skill"))
forecast = forecaster.predict(future=coming.drop("y"), levels=[80])
print(forecast.join(coming.select("unique_id", "ds", "y"), on=["unique_id", "ds"]).head(HORIZON))
