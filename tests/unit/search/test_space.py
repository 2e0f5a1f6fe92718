"""What a search may try: by hand, from architectures, in TOML."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent import search
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.search.dimension import Choices, Range, dimension_of
from neuro_divergent.search.parameter import Parameter
from neuro_divergent.search.settings import config_for
from neuro_divergent.search.space import Space

BY_HAND: dict[str, Any] = {
    "model": ["lstm", "gru", "patchtst"],
    "model.hidden_size": [64, 128, 256, 512],
    "training.optimizer.lr": search.log(1e-5, 1e-1),
    "model.dropout": (0.0, 0.5),
}


def base(**changes: Any) -> RunConfig:
    return RunConfig.from_dict({"data": {}, "model": "nhits", "task": {"horizon": 7}, **changes})


def test_space_by_hand_gives_points_with_a_value_for_every_setting() -> None:
    point = Space(BY_HAND).random(random.Random(0))
    assert set(point) == set(BY_HAND)
    assert point["model.hidden_size"] in (64, 128, 256, 512)
    assert 1e-5 <= point["training.optimizer.lr"] <= 1e-1


def test_setting_that_one_model_lacks_is_an_error_that_names_the_models_that_have_it() -> None:
    with pytest.raises(
        ConfigError, match=r"lstm has no setting 'patch_length'\. Models that have it: patchtst, timellm"
    ):
        Space({"model": ["lstm", "patchtst"], "model.patch_length": [8, 16]})


def test_setting_of_one_model_exists_only_where_that_model_is_chosen() -> None:
    space = Space({**BY_HAND, "patchtst.patch_length": [8, 16]})
    points = [space.random(random.Random(seed)) for seed in range(50)]
    assert all(("model.patch_length" in point) == (point["model"] == "patchtst") for point in points)
    assert {point["model"] for point in points} == {"lstm", "gru", "patchtst"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ["lstmm"]}, "Unknown model 'lstmm'. Did you mean 'lstm'"),
        ({"model": ["lstm"], "model.hiden_size": [8]}, "Did you mean 'hidden_size'"),
        ({"task.inputs_size": [8]}, "Did you mean 'input_size'"),
        ({"something.else": [8]}, "unknown setting 'something.else'"),
        ({"model": ["lstm"], "model.dropout": (0.0, 2.0)}, "2.0 cannot be tried: must be less than 1"),
        ({"training.optimizer": ["adamw", "sdg"]}, "Did you mean 'sgd'"),
        ({"training.batch_size": 32}, "expected choices as a list"),
        ({"task.horizon": [7, 14]}, "not comparable"),
        ({"training.optimizer.lr": (1e-1, 1e-3)}, "the first number must be the smaller one"),
        ({"training.optimizer.lr": {"low": 1e-3, "hihg": 1e-1}}, "Did you mean 'high'"),
        ({"model": ["lstm"], "model.dropout": (0.0, 0.5), "lstm.dropout": (0.0, 0.1)}, "comes twice"),
    ],
)
def test_wrong_space_is_refused_with_what_to_write(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Space(settings)


def test_setting_that_the_model_of_the_forecaster_lacks_is_refused() -> None:
    with pytest.raises(ConfigError, match="nhits has no setting 'patch_length'"):
        Space({"model.patch_length": [8, 16]}).around(base())


def test_space_in_toml_equals_the_one_by_hand() -> None:
    text = """
    [space.model]
    name = ["lstm", "gru", "patchtst"]
    hidden_size = [64, 128, 256, 512]
    dropout = {low = 0.0, high = 0.5}
    [space.patchtst]
    patch_length = [8, 16]
    [space.training.optimizer]
    lr = {low = 1e-5, high = 1e-1, log = true}
    """
    assert Space.from_toml(text) == Space({**BY_HAND, "patchtst.patch_length": [8, 16]})


@pytest.mark.parametrize("models", [("nhits",), ("lstm", "patchtst"), ("dlinear", "nlinear", "tft")])
def test_default_space_round_trips_through_plain_values(models: tuple[str, ...]) -> None:
    space = Space.of(*models)
    assert Space.from_dict(space.to_dict()) == space


def test_default_space_varies_model_task_and_training() -> None:
    settings = {item.setting for item in Space.of("nhits")}
    assert {
        "model.hidden_size",
        "model.dropout",
        "task.input_size",
        "task.scaler",
        "task.series_scaler",
        "task.loss",
    } < settings
    assert {
        "training.optimizer",
        "training.optimizer.lr",
        "training.optimizer.weight_decay",
        "training.batch_size",
    } < settings
    assert {"training.schedule", "training.schedule.warmup", "training.clip", "training.clip.limit"} < settings


def test_default_space_leaves_out_what_the_forecaster_sets_and_searches_the_settings_of_its_components() -> None:
    around = base(
        training={"optimizer": {"name": "sgd", "momentum": 0.5}, "batch_size": 16}, task={"horizon": 7, "loss": "huber"}
    )
    settings = {item.key for item in Space.of(base=around)}
    assert not settings & {"training.optimizer", "training.batch_size", "task.loss"}
    assert "training.optimizer.lr" in settings


def test_history_is_searched_in_multiples_of_the_horizon_up_to_the_default_history() -> None:
    space = Space({"task.input_size": search.horizons(1, 5)})
    assert space.around(base()).parameters[0].dimension.grid() == [7, 14, 21, 28, 35]
    assert space.around(base(), history=40).parameters[0].dimension.grid() == [7, 14, 21, 28, 35, 42]


def test_first_point_is_the_defaults_or_the_nearest_values_to_them() -> None:
    around = base()
    space = Space.of(base=around).around(around)
    values = around.resolve_model().to_dict()
    values["task"]["input_size"], values["training"]["batch_size"] = 20, 128
    point = space.start(values)
    assert point["model.hidden_size"] == 512
    assert point["model.pooling"] == [2, 2, 1]
    assert point["task.input_size"] == 21
    assert point["task.loss"] == "mae"
    assert point["training.clip.limit"] == 1.0
    assert point["training.batch_size"] == 128
    changed = config_for(around, point)
    assert changed.training.optimizer == around.training.optimizer
    assert changed.training.schedule == around.training.schedule


def test_point_changes_the_component_before_its_settings() -> None:
    config = config_for(
        base(), {"training.optimizer.lr": 0.05, "training.optimizer": "sgd", "model": "mlp", "model.hidden_size": 16}
    )
    assert config.training.optimizer.name == "sgd"
    assert config.training.optimizer.lr == 0.05
    assert config.model == {"name": "mlp", "hidden_size": 16}


def test_replaced_choice_of_a_component_drops_the_settings_of_others() -> None:
    space = Space.of("nhits").replace({"training.schedule": ["constant", "one_cycle"]})
    keys = {item.key for item in space}
    assert "training.schedule.warmup@one_cycle" in keys
    assert not any("warmup_cosine" in key for key in keys)


def test_settings_taken_out_take_those_of_their_components_with_them() -> None:
    space = Space.of("nhits").without("training.schedule", "training.clip")
    assert not any(item.setting.startswith(("training.schedule", "training.clip")) for item in space)
    with pytest.raises(ConfigError, match=r"Did you mean 'task\.loss'"):
        space.without("task.los")


def test_point_outside_the_space_is_refused() -> None:
    space = Space(BY_HAND)
    with pytest.raises(ConfigError, match="is not in the space"):
        space.require({"model": "lstm", "model.hidden_size": 65})
    with pytest.raises(ConfigError, match=r"Did you mean 'model\.hidden_size'"):
        space.require({"model.hidden_sizes": 64})
    assert space.require({"model.hidden_size": 64}) == {"model.hidden_size": 64}


def test_grid_of_a_conditional_space_has_every_combination_exactly_once() -> None:
    space = Space({"model": ["lstm", "patchtst"], "patchtst.patch_length": [8, 16], "model.num_layers": (1, 3)})
    found = [tuple(sorted(point.items())) for point in space.grid()]
    lstm = [{"model": "lstm", "model.num_layers": layers} for layers in (1, 2, 3)]
    patches = [
        {"model": "patchtst", "model.num_layers": layers, "model.patch_length": length}
        for layers, length in itertools.product((1, 2, 3), (8, 16))
    ]
    assert sorted(found) == sorted(tuple(sorted(point.items())) for point in [*lstm, *patches])
    assert space.grid_size() == 9


numbers = st.floats(1e-6, 1e6)
integers = st.integers(1, 10_000)


@st.composite
def dimensions(draw: st.DrawFn) -> Choices | Range:
    kind = draw(st.sampled_from(["choices", "integers", "steps", "floats"]))
    if kind == "choices":
        values = draw(st.lists(st.one_of(st.text(max_size=5), integers, st.booleans()), min_size=1, max_size=5))
        return Choices(
            tuple(
                {
                    str((type(value).__name__, value)): value for value in values if value is not True and value != 1
                }.values()
            )
            or ("one",)
        )
    values = numbers if kind == "floats" else integers
    low, high = sorted(draw(st.tuples(values, values).filter(lambda pair: pair[0] != pair[1])))
    step = draw(integers) if kind == "steps" else None
    return Range(low, high, log=step is None and draw(st.booleans()), step=step)


@given(dimensions(), st.floats(0, 1, exclude_max=True))
def test_dimension_contains_what_it_gives_and_survives_plain_values(
    dimension: Choices | Range, fraction: float
) -> None:
    value = dimension.at(fraction)
    assert dimension.contains(value)
    assert dimension.nearest(value) == value
    assert dimension.decode(dimension.encode(value)) == value
    assert dimension_of(dimension.to_plain()) == dimension
    assert all(map(dimension.contains, dimension.grid()))


@st.composite
def conditional_spaces(draw: st.DrawFn) -> Space:
    """Return a space with components, whose settings belong to some of them."""
    optimizers = draw(
        st.lists(st.sampled_from(["adamw", "sgd", "nadam", "radam"]), min_size=1, max_size=4, unique=True)
    )
    some = draw(st.lists(st.sampled_from(optimizers), min_size=1, unique=True))
    parameters = [
        Parameter("training.optimizer", Choices(tuple(optimizers))),
        Parameter("training.optimizer.lr", Range(1e-4, 1e-2, log=True), tuple(sorted(some))),
        Parameter("model", Choices(("lstm", "patchtst"))),
        Parameter("model.patch_length", Choices((8, 16)), ("patchtst",)),
    ]
    return Space(draw(st.permutations(parameters)))


@given(conditional_spaces(), st.integers(0, 1000))
def test_point_of_a_conditional_space_has_exactly_the_settings_whose_component_is_chosen(
    space: Space, seed: int
) -> None:
    point = space.random(random.Random(seed))
    expected = {item.setting for item in space if not item.only or point.get(item.parent) in item.only}
    assert set(point) == expected
    assert space.require(point) == point
    config_for(RunConfig(data=DataConfig(), task={"horizon": 3}), point)


def test_settings_that_are_searched_are_not_replaced_by_those_recommended_for_the_family() -> None:
    around = base(model="nlinear", training={"preset": "auto"})
    point = {"training.optimizer": "adamw", "training.optimizer.lr": 0.05}
    assert config_for(around, point).resolve_training().training.optimizer.lr == 0.05
    assert "training.optimizer.lr" in {item.setting for item in Space.of(base=around)}


def test_repr_of_a_space_counts_its_settings() -> None:
    assert repr(Space({"task.stride": [1, 2]})) == "Space(1 setting: task.stride)"
    assert repr(Space({"task.stride": [1, 2], "training.seed": (1, 5)})).startswith("Space(2 settings: ")
