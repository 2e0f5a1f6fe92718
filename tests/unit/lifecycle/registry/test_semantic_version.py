"""Versions that are computed from what changed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.registry.description import Description, forecast_outputs
from neuro_divergent.lifecycle.registry.registry import Registry
from neuro_divergent.lifecycle.registry.semantic_version import SemanticVersion, Signature, next_version
from neuro_divergent.losses.base import Loss
from tests.unit.lifecycle.registry.models import SavedModel

CHANGES: list[tuple[dict[str, Any], str]] = [
    ({}, "1.0.1"),
    ({"training__seed": 7}, "1.0.1"),
    ({"training__device": "cpu", "training__threads": 1}, "1.0.1"),
    ({"training__max_epochs": 9}, "1.1.0"),
    ({"architecture": {"name": "dlinear"}}, "1.1.0"),
    ({"task__input_size": 12}, "1.1.0"),
    ({"task__loss": {"name": "mse"}}, "1.1.0"),
    ({"schema__calendar": ["month"]}, "1.1.0"),
    ({"schema__missing": "interpolate"}, "1.1.0"),
    ({"task__horizon": 5}, "2.0.0"),
    ({"frequency": "1d"}, "2.0.0"),
    ({"schema__target": "units"}, "2.0.0"),
    ({"schema__future": ["price"]}, "2.0.0"),
    ({"task__loss": {"name": "quantile", "quantiles": [0.1, 0.5, 0.9]}}, "2.0.0"),
    ({"task__loss": {"name": "normal", "point": "mean"}}, "2.0.0"),
    ({"format": 5}, "2.0.0"),
]


@pytest.mark.parametrize(("changes", "expected"), CHANGES)
def test_the_next_version_says_what_changed(
    registry: Registry, saved: SavedModel, changes: dict[str, Any], expected: str
) -> None:
    assert registry.register(saved.write(1), "sales").version == "1.0.0"
    assert registry.register(saved.write(2, **changes), "sales").version == expected


def test_rules_that_the_caller_gives_belong_to_the_recipe(registry: Registry, saved: SavedModel) -> None:
    rule = {"rows": 1000}
    found = [
        registry.register(saved.write(number), "sales", recipe=recipe).version
        for number, recipe in enumerate([None, rule, rule, {"rows": 2000}])
    ]
    assert found == ["1.0.0", "1.1.0", "1.1.1", "1.2.0"]


def test_other_quantiles_are_another_interface_and_their_recipe_is_compared_besides(
    registry: Registry, saved: SavedModel
) -> None:
    def quantiles(*levels: float) -> dict[str, Any]:
        return {"task__loss": {"name": "quantile", "quantiles": list(levels)}}

    copies = [quantiles(0.1, 0.9), quantiles(0.1, 0.9), quantiles(0.05, 0.9)]
    found = [registry.register(saved.write(n, **changes), "sales").version for n, changes in enumerate(copies)]
    assert found == ["1.0.0", "1.0.1", "2.0.0"]


def test_another_kind_of_model_with_the_same_interface_is_another_recipe(
    registry: Registry, fitted: dict[str, ForecastModel]
) -> None:
    kinds = ("Forecaster", "Ensemble", "Conformal", "Statistical")
    found = {kind: registry.register(fitted[kind], "sales").version for kind in kinds}
    # A statistical model forecasts a distribution, the others a point.
    assert found == {"Forecaster": "1.0.0", "Ensemble": "1.1.0", "Conformal": "1.2.0", "Statistical": "2.0.0"}


@pytest.mark.parametrize("name", list(Loss.registry.names()))
def test_outputs_that_are_read_from_a_description_are_those_of_the_loss(name: str) -> None:
    loss = Loss.registry.get(name)()
    found = forecast_outputs(loss.to_dict())
    assert (found["kind"] == "distribution") == loss.traits.any_level
    assert tuple(found.get("levels", ())) == tuple(loss.quantile_levels)


def test_an_ensemble_of_different_outputs_forecasts_a_point(saved: SavedModel) -> None:
    def member(number: int, *loss: float) -> dict[str, bytes]:
        changes = {"task__loss": {"name": "quantile", "quantiles": list(loss)}} if loss else {}
        path = saved.write(number, **changes)
        return {
            f"member-{number}.{file.name}": file.read_bytes() for file in path.iterdir() if "manifest" not in file.name
        }

    own = b'{"format": 1, "members": 2, "combine": "mean", "weights": null, "is_one_training": false}'
    mixed = {**member(1), **member(2, 0.1, 0.9), "ensemble.json": own}
    assert Description.of(mixed, "here").interface["outputs"] == {"kind": "point"}
    same = {**member(1, 0.1, 0.9), **member(2, 0.1, 0.9), "ensemble.json": own}
    assert Description.of(same, "here").interface["outputs"] == {"kind": "quantiles", "levels": [0.1, 0.9]}


VERSIONS = st.builds(SemanticVersion, *[st.integers(0, 1000)] * 3)
SIGNATURES = st.builds(
    Signature,
    st.sampled_from("ab"),
    st.sampled_from("ab"),
    st.dictionaries(st.sampled_from(["Forecaster", "Ensemble"]), st.integers(1, 2), min_size=1),
)


@given(VERSIONS, SIGNATURES, SIGNATURES)
def test_the_next_version_is_always_larger_and_starts_lower_parts_at_zero(
    newest: SemanticVersion, before: Signature, after: Signature
) -> None:
    following = next_version(newest, before, after)
    assert following > newest
    if following.major > newest.major:
        assert following == (newest.major + 1, 0, 0)
    elif following.minor > newest.minor:
        assert following == (newest.major, newest.minor + 1, 0)
        assert before.interface == after.interface
    else:
        assert before[:2] == after[:2]
