"""Whatever the table: a clean one comes back as it was, a dirty one gives an error of ours or a sound panel."""

from __future__ import annotations

import warnings
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataWarning, InputError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

FREQUENCIES = ("15m", "1h", "5h", "1d", "bd", "1w", "2w", "1mo", "me", "1q", "3me", "1y", 1, 7)
POLICIES = ("error", "interpolate", "forward", "zero", "mask")
LARGEST = float(np.float32(1e17))
FLOATS = st.floats(-LARGEST, LARGEST, width=32)
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def quietly(source: Any, schema: Schema) -> Panel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return build_panel(source, schema)


@st.composite
def times(draw: st.DrawFn, frequency: Frequency, length: int) -> pl.Series:
    if frequency.unit == "":
        start = pl.Series([draw(st.integers(-1000, 1000))], dtype=draw(st.sampled_from([pl.Int32, pl.Int64])))
    else:
        moment = datetime(2019, 1, 1) + timedelta(hours=draw(st.integers(0, 50_000)))
        start = pl.Series([moment], dtype=pl.Datetime(draw(st.sampled_from(["ms", "us", "ns"]))))
        if frequency.unit == "me":
            start = start.dt.month_end()
        elif frequency.unit in ("mo", "q", "y"):
            start = start.dt.month_start()
        elif frequency.unit == "bd":
            start = start.dt.add_business_days(0, roll="forward")
        if frequency.unit not in ("m", "h") and draw(st.booleans()):
            start = start.cast(pl.Date)
        elif draw(st.booleans()):
            start = start.dt.replace_time_zone("UTC")
    return frequency.time_at(start.new_from_index(0, length), np.arange(length))


@st.composite
def clean_tables(draw: st.DrawFn) -> tuple[pl.DataFrame, Schema]:
    frequency = Frequency.parse(draw(st.sampled_from(FREQUENCIES)))
    names: Any = st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True)
    if draw(st.booleans()):
        names = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4, unique=True)
    parts = []
    clock = draw(times(frequency, 12))
    for name in draw(names):
        length = draw(st.integers(2, 8))
        begin = draw(st.integers(0, 12 - length))
        columns = {
            "unique_id": pl.Series([name] * length),
            "ds": clock.slice(begin, length),
            "y": draw(st.lists(FLOATS, min_size=length, max_size=length)),
            "x": draw(st.lists(FLOATS, min_size=length, max_size=length)),
            "c": draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=length, max_size=length)),
            "s": [draw(FLOATS)] * length,
        }
        parts.append(pl.DataFrame(columns).cast(dict.fromkeys(("y", "x", "s"), pl.Float32)))
    known = draw(st.booleans())
    calendar = () if frequency.unit == "" else ("month", "day_of_week_cos")
    roles = {"past": ("x", "c"), "static": "s", "calendar": calendar}
    return pl.concat(parts), Schema(**roles, frequency=str(frequency) if known else None)


@QUICK
@given(clean_tables(), st.randoms(use_true_random=False))
def test_a_clean_table_round_trips_through_a_panel(table: tuple[pl.DataFrame, Schema], random: Any) -> None:
    frame, schema = table
    order = list(range(frame.height))
    random.shuffle(order)
    try:
        panel = quietly(frame[order], schema)
    except InputError:
        # Without being told, two rows per series can look like another frequency than that of the others.
        assert schema.frequency is None
        assert frame.group_by("unique_id").len()["len"].min() == 2
        return
    back = panel.to_frame()
    assert back.equals(frame.sort("unique_id", "ds").select(back.columns))
    assert back.schema == frame.select(back.columns).schema


@QUICK
@given(clean_tables(), st.integers(1, 10))
def test_parts_of_a_panel_are_panels(table: tuple[pl.DataFrame, Schema], length: int) -> None:
    frame, schema = table
    panel = quietly(frame.sort("unique_id", "ds"), schema.replace(frequency=None, gaps="zero"))
    whole = panel.to_frame()
    tail = panel.tail(length)
    assert tail.to_frame().equals(whole.group_by("unique_id", maintain_order=True).tail(length))
    longer = panel.lengthened(length)
    assert longer.tail(1).to_frame().equals(panel.tail(1).to_frame())
    assert (longer.lengths == np.maximum(panel.lengths, length)).all()
    assert longer.to_frame().filter(pl.col("y").is_not_null()).equals(whole)


DIRT = st.sampled_from(
    [
        "null",
        "nan",
        "inf",
        "huge",
        "repeat",
        "drop",
        "shuffle",
        "text",
        "id",
        "time",
        "column",
        "far",
        "constant",
        "list",
    ]
)


def soil(frame: pl.DataFrame, kind: str, place: int, column: str) -> pl.DataFrame:
    here = pl.int_range(pl.len()) == place % max(frame.height, 1)
    if column not in frame.columns or frame.schema[column].is_nested():
        return frame
    value = pl.col(column)
    if kind in ("nan", "inf", "huge") and frame.schema[column].is_float():
        number = {"nan": float("nan"), "inf": -float("inf"), "huge": 1e300}[kind]
        return frame.with_columns(pl.when(here).then(number).otherwise(value.cast(pl.Float64)).alias(column))
    return {
        "null": lambda: frame.with_columns(pl.when(here).then(None).otherwise(value).alias(column)),
        "repeat": lambda: pl.concat([frame, frame.filter(here)]),
        "drop": lambda: frame.filter(~here),
        "shuffle": lambda: frame.sample(fraction=1, shuffle=True, seed=place),
        "text": lambda: frame.with_columns(value.cast(pl.String)),
        "id": lambda: (
            frame.with_columns(unique_id=pl.lit(None, pl.String))
            if place % 2
            else frame.drop("unique_id", strict=False)
        ),
        "time": lambda: frame.with_columns(ds=pl.lit(date(9999, 1, 1)) if place % 2 else pl.lit(0.5)),
        "column": lambda: frame.drop(column),
        "far": lambda: frame.with_columns(pl.when(here).then(value.max()).otherwise(value).alias(column)),
        "constant": lambda: frame.with_columns(value.first().alias(column)),
        "list": lambda: frame.with_columns(value.implode().first().alias(column)),
    }.get(kind, lambda: frame)()


def assert_sound(panel: Panel) -> None:
    for array in (panel.y, panel.past_x, panel.future_x, panel.static_x):
        assert array is None or (np.isfinite(array).all() and array.dtype == np.float32)
    assert panel.offsets[0] == 0
    assert panel.offsets[-1] == len(panel.y)
    assert (panel.lengths > 0).all()
    assert panel.ids.is_sorted() or panel.schema.id is None
    assert panel.mask is None or (panel.y[~panel.mask] == 0).all()
    assert len(panel.to_frame()) == len(panel)


@QUICK
@given(
    clean_tables(),
    st.lists(
        st.tuples(DIRT, st.integers(0, 1000), st.sampled_from(["unique_id", "ds", "y", "x", "c", "s"])), max_size=4
    ),
    st.sampled_from(POLICIES),
    st.sampled_from(POLICIES),
    st.sampled_from(["error", "drop", "pad"]),
)
def test_a_dirty_table_gives_an_error_of_ours_or_a_sound_panel(
    table: tuple[pl.DataFrame, Schema], dirt: list[tuple[str, int, str]], missing: str, gaps: str, short: str
) -> None:
    frame, schema = table
    for kind, place, column in dirt:
        frame = soil(frame, kind, place, column)
    try:
        panel = quietly(frame, schema.replace(missing=missing, gaps=gaps, short=short))
        assert_sound(panel)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            assert_sound(check_lengths(panel, input_size=2, horizon=1))
    except InputError as error:
        message = str(error)
    else:
        return
    assert message
    assert "\n" not in message


WORDS = st.one_of(
    st.sampled_from([
        "A", "B", "", "007", "7", "é", "2024-01-01", "2024-01-02", "2024-01-03", "2024-02-30", "03/04/21", "9999-12-31",
        "20240101", "2024-01-01T00:00Z", "2024-01-01T01:00", "1", "2.5", "NaN", "inf", "1e300", "n/a", "True", "-0",
        " 1", "1 ", "+5", "1_000", "٣", '"', '"x', '""', "''", "\t", "\r", "\x00", "a,b", '"a,b"',
    ]),
    st.text(max_size=6),
)  # fmt: skip
LINES = st.one_of(
    st.tuples(st.sampled_from("AB"), st.dates(date(2024, 1, 1), date(2024, 1, 9)), FLOATS, FLOATS).map(
        lambda row: [str(item) for item in row]
    ),
    st.lists(WORDS, min_size=4, max_size=4),
    st.lists(WORDS, max_size=5),
)


@QUICK
@given(st.lists(LINES, max_size=8), st.booleans(), st.sampled_from(POLICIES))
def test_a_dirty_csv_file_gives_an_error_of_ours_or_a_sound_panel(
    tmp_path: Path, lines: list[list[str]], header: bool, policy: str
) -> None:
    path = tmp_path / "dirty.csv"
    text = "".join(",".join(words) + "\n" for words in ([["unique_id", "ds", "y", "x"]] if header else []) + lines)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert_sound(quietly(path, Schema(past="x", missing=policy, gaps=policy)))
    except InputError as error:
        message = str(error)
    else:
        return
    assert message.startswith(str(path))
    assert "\n" not in message
