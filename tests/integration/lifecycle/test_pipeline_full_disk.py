"""A pipeline on a disk that really is full, and after room was made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.apart import why_no_mounts

ROOT = Path(__file__).parents[3]
SCRIPT = """
import os, sys
from pathlib import Path
from tests.reliability.apart import mount_memory

place = Path(sys.argv[1])
mount_memory(place, "size=400k")

import numpy as np
import polars as pl
from neuro_divergent.core.errors import StorageError
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError

def small():
    return pl.DataFrame({"x": [1]})

def large(table):
    return pl.DataFrame({"x": np.random.default_rng(0).normal(size=20_000)})

pipeline = Pipeline([stage(small), stage(large)], directory=place / "pipeline")
filler = place / "filler"
filler.write_bytes(bytes(300_000))
try:
    pipeline.run()
except StageFailedError as error:
    assert isinstance(error.__cause__, StorageError), error
    assert "No space left on device" in str(error), error
    assert "needs" in str(error), error
    assert error.result.states == {"small": "done", "large": "failed"}, error.result.states
else:
    raise AssertionError("the disk was not full")
assert not [path for path in (place / "pipeline").rglob(".*.partial-*")]
filler.unlink()
assert pipeline.run().states == {"small": "cached", "large": "done"}
print("well")
"""


def test_full_disk_fails_the_stage_with_what_is_needed_and_the_next_run_goes_on(tmp_path: Path) -> None:
    if reason := why_no_mounts():
        pytest.skip(reason)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "well\n", done.stderr
