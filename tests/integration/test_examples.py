"""The examples run as they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import neuro_divergent

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
EXPECTED = {
    "quickstart": "hi-80",
    "covariates": "seasonal naive",
    "any_module": "[0.0, 1.0, 1.0, 0.0]",
    "own_callback": "the validation loss is below 0.01",
    "gradient_tape": "second derivative: 48.0",
    "survive_a_kill": "the same weights",
    "pretrain": "pre-training helps",
    "spare_parts": "80 % intervals hold",
    "volatility": "Student's t: 50 % holds",
    "electricity_prices": "conformal: 50 % holds",
    "ensemble": "the ensemble misses by less than its members do on average",
    "ask_the_doctor": "The learning rate is too low",
    "auto": "lower than the seasonal naive forecast",
    "search": "is recommended",
    "hierarchy": "in each of 200 paths: 0.0000",
    "pipeline": "'training': 'cached'",
    "continuous": "is the new champion",
    "federation": "Each of these alone would bring it to 7",
}


FAST = ("quickstart",)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.stem in FAST else pytest.mark.long) for path in EXAMPLES],
)
def test_example(path: Path, tmp_path: Path) -> None:
    source = str(Path(neuro_divergent.__path__[0]).parent)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert EXPECTED[path.stem] in done.stdout.replace("-0.0", "0.0")
    assert not list(tmp_path.iterdir())
