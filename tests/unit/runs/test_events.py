"""Reading what a run wrote, whatever has become of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from neuro_divergent.runs.events import EventFile, layers_of, parse_events, read_events
from neuro_divergent.runs.history_reader import RowTable, read_history
from neuro_divergent.training.history import History

numbers = st.floats(allow_nan=False, allow_infinity=False)


def line(event: str, step: int, **content: Any) -> bytes:
    return json.dumps({"event": event, "time": 1.5, "step": step, **content}, separators=(",", ":")).encode()


def row(step: int, loss: float = 0.5, **more: Any) -> bytes:
    return line("row", step, seconds=0.25, epoch=0, train_loss=loss, **more)


FILE = b"".join(
    text + b"\n"
    for text in (
        line("start", 0, layers=["a", "b"]),
        *(
            text
            for step in range(1, 6)
            for text in (row(step, step / 3, validation_loss=None if step % 2 else 1 / step), line("layers", step))
        ),
        line("end", 5, reason="all steps are done"),
    )
)
garbage = st.one_of(
    st.binary(max_size=60).map(lambda value: value.replace(b"\n", b"")),
    st.binary(max_size=60).map(lambda value: b'{"event":"row",' + value.replace(b"\n", b"") + b"}"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from(["time", "epoch", "seconds", "train_loss", "validation_loss", "x"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
        max_size=4,
    ).map(lambda value: json.dumps({"event": "row", **value}, separators=(",", ":")).encode()),
    st.sampled_from([b'{"event":"row","step":1e999}', b'{"event":"row","step":-1}', b"[" * 5000, b"1" * 5000]),
)


COLUMNS = line("columns", 0, names=["seconds", "epoch", "train_loss", "validation_loss", "validation_mae"])


def history_of(lines: list[bytes]) -> pl.DataFrame:
    table = RowTable()
    table.add(b"".join(line + b"\n" for line in lines))
    return table.frame


def history(lines: list[bytes]) -> pl.DataFrame:
    """Read lines of a file of old, and make sure that those of a new one and its parts give the same rows."""
    found = history_of(lines)
    middle = len(lines) // 2
    for parts in ([[COLUMNS, *lines]], [[COLUMNS, *lines[:middle]], lines[middle:]]):
        table = RowTable()
        for part in parts:
            table.add(b"".join(text + b"\n" for text in part))
        names = [name for name in found.columns if name in table.frame.columns]
        assert_frame_equal(table.frame.select(names), found.select(names), check_exact=True)
        assert {"step", "train_loss"} <= set(names)
    return found


def rows_of(content: bytes) -> list[dict[str, Any]]:
    return history(content.split(b"\n")[:-1]).to_dicts()


@given(st.integers(0, len(FILE)))
@settings(max_examples=60, deadline=None)
def test_any_first_part_of_a_file_gives_the_first_rows(end: int) -> None:
    whole, part = rows_of(FILE), rows_of(FILE[:end])
    assert len(whole) == 5
    assert part == whole[: len(part)]
    assert len(part) == sum(text.startswith(b'{"event":"row"') for text in FILE[:end].split(b"\n")[:-1])


@given(st.lists(st.tuples(st.integers(0, 11), garbage), max_size=4))
@settings(max_examples=150, deadline=None)
def test_damaged_lines_are_left_out_and_the_others_are_not(items: list[tuple[int, bytes]]) -> None:
    lines = FILE.split(b"\n")[:-1]
    for place, text in items:
        lines.insert(place, text)
    found = history(lines)
    assert found.schema.items() >= History().frame().schema.items()
    assert found.select(History().frame().columns).to_dicts() == rows_of(FILE)
    known = list(parse_events(lines))
    json.dumps(known, allow_nan=False, ensure_ascii=False).encode("utf-8")
    layers_of(known)


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_event_file_of_any_bytes_raises_no_error(content: bytes) -> None:
    events = list(parse_events(content.split(b"\n")))
    assert events == []
    assert history(content.split(b"\n")).is_empty()


@given(st.lists(st.tuples(numbers, numbers | st.none()), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_numbers_come_back_to_the_last_bit(values: list[tuple[float, float | None]]) -> None:
    lines = [row(step, loss, validation_mae=other) for step, (loss, other) in enumerate(values, 1)]
    for content in (lines, [*lines, b'{"event":"row",}']):  # read at once, and one after the other
        found = history(content)
        assert [value.hex() for value in found["train_loss"]] == [loss.hex() for loss, _ in values]
        if "validation_mae" in found.columns:
            assert found["validation_mae"].to_list() == [other for _, other in values]


def events() -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.tuples(st.sampled_from(["row", "row", "row", "start", "rolled_back"]), st.integers(0, 8)))


@given(events(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_void_rows_are_those_that_a_reader_who_forgets_would_not_have(
    happened: list[tuple[str, int]], damaged: bool
) -> None:
    remembered: list[tuple[int, float]] = []
    lines = [b'{"event":"row","step":x}'] if damaged else []
    for place, (event, step) in enumerate(happened):
        if event == "row":
            remembered.append((step, float(place)))
            lines.append(row(step, place))
        else:
            last = None if step == 8 else max(step - 1, 0)
            remembered = [item for item in remembered if last is not None and item[0] <= last]
            lines.append(line(event, step, last_row=last))
    assert list(history(lines).select("step", "train_loss").iter_rows()) == remembered


def test_files_that_do_not_tell_the_last_row_count_by_steps() -> None:
    lines = [row(1), row(2), row(3), line("start", 2), row(3, 7.0)]
    assert list(history_of(lines).select("step", "train_loss").iter_rows()) == [(1, 0.5), (2, 0.5), (3, 7.0)]


def test_the_kept_history_counts_until_something_happens(tmp_path: Path) -> None:
    kept = History()
    kept.add(step=1, epoch=0, train_loss=0.1)
    kept.write(tmp_path / "history.parquet")
    assert_frame_equal(read_history(tmp_path), kept.frame())
    (tmp_path / "events.jsonl").write_bytes(row(1) + b"\n" + row(2) + b"\n")
    moment = (tmp_path / "history.parquet").stat().st_mtime
    os.utime(tmp_path / "events.jsonl", (moment - 1, moment - 1))
    assert read_history(tmp_path)["train_loss"].to_list() == [0.1]
    os.utime(tmp_path / "events.jsonl", (moment + 1, moment + 1))
    assert read_history(tmp_path)["train_loss"].to_list() == [0.5, 0.5]
    os.utime(tmp_path / "events.jsonl", (moment - 1, moment - 1))
    (tmp_path / "history.parquet").write_bytes(b"PAR1 damaged PAR1")
    os.utime(tmp_path / "history.parquet", (moment, moment))
    assert read_history(tmp_path)["step"].to_list() == [1, 2]


@pytest.mark.parametrize("make", ["nothing", "directory", "link"])
def test_places_without_a_file_have_no_events(tmp_path: Path, make: str) -> None:
    path = tmp_path / "events.jsonl"
    if make == "directory":
        path.mkdir()
    if make == "link":
        (tmp_path / "other").write_bytes(FILE)
        path.symlink_to(tmp_path / "other")
    assert read_events(tmp_path) == []
    assert read_history(tmp_path).is_empty()
    assert read_history(tmp_path).schema == History().frame().schema


@given(st.lists(st.integers(1, 40), max_size=40))
@settings(max_examples=40, deadline=None)
def test_growing_event_file_is_read_once_in_pieces_of_any_size(sizes: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "events.jsonl"
        file, found, end = EventFile(path), [], 0
        for size in [*sizes, len(FILE)]:
            end = min(end + size, len(FILE))
            path.write_bytes(FILE[:end])
            found += file.read()
        assert found == list(parse_events(FILE.split(b"\n")))
        assert file.offset == len(FILE)


def test_event_file_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(FILE)
    file = EventFile(path)
    assert len(file.read()) == 12
    path.write_bytes(row(1) + b"\n")
    assert [event["step"] for event in file.read()] == [1]


def test_line_without_end_does_not_hide_later_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(row(1) + b"\n" + b"x" * 5_000_000 + b"\n" + row(2) + b"\n" + b"y" * 5_000_000)
    assert read_history(tmp_path)["step"].to_list() == [1, 2]
    small = EventFile(path)
    found: list[bytes] = []
    before = -1
    while before < small.offset:
        before = small.offset
        found += small.read_lines(limit=4_500_000)
    assert history_of(found)["step"].to_list() == [1, 2]


def test_layers_are_a_table_without_what_is_void() -> None:
    def norms(step: int, *values: Any) -> bytes:
        return line("layers", step, gradient=list(values), weight=[1.0, 2.0], update=[0.1, 0.2])

    lines = [
        line("start", 0, layers=["a", "b"]),
        norms(1, 0.5, None),
        norms(2, 3.0, 4.0),
        line("start", 1, layers=["c", "d"]),
        norms(2, 5.0, "x"),
        norms(3, 1.0),
    ]
    expected = pl.DataFrame(
        {
            "step": [1, 1, 2, 2],
            "layer": ["a", "b", "c", "d"],
            "gradient": [0.5, None, 5.0, None],
            "weight": [1.0, 2.0, 1.0, 2.0],
            "update": [0.1, 0.2, 0.1, 0.2],
        }
    )
    assert_frame_equal(layers_of(list(parse_events(lines))), expected)
    assert layers_of([]).schema == expected.schema
