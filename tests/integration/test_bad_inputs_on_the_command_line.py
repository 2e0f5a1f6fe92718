# ruff: noqa: E501 - a table of messages is read line by line
"""What a terminal shows for every bad input: one line, an exit code, no traceback, and no waiting for torch.

All commands run in children of one process that has imported the command line and nothing of torch, so that the whole
table takes seconds.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from neuro_divergent.core.storage.atomic import write_directory

RUNNER = """
import json, os, signal, sys
import polars, numpy, pydantic
from neuro_divergent.interfaces.cli import main, session, new_data
import neuro_divergent.data.load
for number, arguments in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # What hangs is killed, and its answer is missing.
        for place, kind in ((1, "out"), (2, "err")):
            file = os.open(f"{number}.{kind}", os.O_WRONLY | os.O_CREAT)
            os.dup2(file, place)
        sys.argv = ["nd", *arguments]
        try:
            main.run()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        open(f"{number}.end", "w").write(json.dumps([code, "torch" in sys.modules]))
        os._exit(0)
    os.waitpid(child, 0)
"""


@dataclass(frozen=True)
class Answer:
    code: int | None
    error: str
    output: str
    loaded_torch: bool | None


def days(name: str, count: int, *, value: str = "{}", first: int = 0) -> list[str]:
    start = date(2024, 1, 1) + timedelta(days=first)
    return [f"{name},{start + timedelta(days=n)},{value.format(n % 7 + n / 8)}" for n in range(count)]


def csv(lines: list[str], header: str = "unique_id,ds,y") -> bytes:
    return "".join(f"{line}\n" for line in [header, *lines]).encode()


GOOD = [*days("A", 60), *days("B", 60)]


def with_line(row: int, line: str) -> bytes:
    return csv([*GOOD[: row - 1], line, *GOOD[row:]])


def hours(zone: str, start: datetime, count: int, step: timedelta) -> pl.DataFrame:
    times = pl.Series("ds", [start.replace(tzinfo=UTC) + n * step for n in range(count)])
    return pl.DataFrame({"ds": times.dt.convert_time_zone(zone), "y": [n % 5 + 1.0 for n in range(count)]})


def parquet(frame: pl.DataFrame) -> bytes:
    path = Path(os.environ["PYTEST_PARQUET"])
    frame.write_parquet(path, compression="uncompressed", statistics=False)
    return path.read_bytes()


FRAME = pl.DataFrame({"ds": range(100), "y": [n % 9 + 0.5 for n in range(100)]})


def encode(*fields: tuple[int, Any]) -> bytes:
    """Write a structure as Thrift's compact protocol does: whole numbers, bytes, structures and lists of the latter."""
    parts, before = [], 0
    for number, value in fields:
        kind = {int: 6, bytes: 8, tuple: 12, list: 9}[type(value)]
        parts += [bytes([(number - before) << 4 | kind]), _encode_value(value)]
        before = number
    return b"".join([*parts, b"\0"])


def _encode_value(value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(value << 1)
    if isinstance(value, bytes):
        return _varint(len(value)) + value
    if isinstance(value, tuple):
        return encode(*value)
    kind = 8 if isinstance(value[0], bytes) else 12
    return bytes([0xF0 | kind]) + _varint(len(value)) + b"".join(map(_encode_value, value))


def _varint(number: int) -> bytes:
    parts = []
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def parquet_of_zeros(rows: int, unpacked: int = 2) -> bytes:
    """A file of less than a kilobyte that declares a column for each of ``ds`` and ``y``, in one page each."""
    body, chunks = b"PAR1", []
    for name in (b"ds", b"y"):
        head = encode((1, 0), (2, unpacked), (3, 2), (5, ((1, rows), (2, 3), (3, 3), (4, 3))))
        fields = ((1, 2), (3, [name]), (4, 0), (5, rows), (6, unpacked), (7, len(head) + 2), (9, len(body)))
        chunks.append(((2, len(body)), (3, fields)))
        body += head + bytes(2)
    columns = [((4, b"root"), (5, 2)), ((1, 2), (3, 0), (4, b"ds")), ((1, 2), (3, 0), (4, b"y"))]
    footer = encode((1, 1), (2, columns), (3, rows), (4, [((1, chunks), (2, unpacked), (3, rows))]))
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def damaged_page() -> bytes:
    """A file whose last page announces more values than there are."""
    whole = bytearray(parquet(FRAME))
    place = whole.rindex(b"\x15" + _varint(200), 0, whole.index(b"root")) + 1
    whole[place : place + 2] = _varint(202)
    return bytes(whole)


def nightly() -> pl.DataFrame:
    """Every night at half past two in Berlin, but at half past three when there is no half past two."""
    night = [datetime(2024, 3, 1, 2, 30) + timedelta(days=n) for n in range(60)]
    night[30] += timedelta(hours=1)
    return pl.DataFrame({"ds": pl.Series(night).dt.replace_time_zone("Europe/Berlin"), "y": range(60)})


def daily(**columns: Any) -> bytes:
    frame = pl.DataFrame({"ds": [date(2024, 1, 1) + timedelta(days=n) for n in range(60)], "y": range(60)})
    return frame.with_columns(**columns).write_csv().encode()


def excel(rows: list[list[Any]], *, corner: bool = False, declared: int | None = None) -> bytes:
    """A workbook; perhaps with a cell in the last corner of the sheet, or with a part that declares a size."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer) as book:
        sheet = book.add_worksheet()
        for row, values in enumerate(rows):
            sheet.write_row(row, 0, values)
        if corner:
            sheet.write(1048575, 16383, 1)
    if declared is None:
        return buffer.getvalue()
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("xl/media/image.png", b"")
        archive.filelist[-1].file_size = declared
    return buffer.getvalue()


@dataclass(frozen=True)
class Case:
    """A file, what is done with it, and what must be said; ``{file}`` stands for its name."""

    name: str
    content: bytes | Callable[[], bytes] | None
    message: str
    arguments: tuple[str, ...] = ()
    code: int = 2
    ending: str = "csv"


def toml(text: str) -> bytes:
    return text.encode()


CASES = [
    Case("missing_path", None, r"re:{file}: not found\. Did you mean 'missing_\w+\.csv'\?"),
    Case("pattern_without_files", None, r"re:nowhere_\*\.csv: not found: no file matches\. Tables here: .* more\.", ("nowhere_*.csv",)),
    Case("directory", None, "somewhere: is a directory; name a file or a pattern, such as 'somewhere/*.parquet'", ("somewhere",)),
    Case("not_a_table", b"%PDF", "{file}: unknown kind of file; known are .csv, .tsv, .txt, .jsonl (all also .gz), .xlsx, .parquet and .arrow", ending="pdf"),
    Case("pipe", None, "pipe.csv: is not a regular file; save the table as one", ("pipe.csv",)),
    Case("empty", b"", "{file}: no data rows"),
    Case("header_only", csv([]), "{file}: no data rows"),
    Case("missing_column", csv(GOOD, "unique_id,ds,value"), "{file}: column 'y' missing; found unique_id, ds, value. Say which it is: target= (--target)."),
    Case("wide_without_the_flag", csv(["2024-01-01,1,2"], "date,a,b"), "{file}: column 'ds' missing; found date, a, b. Say which it is: time= (--time), target= (--target); and id= (--id) if a column names the series. If each column is a series, pass wide=True (--wide)."),
    Case("two_separators", b"ds;y, EUR\n2024-01-01;1,5\n", "{file}: columns may be separated by ',' or ';'. Say which: pass separator=',' (--separator \",\")"),
    Case("unknown_separator", csv(GOOD), "DataConfig: separator: 'ab' cannot separate columns; write one character, such as ';', or 'tab'", ("--separator", "ab")),
    Case("comma_that_may_be_either", b"ds;y\n1;1,234\n", "{file}: row 1, column 'y': '1,234' is with a decimal comma or with a comma between thousands. Pass decimal=\",\" (--decimal ,) or thousands=\",\" (--thousands ,)"),
    Case("one_mark_for_two_things", csv(GOOD), "',' cannot be both the decimal mark and the mark between thousands", ("--decimal", ",", "--thousands", ",")),
    Case("static_of_a_wide_table", csv(GOOD), "static: a wide table has no values that differ between series; leave wide or static out", ("--wide", "--static", "region")),
    Case("excel_that_is_none", b"PK", "{file}: not a complete Excel file (File is not a zip file)", ending="xlsx"),
    Case("excel_with_a_password", bytes.fromhex("d0cf11e0a1b11ae1"), "{file}: has a password or the old format .xls; save it as .xlsx without a password", ending="xlsx"),
    Case("excel_that_unpacks_to_much", lambda: excel([["ds", "y"], [1, 2]], declared=1 << 45), r"re:{file}: declares 32768\.00 GiB uncompressed, limit [\d.]+ GiB\. Save it as CSV", ending="xlsx"),
    Case("excel_with_cells_in_far_corners", lambda: excel([["ds", "y"], [1, 2]], corner=True), r"re:{file}: not a complete Excel file, or one that needs more than [\d.]+ GiB, half of the memory\. Save it as CSV", ending="xlsx"),
    Case("excel_without_the_sheet", lambda: excel([["ds", "y"], [1, 2]]), "{file}: has no sheet 'May'; the sheets are 'Sheet1'", ("--sheet", "May"), ending="xlsx"),
    Case("json_lines_broken", b'{"ds": 1, "y": 1}\n{"ds": 2\n', "{file}: row 2: Expecting ',' delimiter: line 1 column 9 (char 8)", ending="jsonl"),
    Case("json_lines_nested", b'{"ds":' + b"[" * 9999, "{file}: row 1: nested too deeply", ending="jsonl"),
    Case("arrow_that_is_none", b"ARROW1\0\0", r"re:{file}: cannot be read \(.*\)", ending="arrow"),
    Case("database_without_query", None, 'sqlite:///shop.db: which rows? Pass query="SELECT ..." (--query "SELECT ..."); there are the tables sales', ("sqlite:///shop.db",)),
    Case("database_that_is_absent", None, "sqlite:///nowhere.db: nowhere.db not found", ("sqlite:///nowhere.db", "--query", "SELECT 1")),
    Case("database_with_a_password", None, "re:DataConfig: path: postgresql://me@host/shop: holds a password, which would be stored with the run\\. .*", ("postgresql://me:secret@host/shop", "--query", "SELECT 1")),
    Case("misspelt_column", csv(GOOD, "unique_id,ds,unts"), "{file}: column 'units' missing; found unique_id, ds, unts. Did you mean 'unts'?", ("--target", "units")),
    Case("duplicated_column", csv([f"{line},1,2" for line in GOOD], "unique_id,ds,y,x,y"), "{file}: column 'y' appears twice (3, 5)"),
    Case("not_utf8", csv(GOOD).replace(b"A,2024-01-17", b"\xe9,2024-01-17"), '{file}: row 17: byte 0xE9 is not UTF-8; pass its encoding, such as encoding="latin-1" (--encoding latin-1)'),
    Case("utf16", csv(GOOD).decode().encode("utf-16"), '{file}: is not UTF-8 but perhaps UTF-16; pass encoding="utf-16" (--encoding utf-16)'),
    Case("unknown_encoding", csv(GOOD), "DataConfig: encoding: 'klingon' is not known; write 'utf-8', 'latin-1', 'cp1252', 'utf-16', ...", ("--encoding", "klingon")),
    Case("wrong_encoding", csv(GOOD).replace(b"A,2024-01-17", b"\xe9,2024-01-17"), "{file}: row 17: byte 0xE9 is not ascii", ("--encoding", "ascii")),
    Case("ragged_row", with_line(88, "B,2024-01-28,1,2"), "{file}: row 88: 4 fields, expected 3"),
    Case("short_row", with_line(88, "B,2024-01-28"), "{file}: row 88: 2 fields, expected 3"),
    Case("nul", with_line(5, "A,2024-01-05,\0"), "{file}: row 5: NUL byte, which no text has; is the file damaged?"),
    Case("open_quote", csv([*GOOD, '"A,2024-05-01,1']), "{file}: row 121: unexpected end of data; is a quotation mark left open?"),
    Case("giant_field", lambda: csv([*GOOD[:3], "A" * (128 << 20) + ",2024-01-04,1"]), "{file}: row 4: field exceeds 1 MiB; is a quotation mark left open?"),
    Case("giant_number", lambda: csv([*GOOD[:3], "A,2024-01-04," + "1" * (8 << 20)]), "{file}: row 4: field exceeds 1 MiB; is a quotation mark left open?"),
    Case("giant_header", lambda: b"x" * (8 << 20), "{file}: header: field exceeds 1 MiB; is a quotation mark left open?"),
    Case("text_in_target", with_line(12, "A,2024-01-12,n/a"), "{file}: row 12, column 'y': 'n/a' is not a number. Pass null_values=\"n/a\" (--null-values \"n/a\") if it means a missing value"),
    Case("nan", with_line(40, "A,2024-02-09,NaN"), '{file}: column \'y\', series \'A\': 1 missing value, first at row 40. Pass missing="interpolate" (--missing interpolate) to fill them.'),
    Case("infinite", with_line(9, "A,2024-01-09,inf"), "{file}: column 'y', series 'A', row 9: infinite"),
    Case("beyond_float32", with_line(9, "A,2024-01-09,1e300"), "{file}: column 'y', series 'A', row 9: 1e+300 exceeds float32, which ends at 3.4e38"),
    Case("bad_date", with_line(5, "A,2024-02-30,1"), '{file}: row 5, column \'ds\': \'2024-02-30\' is not a date that can be read without guessing; write ISO 8601, such as 2024-03-31 or 2024-03-31T15:00. Or pass how it is written, such as date_format="%d.%m.%Y" (--date-format %d.%m.%Y)'),
    Case("ambiguous_date", csv(["A,03/04/21,1", "A,03/05/21,2"]), '{file}: row 1, column \'ds\': \'03/04/21\' is ambiguous: is the day first or the month? Pass how it is written, such as date_format="%d/%m/%y" (--date-format %d/%m/%y)'),
    Case("other_date", with_line(5, "A,2024-01-05,1"), "{file}: row 1, column 'ds': '2024-01-01' is not written as '%d/%m/%Y'", ("--date-format", "%d/%m/%Y")),
    Case("no_date_format", csv(GOOD), "DataConfig: date_format: '%d/%m' has no year; write it as for strptime, such as '%d/%m/%Y' or '%Y-%m-%d %H:%M'", ("--set", "data.date_format=%d/%m")),
    Case("year_9999", with_line(5, "A,9999-12-31,1"), "{file}: row 5, column 'ds': 9999-12-31 outside supported range, the years 1000 to 2999"),
    Case("duplicate_time", csv([*GOOD, "A,2024-01-10,1"]), "{file}: series 'A': 2024-01-10 twice (rows 10, 121), with other values (column 'y': 3.125, 1.0). Keep one row per series and time, or pass duplicates= (--duplicates): first, last, mean or sum"),
    Case("unsorted_and_strict", csv([*GOOD[1::-1], *GOOD[2:]]), "{file}: series 'A': 2 rows were out of time order; 1 series affected; strict=True (--strict) allows none", ("--strict",)),
    Case("gap", csv([*GOOD[:10], *GOOD[12:]]), '{file}: series \'A\': gap after 2024-01-10 (2 steps at 1d); 2 missing rows in all. Pass gaps="interpolate" (--gaps interpolate) to fill them, or "zero" if no row means zero'),
    Case("mixed_frequencies", csv([*(f"A,{line[2:12]}T00:00,1" for line in GOOD[:60]), *(f"B,2024-01-01T{n:02d}:00,1" for n in range(20))]), "{file}: series 'A' is 1d, 'B' is 1h. All series need one frequency"),
    Case("mixed_zones", csv(["A,2024-01-01T00:00Z,1", "A,2024-01-01T01:00Z,2", "A,2024-01-01T02:00,3"]), "{file}: rows 1, 3: zoned and naive timestamps mixed in column 'ds'"),
    Case("clock_set_back", csv([f"A,2024-10-27T{n:02d}:00,1" for n in (0, 1, 2, 2, 3, 4)]), "{file}: series 'A': 2024-10-27 02:00:00 twice (rows 3, 4). Clocks are set back at such an hour: write the times in UTC or with their offset, as 02:30+01:00"),
    Case("no_such_local_time", lambda: parquet(nightly()), "{file}: row 31: 02:30 on 2024-03-31 does not exist in Europe/Berlin; convert the times to UTC", ending="parquet"),
    Case("too_short", csv([*GOOD, *days("C", 9)]), '{file}: series \'C\': 9 rows, needs 36 (30 history + 6 horizon); 1 series affected. Pass short="pad" (--short pad) to lengthen them, or short="drop" (--short drop) to leave them out.', ("--input-size", "30", "--short", "error")),
    Case("all_missing", csv([*GOOD, *days("C", 60, value="")]), "{file}: series 'C': no observed values. Leave such series out", ("--missing", "interpolate")),
    Case("truncated_parquet", lambda: parquet(FRAME)[:-100], "{file}: not a complete Parquet file (it does not begin and end with PAR1)", ending="parquet"),
    Case("parquet_of_many_rows", parquet_of_zeros(1 << 45), r"re:{file}: declares 524288\.00 GiB in 35,184,372,088,832 rows, limit [\d.]+ GiB, the memory\. .*", ending="parquet"),
    Case("parquet_that_unpacks_to_much", parquet_of_zeros(100, 1 << 45), r"re:{file}: declares 65536\.00 GiB uncompressed, limit [\d.]+ GiB, the memory\. .*", ending="parquet"),
    Case("parquet_with_a_damaged_page", damaged_page, "{file}: not a complete Parquet file (values of a page: 101, at most 100 can be)", ending="parquet"),
    Case("parquet_that_is_a_pickle", pickle.dumps({"y": list(range(100))}), "{file}: not a complete Parquet file (it does not begin and end with PAR1)", ending="parquet"),
    Case("truncated_gzip", gzip.compress(csv(GOOD))[:-30], r"re:{file}: not a complete file \(Compressed file ended before the end-of-stream marker was reached\)", ending="csv.gz"),
    Case("pickle", pickle.dumps({"y": 1}), "{file}: pickle is never loaded; save the table as CSV or Parquet", code=3, ending="pkl"),
    Case("missing_covariate", csv(GOOD), "{file}: column 'price' missing; found unique_id, ds, y.", ("--future", "price")),
    Case("horizon_0", csv(GOOD), "horizon: 0 must be an integer of at least 1.", ("--horizon", "0")),
    Case("horizon_negative", csv(GOOD), "horizon: -3 must be an integer of at least 1.", ("--horizon=-3",)),
    Case("horizon_fraction", csv(GOOD), "horizon: 1.5 must be an integer of at least 1.", ("--horizon", "1.5")),
    Case("horizon_text", csv(GOOD), "horizon: x must be an integer of at least 1.", ("--horizon", "x")),
    Case("unknown_setting", csv(GOOD), "re:.*unknown setting 'lerning_rate'.*", ("--set", "training.lerning_rate=1")),
    Case("unknown_model", csv(GOOD), r"re:.*Unknown model 'dlinaer'\. Did you mean 'dlinear'\?.*", ("--model", "dlinaer")),
    Case("toml_with_unknown_setting", toml("[data]\npath='x.csv'\n[task]\nhorizon=3\n[training]\nmax_stepz=3\n"), r"re:.*unknown setting 'max_stepz'\. Did you mean 'max_steps'\?", ending="toml"),
    Case("toml_with_unknown_section", toml("[data]\npath='x.csv'\n[task]\nhorizon=3\n[trainning]\nmax_steps=3\n"), "{file}: unknown section 'trainning'. Did you mean 'training'?", ending="toml"),
    Case("toml_that_is_none", toml("[data\npath=1"), r"re:{file}: Expected ']' at the end of a table declaration \(at line 1, column 6\)", ending="toml"),
    Case("toml_not_utf8", b"[data]\npath='\xe9'", r"re:{file}: not UTF-8.*", ending="toml"),
    Case("toml_missing", None, r"re:{file}: not found\. Did you mean 'toml_\w+\.toml'\?", ending="toml"),
]  # fmt: skip


MODEL = Path(__file__).parents[1] / "fixtures" / "formats" / "model-1"


def new_rows(shop: str = "series-0", value: str = "{}", count: int = 12) -> list[str]:
    """Rows that the model of the fixtures can forecast from."""
    days = [datetime(2024, 3, 1) + timedelta(days=n) for n in range(count)]
    return [f"N,{day:%Y-%m-%dT%H:%M},{value.format(n)},{n / 2},{shop}" for n, day in enumerate(days)]


def new_csv(lines: list[str]) -> bytes:
    return csv(lines, "unique_id,ds,y,price,shop")


FUTURE = new_csv([f"N,2024-03-{day}T00:00,0,1,series-0" for day in (13, 14)])
NEW = new_csv(new_rows())
PREDICTIONS = [
    Case("new_missing_path", None, r"re:{file}: not found\. Did you mean 'new_\w+\.csv'\?", ("model", "{file}")),
    Case("new_directory", None, "somewhere: is a directory; name a file or a pattern, such as 'somewhere/*.parquet'", ("model", "somewhere")),
    Case("new_header_only", new_csv([]), "{file}: no data rows", ("model", "{file}")),
    Case("new_without_covariate", csv(GOOD), "{file}: column 'price' missing; found unique_id, ds, y.", ("model", "{file}")),
    Case("new_text", new_csv([*new_rows(), "N,2024-03-13T00:00,x,1,series-0"]), "{file}: row 13, column 'y': 'x' is not a number. Pass null_values=\"x\" (--null-values \"x\") if it means a missing value", ("model", "{file}")),
    Case("new_missing_value", new_csv(new_rows(value="")[:1] + new_rows()[1:]), '{file}: column \'y\', series \'N\': 1 missing value, first at row 1. Pass missing="interpolate" (--missing interpolate) to fill them.', ("model", "{file}")),
    Case("new_gap", new_csv([*new_rows()[:3], *new_rows()[4:]]), '{file}: series \'N\': gap after 2024-03-03 (1 step at 1d); 1 missing row. Pass gaps="interpolate" (--gaps interpolate) to fill them, or "zero" if no row means zero', ("model", "{file}")),
    Case("new_too_short", new_csv(new_rows(count=4)), '{file}: series \'N\': 4 rows, needs 9 (history); 1 series affected. Pass short="pad" (--short pad) to lengthen them, or short="drop" (--short drop) to leave them out.', ("model", "{file}")),
    Case("new_category", new_csv(new_rows("elsewhere")), '{file}: column \'shop\', series \'N\', row 1: category \'elsewhere\' not in training data; 12 such rows. Pass unknown_category="unknown" (--unknown-category unknown) to forecast without knowing it', ("model", "{file}")),
    Case("new_policy", NEW, "Schema: missing: 'guess' must be 'error', 'interpolate', 'forward', 'zero' or 'mask'", ("model", "{file}", "--missing", "guess")),
    Case("new_dates", NEW.replace(b"2024-03-01T00:00", b"01.03.2024"), """{file}: column 'ds' has times in 2 formats: '01.03.2024' (row 1), '2024-03-02T00:00' (rows 2, 3, 4, ...). Write all of them in one, or pass each: date_format=["%d.%m.%Y", "%Y-%m-%dT%H:%M"] (--date-format %d.%m.%Y --date-format %Y-%m-%dT%H:%M)""", ("model", "{file}")),
    Case("future_absent", NEW, "future covariates price are needed to forecast. Pass future= (--future) with 3 rows for each of 1 series, beginning 2024-03-13", ("ahead", "{file}")),
    Case("future_row_absent", FUTURE, "{file}: series 'N': 'price' missing for 2024-03-15: no such row; 1 of 3 rows missing", ("ahead", "future_absent.csv", "--future", "{file}")),
    Case("future_missing", None, "{file}: not found. Did you mean 'future_absent.csv'?", ("ahead", "future_absent.csv", "--future", "{file}")),
    *(Case(f"predict_horizon_{text}", NEW, f"horizon: {text} must be an integer of at least 1.", ("model", "{file}", f"--horizon={text}")) for text in ("0", "-3", "1.5", "x")),
    Case("model_not_found", None, "nowhere: not found; give a directory that 'nd train' or save() wrote, such as runs/sales-nhits. Did you mean 'somewhere'?", ("nowhere",)),
    Case("model_that_is_a_pickle", pickle.dumps({"y": 1}), "{file}: pickle is never loaded; a model is a directory that we wrote.", ("{file}",), 3, "pt"),
    Case("model_that_was_altered", None, r"re:altered.*model\.json: .*(differs|changed|altered|manifest).*", ("altered",), 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Answer]]:
    place = tmp_path_factory.mktemp("bad")
    os.environ["PYTEST_PARQUET"] = str(place / "scratch.parquet")
    (place / "somewhere").mkdir()
    os.mkfifo(place / "pipe.csv")
    make_models(place)
    commands = []
    for case in (*CASES, *PREDICTIONS):
        file = f"{case.name}.{case.ending}"
        if case.content is not None:
            (place / file).write_bytes(case.content if isinstance(case.content, bytes) else case.content())
        commands.append(command_for(case, file))
    yield run_all(place, commands, [case.name for case in (*CASES, *PREDICTIONS)])
    for path in place.iterdir():
        if path.is_file() and path.stat().st_size > 1 << 20:
            path.unlink()


def make_models(place: Path) -> None:
    """A good model, one that was altered, and one that needs to know the price ahead; and a database."""
    with closing(sqlite3.connect(place / "shop.db")) as database:
        database.execute("CREATE TABLE sales (ds INTEGER, y REAL)")
    shutil.copytree(MODEL, place / "model")
    shutil.copytree(MODEL, place / "altered")
    text = (MODEL / "model.json").read_text()
    (place / "altered" / "model.json").write_text(text.replace('"horizon": 3', '"horizon": 4'))
    description = json.loads(text)
    description["schema"] |= {"past": [], "future": ["price"]}
    write_directory(place / "ahead", [("model.json", json.dumps(description).encode()), ("model.safetensors", b"")])


def command_for(case: Case, file: str) -> list[str]:
    if case in PREDICTIONS:
        return ["predict", *(argument.replace("{file}", file) for argument in case.arguments)]
    named = case.arguments and not case.arguments[0].startswith("-")
    own = any("--horizon" in item for item in case.arguments) or case.ending == "toml"
    return ["train", *(() if named else (file,)), *case.arguments, *(() if own else ("--horizon", "6"))]


def run_all(place: Path, commands: list[list[str]], names: list[str]) -> dict[str, Answer]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    given = json.dumps(commands)
    run = [sys.executable, "-c", RUNNER]
    subprocess.run(run, input=given, text=True, cwd=place, env=environment, check=True, timeout=300)
    found = {}
    for number, name in enumerate(names):
        end = place / f"{number}.end"
        code, loaded = json.loads(end.read_text()) if end.exists() else (None, None)
        texts = [(place / f"{number}.{kind}").read_text() for kind in ("err", "out")]
        found[name] = Answer(code, *texts, loaded)
    return found


NOTES = {
    "missing_column": ['perhaps: target="value" (--target value)'],
    "wide_without_the_flag": ['perhaps: time="date" (--time date)'],
    "not_utf8": [
        "then: series 'A': gap after 2024-01-16 (1 step at 1d); 1 missing row. "
        'Pass gaps="interpolate" (--gaps interpolate) to fill them, or "zero" if no row means zero'
    ],
    "text_in_target": [
        "then: column 'y', series 'A': 1 missing value, first at row 12. "
        'Pass missing="interpolate" (--missing interpolate) to fill them.'
    ],
}


@pytest.mark.parametrize("case", [*CASES, *PREDICTIONS], ids=lambda case: case.name)
def test_a_bad_input_gets_one_line_and_its_exit_code(case: Case, answers: dict[str, Answer]) -> None:
    answer = answers[case.name]
    file = f"{case.name}.{case.ending}"
    error, *notes = answer.error.splitlines()  # notes say what else is wrong in the table
    if case.message.startswith("re:"):
        pattern = f"error: {case.message[3:].replace('{file}', re.escape(file))}"
        assert re.fullmatch(pattern, error), answer.error
    else:
        assert error == f"error: {case.message.replace('{file}', file)}"
    assert notes == NOTES.get(case.name, [])
    assert answer.code == case.code
    assert not answer.output
    assert not answer.loaded_torch


def test_what_can_be_read_with_a_flag_is_forecast(tmp_path: Path) -> None:
    lines = new_rows("Caf\u00e9")
    lines[3] = lines[3].replace(",3,", ",,")
    text = "\n".join(["unique_id,ds,y,price,shop", *lines]).replace("2024-03-", "03/").replace("T00:00", "/2024")
    (tmp_path / "new.csv").write_bytes(text.encode("cp1252"))
    flags = ["--encoding=cp1252", "--date-format=%m/%d/%Y", "--missing=interpolate", "--unknown-category=unknown"]
    shutil.copytree(MODEL, tmp_path / "model")
    (answer,) = run_all(tmp_path, [["predict", "model", "new.csv", *flags]], ["new"]).values()
    assert (answer.code, answer.error) == (0, "")
    rows = pl.read_csv(answer.output.encode(), try_parse_dates=True)
    assert rows["ds"].to_list() == [date(2024, 3, 13) + timedelta(days=n) for n in range(3)]
    assert rows["forecast"].is_finite().all()
