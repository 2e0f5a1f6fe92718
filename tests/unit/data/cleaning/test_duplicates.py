"""Several rows of one series and time become one."""

from __future__ import annotations

import math
from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

VALUES = st.one_of(st.none(), st.integers(-9, 9).map(float))
ROWS = st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 3), VALUES, st.integers(0, 9)), max_size=25)


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DataWarning")
@settings(max_examples=60)
@given(rows=ROWS, policy=st.sampled_from(["first", "last", "mean", "sum"]))
def test_rows_are_combined_as_a_dictionary_would(rows: list[tuple[str, int, float | None, int]], policy: str) -> None:
    rows = [*rows, *((name, time, 1.0, 1) for name in "AB" for time in (1, 2, 3, 4))]
    frame = pl.DataFrame(rows, schema=["unique_id", "ds", "y", "price"], orient="row")
    groups = defaultdict(list)
    for name, time, y, price in rows:
        groups[name, time].append((y, price))
    panel = build_panel(frame, Schema(duplicates=policy, missing="mask", past="price"))
    assert panel.past_x is not None
    found = {}
    for place, name in enumerate(panel.ids):
        for step in range(4):
            row = int(panel.offsets[place]) + step
            observed = panel.mask is None or bool(panel.mask[row])
            found[name, step + 1] = (float(panel.y[row]) if observed else None, float(panel.past_x[row, 0]))
    for key, group in groups.items():
        known = [y for y, _ in group if y is not None]
        total = {"mean": math.fsum(known) / max(len(known), 1), "sum": math.fsum(known)}.get(policy)
        prices = [price for _, price in group]
        if policy in ("first", "last"):
            expected = group[0 if policy == "first" else -1]
        else:
            expected = (total if known else None, math.fsum(prices) / len(prices))
        assert found[key] == pytest.approx(expected)


def test_messages_after_combining_name_the_rows_of_the_table() -> None:
    frame = pl.DataFrame({"ds": [1, 1, 2, 3], "y": [1.0, 2.0, 3.0, math.inf]})
    with pytest.raises(DataError, match="row 4: infinite"):
        build_panel(frame, Schema(duplicates="last"))
