"""The commented run: it must be complete, valid and true."""

import re

from neuro_divergent.core.config import Config
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.reporting.config_document import describe_fields, write_document
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.optimizers.base import Optimizer

ARCHITECTURE = Architecture.from_dict("nhits")
DOCUMENT = write_document("run.toml", path="data.csv", horizon=24, architecture=ARCHITECTURE)
DEFAULT = RunConfig.from_dict({"data": {"path": "data.csv"}, "task": {"horizon": 24}})


def test_document_as_written_is_the_default_run() -> None:
    assert RunConfig.from_toml(DOCUMENT) == DEFAULT


def test_document_with_all_settings_uncommented_is_the_resolved_default_run() -> None:
    everything = re.sub(r"^#(?=[a-z_]+ = )", "", DOCUMENT, flags=re.MULTILINE)
    assert everything.count("\n#") < DOCUMENT.count("\n#")
    assert RunConfig.from_toml(everything) == DEFAULT.resolve_model()


def test_document_explains_every_setting() -> None:
    for cls in (Task, TrainingConfig):
        described = describe_fields(cls)
        for name in cls.model_fields:
            assert re.search(rf"^#?{name} = |^\[\w+\.{name}\]", DOCUMENT, re.MULTILINE), name
            assert described[name], f"{cls.__name__}.{name} has no description"


def test_document_lists_the_choices_of_settings() -> None:
    listed = " ".join(line.removeprefix("# ") for line in DOCUMENT.splitlines())
    assert f"One of: {', '.join(Optimizer.registry.names())}." in listed
    assert "One of: error, interpolate, forward, zero, mask." in DOCUMENT


def test_document_has_no_python_syntax() -> None:
    assert "``" not in DOCUMENT
    assert "None" not in DOCUMENT


def test_output_of_an_example_is_not_taken_for_the_description_of_a_field() -> None:
    class Settings(Config):
        """Settings.

        Attributes:
            rate: Learning rate.

        Examples:
            >>> print("rate: 0.5")
            rate: 0.5
        """

        rate: float = 0.1

    assert describe_fields(Settings) == {"rate": "Learning rate."}
