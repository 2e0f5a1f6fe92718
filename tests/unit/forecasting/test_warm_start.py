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
from tests.integration.test_command_line import nd as command


def table(length: int = 60, seed: int = 0) -> pl.DataFrame:
    return Synthetic(num_series=3, length=length, seed=seed).frame().rename({"y": "units"})


def forecaster(model: Any = "nlinear", *, horizon: int = 4, steps: int = 10, **task: Any) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=steps, threads=1, early_stopping=None, callbacks=())
    return nd.Forecaster(model, horizon=horizon, training=training, **{"input_size": 12, **task})


class FirstWeights(nd.callbacks.Callback):
    """Keeps the weights that training starts with."""

    def fit_start(self, trainer: nd.Trainer) -> None:
        self.weights = {name: tensor.clone() for name, tensor in trainer.module.state_dict().items()}


class Kill(nd.callbacks.Callback):
    """Ends the process of training, in effect, before the first step."""

    def fit_start(self, trainer: nd.Trainer) -> None:
        raise RuntimeError("killed")


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
    expected = forecaster().fit(table(seed=1), initial=fitted).predict()
    with pytest.raises(RuntimeError, match="killed"):
        forecaster().fit(table(seed=1), initial=fitted, run=tmp_path / "run", callbacks=[Kill()])
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


def test_a_resumed_warm_start_keeps_input_size_and_categories_of_the_fitted_model(tmp_path: Path) -> None:
    shops = pl.DataFrame({"unique_id": ["series-0", "series-1", "series-2"], "shop": ["b", "c", "b"]})
    before = forecaster("nhits", steps=2).fit(table().join(shops, on="unique_id"), target="units", static=["shop"])
    new = table(length=200, seed=1).join(shops.with_columns(shop=pl.lit("c")), on="unique_id")
    expected = forecaster("nhits", steps=2, input_size=None).fit(new, initial=before).predict()
    later = forecaster("nhits", steps=2, input_size=None)
    with pytest.raises(RuntimeError, match="killed"):
        later.fit(new, initial=before, run=tmp_path / "run", callbacks=[Kill()])
    resumed = nd.Forecaster.resume(tmp_path / "run", new)
    assert resumed.task.input_size == 12
    assert resumed.predict().equals(expected)


def test_a_warm_start_of_a_wrapped_model_takes_the_weights_inside(fitted: nd.Forecaster) -> None:
    first = FirstWeights()
    model = nd.Conformal(forecaster(steps=2)).fit(table(seed=1), initial=nd.Conformal(fitted), callbacks=[first])
    assert model.is_fitted
    for name, tensor in fitted.fitted.predictor.network.state_dict().items():
        assert torch.equal(first.weights[name], tensor), name


def ensemble(count: int = 2, **settings: Any) -> nd.Ensemble:
    return nd.Ensemble.seeds(forecaster(steps=4, **settings), count)


class Starts(nd.callbacks.Callback):
    """Keeps the weights that each training starts with."""

    def __init__(self) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []

    def fit_start(self, trainer: nd.Trainer) -> None:
        self.weights.append({name: tensor.clone() for name, tensor in trainer.module.state_dict().items()})


def require_starts(starts: Starts, *models: nd.Forecaster) -> None:
    assert len(starts.weights) == len(models)
    for weights, model in zip(starts.weights, models, strict=True):
        for name, tensor in model.fitted.predictor.network.state_dict().items():
            assert torch.equal(weights[name], tensor), name


def test_a_warm_start_of_an_ensemble_goes_member_by_member() -> None:
    before, starts = ensemble().fit(table(), target="units"), Starts()
    after = ensemble(input_size=None).fit(table(seed=1, length=200), initial=before, callbacks=[starts])
    require_starts(starts, *before.members)
    assert [member.task.input_size for member in after.members] == [12, 12]
    assert after.schema.target == "units"


def test_every_member_of_an_ensemble_starts_from_one_forecaster(fitted: nd.Forecaster) -> None:
    starts = Starts()
    ensemble().fit(table(seed=1), initial=fitted, callbacks=[starts])
    require_starts(starts, fitted, fitted)


def test_snapshots_start_from_the_last_snapshot_before() -> None:
    before = nd.Ensemble.snapshots(forecaster(steps=4), 2).fit(table(), target="units")
    starts = Starts()
    nd.Ensemble.snapshots(forecaster(steps=4), 2).fit(table(seed=1), initial=before, callbacks=[starts])
    require_starts(starts, before.members[-1])


def test_an_ensemble_resumed_before_its_last_member_began_starts_that_from_the_stored_weights(tmp_path: Path) -> None:
    before = ensemble().fit(table(), target="units")
    new = table(seed=1, length=200)
    expected = ensemble(input_size=None).fit(new, initial=before).predict()
    with pytest.raises(RuntimeError, match="killed"):
        ensemble(input_size=None).fit(new, initial=before, run=tmp_path / "run", callbacks=[Kill()])
    assert nd.Ensemble.resume(tmp_path / "run", new).predict().equals(expected)


def test_an_ensemble_of_another_size_is_refused_as_a_start(fitted: nd.Forecaster) -> None:
    before = ensemble(3).fit(table(), target="units")
    with pytest.raises(ConfigError, match="an ensemble of 3, but 2 to train"):
        ensemble().fit(table(), initial=before)
    with pytest.raises(ConfigError, match="an ensemble of 3, but 1 to train"):
        forecaster().fit(table(), initial=before)


def test_a_warm_start_of_a_hint_takes_the_weights_of_its_forecaster() -> None:
    parts = table().with_columns(pl.col("unique_id").cast(pl.String))
    bottom = ["series-0", "series-1", "series-2"]
    hierarchy = nd.Hierarchy.from_entries(["total"] * 3 + bottom, bottom * 2, [1.0] * 6)
    nodes = hierarchy.aggregate_table(parts, target="units")
    before = nd.HINT(forecaster(), hierarchy).fit(nodes, target="units")
    starts = Starts()
    nd.HINT(forecaster(), hierarchy).fit(nodes, initial=before, callbacks=[starts])
    require_starts(starts, before.forecaster)


def test_a_killed_warm_start_is_resumed_by_the_command_line(tmp_path: Path) -> None:
    shops = pl.DataFrame({"unique_id": ["series-0", "series-1", "series-2"], "shop": ["b", "c", "b"]})
    before = forecaster("nhits", steps=2).fit(table().join(shops, on="unique_id"), target="units", static=["shop"])
    new = tmp_path / "new.csv"
    table(length=200, seed=1).join(shops.with_columns(shop=pl.lit("c")), on="unique_id").write_csv(new)
    expected = forecaster("nhits", steps=2, input_size=None).fit(new, initial=before).predict()
    with pytest.raises(RuntimeError, match="killed"):
        forecaster("nhits", steps=2, input_size=None).fit(new, initial=before, run=tmp_path / "run", callbacks=[Kill()])
    output, errors = command("train", "run", "--resume", cwd=tmp_path)
    assert "from 12 steps of history" in output + errors
    assert nd.load(tmp_path / "run").predict().equals(expected)
