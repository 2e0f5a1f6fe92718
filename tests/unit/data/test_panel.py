from __future__ import annotations

import json
import warnings
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, DataWarning, UntrustedFileError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

ROLES: dict[str, Any] = {
    "past": "visitors",
    "future": ("price", "weather"),
    "static": ("size", "region"),
    "calendar": ("hour", "day_of_week_sin"),
    "missing": "mask",
}


@pytest.fixture
def frame() -> pl.DataFrame:
    made = Synthetic(num_series=4, length=60, covariates=True, frequency="1h", missing=0.1, seed=1).frame()
    return made.filter(~((pl.col("unique_id") == "series-2") & (pl.col("ds") > datetime(2020, 1, 2, 12))))


@pytest.fixture
def panel(frame: pl.DataFrame) -> Panel:
    return build_panel(frame, Schema(**ROLES))


def same(one: Panel, other: Panel) -> bool:
    arrays = ("offsets", "y", "mask", "past_x", "future_x", "static_x")
    rest = ("schema", "frequency", "past", "future", "static", "categories")
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and all(getattr(one, name) == getattr(other, name) for name in rest)
        and one.ids.equals(other.ids, check_dtypes=True, check_names=True)
        and one.starts.equals(other.starts, check_dtypes=True, check_names=True)
    )


def test_to_frame_returns_the_original_table(panel: Panel, frame: pl.DataFrame) -> None:
    back = panel.to_frame()
    numbers = ("y", "visitors", "price", "size")
    assert back.equals(frame.select(back.columns).cast(dict.fromkeys(numbers, pl.Float32)))


def test_times(panel: Panel, frame: pl.DataFrame) -> None:
    assert panel.times().equals(frame["ds"])


def test_tail_is_the_end_of_each_series(panel: Panel, frame: pl.DataFrame) -> None:
    tail = panel.tail(10)
    expected = build_panel(frame.group_by("unique_id", maintain_order=True).tail(10), Schema(**ROLES))
    assert tail.ids is panel.ids
    assert tail.to_frame().equals(expected.to_frame())
    assert same(panel.tail(1000), panel)


def test_tail_of_calendar_months() -> None:
    days = pl.date_range(date(2023, 1, 31), date(2024, 6, 30), "1mo", eager=True).dt.month_end()
    panel = build_panel(pl.DataFrame({"ds": days, "y": np.arange(18.0)}))
    assert panel.tail(5).starts.to_list() == [date(2024, 2, 29)]
    assert panel.tail(5).times().to_list() == days[-5:].to_list()


def test_take(panel: Panel) -> None:
    some = panel.take([1, 3])
    whole = panel.to_frame()
    assert some.to_frame().equals(whole.filter(pl.col("unique_id").is_in(["series-1", "series-3"])))
    assert panel.take(np.array([2])).num_series == 1


def test_alignment(panel: Panel) -> None:
    assert not panel.aligned
    with pytest.raises(DataError) as caught:
        panel.require_aligned()
    assert str(caught.value) == (
        "series must cover the same times to be forecast together: 'series-0' from 2020-01-01 to 2020-01-03 11:00:00, "
        "but 'series-2' from 2020-01-01 to 2020-01-02 12:00:00. Cut or fill them, or choose a model that takes one "
        "series at a time"
    )
    assert panel.take([0, 1, 3]).aligned
    panel.take([0, 1, 3]).require_aligned()


def test_save_and_open(panel: Panel, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    mapped = Panel.open(tmp_path / "panel")
    assert mapped.is_memory_mapped
    assert same(mapped, panel)
    loaded = Panel.open(str(tmp_path / "panel"), mmap=False)
    assert not loaded.is_memory_mapped
    assert same(loaded, panel)
    assert not panel.is_memory_mapped


def test_a_mapped_panel_does_not_change_its_files(panel: Panel, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    mapped = Panel.open(tmp_path / "panel")
    with pytest.raises(ValueError, match="read-only"):
        mapped.y[0] = 12345
    assert not any(array.flags.writeable for array in (mapped.y, mapped.mask, mapped.past_x, mapped.future_x))
    assert not mapped.tail(5).is_memory_mapped


@pytest.mark.parametrize(
    "file", ["y.float32", "mask.bool", "offsets.npy", "static_x.npy", "index.parquet", "panel.json"]
)
def test_damaged_panel_files_are_refused(panel: Panel, file: str, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    path = tmp_path / "panel" / file
    path.write_bytes(path.read_bytes()[:-100])
    for mmap in (True, False):
        with pytest.raises(UntrustedFileError):
            Panel.open(tmp_path / "panel", mmap=mmap)


def test_altered_value_is_refused_when_all_files_are_read(panel: Panel, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    path = tmp_path / "panel" / "y.float32"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UntrustedFileError, match="SHA-256 differs from manifest"):
        Panel.open(tmp_path / "panel", mmap=False)


def test_pickled_arrays_are_refused(panel: Panel, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    np.save(tmp_path / "panel" / "offsets.npy", np.array([object()], object), allow_pickle=True)
    with pytest.raises(UntrustedFileError):
        Panel.open(tmp_path / "panel")


def test_newer_format_and_no_panel(panel: Panel, tmp_path: Path) -> None:
    panel.save(tmp_path / "panel")
    path = tmp_path / "panel" / "panel.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 4}))
    with pytest.raises(UntrustedFileError, match="format 4, this version reads ≤3"):
        Panel.open(tmp_path / "panel")
    with pytest.raises(DataError, match="not found, or not a saved panel"):
        Panel.open(tmp_path / "nowhere")


@pytest.mark.parametrize("batch", [1, 7, 60, 100, 10_000])
def test_from_parquet_is_the_same_panel(
    frame: pl.DataFrame, panel: Panel, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuro_divergent.data.load._BATCH", batch)
    frame.head(100).write_parquet(tmp_path / "a.parquet")
    frame.slice(100).write_parquet(tmp_path / "b.parquet", row_group_size=13)
    found = Panel.from_parquet(f"{tmp_path}/*.parquet", tmp_path / "panel", **{**ROLES, "frequency": "1h"})
    assert found.is_memory_mapped
    expected = build_panel(frame, Schema(**ROLES, frequency="1h"))
    assert same(found, expected)
    assert same(Panel.open(tmp_path / "panel", mmap=False), panel) is False  # the schema knows the frequency


def test_from_parquet_without_masks_or_ids(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ds": range(50), "y": np.arange(50.0)})
    frame.write_parquet(tmp_path / "a.parquet")
    found = Panel.from_parquet(tmp_path / "a.parquet", tmp_path / "panel")
    assert found.mask is None
    assert found.static_x is None
    assert same(found, build_panel(frame))


def test_from_parquet_fills_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.data.load._BATCH", 10)
    frame = pl.DataFrame({"unique_id": np.repeat(np.arange(5), 20), "ds": [*range(20)] * 5, "y": np.arange(100.0)})
    frame = frame.filter(pl.int_range(100) % 13 != 5)
    frame.write_parquet(tmp_path / "a.parquet")
    found = Panel.from_parquet(tmp_path / "a.parquet", tmp_path / "panel", gaps="interpolate")
    np.testing.assert_allclose(found.y, np.arange(100.0))


def test_from_parquet_accepts_series_in_any_order(tmp_path: Path) -> None:
    frame = pl.DataFrame({"unique_id": np.repeat([3, 1, 2], 4), "ds": [1, 2, 3, 4] * 3, "y": np.arange(12.0)})
    frame.write_parquet(tmp_path / "a.parquet")
    assert same(Panel.from_parquet(tmp_path / "a.parquet", tmp_path / "panel"), build_panel(frame))


def test_from_parquet_reports_wrong_data(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"

    def attempt(**columns: Any) -> str:
        base = {"unique_id": np.repeat([1, 2, 3], 4), "ds": [1, 2, 3, 4] * 3, "y": np.arange(12.0)}
        pl.DataFrame({**base, **columns}).write_parquet(path)
        with pytest.raises(DataError) as caught:
            Panel.from_parquet(path, tmp_path / "panel")
        assert not (tmp_path / "panel").exists()
        return str(caught.value).removeprefix(f"{path}: ")

    holes = np.where(np.arange(12) == 6, np.nan, np.arange(12.0))
    assert attempt(y=holes) == (
        "column 'y', series 2: 1 missing value, first at row 7. "
        'Pass missing="interpolate" (--missing interpolate) to fill them.'
    )
    assert attempt(ds=[1, 2, 3, 4, 1, 2, 3, 4, 1, 3, 5, 7]) == "series 1 is 1, 3 is 2. All series need one frequency"
    pl.DataFrame({"ds": [], "y": []}).write_parquet(path)
    with pytest.raises(DataError, match="no data rows"):
        Panel.from_parquet(path, tmp_path / "panel")
    path.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="not a complete Parquet file"):
        Panel.from_parquet(path, tmp_path / "panel")


def test_arrays_read_into_memory_can_become_tensors_without_a_warning(panel: Panel, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    panel.save(tmp_path / "panel")
    assert torch.from_numpy(Panel.open(tmp_path / "panel", mmap=False).y).shape == (len(panel),)
    assert torch.from_numpy(panel.y).shape == (len(panel),)


def test_daily_frequency_across_a_daylight_saving_change() -> None:
    start = datetime(2024, 3, 25)
    naive = pl.Series([start + timedelta(days=n) for n in range(14)])
    frame = pl.DataFrame({"ds": naive.dt.replace_time_zone("Europe/Berlin"), "y": np.arange(14.0)})
    panel = build_panel(frame)
    assert panel.times().equals(frame["ds"])
    assert panel.tail(3).times().equals(frame["ds"].tail(3))


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_large_table_in_parts_is_the_same_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffled: bool
) -> None:
    """Sorted, it is read in parts; else as a whole. Either way the panel is the one of the table in memory."""
    monkeypatch.setattr("neuro_divergent.data.load._BATCH", 50)
    monkeypatch.setattr("neuro_divergent.data.load._LARGE", 100)
    frame = Synthetic(num_series=7, length=40, seed=3).frame()
    stored = frame.sample(fraction=1.0, shuffle=True, seed=1) if shuffled else frame
    stored.write_parquet(tmp_path / "sales.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        loaded = load_panel(tmp_path / "sales.parquet", Schema())
    expected = build_panel(frame, Schema())
    assert loaded.to_frame().equals(expected.to_frame())
    assert loaded.schema == expected.schema


def test_an_error_in_a_large_table_names_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.data.load._BATCH", 50)
    monkeypatch.setattr("neuro_divergent.data.load._LARGE", 100)
    frame = Synthetic(num_series=7, length=40, seed=3).frame()
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) == 233).then(None).otherwise(pl.col("y")).alias("y"))
    frame.write_parquet(tmp_path / "sales.parquet")
    with pytest.raises(DataError, match="row 234"):
        load_panel(tmp_path / "sales.parquet", Schema())
