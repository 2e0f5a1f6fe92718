"""What is imported when forecasts are made in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.unit.serving.conftest import SavedModel

HEAVY = ("torch", "polars", "pandas", "pydantic", "pyarrow", "typer", "onnx")


def run(code: str, *arguments: str) -> str:
    """Run Python code in a new process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, neuro_divergent.serving; print([n for n in (*{HEAVY!r}, 'numpy') if n in sys.modules])"
    assert run(code).strip() == "[]"


def test_handler_imports_nothing_heavy_and_answers_as_predict(saved: SavedModel) -> None:
    rows = saved.table.filter(saved.table["unique_id"] == "B")
    body = json.dumps({"series": [{"id": "B", "end": "2024-06-02T15:00:00", "y": rows["y"].to_list()}], "levels": [80]})
    code = f"""
import sys
from neuro_divergent.serving import load
print(load(sys.argv[1]).answer(sys.argv[2].encode()).decode())
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    answer, heavy = run(code, str(saved.path), body).splitlines()
    assert heavy == "[]"
    (found,) = json.loads(answer)["series"]
    expected = saved.forecaster.predict(rows, levels=[80])
    assert found["ds"] == [time.isoformat() for time in expected["ds"]]
    for name in ("forecast", "lo-80", "hi-80"):
        np.testing.assert_allclose(found[name], expected[name].to_numpy(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("is_file", [False, True])
def test_predict_command_on_a_small_csv_imports_neither_torch_nor_polars(saved: SavedModel, is_file: bool) -> None:
    code = """
import sys
from neuro_divergent.interfaces.cli.main import app
sys.argv = ["nd", "predict", *sys.argv[1:]]
try:
    app(standalone_mode=False)
finally:
    print([name for name in ("torch", "polars", "pandas", "pyarrow", "rich") if name in sys.modules])
"""
    model = saved.path.with_suffix(".onnx") if is_file else saved.path
    lines = run(code, str(model), str(saved.file), "--levels", "80").splitlines()
    assert lines[-1] == "[]"
    assert lines[0] == "unique_id,ds,forecast,lo-80,hi-80"
    assert len(lines) == 2 + 3 * 6


def test_predict_command_on_parquet_imports_polars_and_not_torch(saved: SavedModel, tmp_path: Path) -> None:
    saved.table.write_parquet(tmp_path / "new.parquet")
    code = """
import sys
from neuro_divergent.interfaces.cli.main import app
sys.argv = ["nd", "predict", *sys.argv[1:]]
app(standalone_mode=False)
print([name for name in ("torch", "polars") if name in sys.modules])
"""
    lines = run(code, str(saved.path), str(tmp_path / "new.parquet")).splitlines()
    assert lines[-1] == "['polars']"
    assert len(lines) == 2 + 3 * 6
