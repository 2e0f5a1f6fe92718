from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import StorageError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.compaction import compact
from neuro_divergent.data.schema import Schema
from tests.unit.data.panel_store.tables import ROLES, assert_same, table


@pytest.fixture
def mapped(tmp_path: Path) -> Panel:
    build_panel(table({"a": 4000, "b": 700, "c": 2500}), Schema(**ROLES)).save(tmp_path / "panel")
    return Panel.open(tmp_path / "panel")


def test_a_stored_panel_is_pickled_as_its_path(mapped: Panel) -> None:
    content = pickle.dumps(mapped)
    assert len(content) < 1_500
    again = pickle.loads(content)
    assert_same(again, mapped)
    assert again.is_memory_mapped
    assert again.directory == mapped.directory


@pytest.mark.parametrize("change", [
    lambda panel: panel.part(1, 3),
    lambda panel: panel.take([2, 0]),
    lambda panel: panel.without_covariates("future").lengthened(5000),
    lambda panel: panel.extended(3),
    lambda panel: panel.without_weights(),
    lambda panel: panel.without_covariates("past", "static"),
    lambda panel: dataclasses.replace(panel, source="somewhere"),
])  # fmt: skip
def test_what_is_made_from_a_stored_panel_is_pickled_without_its_values(change: Any, mapped: Panel) -> None:
    made = change(mapped)
    content = pickle.dumps(made)
    assert len(content) < 12_000
    again = pickle.loads(content)
    assert_same(again, made)
    assert again.source == made.source
    assert again.is_memory_mapped
    again.check_files()


def test_a_panel_with_parts_is_pickled_with_those_it_was_opened_with(tmp_path: Path) -> None:
    frame = table({"a": 40, "b": 30})
    early, late = frame.filter(pl.col("ds").dt.day() == 1), frame.filter(pl.col("ds").dt.day() > 1)
    build_panel(early, Schema(**ROLES)).save(tmp_path / "panel")
    one = Panel.open(tmp_path / "panel")
    first, both = pickle.dumps(one), pickle.dumps(Panel.append(tmp_path / "panel", late))
    assert len(both) < 1_500
    assert_same(pickle.loads(first), one)
    assert_same(pickle.loads(both), build_panel(frame, Schema(**ROLES)))
    compact(tmp_path / "panel")
    with pytest.raises(StorageError, match="changed since it was opened"):
        pickle.loads(both)


def test_a_panel_that_changed_meanwhile_is_refused(mapped: Panel) -> None:
    whole, part = pickle.dumps(mapped), pickle.dumps(mapped.take([1]))
    assert mapped.directory is not None
    build_panel(table({"a": 10}), Schema(**ROLES)).save(mapped.directory)
    for content in (whole, part):
        with pytest.raises(StorageError, match="changed since it was opened"):
            pickle.loads(content)


def test_a_panel_in_memory_is_pickled_with_its_values() -> None:
    panel = build_panel(table({"a": 40}), Schema(**ROLES))
    again = pickle.loads(pickle.dumps(panel))
    assert_same(again, panel)
    assert not np.shares_memory(again.y, panel.y)
