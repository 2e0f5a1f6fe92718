"""What a forecaster of a hierarchy got wrong, against windows that are cut by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.residuals import HierarchyResiduals

HISTORY, HORIZON, ROWS = 10, 3, 80
LEAVES = list("abcd")
TREE = Hierarchy.from_columns(pl.DataFrame({"unique_id": LEAVES, "kind": ["k", "l", "k", "l"]}), ["kind"])
BOTTOM = np.random.default_rng(0).gamma(3.0, size=(4, ROWS)) * np.array([[1.0], [2.0], [5.0], [9.0]])
TABLE = TREE.aggregate_table(
    pl.DataFrame({"unique_id": np.repeat(LEAVES, ROWS), "ds": np.tile(np.arange(ROWS), 4), "y": BOTTOM.reshape(-1)})
)


def test_errors_of_forecasts_and_of_past_proportions_are_those_of_each_window() -> None:
    forecaster = nd.Forecaster(
        "nlinear", horizon=HORIZON, input_size=HISTORY, training=nd.TrainingConfig(max_steps=3, threads=1)
    ).fit(TABLE)
    assert forecaster.split is not None
    ids = forecaster.split.validation.panel.ids.to_list()
    found = HierarchyResiduals.of(forecaster, TREE, np.array([ids.index(node) for node in TREE.nodes]))
    assert found is not None
    assert found.splits is not None
    bottom = np.stack([BOTTOM[LEAVES.index(name)] for name in TREE.bottom])
    nodes, total = TREE.summing @ bottom, bottom.sum(0)
    count = len(found.errors.values)
    assert count > 5
    for window in (0, count // 2, count - 1):
        begin = ROWS - HORIZON - (count - 1 - window)
        proportions = bottom[:, begin - HISTORY : begin].sum(1) / total[begin - HISTORY : begin].sum()
        ahead = slice(begin, begin + HORIZON)
        np.testing.assert_allclose(
            found.splits[window], bottom[:, ahead] - proportions[:, None] * total[ahead], rtol=1e-4, atol=1e-3
        )
        made = forecaster.validated.predict(TABLE.filter(pl.col("ds") < begin))
        point = np.stack([made.filter(unique_id=node).sort("ds")["forecast"].to_numpy() for node in TREE.nodes])
        np.testing.assert_allclose(found.errors.values[window], nodes[:, ahead] - point, rtol=1e-4, atol=1e-3)
