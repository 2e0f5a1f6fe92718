from __future__ import annotations

import tracemalloc
import warnings
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.lengths import check_history, check_lengths
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


def long(**lengths: int) -> pl.DataFrame:
    return pl.concat(
        [
            pl.DataFrame({"unique_id": name, "ds": range(n), "y": np.arange(n) + 10.0 * place, "x": np.arange(n) * 1.0})
            for place, (name, n) in enumerate(lengths.items())
        ]
    )


def test_layout() -> None:
    panel = build_panel(long(A=3, B=2), Schema(past="x"))
    assert panel.ids.to_list() == ["A", "B"]
    assert panel.offsets.tolist() == [0, 3, 5]
    assert panel.y.tolist() == [0, 1, 2, 10, 11]
    assert panel.y.dtype == np.float32
    assert panel.y.flags.writeable
    assert panel.y.flags.c_contiguous
    assert panel.mask is None
    assert panel.past_x is not None
    assert panel.past_x.tolist() == [[0], [1], [2], [0], [1]]
    assert panel.schema.id == "unique_id"
    assert panel.frequency == Frequency(1, "")


def test_series_may_come_in_any_order_without_a_warning() -> None:
    frame = long(A=3, B=2, C=4)
    expected = build_panel(frame)
    for other in (frame.sort("ds"), frame.sort("unique_id", descending=True, maintain_order=True)):
        panel = build_panel(other)
        assert panel.ids.to_list() == ["A", "B", "C"]
        assert panel.to_frame().equals(expected.to_frame())


def test_rows_of_a_series_out_of_order_give_a_warning() -> None:
    frame = long(A=3, B=5).reverse()
    with pytest.warns(
        DataWarning, match=r"^series 'A': 2 rows were out of time order and are sorted; 2 series affected$"
    ):
        panel = build_panel(frame)
    assert panel.to_frame().equals(build_panel(long(A=3, B=5)).to_frame())
    with pytest.warns(DataWarning, match=r"^3 rows were out of time order and are sorted$"):
        build_panel(pl.DataFrame({"ds": [3, 1, 2], "y": [3.0, 1.0, 2.0]}))


def test_a_table_without_ids_is_one_series() -> None:
    panel = build_panel(pl.DataFrame({"ds": [1, 2], "sales": [1.0, 2.0]}), Schema(target="sales"))
    assert panel.schema.id is None
    assert panel.ids.to_list() == ["sales"]
    assert panel.to_frame().columns == ["ds", "sales"]


def test_the_usual_id_may_have_another_role() -> None:
    frame = pl.DataFrame({"ds": [1, 2], "y": [1.0, 2.0], "unique_id": ["a", "a"]})
    assert build_panel(frame, Schema(static="unique_id")).schema.id is None


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        ([10, 9], pl.Int64),
        ([10, 9], pl.UInt8),
        ([2**40, 1], pl.UInt64),
        ([-5, -900_000], pl.Int32),
        (["b", "a"], pl.String),
        (["b", "a"], pl.Categorical),
        (["b", "a"], pl.Enum(["b", "a"])),
    ],
)
def test_ids_keep_their_type_and_are_sorted(ids: list[Any], dtype: Any) -> None:
    frame = pl.DataFrame({"unique_id": pl.Series(ids, dtype=dtype), "ds": 1, "y": [1.0, 2.0]})
    frame = pl.concat([frame, frame.with_columns(ds=pl.lit(2, pl.Int32), y=pl.col("y") * 10)])
    panel = build_panel(frame)
    assert panel.ids.dtype == dtype
    assert panel.ids.to_list() == [ids[1], ids[0]]
    assert panel.y.tolist() == [2, 20, 1, 10]
    assert panel.to_frame()["unique_id"].dtype == dtype


@pytest.mark.parametrize(
    "dtype",
    [pl.Date, pl.Datetime("ms"), pl.Datetime("ns"), pl.Datetime("us", "UTC"), pl.Datetime("us", "Europe/Berlin")],
)
def test_times_keep_their_type(dtype: Any) -> None:
    times = pl.Series([datetime(2024, 1, 1) + timedelta(days=n) for n in range(200)])
    zone = getattr(dtype, "time_zone", None)
    times = times.dt.replace_time_zone(zone).cast(dtype) if zone else times.cast(dtype)
    panel = build_panel(pl.DataFrame({"ds": times, "y": np.arange(200.0)}))
    assert panel.frequency == Frequency(1, "d")
    assert panel.starts.dtype == dtype
    assert panel.to_frame()["ds"].equals(times)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2), pl.Boolean])
def test_targets_of_many_types(dtype: Any) -> None:
    frame = pl.DataFrame({"ds": [1, 2, 3], "y": pl.Series([0, 1, 1]).cast(dtype)})
    assert build_panel(frame).y.tolist() == [0, 1, 1]


def test_text_dates_in_a_frame_are_read() -> None:
    panel = build_panel(pl.DataFrame({"ds": ["2024-01-01", "2024-01-02"], "y": [1.0, 2.0]}))
    assert panel.starts.to_list() == [date(2024, 1, 1)]


def test_pandas_and_polars_give_the_same_panel() -> None:
    frame = pd.DataFrame(
        {"unique_id": ["A"] * 3, "ds": pd.date_range("2024-01-01", periods=3, freq="h"), "y": [1.0, 2, 4]}
    )
    assert build_panel(frame).to_frame()["y"].to_list() == [1, 2, 4]
    assert build_panel(frame).frequency == Frequency(1, "h")


def test_chunked_columns_give_the_same_panel() -> None:
    parts = [long(A=5).slice(begin, 1) for begin in range(5)]
    frame = pl.concat(parts, rechunk=False)
    assert frame.n_chunks() == 5
    assert build_panel(frame, Schema(past="x")).to_frame().equals(build_panel(long(A=5), Schema(past="x")).to_frame())


def test_chunked_checks_equal_checks_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large tables are looked at in pieces; with tiny pieces the borders between them are everywhere."""
    frame = long(A=7, B=5, C=9)
    expected = build_panel(frame, Schema(past="x")).to_frame()
    for size in (1, 2, 3, 7):
        for module in ("cleaning.frequency", "cleaning.duplicates", "cleaning.calendar"):
            monkeypatch.setattr(f"neuro_divergent.data.{module}.PIECE", size)
        assert build_panel(frame, Schema(past="x")).to_frame().equals(expected)
        with pytest.raises(DataError, match=r"series 'B': 3 twice \(rows 11, 22\)"):
            build_panel(pl.concat([frame, frame.slice(10, 1)]))
        with pytest.raises(DataError, match=r"series 'C': gap after 2 \(1 step at 1\); 1 missing row\."):
            build_panel(frame.filter(pl.int_range(21) != 15))


def test_explicit_frequency_turns_missing_rows_into_gaps() -> None:
    frame = pl.DataFrame({"ds": [date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 5)], "y": [1.0, 3.0, 5.0]})
    assert build_panel(frame).frequency == Frequency(2, "d")
    panel = build_panel(frame, Schema(frequency="1d", gaps="interpolate"))
    assert panel.y.tolist() == [1, 2, 3, 4, 5]


def test_business_days_with_a_holiday() -> None:
    days = [day for n in range(30) if (day := date(2024, 1, 1) + timedelta(days=n)).weekday() < 5]
    frame = pl.DataFrame({"ds": days, "y": np.arange(len(days)) * 1.0})
    assert build_panel(frame).frequency == Frequency(1, "bd")
    with pytest.raises(DataError, match=r"^gap after 2024-01-12 \(1 step at 1bd\)"):
        build_panel(frame.filter(pl.col("ds") != date(2024, 1, 15)))


def test_new_data_uses_the_frequency_and_categories_of_training() -> None:
    frame = long(A=5).with_columns(c=pl.Series(["u", "v", "u", "v", "w"]))
    fitted = build_panel(frame, Schema(past="c"))
    panel = build_panel(frame.head(1), fitted=fitted)
    assert panel.frequency == fitted.frequency
    assert panel.categories == fitted.categories
    assert panel.past == fitted.past
    assert panel.past_x is not None
    assert panel.past_x.tolist() == [[1]]


def test_new_data_may_be_constant_without_a_warning() -> None:
    fitted = build_panel(long(A=5))
    build_panel(long(A=5).with_columns(y=pl.lit(1.0)), fitted=fitted)


def test_new_data_with_another_time_type_is_refused() -> None:
    fitted = build_panel(long(A=5))
    frame = pl.DataFrame({"unique_id": "A", "ds": [date(2024, 1, 1), date(2024, 1, 2)], "y": [1.0, 2.0]})
    with pytest.raises(DataError, match="column 'ds' holds dates, so frequency '1' cannot be"):
        build_panel(frame, fitted=fitted)


def test_short_series_are_left_out_with_a_warning() -> None:
    panel = build_panel(long(A=3, B=8, C=2), Schema(short="drop"))
    with pytest.warns(
        DataWarning, match=r"^series 'A': 3 rows, needs 6 \(4 history \+ 2 horizon\); 2 series affected and left out$"
    ):
        kept = check_lengths(panel, input_size=4, horizon=2)
    assert kept.ids.to_list() == ["B"]
    assert kept.y.tolist() == panel.series(1).tolist()
    with pytest.raises(DataError, match="needs 50"):
        check_history(panel, input_size=50)


def test_short_series_are_padded() -> None:
    start = datetime(2024, 1, 31)
    frame = pl.DataFrame(
        {
            "unique_id": ["A", "A", "B", "B", "B"],
            "ds": [start, datetime(2024, 2, 29), start, datetime(2024, 2, 29), datetime(2024, 3, 31)],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0],
            "x": [10.0, 20.0, 30.0, 40.0, 50.0],
        }
    )
    schema = Schema(future="x", calendar="month", short="pad")
    panel = check_history(build_panel(frame, schema), input_size=4)
    assert panel.lengths.tolist() == [4, 4]
    assert panel.starts.to_list() == [datetime(2023, 11, 30), datetime(2023, 12, 31)]
    assert panel.y.tolist() == [0, 0, 1, 2, 0, 3, 4, 5]
    assert panel.mask is not None
    assert panel.mask.tolist() == [False, False, True, True, False, True, True, True]
    assert panel.future_x is not None
    assert panel.future_x[:, 0].tolist() == [10, 10, 10, 20, 30, 30, 40, 50]
    np.testing.assert_allclose(panel.future_x[:4, 1], np.array([10, 11, 0, 1]) / 11 - 0.5, atol=1e-6)


def test_series_shorter_than_two_windows_are_padded_by_a_history() -> None:
    panel = check_lengths(build_panel(long(A=2, B=8, C=10)), input_size=3, horizon=2)
    assert panel.lengths.tolist() == [5, 11, 10]
    assert panel.first_observed.tolist() == [3, 8, 16]
    assert check_lengths(panel, input_size=3, horizon=2) is panel


def test_trimmed_series_are_those_before_padding() -> None:
    plain = build_panel(long(A=2, B=8, C=10))
    trimmed = check_lengths(plain, input_size=3, horizon=2).trimmed()
    assert trimmed.lengths.tolist() == [2, 8, 10]
    assert trimmed.y.tolist() == plain.y.tolist()
    assert trimmed.starts.equals(plain.starts)
    assert plain.trimmed() is plain


def test_series_of_two_windows_are_not_copied() -> None:
    panel = build_panel(long(A=10, B=10))
    assert check_lengths(panel, input_size=3, horizon=2) is panel


def test_a_clean_table_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_panel(long(A=5, B=7), Schema(past="x"))


def test_building_from_a_sorted_table_needs_little_extra_memory() -> None:
    rows = 1_000_000
    frame = pl.DataFrame(
        {
            "unique_id": pl.Series([f"series {n}" for n in range(100)]).gather(np.repeat(np.arange(100), rows // 100)),
            "ds": np.tile(np.arange(rows // 100), 100),
            "y": np.random.default_rng(0).standard_normal(rows),
        }
    )
    build_panel(frame)
    tracemalloc.start()
    try:
        panel = build_panel(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert panel.y.nbytes == 4 * rows
    assert peak < 24 * rows
