"""Diagnostics over every registered architecture: they work, their numbers add up, and they leave no trace."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.gradients import FROZEN, analyse_gradients, gradient_snapshot
from neuro_divergent.diagnostics.network import analyse_network
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.training.config import TrainingConfig
from tests.contracts.test_architectures import CASES, ROLES, small

TABLE = Synthetic(num_series=3, length=60, covariates=True, seed=1).frame()
COLUMNS = {"past": ["visitors"], "future": ["price", "weather"], "static": ["size", "region"]}


def trained(name: str) -> Forecaster:
    """Train for one step, with all covariates that the architecture takes."""
    architecture = small(name)
    traits = architecture.traits
    used = {role: COLUMNS[role] for role in ROLES if getattr(traits, f"{role}_x") and not traits.mixes_channels}
    training = TrainingConfig(max_steps=1, batch_size=8, threads=1)
    return Forecaster(architecture, horizon=4, input_size=12, training=training).fit(TABLE, **used)


def trace(network: nn.Module) -> dict[str, Any]:
    """Return all that diagnostics must not change."""
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    return {
        "state": state,
        "gradients": [parameter.grad for parameter in network.parameters()],
        "modes": [part.training for part in network.modules()],
        "hooks": [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in network.modules()],
        "random": torch.get_rng_state(),
    }


def same(one: Any, two: Any) -> bool:
    if isinstance(one, Tensor):
        return torch.equal(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(same(*pair) for pair in zip(one, two, strict=True))
    return bool(one == two)


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, (int, float)) else []


@pytest.mark.parametrize("name", CASES)
def test_a_network_is_described_and_does_not_change(name: str) -> None:
    forecaster = trained(name)
    network = forecaster.fitted.predictor.network
    network.train()  # a mode to come back to
    before = trace(network)

    found = analyse_network(forecaster, rows=32)
    assert same(before, trace(network))
    assert json.loads(json.dumps(found)) == found
    assert all(math.isfinite(number) for number in numbers_in(found))

    assert found["parameters"] == forecaster.num_parameters == sum(block["own"] for block in found["blocks"])
    root, *blocks = found["blocks"]
    assert (root["depth"], root["parameters"]) == (0, found["parameters"])
    assert root["outputs"] == [None, 4, 3 if forecaster.task.joint else 1, 1]
    assert blocks
    assert {block["depth"] for block in blocks} >= {1}
    assert len({block["name"] for block in found["blocks"]}) == len(found["blocks"])

    shapes = {name: list(parameter.shape) for name, parameter in network.named_parameters()}
    assert {row["layer"]: row["shape"] for row in found["weights"]} == shapes
    for row in found["weights"]:
        assert sum(row["counts"]) == math.prod(row["shape"])
        assert len(row["shape"]) < 2 or row["effective_rank"] is None or 0 < row["rank_share"] <= 1 + 1e-6
    for row in found["activations"]:
        assert 0 <= row["dead_units"] <= row["units"]
        assert row["utilisation"] is None or 0 < row["utilisation"] <= 1
        assert row["saturated_share"] is None or 0 <= row["saturated_share"] <= 1
    assert bool(found["activations"]) == (name not in ("dlinear", "nlinear"))

    layers = gradient_snapshot(forecaster, batches=2)
    assert same(before, trace(network))
    assert layers.columns == ["step", "layer", "gradient", "weight"]
    assert layers["layer"].unique(maintain_order=True).to_list() == list(shapes)
    report = analyse_gradients(layers)
    assert report.steps == 2
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    assert frozen <= set(report.with_verdict(FROZEN))


@pytest.mark.parametrize("name", ["mlp", "lstm", "itransformer"])
def test_a_loaded_network_is_described_by_the_ends_of_its_series(name: str, tmp_path: Any) -> None:
    forecaster = trained(name)
    forecaster.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    found, whole = analyse_network(loaded), analyse_network(forecaster)
    assert found["weights"] == whole["weights"]
    assert [block["name"] for block in found["blocks"]] == [block["name"] for block in whole["blocks"]]
    assert [row["units"] for row in found["activations"]] == [row["units"] for row in whole["activations"]]
    with pytest.raises(InputError, match="right after fit"):
        gradient_snapshot(loaded)


@pytest.mark.parametrize("scaler", ["revin", "identity"])
def test_a_network_inside_a_normalisation_is_described(scaler: str) -> None:
    training = TrainingConfig(max_steps=1, threads=1)
    forecaster = Forecaster(small("mlp"), horizon=4, input_size=12, scaler=scaler, training=training).fit(TABLE)
    names = [block["name"] for block in analyse_network(forecaster)["blocks"]]
    assert ("network.layers.0" in names) == (scaler == "revin")


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_rows_are_a_count(rows: Any) -> None:
    with pytest.raises(InputError, match="rows"):
        analyse_network(Forecaster("nlinear", horizon=4), rows=rows)
