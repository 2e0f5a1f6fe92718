"""Messages, warnings, progress and memory of conversions."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, DataWarning, InputError, UntrustedFileError
from neuro_divergent.data.conversion import converter
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.conversion.progress import Progress
from neuro_divergent.data.conversion.series_index import SeriesIndex
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "plan_rows", lambda *_: (4, 8))


def frame(**columns: Any) -> pl.DataFrame:
    base = {"unique_id": np.repeat([1, 2, 3], 4), "ds": [1, 2, 3, 4] * 3, "y": np.arange(12.0)}
    return pl.DataFrame({**base, **columns})


def orders(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield a table as it is, and sorted by time."""
    yield table
    yield table.sort("ds", maintain_order=True)


def refusal(table: pl.DataFrame, place: Path, **schema: Any) -> str:
    table.write_parquet(place / "a.parquet")
    with pytest.raises(DataError) as caught:
        convert(f"{place}/a.parquet", place / "panel", Schema(**schema))
    assert [path.name for path in place.iterdir()] == ["a.parquet"]
    return str(caught.value).removeprefix(f"{place}/a.parquet: ")


def test_a_missing_value_is_told_with_its_row_in_the_table(tmp_path: Path) -> None:
    holes = np.where(np.arange(12) == 6, np.nan, np.arange(12.0))
    for table, row in zip(orders(frame(y=holes)), (7, 8), strict=True):
        assert refusal(table, tmp_path) == (
            f"column 'y', series 2: 1 missing value, first at row {row}. "
            'Pass missing="interpolate" (--missing interpolate) to fill them.'
        )


@pytest.mark.parametrize(
    ("columns", "schema", "message"),
    [
        ({"y": [0.0] * 9 + [1e39, 1.0, 2.0]}, {}, "column 'y', series 3, row 10: 1e+39 exceeds"),
        ({"y": ["1"] * 8 + ["x"] * 4}, {}, "row 9, column 'y': 'x' is not a number"),
        ({"ds": [1, 2, 3, 4, 1, 2, 3, 3, 1, 2, 3, 4]}, {}, "series 2: 3 twice (rows 7, 8)"),
        ({"ds": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 6]}, {}, "series 3: gap after 3 (2 steps at 1)"),
        ({"ds": [1, 2, 3, 4, 1, 2, 3, 4, 1, 3, 5, 7]}, {}, "All series need one frequency"),
        ({"ds": [1, 2, 3, 4, 1, 2, None, 4, 1, 2, 3, 4]}, {}, "first row 7; every row needs a time"),
        ({"unique_id": [1] * 9 + [None] * 3}, {}, "first row 10; every row needs a series"),
        ({"ds": ["2024-01-01", "2024-01-02", "2024-01-03", "x"] * 3}, {}, "row 4, column 'ds': 'x' is not a date"),
        (
            {"ds": [*["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"] * 2, *["2024-01-01 10:00"] * 4]},
            {},
            "column 'ds' has times in 2 formats: '2024-01-01' (row 1), '2024-01-01 10:00' (rows 9, 10, 11, ...).",
        ),
        ({"w": [1.0] * 10 + [-1, 1]}, {"weight": "w"}, "column 'w', series 3, row 11: -1 is negative"),
        ({"s": [1] * 7 + [2] * 5}, {"static": "s"}, "column 's', series 2, row 8: 2 differs from a row before"),
        ({"unique_id": [1.5] * 12}, {}, "column 'unique_id' is Float64; series are named by text or integers"),
        ({"y": [[1]] * 12}, {}, "column 'y' is List(Int64); numbers are needed"),
        ({}, {"target": "x"}, "column 'x' missing; found unique_id, ds, y."),
        ({}, {"frequency": "1d"}, "column 'ds' holds integers, so frequency '1d' cannot be"),
    ],
)
def test_what_is_wrong_is_told_with_the_row_of_the_table(
    columns: dict[str, Any], schema: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = frame(**columns)
    assert message in refusal(table, tmp_path, **schema)
    with pytest.raises(DataError):
        build_panel(table, Schema(**schema))


def test_rows_of_several_files_are_counted_on(tmp_path: Path) -> None:
    table = frame(y=[*range(9), None, 1, 2])
    table.head(5).write_parquet(tmp_path / "a.parquet")
    table.slice(5).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="series 3: 1 missing value, first at row 10"):
        convert(f"{tmp_path}/*.parquet", tmp_path / "panel", Schema())


def test_numbers_and_text_mixed_in_a_covariate_of_csv_files_are_told_with_the_row(tmp_path: Path) -> None:
    frame(p=["1"] * 10 + ["x", "2"]).write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match="row 11, column 'p': 'x' is not a number; list the column as categorical"):
        convert(f"{tmp_path}/a.csv", tmp_path / "panel", Schema(past="p"))
    convert(f"{tmp_path}/a.csv", tmp_path / "panel", Schema(past="p", categorical="p"))
    assert Panel.open(tmp_path / "panel").categories == {"p": ["1", "2", "x"]}


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    frame().write_parquet(tmp_path / "a.parquet")
    frame().with_columns(pl.col("unique_id").cast(pl.String)).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet: column 'unique_id' is String, in .*a.parquet it is Int64"):
        convert(f"{tmp_path}/*.parquet", tmp_path / "panel", Schema())
    frame().drop("y").write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b.parquet: column 'y' missing, which other files of .* have"):
        convert(f"{tmp_path}/*.parquet", tmp_path / "panel", Schema())


@pytest.mark.parametrize(("name", "error"), [("a.pkl", UntrustedFileError), ("a.txt", DataError)])
def test_other_kinds_of_files_are_refused(name: str, error: type[Exception], tmp_path: Path) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(error):
        convert(f"{tmp_path}/{name}", tmp_path / "panel", Schema())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_not_a_panel_is_not_replaced(tmp_path: Path) -> None:
    frame().write_parquet(tmp_path / "a.parquet")
    (tmp_path / "panel").mkdir()
    (tmp_path / "panel" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds something else"):
        convert(f"{tmp_path}/a.parquet", tmp_path / "panel", Schema())
    assert (tmp_path / "panel" / "letter.txt").read_text() == "dear"


def test_suspicious_data_is_warned_about_once_for_all_parts(tmp_path: Path) -> None:
    table = frame(ds=[2, 1, 3, 4] * 3, y=[1, 1, 1, 1, 0, 1, 2, 3, 5, 5, 5, 5])
    table.write_parquet(tmp_path / "a.parquet")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        convert(f"{tmp_path}/a.parquet", tmp_path / "panel", Schema())
    said = [str(item.message).removeprefix(f"{tmp_path}/a.parquet: ") for item in seen]
    assert said == [
        "series 1: 2 rows were out of time order and are sorted; 3 series affected",
        "series 1: constant, always 1; 2 series affected",
    ]
    assert {item.category for item in seen} == {DataWarning}


def test_strict_refuses_what_is_suspicious(tmp_path: Path) -> None:
    assert "out of time order; 1 series affected; strict=True" in refusal(
        frame(ds=[1, 2, 3, 4, 2, 1, 3, 4, 1, 2, 3, 4]), tmp_path, strict=True
    )
    assert "series 2: constant, always 5; strict=True" in refusal(
        frame(y=[0, 1, 2, 3, 5, 5, 5, 5, 0, 1, 2, 3]), tmp_path, strict=True
    )


def test_progress_counts_the_rows_of_each_stage(tmp_path: Path) -> None:
    frame().sort("ds").write_parquet(tmp_path / "a.parquet")
    seen: list[Progress] = []
    convert(f"{tmp_path}/a.parquet", tmp_path / "panel", Schema(), progress=seen.append)
    assert list(dict.fromkeys(item.stage for item in seen)) == [
        "writing",
        "checking times",
        "counting",
        "partitioning",
    ]
    for stage in ("writing", "counting", "partitioning"):
        assert max(item.rows for item in seen if item.stage == stage) == 12
    assert all(item.total == 12 for item in seen)


def test_buckets_hold_as_many_rows_as_they_may(tmp_path: Path) -> None:
    index = SeriesIndex(pl.Series("id", [1, 2, 3, 4, 5]), np.array([3, 3, 20, 1, 1]))
    assert index.buckets(6).tolist() == [0, 2, 3, 5]
    assert index.buckets(1).tolist() == [0, 1, 2, 3, 4, 5]
    assert index.buckets(100).tolist() == [0, 5]


@pytest.mark.parametrize("ids", [[5, -3, 2**40, 0], ["b", "a", "", "ä"], [7, 7, 8, 9]])
def test_codes_of_series_are_their_places_in_sorted_order(ids: list[Any]) -> None:
    column = pl.Series("id", ids)
    unique = column.unique().sort()
    index = SeriesIndex(unique, np.ones(len(unique), np.int64))
    codes = index.codes(column)
    assert codes.tolist() == [unique.to_list().index(value) for value in ids]
    assert index.names(codes).to_list() == ids


@pytest.mark.long
def test_conversions_stay_within_a_limit_of_memory(tmp_path: Path) -> None:
    """Two million rows are 48 MB of columns, and more while they are sorted."""
    random = np.random.default_rng(0)
    rows = 2_000_000
    table = pl.DataFrame(
        {
            "unique_id": np.repeat(np.arange(200), rows // 200),
            "ds": [*range(rows // 200)] * 200,
            "y": random.normal(size=rows),
        }
    )
    table.write_parquet(tmp_path / "sorted.parquet")
    table.sort("ds").write_parquet(tmp_path / "by-time.parquet")
    script = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from neuro_divergent.data.conversion.conversion import convert
        from neuro_divergent.data.schema import Schema
        resource.setrlimit(resource.RLIMIT_DATA, (400 * 2**20,) * 2)
        convert(sys.argv[1], Path(sys.argv[2]), Schema())
        """
    )
    for name in ("sorted", "by-time"):
        source, target = tmp_path / f"{name}.parquet", tmp_path / name
        subprocess.run([sys.executable, "-c", script, str(source), str(target)], check=True)
    first, second = Panel.open(tmp_path / "sorted"), Panel.open(tmp_path / "by-time")
    assert np.array_equal(first.y, second.y)
    assert np.array_equal(first.y, table["y"].cast(pl.Float32).to_numpy())


def test_unsorted_rows_with_a_covariate_called_code_are_converted_with_its_values(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "unique_id": [2, 1, 2, 1, 2, 1],
            "ds": [1, 1, 2, 2, 3, 3],
            "y": range(6),
            "code": [5.0, 7.0, 6.0, 8.0, 9.0, 4.0],
        }
    )
    frame.write_parquet(tmp_path / "table.parquet")
    panel = Panel.build(tmp_path / "table.parquet", tmp_path / "panel", past=["code"])
    assert panel.past_x is not None
    assert panel.past_x[:, 0].tolist() == [7.0, 8.0, 4.0, 5.0, 6.0, 9.0]


@pytest.mark.parametrize("policy", ["first", "last", "mean", "sum"])
def test_several_rows_of_one_time_are_combined_like_those_of_the_whole_table(policy: str, tmp_path: Path) -> None:
    table = frame(x=np.arange(12.0), c=["a", "b"] * 6)
    twice = pl.concat([table, table.with_columns(pl.col("y") * 3, pl.col("x") + 1).slice(2, 7), table.slice(5, 1)])
    schema = Schema(past=("x", "c"), duplicates=policy)
    for place, given in enumerate([twice.sort("unique_id", maintain_order=True), twice]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            given.write_parquet(tmp_path / f"{place}.parquet")
            convert(str(tmp_path / f"{place}.parquet"), tmp_path / f"panel-{place}", schema)
            expected = build_panel(given, schema).to_frame()
        assert Panel.open(tmp_path / f"panel-{place}").to_frame().equals(expected)
        assert expected.height == 12


def test_texts_of_parquet_files_are_numbers_as_in_the_whole_table(tmp_path: Path) -> None:
    path = f"{tmp_path}/a.parquet"
    frame(y=["1,5", "-", "3"] * 4, price=["2,5", "-", "4"] * 4, shop=["a", "-", "b"] * 4).write_parquet(path)
    schema = Schema(past=("price", "shop"), categorical="shop", missing="mask", decimal=",", null_values="-")
    convert(path, tmp_path / "panel", schema)
    found, whole = Panel.open(tmp_path / "panel"), build_panel(path, schema)
    assert whole.past_x is not None
    assert found.past_x is not None
    assert whole.past_x[0].tolist() == [2.5, 1.0]
    np.testing.assert_array_equal(found.y, whole.y)
    np.testing.assert_array_equal(found.past_x, whole.past_x)
    assert found.categories == whole.categories == {"shop": ["a", "b"]}


def test_a_decimal_comma_in_chunks_must_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.data.conversion.text_file._PARTS", 10**9)
    for columns, schema in (("ds;y", {}), ("ds;x;y", {"past": "x"})):
        (tmp_path / "a.csv").write_text(
            f"{columns}\n" + "".join(f"{n};{n},5{';1' * bool(schema)}\n" for n in range(20))
        )
        with pytest.raises(DataError, match=r"'0,5' is not a number.*Pass decimal=\",\" \(--decimal ,\)"):
            convert(str(tmp_path / "a.csv"), tmp_path / "panel", Schema(**schema))
