"""Array types have one set of names."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src" / "neuro_divergent"


def test_only_core_arrays_defines_names_of_array_types() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assign) and "darray[" in ast.unparse(node.value).lower()
    }
    assert found == {"core/arrays.py"}
