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
    "pretrain": "pre-training helps",
    "volatility": "Student's t: 50 % holds",
    "ensemble": "the ensemble misses by less than its members do on average",
    "ask_the_doctor": "The learning rate is too low",
    "search": "is recommended",
    "continuous": "is the new champion",
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
