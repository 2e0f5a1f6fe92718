"""Batches of panels on disk, whose windows are read ahead of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.spec import Batch, Feature
from neuro_divergent.data import block_shuffle, read_ahead
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.block_shuffle import BlockShuffle
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.joined_array import JoinedArray
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.masked import MaskedLoader
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.replay import Replay
from neuro_divergent.data.scaling.window import StandardScaler
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.windows import Windows

LENGTHS = [700, 40, 900, 333, 12, 700]
SIZE, HORIZON = 16, 4
orders = pytest.mark.parametrize("shuffle", [True, False, "blocks"])
kinds = pytest.mark.parametrize("kind", ["mapped", "joined"])
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the page cache of Linux")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have blocks and buffers so small that the panels here have several."""
    monkeypatch.setattr(block_shuffle, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(block_shuffle, "BUFFER_BYTES", 16384)


def panel_of(lengths: list[int]) -> Panel:
    """Return a panel with everything that a window can have."""
    random = np.random.default_rng(5)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = int(offsets[-1])
    return Panel(
        schema=Schema(id="id", weight="w", past=("p",), future=("f", "g"), static=("s",)),
        ids=pl.Series("id", range(len(lengths))),
        starts=pl.Series("ds", [0] * len(lengths)),
        frequency=Frequency(1, ""),
        offsets=offsets,
        y=random.standard_normal(rows).astype(np.float32),
        mask=random.random(rows) < 0.9,
        weight=random.random(rows).astype(np.float32),
        past_x=random.standard_normal((rows, 1)).astype(np.float32),
        future_x=random.standard_normal((rows, 2)).astype(np.float32),
        static_x=random.standard_normal((len(lengths), 1)).astype(np.float32),
        past=(Feature("p"),),
        future=(Feature("f"), Feature("g")),
        static=(Feature("s"),),
    )


def both(directory: Path, kind: str, lengths: list[int] = LENGTHS) -> tuple[Panel, Panel]:
    """Return a panel in memory and the same one on disk; ``joined`` are some series of it in another order."""
    panel = panel_of(lengths)
    panel.save(directory / "panel")
    stored = Panel.open(directory / "panel")
    assert stored.is_memory_mapped
    if kind == "mapped":
        return panel, stored
    chosen = [5, 0, 2, 3]
    assert isinstance(stored.take(chosen).y, JoinedArray)
    return panel.take(chosen), stored.take(chosen)


def loader_of(panel: Panel, shuffle: Any = True, *, joint: bool = False, step: int = 1, **options: Any) -> WindowLoader:
    order = Order(batch_size=64, shuffle=shuffle, seed=3, drop_last=options.pop("drop_last", False))
    windows = Windows(panel, SIZE, HORIZON, panel.offsets[:-1], panel.offsets[1:], step=step, joint=joint)
    batcher = WindowBatcher(panel, SIZE, HORIZON, StandardScaler(), weight=panel.weight, joint=joint)
    return WindowLoader(windows, batcher, order, **options)


def require_same(found: Iterator[Batch], expected: Iterator[Batch]) -> int:
    count = 0
    for one, other in zip(found, expected, strict=True):
        for name, mine, theirs in zip(Batch._fields, one, other, strict=True):
            assert (mine is None) == (theirs is None), name
            assert mine is None or torch.equal(mine, theirs), name
        count += 1
    return count


@kinds
@orders
@pytest.mark.parametrize("start", [0, 17])
def test_batches_from_disk_are_those_in_memory_from_any_start(
    kind: str, shuffle: Any, start: int, tmp_path: Path
) -> None:
    memory, disk = both(tmp_path, kind)
    loader = loader_of(disk, shuffle)
    assert loader.batcher.is_mapped
    assert len(loader.batcher.arrays) == 5
    for epoch in (0, 2):
        count = require_same(loader.epoch(epoch, start), loader_of(memory, shuffle).epoch(epoch, start))
        assert count == len(loader) - start > 5


@kinds
@orders
def test_windows_that_span_all_series_are_those_in_memory(kind: str, shuffle: Any, tmp_path: Path) -> None:
    memory, disk = both(tmp_path, kind, [600] * 6)
    require_same(loader_of(disk, shuffle, joint=True).epoch(0), loader_of(memory, shuffle, joint=True).epoch(0))


@orders
def test_a_rest_of_an_epoch_is_the_same_after_a_restart(shuffle: Any, tmp_path: Path) -> None:
    _, disk = both(tmp_path, "mapped")
    whole = list(loader_of(disk, shuffle).epoch(1))
    for start in (1, 9, len(whole) - 1):
        require_same(loader_of(Panel.open(tmp_path / "panel"), shuffle).epoch(1, start), iter(whole[start:]))


@pytest.mark.parametrize("options", [{"balance": 1.0}, {"replay": Replay(rows=50, fraction=0.5)}, {"step": 3}])
def test_blocks_draw_the_windows_that_an_exact_order_draws(options: dict[str, Any], tmp_path: Path) -> None:
    memory, disk = both(tmp_path, "mapped")

    def drawn(panel: Panel, shuffle: Any) -> list[int]:
        loader = loader_of(panel, shuffle, **options)
        return [int(row) for _, rows in loader.places(1) for row in rows]

    exact, blocks = drawn(disk, True), drawn(disk, "blocks")
    assert sorted(exact) == sorted(blocks)
    assert len(set(blocks)) == len(blocks)
    assert exact != blocks == drawn(memory, "blocks")
    require_same(loader_of(disk, "blocks", **options).epoch(1), loader_of(memory, "blocks", **options).epoch(1))


def test_parts_of_processes_are_the_batches_of_one(tmp_path: Path) -> None:
    _, disk = both(tmp_path, "mapped")
    for shuffle in (True, "blocks"):
        loader = loader_of(disk, shuffle)
        parts = [list(loader.part(rank, 2).epoch(0)) for rank in range(2)]
        for number, batch in enumerate(loader.epoch(0)):
            values = torch.cat([part[number].past_y for part in parts]).sum(dim=(1, 2)).sort().values
            assert torch.equal(values, batch.past_y.sum(dim=(1, 2)).sort().values)


def test_last_batch_that_is_not_full_is_left_out_of_blocks(tmp_path: Path) -> None:
    _, disk = both(tmp_path, "mapped")
    loader = loader_of(disk, "blocks", drop_last=True)
    assert [len(batch.past_y) for batch in loader.epoch(0)] == [64] * len(loader)
    assert loader.num_windows % 64


@orders
def test_file_truncated_during_an_epoch_is_an_error(shuffle: Any, tmp_path: Path) -> None:
    _, disk = both(tmp_path, "mapped")
    batches = loader_of(disk, shuffle).epoch(0)
    next(batches)
    (path,) = (tmp_path / "panel").glob("y.*")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StorageError, match="y"):
        list(batches)


@orders
def test_masked_batches_from_disk_are_those_in_memory(shuffle: Any, tmp_path: Path) -> None:
    def loader(panel: Panel) -> MaskedLoader:
        windows = Windows(panel, 0, SIZE, panel.offsets[:-1], panel.offsets[1:])
        batcher = WindowBatcher(panel, SIZE, 0, StandardScaler())
        order = Order(batch_size=64, shuffle=shuffle, seed=3)
        return MaskedLoader(windows, batcher, order, patch_length=4, mask_fraction=0.5)

    memory, disk = both(tmp_path, "mapped")
    require_same(loader(disk).epoch(1), loader(memory).epoch(1))


class TestAnnounced:
    """Which rows are announced when."""

    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
        """Record the rows that a batcher announces, at once instead of in a thread."""
        told: list[np.ndarray] = []

        def record(batcher: WindowBatcher, rows: np.ndarray, size: int = SIZE + HORIZON) -> None:
            told.append(np.concatenate([np.arange(row, row + size) for row in rows]))

        class Now:
            def __init__(self, *_: Any) -> None:
                pass

            def submit(self, function: Any, *arguments: Any) -> Future[None]:
                function(*arguments)
                done: Future[None] = Future()
                done.set_result(None)
                return done

            def shutdown(self, **_: Any) -> None:
                pass

        monkeypatch.setattr(WindowBatcher, "announce", record)
        monkeypatch.setattr(read_ahead, "ThreadPoolExecutor", Now)
        return told

    def test_all_rows_of_a_cold_panel_some_batches_before_they_are_cut(
        self, told: list[np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(WindowBatcher, "is_resident", lambda *_: False)
        monkeypatch.setattr(read_ahead, "_TOGETHER", 128)
        monkeypatch.setattr(read_ahead, "_GROUPS", 2)
        _, disk = both(tmp_path, "mapped")
        loader = loader_of(disk)
        for number, (_, rows) in enumerate(loader.read(0, 0)):
            known = set(np.concatenate(told).tolist())
            assert all(row in known and row + SIZE + HORIZON - 1 in known for row in rows)
            assert len(told) == min(number // 2 + 3, -(-len(loader) // 2))  # two groups of two batches ahead

    def test_blocks_before_their_windows_are_cut(self, told: list[np.ndarray], tmp_path: Path) -> None:
        _, disk = both(tmp_path, "mapped")
        loader = loader_of(disk, "blocks")
        blocks = loader.order.blocks
        assert isinstance(blocks, BlockShuffle)
        assert blocks.buffers >= 5
        strays, missing = blocks.num_visits * blocks.per_visit - blocks.size, 0
        for number, (_, rows) in enumerate(loader.read(0, 5)):
            known = set(np.concatenate(told).tolist())
            missing += sum(row not in known or row + SIZE + HORIZON - 1 not in known for row in rows)
            assert number > 3 or len(known) < 0.6 * len(disk)
        assert missing <= strays

    def test_nothing_of_a_panel_in_memory_or_in_the_page_cache(
        self, told: list[np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory, disk = both(tmp_path, "mapped")
        list(loader_of(memory).epoch(0))
        assert not told
        monkeypatch.setattr(read_ahead, "_FEW_FAULTS", 10**6)
        monkeypatch.setattr(WindowBatcher, "is_resident", lambda *_: True)
        list(loader_of(disk).epoch(0))
        assert not told

    def test_again_when_pages_that_were_in_memory_are_waited_for(
        self, told: list[np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        faults = iter(range(0, 10**6, 100))
        monkeypatch.setattr(read_ahead, "major_faults", lambda: next(faults))
        monkeypatch.setattr(read_ahead, "_TOGETHER", 64)
        monkeypatch.setattr(WindowBatcher, "is_resident", lambda *_: True)
        _, disk = both(tmp_path, "mapped")
        batches = loader_of(disk).epoch(0)
        next(batches)
        assert not told
        next(batches)
        assert len(told) == read_ahead._GROUPS + 1  # all that wait, and the next


@linux_only
def test_panel_that_was_just_written_is_found_in_memory(tmp_path: Path) -> None:
    _, disk = both(tmp_path, "mapped")
    assert loader_of(disk).batcher.is_resident(np.arange(0, 2000, 50))
