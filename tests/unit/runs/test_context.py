"""The ends of the series that a run keeps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.runs import context
from neuro_divergent.runs.context import context_of


def test_context_of_long_series_keeps_bounded_ends() -> None:
    panel = build_panel(Synthetic(num_series=2, length=5000, frequency="1h").frame(), Schema())
    for horizon, history, rows in ((4, 12, 100), (30, 12, 150), (4, 400, 400), (1000, 12, 2000)):
        ends = context_of(panel, horizon=horizon, history=history)
        assert ends.group_by("unique_id").len()["len"].to_list() == [rows, rows]
        last = ends.group_by("unique_id", maintain_order=True).last()
        assert last["y"].to_list() == [float(panel.y[4999]), float(panel.y[9999])]
        assert last["ds"].to_list() == [panel.times()[4999], panel.times()[9999]]


def test_context_of_very_many_series_has_fewer_rows_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_MOST_ROWS_IN_ALL", 60)
    panel = build_panel(Synthetic(num_series=8, length=30).frame(), Schema())
    assert context_of(panel, horizon=4, history=12).height == 8 * 7


def test_context_is_null_where_nothing_was_observed() -> None:
    frame = Synthetic(num_series=1, length=30).frame().drop("unique_id")
    frame = frame.with_columns(y=pl.when(pl.int_range(30) == 20).then(None).otherwise("y"))
    ends = context_of(build_panel(frame, Schema(missing="mask")), horizon=2, history=4)
    assert ends.columns == ["ds", "y"]
    assert np.flatnonzero(ends["y"].is_null().to_numpy()).tolist() == [20]
