"""Options that come from config fields."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.config_options import COMPARE_OPTIONS, TRAIN_OPTIONS, ConfigOption
from neuro_divergent.interfaces.cli.main import app
from neuro_divergent.reporting.config_document import choices

BY_KEY = {option.key: option for option in TRAIN_OPTIONS}
TRAIN_FLAGS = [
    "--target",
    "--time",
    "--id",
    "--past",
    "--future",
    "--static",
    "--weight",
    "--categorical",
    "--calendar",
    "--frequency",
    "--missing",
    "--gaps",
    "--short",
    "--unknown-category",
    "--encoding",
    "--date-format",
    "--strict",
    "--horizon",
    "--input-size",
    "--model",
    "-m",
    "--loss",
    "--quantiles",
    "--scaler",
    "--series-scaler",
    "--baseline",
    "--season-length",
    "--validation",
    "--test",
    "--no-refit",
    "--preset",
    "--training",
    "--max-steps",
    "--max-epochs",
    "--max-seconds",
    "--batch-size",
    "--accumulate",
    "--lr",
    "--auto-batch-size",
    "--find-lr",
    "--optimizer",
    "--schedule",
    "--precision",
    "--average",
    "--teacher",
    "--stop-file",
    "--seed",
    "--threads",
    "--device",
    "--set",
    "-s",
    "--levels",
    "--divergence",
    "--output",
    "-o",
    "--resume",
    "--allow-changes",
    "--retries",
    "--stall",
    "--quiet",
    "-q",
    "--json",
]
COMPARE_FLAGS = [
    "--horizon",
    "--input-size",
    "--splits",
    "--gap",
    "--refit",
    "--preset",
    "--max-steps",
    "--last",
    "--metric",
    "--reference",
    "--season-length",
    "--target",
    "--time",
    "--id",
    "--past",
    "--future",
    "--static",
    "--calendar",
    "--frequency",
    "--missing",
    "--gaps",
    "--short",
    "--jobs",
    "--store",
    "--output",
    "-o",
    "--json",
]


def help_of(command: str) -> str:
    return CliRunner().invoke(app, [command, "--help"]).output


@pytest.mark.parametrize(("command", "flags"), [("train", TRAIN_FLAGS), ("compare", COMPARE_FLAGS)])
def test_help_lists_every_flag_once(command: str, flags: list[str]) -> None:
    listed = re.findall(r"^  (-.*?)(?:  |$)", help_of(command), re.MULTILINE)
    found = [flag for line in listed for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line)]
    assert len(set(found)) == len(found)
    assert set(flags) <= set(found)


def test_help_is_in_panels_with_docstring_choices_and_default() -> None:
    text = " ".join(help_of("train").split())
    assert re.findall(r"(Arguments|Data|Task|Model|Training|Run): ", text) == [
        "Arguments", "Data", "Task", "Model", "Training", "Run",
    ]  # fmt: skip
    assert "--max-steps INTEGER Optimizer steps at most, also where max_epochs is given. [default: 1000]" in text
    assert "One of: error, unknown. [default: error]" in text
    assert "--no-refit Turned off: the network is trained again on all rows" in text
    assert "--lr NUMBER Learning rate. [default: 0.001]" in text
    assert text.index("--horizon") < text.index("--quantiles")


@pytest.mark.parametrize("option", dict.fromkeys((*TRAIN_OPTIONS, *COMPARE_OPTIONS)), ids=lambda option: option.key)
def test_each_option_fits_its_field(option: ConfigOption) -> None:
    owner, name = option.locate()
    annotation = owner.model_fields[name].annotation
    assert option.is_switch == (annotation is bool)
    assert set(option.examples) <= set(choices(annotation))
    placeholder, text = option.describe()
    assert text
    assert (placeholder is None) == option.is_switch
    assert tuple not in get_args(annotation), "a list that may be unset would need another placeholder"


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("training.max_steps", ["500"], 500),
        ("training.max_steps", ["none"], "none"),
        ("training.max_steps", ["abc"], "abc"),  # which the config class refuses
        ("training.max_steps", ["5", "6"], 6),
        ("training.optimizer.lr", [".001"], 0.001),
        ("training.batch_size", ["auto"], "auto"),
        ("training.device", ["1"], "1"),
        ("task.validation", ["0.25"], 0.25),
        ("task.test", ["30"], 30),
        ("task.horizon", ["24"], 24),
        ("data.target", ["5"], "5"),
        ("data.past", ["a,b", "c"], ["a", "b", "c"]),
        ("data.strict", True, True),
        ("data.strict", False, None),
        ("data.past", None, None),
        ("task.loss", ["huber"], "huber"),
    ],
)
def test_text_becomes_the_type_of_the_field(key: str, given: Any, value: Any) -> None:
    found = BY_KEY[key].read(given)
    assert (found, type(found)) == (value, type(value))


def test_horizon_that_is_no_integer_is_refused() -> None:
    with pytest.raises(InputError, match=r"1\.5 must be an integer of at least 1"):
        BY_KEY["task.horizon"].read(["1.5"])


@pytest.mark.parametrize(("flag", "closest"), [("--max-stepz", "--max-steps"), ("--horizn", "--horizon")])
def test_unknown_flag_names_the_closest_one(flag: str, closest: str) -> None:
    result = CliRunner().invoke(app, ["train", "table.csv", flag, "3"])
    assert result.exit_code == 2
    assert closest in result.output
