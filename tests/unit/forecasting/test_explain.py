from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.models.tft import TFT


def promoted_sales(series: int = 3, days: int = 160) -> pl.DataFrame:
    """Return sales that depend on promotions, and a covariate without effect."""
    random = np.random.default_rng(0)
    promotion, noise = random.integers(0, 2, (series, days)), random.normal(size=(series, days))
    return pl.DataFrame(
        {
            "unique_id": np.repeat([f"shop {place}" for place in range(series)], days),
            "ds": np.tile(np.arange(days), series),
            "y": (10 + 5 * promotion + 0.1 * random.normal(size=(series, days))).reshape(-1),
            "promotion": promotion.reshape(-1).astype(float),
            "noise": noise.reshape(-1),
            "region": np.repeat(["north", "south", "north"], days),
        }
    )


def trained(scaler: str, steps: int, **schema: Any) -> tuple[nd.Forecaster, pl.DataFrame]:
    frame = promoted_sales()
    cut = frame.filter(pl.col("ds") < 152)
    training = nd.TrainingConfig(max_steps=steps, optimizer=nd.AdamW(lr=5e-3), threads=1)
    forecaster = nd.Forecaster(TFT(hidden_size=16), horizon=4, input_size=12, scaler=scaler, training=training)
    return forecaster.fit(cut, **schema), frame.filter(pl.col("ds").is_between(152, 155))


@pytest.mark.parametrize("scaler", ["standard", "revin"])
def test_weights_of_each_part_and_step_sum_to_one(scaler: str) -> None:
    forecaster, ahead = trained(scaler, 3, future=["promotion"], past=["noise"], static=["region"])
    told = forecaster.explain(future=ahead)
    assert told.variables.columns == ["unique_id", "part", "variable", "weight"]
    sums = told.variables.group_by("unique_id", "part").agg(pl.col("weight").sum())
    assert sums.height == 3 * 3
    np.testing.assert_allclose(sums["weight"], 1, atol=1e-5)
    assert set(told.variables.filter(part="past")["variable"]) == {"noise", "promotion", "target"}
    assert set(told.variables.filter(part="static")["variable"]) == {"region"}
    steps = told.attention.group_by("unique_id", "step").agg(pl.col("weight").sum())
    assert steps.height == 3 * 4
    np.testing.assert_allclose(steps["weight"], 1, atol=1e-5)
    # A step sees the history and the horizon up to itself.
    assert (told.attention["position"].min(), told.attention["position"].max()) == (-11, 4)
    later = told.attention.filter(pl.col("position") > pl.col("step"))
    assert later.height > 0
    assert (later["weight"] == 0).all()


def test_the_variable_that_decides_gets_the_weight() -> None:
    forecaster, ahead = trained("standard", 150, future=["promotion", "noise"])
    told = forecaster.explain(future=ahead)
    mean = told.variables.filter(part="future").group_by("variable").agg(pl.col("weight").mean())
    assert mean.sort("weight")["variable"][-1] == "promotion"


def test_explain_of_an_architecture_without_weights_is_refused() -> None:
    forecaster = nd.Forecaster("nlinear", horizon=4, input_size=12, training=nd.TrainingConfig(max_steps=1))
    forecaster.fit(promoted_sales().select("unique_id", "ds", "y"))
    with pytest.raises(nd.errors.ConfigError, match="nlinear has no weights that explain a forecast; tft does"):
        forecaster.explain()


def test_explanation_tables_are_of_the_same_kind_as_the_input() -> None:
    pandas = pytest.importorskip("pandas")
    frame = promoted_sales().select("ds", "y").head(160).to_pandas()
    forecaster = nd.Forecaster(TFT(hidden_size=8), horizon=4, input_size=12, training=nd.TrainingConfig(max_steps=1))
    told = forecaster.fit(frame, id=None).explain()
    assert isinstance(told.variables, pandas.DataFrame)
    assert list(told.attention.columns) == ["step", "position", "weight"]
