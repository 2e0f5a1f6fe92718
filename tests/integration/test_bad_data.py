"""What a user reads when a table cannot be used: real files in, one exact line out."""

from __future__ import annotations

import gzip
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError, DataWarning, InputError, UntrustedFileError
from neuro_divergent.data.future import read_future
from neuro_divergent.data.lengths import check_history, check_lengths
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

HEADER = "unique_id,ds,y\n"
_CURE = 'Pass null_values="n/a" (--null-values "n/a") if it means a missing value'
TEXT_IN_TARGET = f"row 12, column 'y': 'n/a' is not a number. {_CURE}"


def days(name: str, count: int, *, first: int = 0, value: str = "{}") -> str:
    """Rows of a daily series whose values count up."""
    start = date(2024, 1, 1) + timedelta(days=first)
    return "".join(f"{name},{start + timedelta(days=n)},{value.format(n)}\n" for n in range(count))


def replaced(text: str, row: int, line: str) -> str:
    lines = text.splitlines(keepends=True)
    lines[row] = line
    return "".join(lines)


GOOD = HEADER + days("A", 30) + days("B", 30)

# name, content, schema, message (after the name of the file)
CSV: list[tuple[str, str | bytes, dict[str, object], str]] = [
    ("empty", "", {}, "no data rows"),
    ("header_only", HEADER, {}, "no data rows"),
    ("blank_lines_only", HEADER + "\n\n", {}, "no data rows"),
    (
        "missing_column",
        "unique_id,ds,value\nA,2024-01-01,1\n",
        {},
        "column 'y' missing; found unique_id, ds, value. Say which it is: target= (--target).",
    ),
    (
        "wide_without_the_flag",
        "date,store_1,store_2\n2024-01-01,1,2\n",
        {},
        "column 'ds' missing; found date, store_1, store_2. Say which it is: time= (--time), target= (--target); and "
        "id= (--id) if a column names the series. If each column is a series, pass wide=True (--wide).",
    ),
    (
        "misspelt_column",
        "unique_id,ds,unts\nA,2024-01-01,1\n",
        {"target": "units"},
        "column 'units' missing; found unique_id, ds, unts. Did you mean 'unts'?",
    ),
    ("duplicate_header", "unique_id,ds,y,x,y\nA,2024-01-01,1,2,3\n", {}, "column 'y' appears twice (3, 5)"),
    (
        "not_utf8",
        replaced(GOOD, 17, "").encode()[:-1] + b"\nCaf\xe9,2024-02-01,1\n",
        {},
        'row 60: byte 0xE9 is not UTF-8; pass its encoding, such as encoding="latin-1" (--encoding latin-1)',
    ),
    (
        "header_not_utf8",
        b"unique_id,ds,y\xff\nA,2024-01-01,1\n",
        {},
        'header: byte 0xFF is not UTF-8; pass its encoding, such as encoding="latin-1" (--encoding latin-1)',
    ),
    ("too_many_fields", replaced(GOOD, 8, "A,2024-01-08,7,8\n"), {}, "row 8: 4 fields, expected 3"),
    ("too_few_fields", replaced(GOOD, 8, "A,2024-01-08\n"), {}, "row 8: 2 fields, expected 3"),
    (
        "too_many_fields_beside_unused_columns",
        "unique_id,ds,y,note\nA,2024-01-01,1,a\nA,2024-01-02,2,b,c\n",
        {},
        "row 2: 5 fields, expected 4",
    ),
    (
        "wrong_separator",
        GOOD.replace(",", ";"),
        {"separator": ","},
        "columns are separated by ';'; pass separator=';' (--separator \";\"), or leave it out",
    ),
    (
        "two_separators",
        "ds;y, EUR\n" + "2024-01-01;1,5\n2024-01-02;2,5\n",
        {},
        "columns may be separated by ',' or ';'. Say which: pass separator=',' (--separator \",\")",
    ),
    (
        "title_above_the_header",
        "Sales of 2024\n\nds;y\n" + "".join(f"2024-01-{n:02d};{n}\n" for n in range(1, 9)),
        {},
        "row 2: 2 fields, expected 1. If the header is line 3 of the file, pass skip_rows=2 (--skip-rows 2)",
    ),
    (
        "text_in_target",
        replaced(GOOD, 12, "A,2024-01-12,n/a\n"),
        {},
        TEXT_IN_TARGET,
    ),
    (
        "comma_that_may_be_either",
        "ds;y\n1;1,234\n2;2,345\n",
        {},
        "row 1, column 'y': '1,234' is with a decimal comma or with a comma between thousands. Pass decimal=\",\" "
        '(--decimal ,) or thousands="," (--thousands ,)',
    ),
    (
        "comma_and_point",
        "ds;y;price\n1;1,25;1.5\n2;2,5;2.5\n",
        {"past": "price"},
        "row 1, column 'y': '1,25' has a decimal comma, but another column has '1.5'. Pass decimal=\",\" (--decimal ,) "
        "or write one mark",
    ),
    (
        "guessed_comma_and_strict",
        "ds;y\n1;1,25\n2;2,5\n",
        {"strict": True},
        "row 1, column 'y': '1,25' is no number unless the comma is its decimal mark. Pass decimal=\",\" (--decimal "
        ",); "
        "strict=True guesses nothing",
    ),
    (
        "thousands",
        "ds;y\n1;1.234,50\n2;2\n",
        {},
        "row 1, column 'y': '1.234,50' is not a number. Pass decimal=\",\", thousands=\".\" (--decimal , --thousands "
        "\".\") if '.' stands between thousands",
    ),
    (
        "currency",
        "ds,y\n1,$12.50\n2,2\n",
        {},
        "row 1, column 'y': '$12.50' is not a number. Write the number without the currency sign '$'",
    ),
    (
        "percent",
        "ds,y\n1,12%\n2,2\n",
        {},
        "row 1, column 'y': '12%' is not a number. Write the number without the percent sign",
    ),
    (
        "unit",
        "ds,y\n1,12 kg\n2,2\n",
        {},
        "row 1, column 'y': '12 kg' is not a number. Write the number without its unit",
    ),
    (
        "text_in_covariate",
        "unique_id,ds,y,price\nA,2024-01-01,1,9.5\nA,2024-01-02,2,free\n",
        {"past": "price"},
        "row 2, column 'price': 'free' is not a number; list the column as categorical (--categorical) if it holds "
        'categories. Pass null_values="free" (--null-values "free") if it means a missing value',
    ),
    (
        "missing_target",
        HEADER
        + days("A", 3)
        + "A,2024-01-04,\nA,2024-01-05,NaN\n"
        + days("A", 2, first=5)
        + "B,2024-01-01,\nB,2024-01-02,1\n",
        {},
        "column 'y', series 'A': 2 missing values, first at row 4; 2 series affected. "
        'Pass missing="interpolate" (--missing interpolate) to fill them.',
    ),
    ("missing_time", replaced(GOOD, 3, "A,,2\n"), {}, "column 'ds': 1 missing, first row 3; every row needs a time"),
    (
        "total_without_a_time",
        GOOD + ",,99\n",
        {},
        "column 'ds': 1 missing, first row 61; every row needs a time. If it is a total or a note that does not belong "
        "to the table, delete that row",
    ),
    (
        "total_in_a_column_of_written_dates",
        GOOD + "A,Total,99\n",
        {"date_format": "%Y-%m-%d"},
        "row 61, column 'ds': 'Total' is not written as '%Y-%m-%d'. If it is a total or a note that does not belong to "
        "the table, delete that row",
    ),
    (
        "missing_id",
        replaced(GOOD, 3, ",2024-01-03,2\n"),
        {},
        "column 'unique_id': 1 missing, first row 3; every row needs a series",
    ),
    ("infinite", replaced(GOOD, 9, "A,2024-01-09,-inf\n"), {}, "column 'y', series 'A', row 9: infinite"),
    (
        "beyond_float32",
        replaced(GOOD, 9, "A,2024-01-09,1e300\n"),
        {},
        "column 'y', series 'A', row 9: 1e+300 exceeds float32, which ends at 3.4e38",
    ),
    (
        "ambiguous_date",
        HEADER + "A,03/04/21,1\nA,03/05/21,2\n",
        {},
        "row 1, column 'ds': '03/04/21' is ambiguous: is the day first or the month? Pass how it is written, such as "
        'date_format="%d/%m/%y" (--date-format %d/%m/%y)',
    ),
    (
        "impossible_date",
        HEADER + "A,2023-02-28,1\nA,2023-02-29,2\n",
        {},
        "row 2, column 'ds': '2023-02-29' is not a date that can be read without guessing; write ISO 8601, such as "
        '2024-03-31 or 2024-03-31T15:00. Or pass how it is written, such as date_format="%d.%m.%Y" '
        "(--date-format %d.%m.%Y)",
    ),
    (
        "date_without_separators",
        HEADER + "A,20240131,1\nA,20240201,2\n",
        {},
        "row 1, column 'ds': 20240131 looks like a date without separators. Pass how it is written, such as "
        'date_format="%Y%m%d" (--date-format %Y%m%d)',
    ),
    (
        "month_without_separator",
        HEADER + "A,202311,1\nA,202312,2\nA,202401,3\n",
        {},
        "row 1, column 'ds': 202311 looks like a year and a month. Pass how it is written, such as "
        'date_format="%Y%m" (--date-format %Y%m)',
    ),
    (
        "two_formats",
        HEADER + "A,2024-01-01,1\nA,2024-01-02 00:00,2\n",
        {},
        "column 'ds' has times in 2 formats: '2024-01-01' (row 1), '2024-01-02 00:00' (row 2). Write all of them in "
        "one, "
        'or pass each: date_format=["%Y-%m-%d", "%Y-%m-%d %H:%M"] (--date-format %Y-%m-%d --date-format "%Y-%m-%d '
        '%H:%M")',
    ),
    (
        "formats_that_disagree",
        HEADER + "A,13/01/2024,1\nA,02/03/2024,2\n",
        {"date_format": ("%d/%m/%Y", "%m/%d/%Y")},
        "row 2, column 'ds': '02/03/2024' is 2024-02-03 as '%m/%d/%Y', and 2024-03-02 as a format before; leave one of "
        "them out",
    ),
    (
        "day_that_comes_first",
        HEADER + "A,03/04/2024,1\nA,13/04/2024,2\n",
        {},
        "row 1, column 'ds': '03/04/2024' is not ISO 8601; the day is first, as row 2 ('13/04/2024') shows. Pass "
        "how it "
        'is written, such as date_format="%d/%m/%Y" (--date-format %d/%m/%Y)',
    ),
    (
        "mixed_zones",
        HEADER + "A,2024-01-01T00:00Z,1\nA,2024-01-01T01:00Z,2\nA,2024-01-01T02:00,3\n",
        {},
        "rows 1, 3: zoned and naive timestamps mixed in column 'ds'",
    ),
    (
        "year_9999",
        replaced(GOOD, 5, "A,9999-12-31,2\n"),
        {},
        "row 5, column 'ds': 9999-12-31 outside supported range, the years 1000 to 2999",
    ),
    (
        "duplicate_time",
        GOOD + "A,2024-01-10,1\n",
        {},
        "series 'A': 2024-01-10 twice (rows 10, 61), with other values (column 'y': 9.0, 1.0). Keep one row per series "
        "and time, or pass duplicates= (--duplicates): first, last, mean or sum",
    ),
    (
        "equal_rows",
        GOOD + "A,2024-01-10,9\n",
        {},
        "series 'A': 2024-01-10 twice (rows 10, 61), with the same values. Keep one row per series and time, or pass "
        'duplicates="first" (--duplicates first)',
    ),
    (
        "series_column_that_is_not_named",
        "store,ds,y\nA,1,1\nB,1,2\nA,2,3\nB,2,4\n",
        {},
        "1 twice (rows 1, 2), with other values (column 'y': 1.0, 2.0); 2 such rows in all. Keep one row per series "
        "and "
        "time, or pass duplicates= (--duplicates): first, last, mean or sum. If a column names the series, pass it: "
        "id= "
        "(--id)",
    ),
    (
        "text_in_a_wide_table",
        "date,a,b\n2024-01-01,1,2\n2024-01-02,x,3\n",
        {"wide": True},
        "row 2, column 'a': 'x' is not a number. Pass null_values=\"x\" (--null-values \"x\") if it means a missing "
        "value",
    ),
    (
        "wide_table_without_numbers",
        "date,a\n2024-01-01,u\n2024-01-02,v\n",
        {"wide": True},
        "column a without numbers; with wide=True (--wide) each column but the time and covariates is a series",
    ),
    (
        "gap",
        HEADER + days("A", 4) + days("A", 5, first=6),
        {},
        "series 'A': gap after 2024-01-04 (2 steps at 1d); 2 missing rows in all. "
        'Pass gaps="interpolate" (--gaps interpolate) to fill them, or "zero" if no row means zero',
    ),
    (
        "last_business_day_of_each_month",
        HEADER + "A,2024-01-31,1\nA,2024-02-29,2\nA,2024-03-29,3\nA,2024-04-30,4\nA,2024-05-31,5\nA,2024-06-28,6\n",
        {},
        "there is one row for each month, on different days such as 2024-01-31 and 2024-02-29. Write each time as its "
        "month, such as 2024-03, or as the first or last day",
    ),
    (
        "more_gaps_than_rows",
        HEADER + "A,2024-01-06,1\nA,2024-01-07,2\nA,2024-02-06,3\nA,2024-02-07,4\n",
        {},
        "series 'A': gap after 2024-01-07 (29 steps at 1d); 29 missing rows in all, more than the 4 there are. Pass "
        'gaps="zero" (--gaps zero) if no row means zero, or check how times are written (--date-format) and their '
        "step (--frequency)",
    ),
    (
        "irregular",
        HEADER + "A,2024-01-01T00:00,1\nA,2024-01-01T01:00,2\nA,2024-01-01T02:00,3\nA,2024-01-01T02:30,4\n",
        {},
        "series 'A': row 4, 2024-01-01 02:30:00 is not an integer number of steps (1h) after 2024-01-01 02:00:00; 1 "
        "such row. Resample the series, or pass the right frequency (--frequency)",
    ),
    (
        "mixed_frequencies",
        HEADER
        + "".join(f"A,2024-01-{n:02d}T00:00,1\n" for n in range(1, 20))
        + "".join(f"B,2024-01-01T{n:02d}:00,1\n" for n in range(10)),
        {},
        "series 'A' is 1d, 'B' is 1h. All series need one frequency",
    ),
    (
        "other_frequency",
        HEADER + days("A", 10),
        {"frequency": "1w"},
        "series 'A' is 1d, not 1w. All series need one frequency",
    ),
    (
        "wrong_kind_of_frequency",
        GOOD,
        {"frequency": 1},
        "column 'ds' holds dates, so frequency '1' cannot be; pass e.g. '1d'",
    ),
    ("finer_than_dates", GOOD, {"frequency": "1h"}, "column 'ds' is Date, which is too coarse for the frequency '1h'"),
    (
        "off_the_calendar",
        HEADER + "A,2024-01-06,1\n",
        {"frequency": "bd"},
        "series 'A': row 1, 2024-01-06 is not on the calendar of the frequency (1bd)",
    ),
    (
        "no_frequency",
        HEADER + "A,2024-01-01,1\nB,2024-01-01,2\n",
        {},
        'no series has two rows to tell the frequency from. Pass it, such as frequency="1d" (--frequency 1d)',
    ),
    (
        "all_missing",
        HEADER + days("A", 3) + days("C", 3, value=""),
        {"missing": "mask"},
        "series 'C': no observed values. Leave such series out",
    ),
    (
        "forward_without_beginning",
        HEADER + "A,2024-01-01,\n" + days("A", 3, first=1),
        {"missing": "forward"},
        "column 'y', series 'A', row 1: missing at the beginning, where missing=\"forward\" has nothing to repeat. "
        'Pass missing="interpolate" or missing="mask", or cut the beginning off',
    ),
    (
        "static_that_moves",
        "unique_id,ds,y,region\nA,2024-01-01,1,north\nA,2024-01-02,2,south\n",
        {"static": "region"},
        "column 'region', series 'A', row 2: 'south' differs from a row before; a static covariate has one value",
    ),
    (
        "open_quote",
        GOOD + '"A,2024-03-01,1\n',
        {},
        "row 61: unexpected end of data; is a quotation mark left open?",
    ),
    (
        "enormous_field",
        GOOD + "A" * (2**20 + 1) + ",2024-03-01,1\n",
        {},
        "row 61: field exceeds 1 MiB; is a quotation mark left open?",
    ),
]


@pytest.mark.parametrize(("name", "content", "schema", "message"), CSV, ids=[case[0] for case in CSV])
def test_csv(name: str, content: str | bytes, schema: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        build_panel(path, Schema(**schema))
    assert str(caught.value) == f"{path}: {message}"
    assert caught.value.exit_code == 2


def _truncated_parquet(directory: Path) -> Path:
    path = directory / "cut.parquet"
    pl.DataFrame({"ds": range(1000), "y": range(1000)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    return path


def _truncated_gzip(directory: Path) -> Path:
    path = directory / "cut.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-30])
    return path


def _other_columns(directory: Path) -> Path:
    (directory / "a.csv").write_text(GOOD)
    (directory / "b.csv").write_text("unique_id,ds,value\nC,2024-01-01,1\n")
    return directory / "*.csv"


def _other_types(directory: Path) -> Path:
    pl.DataFrame({"ds": [1, 2], "y": [1.0, 2.0]}).write_parquet(directory / "a.parquet")
    pl.DataFrame({"ds": [date(2024, 1, 1)], "y": [1.0]}).write_parquet(directory / "b.parquet")
    return directory / "*.parquet"


FILES: list[tuple[Callable[[Path], Path], str]] = [
    (lambda d: d / "nowhere.csv", "{path}: not found"),
    (lambda d: d / "no*.csv", "{path}: not found: no file matches"),
    (lambda d: d, "{path}: is a directory; name a file or a pattern, such as '{path}/*.parquet'"),
    (_truncated_parquet, "{path}: not a complete Parquet file (it does not begin and end with PAR1)"),
    (_truncated_gzip, "{path}: "),
    (_other_columns, "{parent}/b.csv: column 'y' missing, which other files of {path} have"),
    (_other_types, "{parent}/b.parquet: column 'ds' is Date, in {parent}/a.parquet it is Int64"),
]


@pytest.mark.parametrize(("make", "message"), FILES)
def test_files(make: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(DataError) as caught:
        build_panel(str(path))
    expected = message.format(path=path, parent=path.parent)
    assert str(caught.value) == expected or (message.endswith(": ") and str(caught.value).startswith(expected))


def test_unknown_kind_of_file(tmp_path: Path) -> None:
    for ending, advice in {
        "pdf": "known are .csv, .tsv, .txt, .jsonl (all also .gz), .xlsx, .parquet and .arrow",
        "xls": "save the table as .xlsx or .csv",
        "zip": "unpack it first",
        "json": "write one object per line and call it .jsonl",
    }.items():
        path = tmp_path / f"data.{ending}"
        path.write_bytes(b"PK")
        with pytest.raises(DataError) as caught:
            build_panel(path)
        assert str(caught.value) == f"{path}: unknown kind of file; {advice}"


@pytest.mark.parametrize("name", ["table.pkl", "table.pickle", "model.ckpt", "model.pt"])
def test_pickle_is_never_loaded(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"y": [1]}))
    with pytest.raises(UntrustedFileError, match="pickle is never loaded; save the table as CSV or Parquet") as caught:
        build_panel(path)
    assert caught.value.exit_code == 3


def test_a_pickle_with_another_name_is_not_loaded_either(tmp_path: Path) -> None:
    for name in ("table.csv", "table.parquet"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps({"y": [1]}))
        with pytest.raises(DataError, match=name):
            build_panel(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(DataError, match="permission denied"):
        build_panel(path)


def test_permission_denied_even_for_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.csv"
    path.write_text(GOOD)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError) as caught:
        build_panel(path)
    assert str(caught.value) == f"{path}: permission denied"


def test_unsorted_rows_are_sorted_with_a_warning(tmp_path: Path) -> None:
    lines = GOOD.splitlines(keepends=True)
    lines[3:6] = reversed(lines[3:6])
    path = tmp_path / "unsorted.csv"
    path.write_text("".join(lines))
    with pytest.warns(DataWarning) as caught:
        panel = build_panel(path)
    assert str(caught[0].message) == (
        f"{path}: series 'A': 2 rows were out of time order and are sorted; 1 series affected"
    )
    assert panel.series(0).tolist() == list(range(30))


def test_constant_series_gives_a_warning() -> None:
    frame = pl.DataFrame({"unique_id": ["A"] * 4 + ["B"] * 4, "ds": [*range(4)] * 2, "y": [1, 2, 3, 4, 5, 5, 5, 5]})
    with pytest.warns(DataWarning, match=r"^series 'B': constant, always 5$"):
        build_panel(frame)


def test_too_short() -> None:
    lengths = {"A": 40, "B": 9, "C": 9, "D": 8, "E": 1}
    frame = pl.concat(
        [pl.DataFrame({"unique_id": name, "ds": range(n), "y": np.arange(n) * 1.0}) for name, n in lengths.items()]
    )
    panel = build_panel(frame, Schema(short="error"))
    with pytest.raises(DataError) as caught:
        check_lengths(panel, input_size=24, horizon=12)
    assert str(caught.value) == (
        "series 'B': 9 rows, needs 36 (24 history + 12 horizon); 4 series affected. "
        'Pass short="pad" (--short pad) to lengthen them, or short="drop" (--short drop) to leave them out.'
    )
    with pytest.raises(DataError, match=r"^series 'E': 1 row, needs 8 \(history\); 1 series affected"):
        check_history(panel, input_size=8)


@pytest.fixture
def known():
    frame = pl.DataFrame(
        {
            "unique_id": ["A"] * 5 + ["B"] * 5,
            "ds": [date(2024, 4, 26) + timedelta(days=n) for n in range(5)] * 2,
            "y": np.arange(10.0),
            "price": np.arange(10.0),
            "promo": ["none", "half", "none", "half", "none"] * 2,
        }
    )
    return build_panel(frame, Schema(future=("price", "promo")))


def future(**changes: object) -> pl.DataFrame:
    columns = {
        "unique_id": ["A", "A", "B", "B"],
        "ds": [date(2024, 5, 1), date(2024, 5, 2)] * 2,
        "price": [1.0, 2.0, 3.0, 4.0],
        "promo": ["none", "half", "none", "none"],
    }
    return pl.DataFrame({**columns, **changes}, strict=False)


FUTURE: list[tuple[pl.DataFrame | None, str]] = [
    (
        None,
        "future covariates price, promo are needed to forecast. Pass future= (--future) with 2 rows for each of 2 "
        "series, beginning 2024-05-01",
    ),
    (future(price=[1.0, None, 3.0, 4.0]), "series 'A': 'price' missing for 2024-05-02 (row 2)"),
    (future(promo=["none", "half", None, None]), "series 'B': 'promo' missing for 2024-05-01 (row 3); 2 such rows"),
    (
        future().filter(pl.int_range(4) != 1),
        "series 'A': 'price' missing for 2024-05-02: no such row; 1 of 4 rows missing",
    ),
    (
        future(unique_id=["A", "A", "Z", "Z"]),
        "series 'B': 'price' missing for 2024-05-01: no such row; 2 of 4 rows missing; series 'Z' of the table is not "
        "in the data",
    ),
    (future().drop("price"), "column 'price' missing; found unique_id, ds, promo."),
    (future(price=["a", "b", "c", "d"]), "column 'price' is String; in training it held numbers"),
    (
        future(promo=["none", "free", "none", "none"]),
        "series 'A': column 'promo', row 2: category 'free' not in training data. "
        'Pass unknown_category="unknown" (--unknown-category unknown) to forecast without knowing it',
    ),
    (pl.concat([future(), future().head(1)]), "series 'A': 2024-05-01 twice (rows 1, 5)"),
    (future(ds=[1, 2, 1, 2]), "column 'ds' is Int64; in the data it is Date"),
    (
        future(price=[1.0, float("inf"), 3.0, 4.0]),
        "series 'A': 'price' infinite or beyond 1e+17 for 2024-05-02 (row 2)",
    ),
]


@pytest.mark.parametrize(("table", "message"), FUTURE)
def test_future(known, table: pl.DataFrame | None, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_future(table, known, 2)
    assert str(caught.value) == message


def test_new_data_must_be_like_that_of_training(known) -> None:
    new = known.to_frame().with_columns(promo=pl.lit("third"))
    with pytest.raises(DataError) as caught:
        build_panel(new, fitted=known)
    assert str(caught.value) == (
        "column 'promo', series 'A', row 1: category 'third' not in training data; 10 such rows. "
        'Pass unknown_category="unknown" (--unknown-category unknown) to forecast without knowing it'
    )
    allowed = known.schema.replace(unknown_category="unknown")
    panel = build_panel(new, allowed, fitted=known)
    assert panel.future_x is not None
    assert (panel.future_x[:, 1] == 0).all()
    assert panel.future == known.future
    with pytest.raises(DataError, match="column 'price' is String; in training it held numbers"):
        build_panel(known.to_frame().with_columns(price=pl.lit("x")), fitted=known)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("ds", [0.5, 1.5], "column 'ds' is Float64; accepted are dates, datetimes and integers"),
        ("ds", [2**63 - 1, 1], "row 1, column 'ds': 9223372036854775807 outside supported range, ±2^61"),
        ("y", ["1", "2"], "column 'y' is String; numbers are needed, so convert it first"),
        ("y", [date(2024, 1, 1)] * 2, "column 'y' is Date; numbers are needed, so convert it first"),
        ("unique_id", [1.0, 2.0], "column 'unique_id' is Float64; series are named by text or integers"),
        ("x", [[1], [2]], "column 'x' is List(Int64); numbers are needed, so convert it first"),
        (
            "x",
            [datetime(2024, 1, 1)] * 2,
            "column 'x' is Datetime[us]; numbers are needed, so convert it first",
        ),
    ],
)
def test_types(column: str, values: list[object], message: str) -> None:
    frame = pl.DataFrame({"unique_id": ["A", "A"], "ds": [1, 2], "y": [1.0, 2.0], "x": [1, 2]})
    with pytest.raises(DataError) as caught:
        build_panel(frame.with_columns(pl.Series(column, values)), Schema(past="x"))
    assert str(caught.value) == message


def test_what_is_not_a_table() -> None:
    with pytest.raises(DataError, match=r"^list is not a table; pass a path, a polars or pandas DataFrame"):
        build_panel([1, 2, 3])


@pytest.mark.parametrize(
    ("calendar", "times", "message"),
    [
        (
            "huor",
            [datetime(2024, 1, 1), datetime(2024, 1, 2)],
            "calendar: unknown feature 'huor'. Did you mean 'hour'?",
        ),
        ("month", [1, 2], "calendar: 'month' needs dates, and the time column 'ds' holds integers"),
        (
            "hour_sin",
            [date(2024, 1, 1), date(2024, 1, 2)],
            "calendar: 'hour_sin' needs times of day, and the time column 'ds' holds dates",
        ),
    ],
)
def test_calendar(calendar: str, times: list[object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_panel(pl.DataFrame({"ds": times, "y": [1.0, 2.0]}), Schema(calendar=calendar))
    assert str(caught.value) == message


def test_every_answer_comes_before_torch_pandas_and_pyarrow_are_loaded(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(GOOD)
    bad.write_text(replaced(GOOD, 12, "A,2024-01-12,n/a\n"))
    code = f"""
import sys
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.future import read_future
from neuro_divergent.data.schema import Schema
panel = build_panel({str(good)!r}, Schema(calendar=("month",)))
read_future(None, panel, 3)
try:
    build_panel({str(bad)!r})
except DataError as error:
    print(error)
print([name for name in ("torch", "pandas", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{bad}: {TEXT_IN_TARGET}\n[]\n"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_damaged_files_never_crash(kind: str, tmp_path: Path) -> None:
    """Files with random damage give a panel or an error of ours, and nothing else; many more are read elsewhere."""
    random = np.random.default_rng(0)
    path = tmp_path / f"table.{kind}"
    frame = pl.DataFrame(
        {
            "unique_id": ["A"] * 20 + ["B"] * 20,
            "ds": [datetime(2024, 1, 1) + timedelta(hours=n) for n in range(20)] * 2,
            "y": random.standard_normal(40),
        }
    )
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
    whole = path.read_bytes()
    outcomes = {"panel": 0, "error": 0}
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        if random.random() < 0.2:
            damaged = damaged[: random.integers(len(damaged))]
        path.write_bytes(bytes(damaged))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                panel = build_panel(path)
            except InputError:
                outcomes["error"] += 1
            else:
                assert np.isfinite(panel.y).all()
                outcomes["panel"] += 1
    assert all(outcomes.values()), outcomes


def test_what_gives_a_warning_is_refused_where_the_schema_is_strict(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = GOOD.splitlines(keepends=True)
    lines[3:6] = reversed(lines[3:6])
    path.write_text("".join(lines))
    with pytest.raises(DataError) as caught:
        build_panel(path, Schema(strict=True))
    assert str(caught.value) == (
        f"{path}: series 'A': 2 rows were out of time order; 1 series affected; strict=True (--strict) allows none"
    )
    path.write_text(HEADER + days("A", 9, value="5"))
    with pytest.raises(DataError) as caught:
        build_panel(path, Schema(strict=True))
    assert str(caught.value) == f"{path}: series 'A': constant, always 5; strict=True (--strict) allows none"
    path.write_text(GOOD)
    assert build_panel(path, Schema(strict=True)).num_series == 2


def test_values_whose_squares_do_not_fit_are_refused() -> None:
    frame = pl.DataFrame({"ds": range(4), "y": [1.0, -1e17, 2.0, 3.0]})
    assert build_panel(frame).y.min() == np.float32(-1e17)
    with pytest.raises(DataError) as caught:
        build_panel(frame.with_columns(y=pl.col("y") * 1.5))
    assert str(caught.value) == (
        "column 'y', row 2: -1.5e+17 exceeds 1e+17, beyond which float32 cannot hold squares; divide the column by a "
        "power of ten"
    )


@pytest.mark.parametrize("month", [3, 7, 10])
def test_an_hour_that_is_there_twice_is_explained_where_clocks_are_set_back(month: int) -> None:
    sunday = next(datetime(2024, month, day) for day in range(31, 24, -1) if datetime(2024, month, day).weekday() == 6)
    times = [sunday + timedelta(hours=n) for n in (0, 1, 2, 2, 3, 4)]
    with pytest.raises(DataError) as caught:
        build_panel(pl.DataFrame({"ds": times, "y": range(6)}))
    assert ("Clocks are set back at such an hour" in str(caught.value)) == (month != 7)
    zoned = pl.Series(times).dt.replace_time_zone("UTC")
    with pytest.raises(DataError, match="Keep one row per series and time"):
        build_panel(pl.DataFrame({"ds": zoned, "y": range(6)}))
