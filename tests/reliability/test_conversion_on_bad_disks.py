"""Conversions to disks that are full: one clear error, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import StorageError
from neuro_divergent.data.conversion import conversion, converter
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from tests.reliability.apart import mount_memory


def write_table(path: Path, *, is_sorted: bool, rows: int = 40_000) -> str:
    frame = pl.DataFrame(
        {"unique_id": np.repeat(np.arange(rows // 100), 100), "ds": [*range(100)] * (rows // 100), "y": np.arange(rows)}
    )
    if not is_sorted:
        frame = frame.sample(fraction=1.0, shuffle=True, seed=3)
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return str(path)


SCRIPT = "import sys; from tests.reliability.test_conversion_on_bad_disks import attempt; attempt(*sys.argv[1:])"


@pytest.mark.parametrize(
    ("name", "is_sorted", "size"),
    [("a.parquet", True, 64), ("a.parquet", False, 300), ("a.parquet", False, 650), ("a.csv", False, 150)],
)
def test_a_disk_that_becomes_full_leaves_nothing_and_is_told(
    name: str, is_sorted: bool, size: int, mount_place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = write_table(tmp_path_factory.mktemp("in") / name, is_sorted=is_sorted)
    # Not by a fork: the threads of polars would be lost in it.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, source, str(mount_place), str(size)],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert "No space left on device" in done.stdout
    assert " free" in done.stdout
    assert "needs " in done.stdout


def attempt(source: str, mounted: str, size: str) -> None:
    """Convert to a small disk on which another panel is, and print the message."""
    place = Path(mounted)
    mount_memory(place, f"size={size}k")
    before = Panel.open(_small(place)).y.tolist()
    with (
        patch.object(converter, "plan_rows", lambda *_: (3000, 5000)),
        patch.object(conversion, "free_bytes", lambda _: None),  # what is free is not known before
        patch.object(conversion, "_SECONDS_BETWEEN_RECORDS", 0.0),
        pytest.raises(StorageError) as caught,
    ):
        convert(source, place / "panel", Schema())
    assert [path.name for path in place.iterdir()] == ["panel"]
    assert Panel.open(place / "panel").y.tolist() == before
    print(caught.value)  # noqa: T201


def _small(place: Path) -> Path:
    """Write a panel that is there already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pl.DataFrame({"ds": [1, 2, 3], "y": [1.0, 2.0, 4.0]}).write_parquet(place / "small.parquet")
        convert(str(place / "small.parquet"), place / "panel", Schema())
    (place / "small.parquet").unlink()
    return place / "panel"


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_disk_that_is_too_small_is_refused_at_once(
    is_sorted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_table(tmp_path / "a.parquet", is_sorted=is_sorted)
    room = 100_000 if is_sorted else 500_000  # a panel is 160 kB; sorting needs 640 kB more
    monkeypatch.setattr(conversion, "free_bytes", lambda _: room)
    monkeypatch.setattr(converter, "plan_rows", lambda *_: (3000, 5000))
    with pytest.raises(StorageError, match=r"not enough room: needs about \d+ kB, .* free"):
        convert(source, tmp_path / "panel", Schema())
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
