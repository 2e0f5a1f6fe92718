"""Hierarchies say which series are sums of which, however they are written down."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy

TREE = Hierarchy(
    ("total", "north", "a", "b", "c"),
    ("a", "b", "c"),
    np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
)
STORES = pl.DataFrame(
    {
        "unique_id": ["s1", "s2", "s3", "s4"],
        "state": ["ohio", "ohio", "iowa", "iowa"],
        "kind": ["small", "large", "small", "small"],
    }
)
BOTTOM = pl.DataFrame(
    {
        "unique_id": ["b", "b", "a", "a", "c", "c"],
        "ds": [date(2024, 1, 2), date(2024, 1, 1)] * 3,
        "y": [20, 2, 10, 1, 40, 4],
        "price": [1.0] * 6,
    }
)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "parquet", "csv"])
def test_the_sparse_table_of_a_matrix_makes_the_round_trip(kind: str, tmp_path: Path) -> None:
    table: Any = TREE.to_frame()
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame(table.to_dict(as_series=False))
    elif kind == "pyarrow":
        table = table.to_arrow()
    elif kind != "polars":
        getattr(table, f"write_{kind}")(tmp_path / f"s.{kind}")
        table = tmp_path / f"s.{kind}"
    made = Hierarchy.from_frame(table)
    assert (made.nodes, made.bottom) == (TREE.nodes, TREE.bottom)
    np.testing.assert_array_equal(made.summing, TREE.summing)


def test_weights_may_be_left_out_and_names_may_be_numbers() -> None:
    table = pl.DataFrame({"node": [9, 9, 1, 2], "leaf": [1, 2, 1, 2]})
    made = Hierarchy.from_frame(table, node="node", bottom="leaf", weight=None)
    assert made.nodes == ("9", "1", "2")
    np.testing.assert_array_equal(made.summing, [[1, 1], [1, 0], [0, 1]])


def test_columns_of_the_bottom_make_the_sums() -> None:
    made = Hierarchy.from_columns(STORES, ["state", ("kind",), ("state", "kind")])
    sums = {
        node: [made.bottom[place] for place in np.flatnonzero(row)]
        for node, row in zip(made.nodes, made.summing, strict=True)
    }
    assert sums == {
        "total": ["s1", "s2", "s3", "s4"],
        "ohio": ["s1", "s2"],
        "iowa": ["s3", "s4"],
        "small": ["s1", "s3", "s4"],
        "large": ["s2"],
        "ohio/small": ["s1"],
        "ohio/large": ["s2"],
        "iowa/small": ["s3", "s4"],
        **{name: [name] for name in ("s1", "s2", "s3", "s4")},
    }


def test_a_level_that_is_the_bottom_itself_adds_no_nodes_and_the_total_may_be_left_out() -> None:
    long = pl.concat([STORES, STORES])  # a long table repeats what it says of a series
    made = Hierarchy.from_columns(long, ["unique_id", "state"], total=None)
    assert sorted(made.nodes) == ["iowa", "ohio", "s1", "s2", "s3", "s4"]


def test_a_table_of_the_bottom_becomes_one_of_all_nodes() -> None:
    made = TREE.aggregate_table(BOTTOM)
    assert made.columns == ["unique_id", "ds", "y"]
    assert made.filter(ds=date(2024, 1, 1))["y"].to_list() == [7, 3, 1, 2, 4]
    assert made.filter(ds=date(2024, 1, 2))["y"].to_list() == [70, 30, 10, 20, 40]
    assert made["unique_id"].unique(maintain_order=True).to_list() == list(TREE.nodes)


def test_a_sum_with_a_missing_part_is_missing_and_no_other_is() -> None:
    hole = BOTTOM.with_columns(
        pl.when((pl.col("unique_id") == "a") & (pl.col("y") == 1)).then(None).otherwise("y").alias("y")
    )
    made = TREE.aggregate_table(hole).filter(ds=date(2024, 1, 1))
    assert made["y"].to_list() == [None, None, None, 2, 4]


def test_rows_before_a_shop_was_opened_count_as_zero_in_the_sums_where_that_is_asked_for() -> None:
    late = BOTTOM.filter(~((pl.col("unique_id") == "c") & (pl.col("ds") == date(2024, 1, 1))))
    made = TREE.aggregate_table(late, gaps="zero")
    assert made.filter(ds=date(2024, 1, 1))["unique_id"].to_list() == ["total", "north", "a", "b"]
    assert made.filter(ds=date(2024, 1, 1))["y"].to_list() == [3, 3, 1, 2]
    assert made.filter(ds=date(2024, 1, 2))["y"].to_list() == [70, 30, 10, 20, 40]
    both = late.filter(~((pl.col("unique_id") == "b") & (pl.col("ds") == date(2024, 1, 2))))
    assert TREE.aggregate_table(both, gaps="zero").filter(unique_id="north")["y"].to_list() == [3, 10]


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_aggregate_table_returns_the_same_kind_of_table_as_the_input(kind: str) -> None:
    table: Any = BOTTOM.to_arrow()
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame(BOTTOM.to_dict(as_series=False)).assign(
            ds=lambda frame: pandas.to_datetime(frame.ds).astype("datetime64[ns]")
        )
    made = TREE.aggregate_table(table)
    assert type(made) is type(table)
    assert sorted(made["y"].to_numpy().tolist()) == [1, 2, 3, 4, 7, 10, 20, 30, 40, 70]


def square(*nodes: str) -> Hierarchy:
    return Hierarchy(nodes, nodes, np.eye(len(nodes)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hierarchy(("total", "a"), ("a", "b"), np.array([[1.0, 1], [1, 0]])), "'b' must be a node"),
        (lambda: Hierarchy(("t", "a"), ("a",), np.array([[1.0], [2.0]])), "'a' must be a node that is the sum of"),
        (lambda: Hierarchy(("t", "a"), ("a",), np.array([[0.0], [1.0]])), "node 't' is the sum of nothing"),
        (lambda: Hierarchy(("t", "a"), ("a",), np.array([[np.nan], [1.0]])), "finite"),
        (lambda: Hierarchy(("t", "a"), ("a",), np.eye(2)), "is 2 x 2; 2 nodes and 1 bottom"),
        (lambda: square("a", "a"), "node 'a' is named twice"),
        (lambda: Hierarchy.from_entries(["t", "t", "a"], ["a", "a", "a"], [1, 1, 1]), "'a' is listed twice"),
        (lambda: Hierarchy.from_frame(STORES), "column 'bottom_id' missing"),
        (lambda: Hierarchy.from_frame(TREE.to_frame().with_columns(pl.lit("x").alias("w"))), "'w' must hold numbers"),
        (lambda: Hierarchy.from_columns(STORES, ["sate"]), "column 'sate' missing.*Did you mean 'state'"),
        (lambda: Hierarchy.from_columns(STORES, ["state"], total="ohio"), "called 'ohio'.*another name as total"),
        (
            lambda: Hierarchy.from_columns(pl.concat([STORES, STORES.with_columns(state=pl.lit("utah"))]), ["state"]),
            "'s1' has several values in column 'state'",
        ),
        (lambda: Hierarchy.from_columns(STORES.with_columns(kind=pl.lit(None)), ["kind"]), "'kind': 4 missing"),
        (lambda: TREE.aggregate_table(BOTTOM.head(4)), "bottom series 'c' of the hierarchy is not in the table"),
        (lambda: square("a", "b").aggregate_table(BOTTOM), "series 'c' is no bottom series"),
        (lambda: TREE.aggregate_table(BOTTOM.head(5)), "series 'c' has 1 rows at 1 times, the table has 2"),
        (lambda: TREE.aggregate_table(pl.concat([BOTTOM, BOTTOM.head(1)])), "series 'b' has 3 rows at 2 times"),
        (
            lambda: TREE.aggregate_table(pl.concat([BOTTOM, BOTTOM.head(1)]), gaps="zero"),
            "series 'b' has 3 rows at 2 times",
        ),
        (lambda: TREE.aggregate_table(BOTTOM, target="sales"), "column 'sales' missing"),
    ],
)  # fmt: skip
def test_says_what_is_wrong(make: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()
