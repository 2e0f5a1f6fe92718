"""Training that is left to the family of the architecture."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.training.presets import FAMILY_SETTINGS, PRESETS
from tests.unit.runs.test_directory import InterruptAt, assert_same

AUTO = nd.TrainingConfig.preset("auto")


def test_every_family_has_settings_among_those_that_may_be_recommended() -> None:
    named = {nd.Architecture.registry.get(name).traits.family for name in nd.Architecture.registry.names()}
    assert named == set(FAMILY_SETTINGS)
    allowed = get_args(get_args(get_args(nd.TrainingConfig.model_fields["recommended"].annotation)[0])[0])
    assert list(allowed) == PRESETS["auto"][1]["recommended"]
    assert {key for recipe in FAMILY_SETTINGS.values() for key in recipe} <= set(allowed)


@pytest.mark.parametrize("family", FAMILY_SETTINGS)
def test_family_settings_change_what_they_name_and_resolve_the_rest(family: str) -> None:
    decided = AUTO.for_family(family)
    assert decided == nd.TrainingConfig(**FAMILY_SETTINGS[family])
    assert decided.recommended is None
    assert decided.for_family("linear") == decided


def test_a_linear_model_is_trained_at_a_higher_rate() -> None:
    assert AUTO.for_family("linear").optimizer == nd.AdamW(lr=3e-3)


def test_a_family_that_is_not_known_gets_the_defaults() -> None:
    assert AUTO.for_family("unknown") == nd.TrainingConfig()


def test_what_is_given_is_never_chosen_again() -> None:
    given = nd.TrainingConfig.preset("auto", optimizer=nd.AdamW(), max_steps=70)
    assert given.for_family("linear") == nd.TrainingConfig(max_steps=70)
    every = {name: getattr(AUTO, name) for name in AUTO.recommended or ()}
    assert nd.TrainingConfig.preset("auto", **every) == nd.TrainingConfig()
    later = AUTO.replace(optimizer=nd.optimizers.SGD())
    assert later.recommended == ("schedule", "clip", "batch_size")
    assert later.for_family("linear").optimizer == nd.optimizers.SGD()


def test_what_is_left_open_survives_a_trip_through_toml() -> None:
    assert nd.TrainingConfig.from_toml(AUTO.to_toml()) == AUTO
    assert "recommended" not in nd.TrainingConfig().to_dict()
    with pytest.raises(nd.errors.ConfigError, match="recommended"):
        nd.TrainingConfig(recommended=["seed"])


def test_a_forecaster_decides_at_once() -> None:
    auto = nd.Forecaster("dlinear", horizon=3, training="auto")
    assert auto.training == AUTO.for_family("linear")
    assert nd.Forecaster("dlinear", horizon=3, training="quick").training == nd.TrainingConfig.preset("quick")
    with pytest.raises(nd.errors.ConfigError, match="Unknown preset 'atuo'"):
        nd.Forecaster("dlinear", horizon=3, training="atuo")


def test_a_run_keeps_what_was_decided_and_goes_on_exactly(tmp_path: Path) -> None:
    data = Synthetic(num_series=3, length=60).frame()
    training = nd.TrainingConfig.preset("auto", max_steps=24, threads=1, validate_every=6)
    settings = {"horizon": 3, "input_size": 12, "training": training}
    whole = nd.Forecaster("nlinear", **settings).fit(data)
    with pytest.raises(nd.errors.Interrupted):
        nd.Forecaster("nlinear", **settings).fit(data, run=tmp_path / "run", callbacks=[InterruptAt(13)])
    asked = RunDirectory(tmp_path / "run").stored_config()["training"]
    assert asked["optimizer"]["lr"] == 3e-3
    assert "recommended" not in asked
    assert_same(nd.Forecaster.resume(tmp_path / "run", data), whole)
