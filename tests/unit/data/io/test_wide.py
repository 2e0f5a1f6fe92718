"""Wide tables: one column per series."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError, DataError, DataWarning
from neuro_divergent.data.future import read_future
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

WIDE = Schema(wide=True)
COLUMN = st.lists(st.one_of(st.none(), st.integers(-99, 99).map(float)), min_size=6, max_size=6)
START = date(2024, 1, 1)
DAYS = [START + timedelta(days=n) for n in range(6)]


@settings(max_examples=100)
@given(
    columns=st.dictionaries(st.sampled_from(["a", "b", "1001", "store 1"]), COLUMN, min_size=1),
    order=st.permutations(range(6)),
    with_time=st.booleans(),
)
def test_a_wide_table_holds_the_values_of_the_long_one(
    columns: dict[str, list[float | None]], order: list[int], with_time: bool
) -> None:
    columns = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    if not columns:
        return
    wide = pl.DataFrame(
        {"date": DAYS, **{name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()}}
    )
    long = read_table(wide[list(order)], Schema(wide=True, time="date") if with_time else WIDE).frame
    time = "date" if with_time else "ds"
    assert long.columns == ["unique_id", time, "y"]
    for name, values in columns.items():
        rows = long.filter(pl.col("unique_id") == name).sort(time)
        seen = [n for n, value in enumerate(values) if value is not None]
        inside = range(seen[0], seen[-1] + 1)
        assert rows[time].to_list() == [DAYS[n] for n in inside]
        assert rows["y"].to_list() == [values[n] for n in inside]
    back = long.pivot(on="unique_id", index=time, values="y").sort(time).rename({time: "date"})
    spans = wide.filter(wide["date"].is_in(back["date"].implode()))
    assert back.select(["date", *columns]).equals(spans.select(["date", *columns]))


def csv(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_covariates_are_those_of_all_series_and_may_come_without_series(tmp_path: Path) -> None:
    rows = "".join(f"{day},{n},{'' if n > 3 else n * 2},{n % 2}\n" for n, day in enumerate(DAYS))
    panel = build_panel(csv(tmp_path / "a.csv", f"day,a,b,promo\n{rows}"), Schema(wide=True, future="promo"))
    assert panel.ids.to_list() == ["a", "b"]
    assert panel.lengths.tolist() == [6, 4]
    assert panel.future_x is not None
    assert panel.future_x[:, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    ahead = "".join(f"{START + timedelta(days=n)},{n}\n" for n in range(4, 9))
    values = read_future(csv(tmp_path / "b.csv", f"day,promo\n{ahead}"), panel, 2)
    assert values is not None
    assert values[:, :, 0].tolist() == [[6, 7], [4, 5]]  # the second series ends earlier


def test_covariates_and_weights_that_are_text_are_read_like_the_series(tmp_path: Path) -> None:
    rows = [f'{{"ds": "{day}", "a": "1,5", "price": "{n},25", "weight": "0,5"}}' for n, day in enumerate(DAYS)]
    table = csv(tmp_path / "sales.jsonl", "\n".join(rows))
    schema = Schema(wide=True, past="price", weight="weight")
    with pytest.warns(DataWarning, match="is read with a decimal comma, like all numbers of the file"):
        guessed = read_table(table, schema).frame
    assert guessed.equals(read_table(table, schema.replace(decimal=",")).frame)
    assert guessed["price"].to_list() == [n + 0.25 for n in range(6)]
    assert guessed["weight"].to_list() == [0.5] * 6


@pytest.mark.parametrize("dtype", [pl.Int32, pl.Float32, pl.Decimal(9, 2)])
def test_numbers_that_mean_a_missing_value_are_missing_in_columns_of_numbers(dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"ds": [1, -999, 3], "y": pl.Series([5, -999, 7]).cast(dtype)})
    long = read_table(frame, Schema(null_values=("-", "-999"))).frame
    assert long.rows() == [(1, 5), (-999, None), (3, 7)]
    table = frame.select(pl.Series("ds", [1, 2, 3]), a="y")
    wide = read_table(table, Schema(wide=True, null_values="-999,0", decimal=",")).frame
    assert wide.rows() == [("a", 1, 5.0), ("a", 2, None), ("a", 3, 7.0)]


def test_new_wide_tables_are_read_like_those_of_training(tmp_path: Path) -> None:
    panel = build_panel(
        csv(tmp_path / "a.csv", "day;a;b\n2024-01-01;1,5;2\n2024-01-02;2,5;3\n"), Schema(wide=True, decimal=",")
    )
    again = build_panel(csv(tmp_path / "b.csv", "when;a;c\n2024-02-01;1,5;4\n"), panel.schema, fitted=panel)
    assert (again.ids.to_list(), again.y.tolist()) == (["a", "c"], [1.5, 4.0])
    forecasts = pl.DataFrame({"unique_id": ["a"], "ds": [DAYS[0]], "y": [1.0]})
    assert build_panel(forecasts, panel.schema, fitted=panel).y.tolist() == [1.0]  # long already


def test_a_pandas_frame_with_dates_as_its_index_is_read() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [np.nan, 4.0]}, index=pd.to_datetime(DAYS[:2]))
    long = read_table(frame, WIDE).frame
    assert long["unique_id"].to_list() == ["a", "a", "b"]
    assert [str(time)[:10] for time in long["ds"]] == ["2024-01-01", "2024-01-02", "2024-01-02"]


def test_columns_without_numbers_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "day,a,weekday,empty,\n2024-01-01,1,Mon,,\n2024-01-02,2,Tue,,\n")
    with pytest.warns(DataWarning, match="columns weekday, empty without numbers left out: no series"):
        assert read_table(path, WIDE).frame["unique_id"].unique().to_list() == ["a"]
    with pytest.raises(DataError, match="columns weekday, empty without numbers; with wide=True"):
        read_table(path, WIDE.replace(strict=True))


def test_messages_name_the_series_and_the_row_of_the_file(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "day,a,b\n2024-01-01,1,\n2024-01-02,2,1\n2024-01-03,3,inf\n")
    with pytest.raises(DataError, match="column 'y', series 'b', row 3: infinite"):
        build_panel(path, WIDE)
    with pytest.raises(DataError, match="column 'time' missing; found day, a, b"):
        read_table(path, Schema(wide=True, time="time"))
    turned = csv(tmp_path / "b.csv", "store,2024-01-01,2024-01-02\na,1,2\n")
    for schema in (WIDE, Schema()):
        with pytest.raises(DataError, match="The header holds dates: turn the table, so that each date is a row"):
            build_panel(turned, schema)
    with pytest.raises(DataError, match="a wide table has one column per series and none with their names"):
        read_table(pl.DataFrame({"ds": [1], "unique_id": ["a"], "b": [1.0]}), WIDE)


def test_more_than_fits_into_memory_is_not_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.data.io.wide.memory_limit", lambda: 1e-7)
    with pytest.raises(DataError, match=r"2 series of 6 rows need 0\.00 GiB as a long table, limit"):
        read_table(pl.DataFrame({"ds": DAYS, "a": 1.0, "b": 2.0}), WIDE)


def test_static_covariates_are_refused() -> None:
    with pytest.raises(ConfigError, match="no values that differ between series"):
        Schema(wide=True, static="region")
