"""The order of windows by time that is computed where it is needed, compared with a sort of all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from neuro_divergent.data import time_order, windows
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.time_order import TimeOrder
from neuro_divergent.data.windows import Windows


@settings(max_examples=60, deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(0, 20), st.integers(2, 30)), min_size=1, max_size=7),
    step=st.integers(1, 4),
    at_once=st.integers(1, 40),
    batch=st.integers(1, 9),
    unit=st.sampled_from(["integers", "1d", "1mo", "1h"]),
)
def test_order_by_time_where_it_is_needed_is_that_of_a_sort(
    spans: list[tuple[int, int]], step: int, at_once: int, batch: int, unit: str
) -> None:
    def times(first: int, length: int) -> object:
        if unit == "integers":
            return np.arange(first, first + length)
        known = pl.datetime_range(pl.datetime(2000, 1, 1), pl.datetime(2006, 1, 1), unit, eager=True)
        return known[first : first + length]

    frame = pl.concat(
        pl.DataFrame({"unique_id": [name] * length, "ds": times(first, length), "y": np.arange(length) + 1.0})
        for name, (first, length) in enumerate(spans)
    )
    panel = build_panel(frame, Schema(frequency=1 if unit == "integers" else unit))
    every = Windows(panel, 2, 1, panel.offsets[:-1], panel.offsets[1:], step)
    expected = every.by_time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "BLOCK_ROWS", 0)
        patch.setattr(time_order, "_AT_ONCE", at_once)
        order = every.by_time()
        if not len(every):
            return
        assert isinstance(order, TimeOrder)
        assert len(order) == len(every)
        for first in (*range(0, len(every), batch), 0):
            positions = np.arange(first, min(first + batch, len(every)))
            assert_array_equal(order[positions], expected[positions])


def test_series_that_begin_between_the_steps_of_others_are_sorted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.concat(
        pl.DataFrame({"unique_id": [name] * 9, "ds": np.arange(9) * 2 + name, "y": np.arange(9) + 1.0})
        for name in range(2)
    )
    panel = build_panel(frame, Schema(frequency=2))
    every = Windows(panel, 2, 1, panel.offsets[:-1], panel.offsets[1:])
    expected = every.by_time()
    monkeypatch.setattr(windows, "BLOCK_ROWS", 0)
    assert_array_equal(every.by_time(), expected)
