"""What `import neuro_divergent` offers, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import neuro_divergent as nd

SNAPSHOT = Path(__file__).with_name("public_names.txt")
SPACES = sorted(name for name in nd.__all__ if isinstance(getattr(nd, name), ModuleType))


def recorded() -> dict[str, list[str]]:
    """Return the recorded names by namespace."""
    found: dict[str, list[str]] = {}
    for line in filter(None, SNAPSHOT.read_text("utf-8").splitlines()):
        if line.startswith("["):
            found[line.strip("[]")] = []
        else:
            found[list(found)[-1]].append(line)
    return found


def names_of(space: str) -> list[str]:
    return sorted((nd if space == "neuro_divergent" else getattr(nd, space)).__all__)


def test_the_namespaces_are_the_recorded_ones() -> None:
    assert ["neuro_divergent", *SPACES] == list(recorded())


@pytest.mark.parametrize("space", ["neuro_divergent", *SPACES])
def test_public_names_are_the_recorded_ones(space: str) -> None:
    """A name that comes or goes is a decision: change the recorded list in the same commit."""
    assert names_of(space) == recorded()[space]


@pytest.mark.parametrize("space", ["neuro_divergent", *SPACES])
def test_every_public_name_resolves_and_is_documented(space: str) -> None:
    module = nd if space == "neuro_divergent" else getattr(nd, space)
    assert [name for name in names_of(space) if not (getattr(module, name).__doc__ or "").strip()] == []


def test_the_top_has_about_sixty_names_besides_namespaces() -> None:
    assert len(set(nd.__all__) - set(SPACES)) < 70


@pytest.mark.parametrize("space", ["neuro_divergent", *SPACES])
def test_type_checkers_see_every_public_name(space: str) -> None:
    """In a stub only ``import X as X`` offers a name to others."""
    module = nd if space == "neuro_divergent" else getattr(nd, space)
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
    names = [name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert [name.name for name in names if name.asname != name.name] == []
    assert sorted(name.name for name in names) == names_of(space)


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


@pytest.mark.parametrize("space", ["neuro_divergent", *SPACES])
def test_a_misspelt_name_is_answered_with_the_closest_one(space: str) -> None:
    module = nd if space == "neuro_divergent" else getattr(nd, space)
    name = max(names_of(space), key=len)
    wrong = name[:-1]
    with pytest.raises(AttributeError, match=rf"^module '{module.__name__}' has no attribute '{wrong}'\. Did you mean"):
        getattr(module, wrong)
    with pytest.raises(AttributeError, match=r"has no attribute '__wrapped__'$"):
        _ = module.__wrapped__
