"""Training that starts from the weights of a fitted forecaster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.directory import PRETRAINED


def table(length: int = 60, seed: int = 0) -> pl.DataFrame:
    return Synthetic(num_series=3, length=length, seed=seed).frame().rename({"y": "units"})


def forecaster(model: Any = "nlinear", *, horizon: int = 4, steps: int = 10, **task: Any) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=steps, threads=1, early_stopping=None, callbacks=())
    return nd.Forecaster(model, horizon=horizon, training=training, **{"input_size": 12, **task})


class FirstWeights(nd.callbacks.Callback):
    """Keeps the weights that training starts with."""

    def fit_start(self, trainer: nd.Trainer) -> None:
        self.weights = {name: tensor.clone() for name, tensor in trainer.module.state_dict().items()}


@pytest.fixture(scope="module")
def fitted() -> nd.Forecaster:
    return forecaster().fit(table(), target="units")


@pytest.mark.parametrize("model", ["nlinear", "nhits", "lstm", "patchtst"])
def test_a_warm_start_begins_with_the_weights_of_the_fitted_model(model: str) -> None:
    before = forecaster(model, steps=2).fit(table(), target="units")
    first = FirstWeights()
    forecaster(model, steps=2).fit(table(seed=1), initial=before, callbacks=[first], target="units")
    for name, tensor in before.fitted.predictor.network.state_dict().items():
        assert torch.equal(first.weights[name], tensor), name


def test_a_warm_start_takes_columns_and_input_size_from_the_fitted_model(fitted: nd.Forecaster) -> None:
    after = forecaster(input_size=None).fit(table(seed=1), initial=fitted)
    assert after.task.input_size == 12
    assert after.schema.target == "units"


def test_a_warm_start_leaves_the_fitted_model_as_it_was(fitted: nd.Forecaster) -> None:
    before = fitted.predict()
    forecaster().fit(table(seed=1), initial=fitted)
    assert fitted.predict().equals(before)


def test_a_warm_start_from_a_directory_equals_one_from_memory(fitted: nd.Forecaster, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    expected = forecaster().fit(table(seed=1), initial=fitted).predict()
    assert forecaster().fit(table(seed=1), initial=tmp_path / "model").predict().equals(expected)


def test_a_warm_start_knows_the_categories_of_the_fitted_model() -> None:
    shops = pl.DataFrame({"unique_id": ["series-0", "series-1", "series-2"], "shop": ["b", "c", "b"]})
    old = table().join(shops, on="unique_id")
    before = forecaster("nhits", steps=2).fit(old, target="units", static=["shop"])
    renamed = table(seed=1).join(shops.with_columns(shop=pl.lit("c")), on="unique_id")
    after = forecaster("nhits", steps=2).fit(renamed, initial=before)
    assert after.fitted.context.categories == before.fitted.context.categories
    assert after.fitted.spec == before.fitted.spec


def test_a_warm_start_in_a_run_keeps_its_weights_for_a_run_killed_before_the_first_checkpoint(
    fitted: nd.Forecaster, tmp_path: Path
) -> None:
    class Stop(nd.callbacks.Callback):
        def fit_start(self, trainer: nd.Trainer) -> None:
            raise RuntimeError("killed")

    expected = forecaster().fit(table(seed=1), initial=fitted).predict()
    with pytest.raises(RuntimeError, match="killed"):
        forecaster().fit(table(seed=1), initial=fitted, run=tmp_path / "run", callbacks=[Stop()])
    assert (tmp_path / "run" / PRETRAINED).is_dir()
    resumed = nd.Forecaster.resume(tmp_path / "run", table(seed=1))
    assert resumed.predict().equals(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 6}, "horizon 4 there, 6 here"),
        ({"input_size": 20}, "input_size 12 there, 20 here"),
        ({"loss": nd.QuantileLoss([0.1, 0.5, 0.9])}, "outputs 1 there, 3 here"),
        ({"model": "dlinear"}, "name: 'nlinear' before, 'dlinear' now"),
    ],
)
def test_a_warm_start_from_a_model_of_another_shape_is_refused(
    fitted: nd.Forecaster, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        forecaster(**changes).fit(table(), initial=fitted)


def test_a_warm_start_from_something_without_weights_is_refused() -> None:
    with pytest.raises(ConfigError, match="int has no weights to start from"):
        forecaster().fit(table(), initial=3, target="units")  # type: ignore[arg-type]
