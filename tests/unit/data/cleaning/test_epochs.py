"""Times that are counted from 1970: read as the standard library reads them, and told where they look like integers."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.cleaning.epochs import explain_epochs
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema

FIRST = 1_704_067_200  # 2024-01-01
HOURS = [FIRST + 3_600 * hour for hour in range(60)]


def table(times: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"ds": times, "y": [float(place % 24) for place in range(len(times))]})


@pytest.mark.parametrize(("form", "in_second"), [("epoch-s", 1), ("epoch-ms", 10**3), ("epoch-us", 10**6)])
@given(seconds=st.integers(min_value=-(10**9), max_value=4 * 10**9), is_text=st.booleans())
def test_counts_are_the_times_of_the_standard_library(
    form: str, in_second: int, seconds: int, *, is_text: bool
) -> None:
    column = pl.Series("ds", [seconds * in_second])
    times = check_times(column.cast(pl.String) if is_text else column, DataError, Schema(date_format=form).date_format)
    assert times.to_list() == [datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)]
    assert times.name == "ds"


def test_nanoseconds_keep_their_last_digit() -> None:
    times = check_times(pl.Series("ds", [FIRST * 10**9 + 1]), DataError, "epoch-ns")
    assert times.to_physical().to_list() == [FIRST * 10**9 + 1]
    assert times.dtype == pl.Datetime("ns")


def test_text_that_is_no_count_is_refused_with_its_row() -> None:
    with pytest.raises(DataError, match="row 2, column 'ds': '2024-01-01' is not written as 'epoch-s'"):
        check_times(pl.Series("ds", [str(FIRST), "2024-01-01"]), DataError, "epoch-s")


def test_counts_and_dates_in_one_column_are_read_with_both_formats() -> None:
    times = check_times(pl.Series("ds", [str(FIRST), "2024-01-02"]), DataError, ("epoch-s", "%Y-%m-%d"))
    assert times.to_list() == [datetime(2024, 1, 1), datetime(2024, 1, 2)]


def test_a_panel_of_counts_has_the_frequency_of_its_times() -> None:
    panel = load_panel(table(HOURS), Schema(date_format="epoch-s"))
    assert str(panel.frequency) == "1h"
    assert panel.starts.to_list() == [datetime(2024, 1, 1)]


@pytest.mark.parametrize(
    ("in_second", "form"), [(1, "epoch-s"), (10**3, "epoch-ms"), (10**6, "epoch-us"), (10**9, "epoch-ns")]
)
def test_integers_like_counts_get_a_warning_with_the_format_to_pass(in_second: int, form: str) -> None:
    with pytest.warns(DataWarning, match=rf'2024-01-01 00:00:00 UTC.*date_format="{form}"') as told:
        panel = load_panel(table([time * in_second for time in HOURS]), Schema())
    assert len(told) == 1
    assert str(panel.frequency) == str(3_600 * in_second)


def test_integers_like_counts_get_the_same_warning_where_files_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "sensors.parquet"
    pl.concat([table(HOURS).with_columns(unique_id=pl.lit(name)) for name in "ab"]).write_parquet(path)
    with pytest.warns(DataWarning) as loaded:
        load_panel(str(path), Schema())
    with pytest.warns(DataWarning) as built:
        Panel.build(path, tmp_path / "panel")
    assert [str(item.message) for item in built] == [str(item.message) for item in loaded]


def test_a_frequency_confirms_integers_that_are_no_times() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(load_panel(table(HOURS), Schema(frequency=3_600, strict=True)).frequency) == "3600"


def test_strict_refuses_integers_like_counts() -> None:
    with pytest.raises(DataError, match=r"--date-format epoch-s.*guesses nothing"):
        load_panel(table(HOURS), Schema(strict=True))


@pytest.mark.parametrize("time", [0, 1, 2_024, 202_401, 600_000_000, -(10**9), 5 * 10**9])
def test_other_integers_are_no_counts(time: int) -> None:
    assert explain_epochs(time, 1) is None
