"""The page about metrics names what there is, and nothing else."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

from neuro_divergent.evaluation import metrics, probabilistic
from neuro_divergent.evaluation.scoring.formulas import METRICS
from neuro_divergent.evaluation.scoring.score import score

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "metrics.md").read_text("utf-8")


def functions(module: ModuleType) -> set[str]:
    own = inspect.getmembers(module, inspect.isfunction)
    return {name for name, function in own if function.__module__ == module.__name__ and not name.startswith("_")}


def test_every_metric_is_on_the_page_once_in_the_order_of_the_list() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(METRICS)


def test_every_function_on_arrays_is_on_the_page_and_exists() -> None:
    for module in (metrics, probabilistic):
        short = module.__name__.rpartition(".")[2]
        assert set(re.findall(rf"`{short}\.(\w+)`", PAGE)) == functions(module)


def test_every_metric_that_the_page_mentions_in_code_exists() -> None:
    named = re.findall(r"metrics=(?:\[([^\]]+)\]|\"([\w-]+)\")", PAGE)
    names = re.findall(r"[\w-]+", " ".join(f"{several} {one}" for several, one in named))
    assert names
    assert {name.partition("-")[0] for name in names} <= set(METRICS)


def test_every_argument_of_the_examples_exists() -> None:
    arguments = set(re.findall(r"(\w+)=", "".join(re.findall(r"score\((.*)\)", PAGE))))
    assert arguments
    assert arguments <= set(inspect.signature(score).parameters)
