"""A run as a document."""

import subprocess
import sys

import pytest

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.forecasting.run_config import RunConfig, override, parse_setting, parse_value

MINIMAL = {"data": {"path": "a.csv"}, "task": {"horizon": 24}}


def test_survives_toml() -> None:
    values = {
        "data": {"path": "a.csv", "past": ["p"], "frequency": "1h", "missing": "mask"},
        "model": {"name": "nhits", "hidden_size": 32},
        "task": {"horizon": 24, "loss": {"name": "quantile", "quantiles": [0.1, 0.5, 0.9]}, "validation": 48},
        "training": {"clip": "none", "optimizer": {"name": "sgd", "lr": 0.1}, "early_stopping": {"patience": 3}},
    }
    run = RunConfig.from_dict(values)
    assert RunConfig.from_toml(run.to_toml()) == run
    resolved = run.resolve_model()
    assert RunConfig.from_toml(resolved.to_toml()) == resolved
    assert resolved.model["hidden_size"] == 32
    assert resolved.architecture.hidden_size == 32
    assert run.training.clip is None


def test_defaults() -> None:
    run = RunConfig.from_dict(MINIMAL)
    assert run.model == {"name": "nhits"}
    assert run.data.schema_fields.target == "y"
    assert not hasattr(run.data.schema_fields, "path")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modle": {}}, "Did you mean 'model'"),
        ({"model": "dlinaer"}, "Did you mean 'dlinear'"),
        ({"model": {"hidden_size": 3}}, "needs a name"),
        ({"data": {"pth": "a.csv"}}, "Did you mean 'path'"),
        ({"task": {"horizon": 0}}, "Task: horizon"),
        ({"training": {"max_stepz": 3}}, "Did you mean 'max_steps'"),
        ({"training": {"optimizer": "adamm"}}, "Did you mean 'adam"),
    ],
)
def test_mistakes_are_named(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RunConfig.from_dict({**MINIMAL, **change})


def test_checking_a_run_does_not_load_torch() -> None:
    code = (
        "import sys; from neuro_divergent.forecasting.run_config import RunConfig;"
        "RunConfig.from_dict({'data': {'path': 'a'}, 'model': 'nhits', 'task': {'horizon': 1}});"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_overrides() -> None:
    values: dict = {"training": {"optimizer": "sgd"}}
    override(values, "training.optimizer.lr", 0.5)
    override(values, "training.early_stopping.patience", 3)
    override(values, "training.clip", "none")
    override(values, "task.loss.delta", 2)
    override(values, "model.hidden_size", 64)
    assert values == {
        "training": {"optimizer": {"name": "sgd", "lr": 0.5}, "early_stopping": {"patience": 3}, "clip": "none"},
        "task": {"loss": {"name": "mae", "delta": 2}},
        "model": {"name": "nhits", "hidden_size": 64},
    }


def test_naming_another_component_replaces_its_settings() -> None:
    values: dict = {"model": {"name": "nhits", "hidden_size": 64}, "training": {"optimizer": {"name": "sgd", "lr": 1}}}
    override(values, "model", "nhits")
    override(values, "training.optimizer", "sgd")
    assert values["model"] == {"name": "nhits", "hidden_size": 64}
    assert values["training"]["optimizer"] == {"name": "sgd", "lr": 1}
    override(values, "model", "dlinear")
    override(values, "training.optimizer", "adam")
    assert values == {"model": "dlinear", "training": {"optimizer": "adam"}}


@pytest.mark.parametrize("key", ["horizon", "task.", ".horizon", "task..horizon"])
def test_keys_that_name_nothing(key: str) -> None:
    with pytest.raises(InputError, match="not a setting"):
        override({}, key, 1)


def test_settings_of_something_without_settings() -> None:
    with pytest.raises(InputError, match="has no settings"):
        override({"task": {"horizon": 3}}, "task.horizon.x", 1)


def test_values_are_read_as_toml() -> None:
    assert parse_setting("training.max_steps=500") == ("training.max_steps", 500)
    assert parse_setting("task.loss.quantiles = [0.1, 0.9]") == ("task.loss.quantiles", [0.1, 0.9])
    assert parse_setting("training.clip=none") == ("training.clip", "none")
    assert parse_setting("data.target=my column") == ("data.target", "my column")
    assert [parse_value(text) for text in ("1e-3", "true", "a=b", "")] == [0.001, True, "a=b", ""]
    with pytest.raises(InputError, match="is not a setting"):
        parse_setting("training.max_steps")
