"""What `import neuro_divergent` offers, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import neuro_divergent as nd

SNAPSHOT = Path(__file__).with_name("public_names.txt")


def test_public_names_are_the_recorded_ones() -> None:
    """A name that comes or goes is a decision: change the recorded list in the same commit."""
    assert sorted(nd.__all__) == SNAPSHOT.read_text("utf-8").split()


def test_every_public_name_resolves_and_is_documented() -> None:
    undocumented = [name for name in nd.__all__ if not (getattr(nd, name).__doc__ or "").strip()]
    assert not undocumented


def test_type_checkers_see_every_public_name() -> None:
    """In a stub only ``import X as X`` offers a name to others."""
    stub = ast.parse(Path(nd.__file__).with_suffix(".pyi").read_text("utf-8"))
    names = [name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert [name.name for name in names if name.asname != name.name] == []


def modules_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not modules_after("import neuro_divergent") & {"torch", "numpy", "polars", "pydantic", "pandas"}


def test_training_settings_and_model_names_need_no_torch() -> None:
    loaded = modules_after(
        "import neuro_divergent as nd; nd.TrainingConfig(optimizer='sgd', schedule='plateau'); "
        "nd.Task(horizon=3, loss='huber'); nd.Architecture.registry.check('nhits')"
    )
    assert "torch" not in loaded
