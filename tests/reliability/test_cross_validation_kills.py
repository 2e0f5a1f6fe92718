"""Cross-validation that is killed goes on where it was, and ends with what one that was not killed gives."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

SCRIPT = """
import sys
import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.cross_validation.cross_validation import cross_validate
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

if __name__ == "__main__":
    store, result, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    training = nd.TrainingConfig(max_steps=300, threads=1)
    models = [nd.Forecaster(name, horizon=4, input_size=12, training=training) for name in ("nlinear", "dlinear")]
    frame = Synthetic(num_series=3, length=120).frame()
    made = cross_validate(models, frame, TimeSeriesSplit(n_splits=3, test_size=4), store=store, jobs=jobs)
    made.forecasts.write_parquet(result)
"""
FOLDS = 6
Property = Callable[[str, object], None]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")


def start(script: Path, store: Path, result: Path, jobs: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(script), str(store), str(result), str(jobs)])


def finished(store: Path) -> set[Path]:
    return set(store.glob("fold-*"))


def children(pid: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(place.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_after(process: subprocess.Popen[bytes], store: Path, count: int) -> list[int]:
    """Kill a cross-validation as soon as it has finished so many folds; return the processes it had started."""
    end = time.monotonic() + 120
    while len(finished(store)) < count:
        assert process.poll() is None, "it came to its end before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.002)
    helpers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return helpers


@pytest.mark.long
def test_cross_validation_killed_by_sigkill_resumes_with_identical_forecasts(
    tmp_path: Path, record_property: Property
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    whole = tmp_path / "whole.parquet"
    assert start(script, tmp_path / "whole", whole, 1).wait() == 0
    store, result = tmp_path / "killed", tmp_path / "killed.parquet"
    kills = 0
    for count, jobs in ((1, 1), (3, 2)):
        kept = {place: (place / "fold.json").stat().st_mtime_ns for place in finished(store)}
        helpers = kill_after(start(script, store, result, jobs), store, count)
        kills += 1
        assert not result.exists()
        assert jobs == 1 or helpers
        end = time.monotonic() + 30
        while any(is_alive(pid) for pid in helpers):  # nobody is left behind to work for nobody
            assert time.monotonic() < end
            time.sleep(0.05)
        for place in finished(store):  # what is there is complete
            assert json.loads((place / "fold.json").read_bytes())["format"] == 1
        assert all((place / "fold.json").stat().st_mtime_ns == written for place, written in kept.items())
    kept = {place: (place / "fold.json").stat().st_mtime_ns for place in finished(store)}
    assert 3 <= len(kept) < FOLDS
    assert start(script, store, result, 1).wait() == 0
    assert len(finished(store)) == FOLDS
    assert all((place / "fold.json").stat().st_mtime_ns == written for place, written in kept.items())
    assert pl.read_parquet(result).equals(pl.read_parquet(whole))
    assert not [place for place in store.iterdir() if ".partial-" in place.name]
    record_property("kills", kills)
    record_property("folds_kept", len(kept))
