"""Examples in docstrings run as they are, and every public class that users construct and every function has one."""

from __future__ import annotations

import builtins
import doctest
import importlib
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

ROOT = Path(nd.__path__[0])
PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)
SPACES = {"": nd, **{name: item for name in nd.__all__ if isinstance(item := getattr(nd, name), ModuleType)}}

# Results: users get them and do not construct them. The example of what returns them shows what is in them.
RETURNED = {
    "diagnostics.Diagnosis": "diagnose",
    "diagnostics.GradientReport": "diagnostics.analyse_gradients",
    "evaluation.Backtest": "backtest",
    "evaluation.Comparison": "compare",
    "evaluation.CrossValidation": "cross_validate",
    "evaluation.Evaluation": "evaluate",
    "evaluation.Leaderboard": "evaluation.run_leaderboard",
    "evaluation.LearningCurve": "learning_curve",
    "forecasting.Explanation": "Forecaster.explain",
    "privacy.AuditResult": "privacy.Audit.run",
    "privacy.BudgetMeaning": "privacy.explain_budget",
    "privacy.Charge": "privacy.Ledger.charge",
    "runs.RunSummary": "runs.describe_run",
    "search.Trial": "search.Study.best",
    "serving.ExportedModel": "serving.load",
    "serving.ScoringSummary": "serving.score_files",
}


def modules_by_room() -> dict[str, list[str]]:
    """Return the modules whose source has examples, by the first package below the root."""
    found: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        if PROMPT.search(path.read_text("utf-8")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(("neuro_divergent", *(part for part in parts if part != "__init__")))
            found.setdefault(parts[0], []).append(module)
    return found


MODULES = modules_by_room()


def examples_of(module: str) -> list[doctest.DocTest]:
    """Return the examples of a module, each with nothing but what it imports itself."""
    found = doctest.DocTestFinder().find(importlib.import_module(module), globs={"__name__": "__main__"})
    return [item for item in found if item.examples]


def public() -> Iterator[tuple[str, Any]]:
    """Yield what the namespaces offer, each object once, under the first of its names."""
    seen: set[int] = set()
    for space, module in SPACES.items():
        for name in sorted(module.__all__):
            item = getattr(module, name)
            if not isinstance(item, ModuleType) and id(item) not in seen:
                seen.add(id(item))
                yield f"{space}.{name}".lstrip("."), item


def is_constructed(item: Any) -> bool:
    """Whether users may construct it: a class that is no error, protocol or base of a family.

    Results, which look like what users construct, are those of ``RETURNED``.
    """
    if not inspect.isclass(item) or issubclass(item, BaseException) or getattr(item, "_is_protocol", False):
        return False
    return not inspect.isabstract(item) and not (issubclass(item, Component) and not item.name)


def has_example(item: Any) -> bool:
    """Whether the docstring of its own has one that runs."""
    text = (vars(item).get("__doc__") if inspect.isclass(item) else item.__doc__) or ""
    return any(not example.options.get(doctest.SKIP) for example in doctest.DocTestParser().get_examples(text))


def resolve(name: str) -> Any:
    """Return what a dotted name below the package stands for."""
    item: Any = nd
    for part in filter(None, name.split(".")):
        item = getattr(item, part)
    return item


@pytest.fixture
def unregistered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the components that examples registered, which other tests must not meet."""
    added: list[tuple[Registry, str]] = []
    add = Registry.add

    def record(self: Registry, name: str, member: type) -> None:
        add(self, name, member)
        if member.__module__ == "__main__":
            added.append((self, name))

    monkeypatch.setattr(Registry, "add", record)
    yield
    for registry, name in added:
        registry._members.pop(name, None)


@pytest.mark.usefixtures("unregistered")
@pytest.mark.parametrize("room", MODULES)
def test_examples_of_docstrings_give_the_output_that_they_show(
    room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[str] = []
    for number, example in enumerate(item for module in MODULES[room] for item in examples_of(module)):
        place = tmp_path / str(number)
        place.mkdir()
        monkeypatch.chdir(place)
        report = io.StringIO()
        doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(example, out=report.write)
        if report.getvalue():
            failures.append(f"{example.name}\n{report.getvalue()}")
    vars(builtins).pop("_", None)  # the last value, which the prompt of Python keeps
    assert not failures, "\n".join(failures)


def test_every_public_class_that_users_construct_has_an_example() -> None:
    lacking = [name for name, item in public() if is_constructed(item) and not has_example(item)]
    assert [name for name in lacking if name not in RETURNED] == []


def test_every_public_function_has_an_example() -> None:
    assert [name for name, item in public() if inspect.isfunction(item) and not has_example(item)] == []


@pytest.mark.parametrize("name", RETURNED)
def test_result_without_an_example_is_returned_by_something_that_has_one(name: str) -> None:
    item, giver = resolve(name), resolve(RETURNED[name])
    giver = giver.fget if isinstance(giver, property) else giver
    assert is_constructed(item)
    assert not has_example(item), "take it off the list: it has an example"
    assert re.search(rf"\b{item.__name__}\b", str(inspect.signature(giver).return_annotation))
    assert has_example(giver) or has_example(resolve(RETURNED[name].rpartition(".")[0]))
