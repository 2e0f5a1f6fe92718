"""Imports only point up the page of the design."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "neuro_divergent"
TO_FORECASTING = {"data", "layers", "losses", "models", "training", "runs", "forecasting"}
TO_WORKFLOW = {*TO_FORECASTING, "evaluation", "diagnostics", "reporting", "workflow"}
MAY_IMPORT = {
    "core": set(),
    "data": set(),
    "layers": set(),
    "losses": set(),
    "models": {"layers"},
    "training": {"losses", "data.loader", "data.augment"},
    "runs": {"data", "training"},
    "forecasting": TO_FORECASTING,
    "evaluation": TO_FORECASTING,
    "diagnostics": {*TO_FORECASTING, "evaluation"},
    "reporting": {*TO_FORECASTING, "evaluation", "diagnostics"},
    "workflow": TO_WORKFLOW,
    "search": TO_WORKFLOW,
    "lifecycle": {*TO_WORKFLOW, "search"},
    "serving": {*TO_WORKFLOW, "search", "lifecycle.registry"},
    "compat": TO_WORKFLOW,
    "distributed": {"training", "data.loader"},
    "privacy": {"training"},
    "federated": {*TO_WORKFLOW, "distributed", "privacy"},
    "interfaces": {*TO_WORKFLOW, "search", "distributed", "federated", "privacy", "lifecycle", "serving", "compat"},
}
# What a user looks for on a forecaster, although it is made above its room; imported when it is called.
UPWARD = {
    "forecasting/forecaster.py imports workflow.train_run",  # fit(run=...) ends with scores and a report
    "forecasting/forecaster.py imports diagnostics.doctor",
    "forecasting/forecaster.py imports diagnostics.finding",
    "forecasting/saving.py imports serving.export.exporter",  # model.export(...)
    "forecasting/saving.py imports reporting.plots",  # model.plot(...)
}
ROOMS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("__"))


def imported_modules(path: Path) -> set[str]:
    """Return the modules of ours that a file imports, without the package name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    prefix = "neuro_divergent."
    return {name[len(prefix) :] for name in found if name.startswith(prefix)}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_design_allows(room: str) -> None:
    assert room in MAY_IMPORT, f"{room} is not a room of the design"
    allowed = {room, "core", *MAY_IMPORT[room]}
    strangers = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in (ROOT / room).rglob("*.py")
        for module in imported_modules(path)
        if not any(module == name or module.startswith(f"{name}.") for name in allowed)
    }
    assert not strangers - UPWARD


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "interfaces"])
def test_nothing_outside_the_interfaces_prints(room: str) -> None:
    printing = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert not printing


def test_nothing_but_messages_between_processes_is_pickled() -> None:
    pickling = {
        f"{path.relative_to(ROOT)}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (
            isinstance(node, ast.Import) and any(alias.name.split(".")[0] in {"pickle", "dill"} for alias in node.names)
        )
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in {"torch.load", "torch.save"})
    }
    assert pickling == {"core/task_message.py"}  # between processes; never a file
