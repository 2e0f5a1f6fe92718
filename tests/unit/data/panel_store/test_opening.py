from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import StorageError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.checking import check_panel
from neuro_divergent.data.panel_store.files import WITH_PARTS
from neuro_divergent.data.schema import Schema
from tests.unit.data.panel_store.tables import ROLES, assert_same, table

FORMATS = Path(__file__).parents[3] / "fixtures" / "formats"


@pytest.fixture
def panel() -> Panel:
    return build_panel(table({"a": 40, "b": 7, "c": 25, "d": 1}), Schema(**ROLES))


@pytest.fixture
def mapped(panel: Panel, tmp_path: Path) -> Panel:
    panel.save(tmp_path / "panel")
    return Panel.open(tmp_path / "panel")


def many_series(count: int, rows: int) -> Panel:
    """Return series of equal length without building a table."""
    one = build_panel(pl.DataFrame({"unique_id": ["a", "a"], "ds": [0, 1], "y": [0.0, 1.0]}))
    return dataclasses.replace(
        one,
        ids=pl.Series("unique_id", [f"s{number:07d}" for number in range(count)]),
        starts=pl.Series("ds", np.zeros(count, np.int64)),
        offsets=np.arange(count + 1) * rows,
        y=np.zeros(count * rows, np.float32),
    )


def grow(directory: Path, rows: int) -> None:
    """Make the only series of a panel as long as given, with a sparse file that takes no room on the disk."""
    np.save(directory / "offsets.npy", np.array([0, rows]))
    os.truncate(directory / "y.float32", 4 * rows)
    manifest = json.loads((directory / MANIFEST).read_text())
    content = (directory / "offsets.npy").read_bytes()
    manifest["files"]["offsets.npy"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    manifest["files"]["y.float32"]["size"] = 4 * rows
    (directory / MANIFEST).write_bytes(strict_json.dumps(manifest, indent=2))


def test_there_is_a_panel_of_every_format() -> None:
    found = {json.loads((place / "panel.json").read_text())["format"] for place in FORMATS.glob("panel-*")}
    assert found == set(range(1, WITH_PARTS + 1))


@pytest.mark.parametrize("number", range(1, WITH_PARTS + 1))
def test_a_panel_of_any_format_opens_with_the_values_it_had(number: int) -> None:
    place = FORMATS / f"panel-{number}"
    panel = Panel.open(place)
    assert panel.is_memory_mapped
    frame = panel.to_frame()
    days = [*range(12), *range(9)]
    assert frame["unique_id"].to_list() == ["a"] * 12 + ["b"] * 9
    assert frame["ds"].to_list() == [datetime(2024, 1, 1) + timedelta(days=day) for day in days]
    assert frame["price"].to_list() == [1.5 * day for day in days]
    assert frame["y"].to_list() == [None if day == 3 else day * (1 + (row > 11)) for row, day in enumerate(days)]
    assert frame["shop"].to_list() == ["south"] * 12 + ["north"] * 9
    assert frame["w"].to_list() == [1.0] * 12 + [2.0] * 9
    assert_same(panel, Panel.open(place, mmap=False))
    assert_same(panel, Panel.open(FORMATS / "panel-1"))
    assert check_panel(place).parts == 1 + (number == WITH_PARTS)


def test_arrays_are_mapped_read_only_and_take_no_memory_of_their_own(mapped: Panel) -> None:
    for array in (mapped.y, mapped.mask, mapped.weight, mapped.past_x, mapped.future_x):
        assert isinstance(array, np.memmap)
        assert array.mode == "r"
        assert not array.flags.writeable
    assert mapped.directory is not None
    assert mapped.directory.name == "panel"


def test_a_sparse_file_of_60_gb_opens_in_a_tenth_of_a_second(tmp_path: Path) -> None:
    build_panel(pl.DataFrame({"ds": range(10), "y": np.arange(10.0)})).save(tmp_path / "panel")
    rows = 15 * 10**9
    try:
        grow(tmp_path / "panel", rows)
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.ENOSPC):
            pytest.skip("the file system has no sparse files of this size")
        raise
    seconds = min(_seconds_to_open(tmp_path / "panel") for _ in range(5))
    panel = Panel.open(tmp_path / "panel")
    assert panel.nbytes == 60 * 10**9
    assert len(panel) == rows
    assert panel.y[:10].tolist() == list(range(10))
    assert panel.y[-1] == 0
    assert seconds < 0.1
    padded = panel.lengthened(rows + 3)
    assert padded.y[:5].tolist() == [0, 0, 0, 0, 1]


def test_a_hundred_thousand_series_open_in_a_tenth_of_a_second(tmp_path: Path) -> None:
    many_series(100_000, 3).save(tmp_path / "panel")
    assert min(_seconds_to_open(tmp_path / "panel") for _ in range(5)) < 0.1


def _seconds_to_open(directory: Path) -> float:
    begin = time.process_time()  # other processes of a busy machine do not count
    Panel.open(directory)
    return time.process_time() - begin


def test_a_panel_larger_than_the_memory_limit_opens_and_is_not_read(tmp_path: Path) -> None:
    build_panel(pl.DataFrame({"ds": range(10), "y": np.arange(10.0)})).save(tmp_path / "panel")
    grow(tmp_path / "panel", 10**9)
    code = (
        "import sys; from neuro_divergent.data.panel import Panel; panel = Panel.open(sys.argv[1]);"
        "print(len(panel), panel.y[9], panel.lengthened(10**9 + 5).y[14])"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (10**9, 10**9))  # private writable maps count, read-only ones do not

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "panel")], preexec_fn=limit, capture_output=True, text=True
    )
    assert done.stdout.split() == ["1000000000", "9.0", "9.0"], done.stderr


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_lack_of_memory_is_never_called_damage(
    error: BaseException, mapped: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(np, "memmap", fail)
    with pytest.raises(StorageError, match="not enough memory") as caught:
        Panel.open(tmp_path / "panel")
    assert "damage" not in str(caught.value)
    monkeypatch.setattr(np, "empty", fail)
    with pytest.raises((StorageError, OSError), match=r"not enough memory|Cannot allocate"):
        Panel.open(tmp_path / "panel", mmap=False)


def test_reading_more_than_the_memory_is_refused_before_it_is_tried(
    mapped: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuro_divergent.data.panel_store.reading.memory_limit", lambda: 1e-7)
    with pytest.raises(StorageError, match=r"not enough memory to read it .* Open it with mmap=True"):
        Panel.open(tmp_path / "panel", mmap=False)


def test_a_file_that_is_cut_off_is_one_clear_error_when_it_is_opened(mapped: Panel, tmp_path: Path) -> None:
    os.truncate(tmp_path / "panel" / "y.float32", 20)
    with pytest.raises(UntrustedFileError, match=r"y\.float32: 20 bytes, the manifest lists 292; altered or damaged"):
        Panel.open(tmp_path / "panel")


def test_checking_the_files_finds_one_that_was_cut_off_or_written_to(mapped: Panel, tmp_path: Path) -> None:
    mapped.check_files()
    path = tmp_path / "panel" / "y.float32"
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"1234")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(StorageError, match=r"was written to while it was in use.*nd panel check"):
        mapped.take([1, 0]).check_files()
    os.truncate(path, 20)
    with pytest.raises(StorageError, match=r"was cut off to 20 bytes of 292 while it was in use.*nd panel check"):
        mapped.check_files()


def test_a_panel_that_was_replaced_or_removed_stays_readable_for_who_has_it_open(
    panel: Panel, mapped: Panel, tmp_path: Path
) -> None:
    panel.tail(3).save(tmp_path / "panel")
    mapped.check_files()
    assert_same(mapped, panel)
    for path in (tmp_path / "panel").iterdir():
        path.unlink()
    mapped.check_files()
    assert_same(mapped, panel)


def test_files_of_a_panel_in_memory_need_no_check(panel: Panel) -> None:
    panel.check_files()
    assert panel.directory is None


@pytest.mark.parametrize("rows", [1, 3, 7, 10, 1000])
def test_blocks_cover_all_rows_and_series_blocks_all_series(panel: Panel, rows: int) -> None:
    blocks = list(panel.blocks(rows))
    assert np.concatenate([np.arange(len(panel))[block] for block in blocks]).tolist() == list(range(len(panel)))
    assert all(block.stop - block.start == rows for block in blocks[:-1])
    ranges = list(panel.series_blocks(rows))
    assert [series for first, end in ranges for series in range(first, end)] == list(range(panel.num_series))
    for first, end in ranges:
        assert end == first + 1 or panel.offsets[end] - panel.offsets[first] <= rows


@pytest.mark.parametrize("change", [
    lambda panel: panel.part(0, 4),
    lambda panel: panel.part(1, 3),
    lambda panel: panel.part(2, 4).part(0, 1),
    lambda panel: panel.take([2, 0, 0]),
    lambda panel: panel.take([2, 0]).take([1]),
    lambda panel: panel.pieces([0, 0, 2], [3, 10, 50], [5, 40, 60]),
    lambda panel: panel.lengthened(30),
    lambda panel: panel.lengthened(np.array([41, 0, 3, 9])),
    lambda panel: panel.lengthened(30).trimmed(),
    lambda panel: panel.without_covariates("future").lengthened(30).extended(2),
    lambda panel: panel.extended(4),
    lambda panel: panel.extended(2, np.arange(4 * 2 * 4, dtype=np.float32).reshape(4, 2, 4)),
    lambda panel: panel.lengthened(10).take([3, 1]).lengthened(50).extended(2),
    lambda panel: panel.tail(3),
    lambda panel: panel.tail(1000),
    lambda panel: dataclasses.replace(panel, mask=None).lengthened(30),
])  # fmt: skip
def test_what_is_made_from_a_mapped_panel_is_what_is_made_from_one_in_memory(
    change: Any, panel: Panel, mapped: Panel
) -> None:
    assert_same(change(mapped), change(panel))


def test_padding_a_mapped_panel_copies_no_values(panel: Panel, mapped: Panel) -> None:
    for made in (mapped.lengthened(50), mapped.extended(3), mapped.take([1, 2]), mapped.part(0, 2)):
        assert made.is_memory_mapped
        assert made.directory == mapped.directory
    assert np.shares_memory(mapped.part(1, 3).y, mapped.y)
    assert mapped.lengthened(50).trimmed().y is mapped.y
    np.testing.assert_array_equal(mapped.lengthened(50).first_observed, panel.lengthened(50).first_observed)


def test_first_observed_rows_by_blocks_are_those_of_each_series(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    mask = np.random.default_rng(3).random(len(panel)) < 0.1
    hidden = dataclasses.replace(panel, mask=mask)
    expected = [
        next((row for row in range(begin, end) if mask[row]), end)
        for begin, end in zip(panel.offsets[:-1], panel.offsets[1:], strict=True)
    ]
    for rows in (1, 2, 5, 1000):
        monkeypatch.setattr(Panel.blocks, "__defaults__", (rows,))
        assert dataclasses.replace(hidden).first_observed.tolist() == expected
