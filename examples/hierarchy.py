"""Forecasts of shops, states and the whole that add up, and futures in which they do too."""

import numpy as np
import polars as pl

import neuro_divergent as nd

WEEKS, HORIZON = 160, 8
generator = np.random.default_rng(0)
states = {"s1": "ohio", "s2": "ohio", "s3": "ohio", "s4": "iowa", "s5": "iowa"}
common = generator.normal(size=WEEKS).cumsum()  # all shops have good and bad weeks together
shops = pl.concat(
    pl.DataFrame(
        {
            "unique_id": shop,
            "state": state,
            "ds": np.arange(WEEKS),
            "y": 50 + common + 8 * np.sin(np.arange(WEEKS) / 4) + generator.normal(size=WEEKS),
        }
    )
    for shop, state in states.items()
)

# From a table of shops to one of all sums: the total, both states, and the shops themselves.
hierarchy = nd.Hierarchy.from_columns(shops, ["state"])
table = hierarchy.aggregate_table(shops)

forecaster = nd.Forecaster(
    nd.NHITS(hidden_size=64), horizon=HORIZON, input_size=24, training=nd.TrainingConfig(max_steps=200, threads=1)
)
hint = nd.HINT(forecaster, hierarchy, method="mint_shrink").fit(table)


def gap(values: pl.DataFrame, column: str) -> float:
    """Return how far the total is from the sum of the states."""
    wide = values.pivot("unique_id", index=[name for name in ("path", "ds") if name in values.columns], values=column)
    return wide.select((pl.col("total") - pl.col("ohio") - pl.col("iowa")).abs().max()).item()


print(hint.predict(levels=[80]).filter(unique_id="total"))
print(f"the network alone misses its own sum by up to {gap(forecaster.predict(), 'forecast'):.2f}")
print(
    f"reconciled: {gap(hint.predict(), 'forecast'):.4f}, in each of 200 paths: {gap(hint.simulate(200), 'value'):.4f}"
)

# Any question about sums of several weeks or shops is a question to the paths.
eight_weeks = hint.simulate(200).filter(unique_id="ohio").group_by("path").agg(pl.col("value").sum())["value"]
print(f"ohio sells between {eight_weeks.quantile(0.1):.0f} and {eight_weeks.quantile(0.9):.0f} in {HORIZON} weeks")
