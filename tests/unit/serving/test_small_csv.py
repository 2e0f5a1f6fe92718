"""The reader of small CSV files, compared with ``predict`` on the same files."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent import MLP, Forecaster
from neuro_divergent.core.errors import DataError, NeuroDivergentError
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.response import number_texts
from neuro_divergent.serving.small_csv import LARGEST_FILE, UnusualCsvError
from tests.unit.serving.small_models import HORIZON, INPUT_SIZE, exported, fit, series_table

Model = tuple[Forecaster, ExportedModel, str, str | None]
KINDS = ("text ids", "integer ids", "one series", "integer times", "dates", "months", "covariates", "joint", "utc")


def _forecaster(kind: str) -> tuple[Forecaster, pl.DataFrame]:
    """Return a forecaster and new series for it."""
    table = series_table(ids=(3, 10, 200) if kind == "integer ids" else ("A", "B", "C"))
    plain = table.select("unique_id", "ds", "y")
    if kind == "one series":
        plain = plain.filter(pl.col("unique_id") == "A").drop("unique_id")
    elif kind == "integer times":
        plain = plain.with_columns(ds=pl.int_range(pl.len()).over("unique_id"))
    elif kind == "dates":
        plain = series_table(every="1d").select("unique_id", pl.col("ds").cast(pl.Date), "y")
    elif kind == "months":
        plain = series_table(every="1mo").select("unique_id", pl.col("ds").cast(pl.Date), "y")
    elif kind == "utc":
        plain = plain.with_columns(pl.col("ds").dt.replace_time_zone("UTC"))
    if kind == "covariates":
        roles: dict[str, Any] = {"past": ("price", "weather"), "future": ("promo", "event"), "static": ("region",)}
        schema = {**roles, "calendar": ("hour", "day_of_week"), "missing": "mask"}
        return fit(MLP(hidden_size=8), table.drop("size"), **schema), table.drop("size")
    return fit("tsmixer" if kind == "joint" else "nlinear", plain, missing="forward"), plain


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    """Models of several kinds, each with a CSV file of new series and one of covariates known ahead."""
    found: dict[str, Model] = {}
    for kind in KINDS:
        forecaster, table = _forecaster(kind)
        rows = 5 + INPUT_SIZE
        parts = (
            [table] if kind == "one series" else [part for _, part in table.group_by("unique_id", maintain_order=True)]
        )
        text = pl.concat([part.slice(10, rows) for part in parts]).write_csv(**_format(kind))
        ahead = None
        if kind == "covariates":
            columns = ["unique_id", "ds", "promo", "event"]
            later = [part.slice(10 + rows, HORIZON).select(columns) for part in parts]
            ahead = pl.concat(later).write_csv(**_format(kind))
        found[kind] = forecaster, exported(forecaster), text, ahead
    return found


def _format(kind: str) -> dict[str, Any]:
    return {"datetime_format": "%Y-%m-%dT%H:%M:%SZ" if kind == "utc" else "%Y-%m-%d %H:%M:%S"}


def small(model: Model, content: bytes, **options: Any) -> str:
    """Return the forecast as CSV by the reader of small files."""
    _, graph, _, ahead = model
    prepared = graph.prepare_csv(content, ahead=None if ahead is None else ahead.encode(), **options)
    return graph.respond_csv(prepared, graph.run(prepared.inputs)).decode()


def by_polars(model: Model, content: bytes, directory: Path, **options: Any) -> str:
    """Return the forecast as CSV by ``predict``; a warning is an error."""
    path, ahead = directory / "data.csv", directory / "ahead.csv"
    path.write_bytes(content)
    future = None
    if model[3] is not None:
        ahead.write_text(model[3])
        future = str(ahead)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model[0].predict(str(path), future=future, **options).write_csv()


def assert_same(found: str, expected: str) -> None:
    """Compare two CSV files: names, ids and times exactly, forecasts but for rounding."""
    ours, theirs = (list(csv.reader(io.StringIO(text))) for text in (found, expected))
    assert ours[0] == theirs[0]
    keys = ours[0].index("forecast")
    assert [row[:keys] for row in ours] == [row[:keys] for row in theirs]
    numbers = [np.array([row[keys:] for row in rows[1:]], float) for rows in (ours, theirs)]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_plain_file_gives_the_csv_of_predict(models: dict[str, Model], kind: str, tmp_path: Path) -> None:
    model = models[kind]
    content = model[2].encode()
    assert_same(small(model, content, levels=[80]), by_polars(model, content, tmp_path, levels=[80]))
    assert_same(small(model, content, horizon=2), by_polars(model, content, tmp_path, horizon=2))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: "\n".join([text.split("\n")[0], *sorted(text.split("\n")[1:-1], key=lambda line: line[2:]), ""]),
        lambda text: "\n".join([text.split("\n")[0], *text.split("\n")[30:-1], *text.split("\n")[1:30], ""]),
        lambda text: re.sub(r"(?m)^(A,[^,]*07:00:00),.*$", r"\1,", text),
        lambda text: re.sub(r"(?m)^(?=.)", "x,", text).replace("x,", "other,", 1),
        lambda text: text.replace("\nB,", "\nCafé,"),
        lambda text: text.replace(":00:00", ":00"),
        lambda text: text.replace(" ", "T"),
    ],
    ids=["CRLF", "no last newline", "sorted by time", "rotated", "missing", "more columns", "UTF-8", "minutes", "T"],
)
def test_unimportant_change_is_read_and_gives_the_csv_of_predict(
    models: dict[str, Model], change: Any, tmp_path: Path
) -> None:
    model = models["text ids"]
    content = change(model[2]).encode()
    assert_same(small(model, content), by_polars(model, content, tmp_path))


UNUSUAL = {
    "byte order mark": lambda text: "\ufeff" + text,
    "quotation marks": lambda text: text.replace("\nA,", '\n"A",'),
    "too few fields": lambda text: text + "A\n",
    "blank line": lambda text: text.replace("\nB,", "\n\nB,", 1),
    "unsorted": lambda text: "\n".join([text.split("\n")[0], *text.split("\n")[-2:0:-1], ""]),
    "gap": lambda text: re.sub(r"(?m)^A,[^,]*15:00:00,.*\n", "", text),
    "twice": lambda text: text + text.split("\n")[-2] + "\n",
    "exponent": lambda text: re.sub(r"(?m)^(A,.*07:00:00),.*$", r"\1,1e5", text),
    "plus": lambda text: re.sub(r"(?m)^(A,.*07:00:00),.*$", r"\1,+5", text),
    "underscore": lambda text: re.sub(r"(?m)^(A,.*07:00:00),.*$", r"\1,1_0", text),
    "not a number": lambda text: re.sub(r"(?m)^(A,.*07:00:00),.*$", r"\1,nan", text),
    "other digits": lambda text: re.sub(r"(?m)^(A,.*07:00:00),.*$", "\\1,\u0663", text),
    "date": lambda text: text.replace(" 07:00:00", ""),
    "German dates": lambda text: re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text),
    "offsets": lambda text: text.replace(":00:00", ":00:00+01:00"),
    "no series": lambda text: re.sub(r"(?m)^C", "", text),
    "zeros": lambda text: text.replace("\nA,", "\n007,").replace("\nB,", "\n8,"),
    "column twice": lambda text: text.replace("unique_id,ds,y", "unique_id,ds,ds"),
    "no column": lambda text: text.replace("unique_id,ds,y", "unique_id,ds,z"),
    "no rows": lambda text: "unique_id,ds,y\n",
    "NUL": lambda text: text.replace("A", "\0", 1),
    "semicolons": lambda text: text.replace(",", ";"),
    "too many bytes": lambda text: text + " " * LARGEST_FILE,
    "empty": lambda text: "",
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_file_is_left_to_the_reader_of_tables(models: dict[str, Model], case: str) -> None:
    model = models["text ids"]
    with pytest.raises(UnusualCsvError) as caught:
        small(model, UNUSUAL[case](model[2]).encode())
    assert len(str(caught.value)) < 200


def test_file_of_a_model_without_id_that_has_the_usual_id_is_left_to_the_reader_of_tables(
    models: dict[str, Model],
) -> None:
    with pytest.raises(UnusualCsvError):
        small(models["one series"], models["text ids"][2].encode())


_FIELDS = st.sampled_from(
    ["", " ", "0", "-0", "5", "-5.5", "007", "1e3", "+1", "nan", "NaN", "inf", "-inf", "1e99", "1e30", "9" * 20,
     ".5", "5.", "-", ".", "1_0", "0x1", "true", "False", "null", "NULL", "A", "B", "é", "x y", "rain", "fair", "no",
     "hail", "2024-02-01", "2024-02-02 07:00:00", "2024-02-02T07:00:00", "2024-02-30 07:00:00", "2024-02", "01/02/2024",
     "20240201", "'", '"q"', '"', "#"]
)  # fmt: skip


@st.composite
def _edits(draw: st.DrawFn) -> list[tuple[str, int, int, str]]:
    names = st.sampled_from(["field", "field", "field", "column", "drop row", "repeat row", "swap", "end", "header"])
    edit = st.tuples(names, st.integers(0, 500), st.integers(0, 10), _FIELDS)
    return draw(st.lists(edit, max_size=3))


def _edited(text: str, edits: list[tuple[str, int, int, str]]) -> bytes:
    rows = [line.split(",") for line in text.rstrip("\n").split("\n")]
    end = "\n"
    for name, first, second, field in edits:
        row, column = 1 + first % (len(rows) - 1), second % len(rows[0])
        if name == "field":
            rows[row][column] = field
        elif name == "column":
            for line in rows[1:]:
                line[column] = field
        elif name == "drop row" and len(rows) > 2:
            del rows[row]
        elif name == "repeat row":
            rows.insert(row, list(rows[row]))
        elif name == "swap":
            rows[row], rows[-1] = rows[-1], rows[row]
        elif name == "header":
            rows[0][column] = field
        elif name == "end":
            end = ["\r\n", "\n", "\n\n", "\r"][first % 4]
    return (end.join(",".join(row) for row in rows) + end).encode()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), edits=_edits())
def test_what_is_read_of_an_edited_file_equals_predict_and_what_predict_refuses_is_not_read(
    models: dict[str, Model], tmp_path: Path, kind: str, edits: list[tuple[str, int, int, str]]
) -> None:
    content = _edited(models[kind][2], edits)
    try:
        found = small(models[kind], content)
    except DataError:
        return
    try:
        expected = by_polars(models[kind], content, tmp_path)
    except (NeuroDivergentError, UserWarning) as error:
        pytest.fail(f"predict refuses {content!r}: {error}")
    assert_same(found, expected)


@pytest.mark.long
@settings(max_examples=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), edits=_edits())
def test_what_is_read_of_many_edited_files_equals_predict(
    models: dict[str, Model], tmp_path: Path, kind: str, edits: list[tuple[str, int, int, str]]
) -> None:
    content = _edited(models[kind][2], edits)
    try:
        found = small(models[kind], content)
    except DataError:
        return
    assert_same(found, by_polars(models[kind], content, tmp_path))


@given(st.lists(st.floats(width=32), min_size=1))
def test_numbers_are_written_as_polars_writes_them(values: list[float]) -> None:
    numbers = np.array(values, np.float32)
    assert number_texts(numbers) == pl.DataFrame({"a": numbers}).write_csv().split("\n")[1:-1]


def test_json_for_a_file_of_one_series_without_id_has_no_id(models: dict[str, Model]) -> None:
    _, graph, text, _ = models["one series"]
    prepared = graph.prepare_csv(text.encode(), horizon=2)
    (found,) = json.loads(graph.respond(prepared, graph.run(prepared.inputs)))["series"]
    assert list(found) == ["ds", "forecast"]
    assert found["ds"] == ["2024-02-02T15:00:00", "2024-02-02T16:00:00"]


def test_series_are_sorted_like_those_of_tables() -> None:
    table = series_table(ids=("b", "B", "é", "a")).select("unique_id", "ds", "y")
    forecaster = fit("nlinear", table)
    model = exported(forecaster)
    prepared = model.prepare_csv(table.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S").encode())
    assert list(prepared.ids) == forecaster.predict(table)["unique_id"].unique(maintain_order=True).to_list()
    assert dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=prepared.times[0].end) == table["ds"].max()  # type: ignore[union-attr]
