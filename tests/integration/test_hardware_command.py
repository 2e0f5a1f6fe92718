"""``nd hardware``, and training in short types on a processor that shows instructions it does not run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broken_processor import BrokenProcessor
from tests.integration.test_command_line import COLUMNS, FAST, nd, refused, sales

__all__ = ["sales"]  # the fixture

TRAIN = (
    "train",
    "sales.csv",
    *COLUMNS,
    "--horizon",
    "7",
    *FAST,
    "--set",
    "training.precision=bf16",
    "--output",
    "run",
    "--quiet",
)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


def run(machine: BrokenProcessor, *words: str, cwd: Path, **variables: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", *words]
    environment = {**machine.environment, **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_hardware_shows_what_limits_the_cores_and_what_works(tmp_path: Path) -> None:
    found: dict[str, Any] = json.loads(nd("hardware", "--json", cwd=tmp_path)[0])
    assert found["cores"] == min(found["core_limits"].values()) == found["core_limits"]["OMP_NUM_THREADS"] == 1
    assert found["memory_gib"] > 0
    assert found["precisions"].keys() == {"float32", "float64", "bf16", "fp16"}
    shown, _ = nd("hardware", cwd=tmp_path)
    assert found["processor"] in shown
    assert "OMP_NUM_THREADS is 1" in shown


def test_precisions_are_timed(tmp_path: Path) -> None:
    output, _ = nd(
        "hardware", "precision", "--model", "nlinear", "--steps", "2", "--batch-size", "8", "--json", cwd=tmp_path
    )
    result = json.loads(output)
    assert {row["name"] for row in result["results"]} == {"float32", "float64", "bf16", "fp16"}
    speeds = [row["milliseconds"] for row in result["results"] if row["problem"] is None]
    assert speeds == sorted(speeds)
    assert result["fastest"] == result["results"][0]["name"]
    assert "Did you mean 'nlinear'" in refused("hardware", "precision", "--model", "nlinera", cwd=tmp_path)


@pytest.mark.long
@needs_signals
def test_training_sets_the_limit_that_helps_and_records_it(
    sales: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    machine = BrokenProcessor(tmp_path_factory.mktemp("machine"), helps="AVX512_CORE_BF16")
    code, _, errors = run(machine, *TRAIN, "--device", "cpu", cwd=sales)
    assert (code, errors) == (0, "")
    environment = json.loads((sales / "run" / "environment.json").read_text("utf-8"))
    assert environment["instruction_limit"] == "AVX512_CORE_BF16"
    _, output, _ = run(machine, "hardware", "--json", cwd=sales)
    assert json.loads(output)["instruction_limit"] == {"value": "AVX512_CORE_BF16", "set_by": "neuro-divergent"}
    variable = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
    _, output, _ = run(machine, "hardware", "--json", cwd=sales, **variable)
    assert json.loads(output)["instruction_limit"] == {"value": "AVX512_CORE_BF16", "set_by": "environment"}


@needs_signals
def test_training_in_a_type_that_does_not_work_is_refused_in_one_line(
    sales: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    machine = BrokenProcessor(tmp_path_factory.mktemp("machine"), helps=None)
    code, _, errors = run(machine, *TRAIN, "--device", "cpu", cwd=sales)
    assert code == 2
    assert errors.startswith("error: precision: 'bf16' does not work on this processor")
    assert errors.count("\n") == 1
    assert "Use float32" in errors
    assert not (sales / "run" / "config.toml").exists()
    code, output, _ = run(machine, "hardware", cwd=sales)
    assert code == 0
    assert "killed by SIGILL" in output


@pytest.mark.long
@needs_signals
def test_training_in_float32_tries_nothing(sales: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    machine = BrokenProcessor(tmp_path_factory.mktemp("machine"), helps=None)
    words = [word for word in TRAIN if word not in ("--set", "training.precision=bf16")]
    code, _, errors = run(machine, *words, cwd=sales)
    assert (code, errors) == (0, "")
    assert machine.tried == []
