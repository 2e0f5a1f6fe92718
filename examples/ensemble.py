"""Five networks miss by less than one of them does on average, and by how much is measured on what they did not see."""

import numpy as np
import polars as pl

import neuro_divergent as nd

DAYS, HORIZON = 400, 14
generator = np.random.default_rng(0)
step = np.arange(DAYS)
table = pl.concat(
    pl.DataFrame(
        {
            "unique_id": f"shop-{number}",
            "ds": step,
            "y": 50 + 10 * np.sin(2 * np.pi * step / 7 + number) + 3 * generator.normal(size=DAYS),
        }
    )
    for number in range(4)
)

one = nd.Forecaster(
    nd.MLP(hidden_size=64),
    horizon=HORIZON,
    input_size=28,
    test=56,
    training=nd.TrainingConfig(max_steps=150, threads=1),
)
ensemble = nd.Ensemble.seeds(one, 5).fit(table)
print(ensemble.predict(levels=[80]).head(3))

# Nothing in training saw the test part: neither weights nor intervals were measured on it.
alone = [nd.evaluate(member).table["mae"][0] for member in ensemble.members]
together = nd.evaluate(ensemble)
print(f"each alone: {', '.join(f'{error:.2f}' for error in alone)}; together: {together.table['mae'][0]:.2f}")
assert together.table["mae"][0] <= np.mean(alone)
print("the ensemble misses by less than its members do on average")
print(together.coverage)

# The ends of five cycles of one training: a fifth of the cost.
snapshots = nd.Ensemble.snapshots(one, 5, weights="validation").fit(table)
print(f"snapshots: {nd.evaluate(snapshots).table['mae'][0]:.2f}, weights {snapshots.weights.round(2)}")
