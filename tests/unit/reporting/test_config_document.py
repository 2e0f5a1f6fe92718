"""The commented run: it must be complete, valid and true."""

import re

from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.reporting.config_document import describe_fields, write_document
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.optimizers.base import Optimizer

ARCHITECTURE = Architecture.from_dict("nhits")
DOCUMENT = write_document("run.toml", path="data.csv", horizon=24, architecture=ARCHITECTURE)
DEFAULT = RunConfig.from_dict({"data": {"path": "data.csv"}, "task": {"horizon": 24}})


def test_as_it_is_it_is_the_default_run() -> None:
    assert RunConfig.from_toml(DOCUMENT) == DEFAULT


def test_with_every_comment_taken_away_it_still_is() -> None:
    everything = re.sub(r"^#(?=[a-z_]+ = )", "", DOCUMENT, flags=re.MULTILINE)
    assert everything.count("\n#") < DOCUMENT.count("\n#")
    assert RunConfig.from_toml(everything) == DEFAULT.resolve_model()


def test_every_setting_is_in_it_and_explained() -> None:
    for cls in (Task, TrainingConfig):
        described = describe_fields(cls)
        for name in cls.model_fields:
            assert re.search(rf"^#?{name} = |^\[\w+\.{name}\]", DOCUMENT, re.MULTILINE), name
            assert described[name], f"{cls.__name__}.{name} has no description"


def test_it_lists_what_can_be_chosen() -> None:
    listed = " ".join(line.removeprefix("# ") for line in DOCUMENT.splitlines())
    assert f"One of: {', '.join(Optimizer.registry.names())}." in listed
    assert "One of: error, interpolate, forward, zero, mask." in DOCUMENT


def test_no_python_in_it() -> None:
    assert "``" not in DOCUMENT
    assert "None" not in DOCUMENT
