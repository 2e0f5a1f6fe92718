"""Excel, JSON lines and Arrow files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from neuro_divergent.core.errors import DataError, MissingDependencyError
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema


def write_excel(path: Path, sheets: dict[str, list[list[Any]]]) -> str:
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "dd.mm.yyyy"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, values in enumerate(rows):
                for column, value in enumerate(values):
                    if isinstance(value, date):
                        sheet.write_datetime(row, column, datetime(value.year, value.month, value.day), day)
                    elif isinstance(value, str) and value.startswith("="):
                        sheet.write_formula(row, column, value, None, 7)
                    elif isinstance(value, str):
                        sheet.write_string(row, column, value)  # which writes no number where a text looks like one
                    elif value is not None:
                        sheet.write(row, column, value)
    return str(path)


DAYS = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)]
SHEETS = {
    "Info": [["About"]],
    "2024": [
        ["Sales"],
        ["store", "day", "units", "price", "code", None],
        [1001, DAYS[0], 1.5, "9,5", "007", None],
        [1001, DAYS[1], "=A1", "10", "008", None],
        [1001, DAYS[2], "closed", "11", "n/a", "x"],
        [],
        [None, None, None, None, None, None],
    ],
}
ROLES = Schema(target="units", time="day", id="store", past=("price", "code"), skip_rows=1, null_values="closed")


def test_a_sheet_has_its_types_and_formulas_their_stored_results(tmp_path: Path) -> None:
    path = write_excel(tmp_path / "a.xlsx", SHEETS)
    for sheet in ("2024", 2):
        with pytest.warns(UserWarning, match="'9,5' is read with a decimal comma"):
            table = read_table(path, ROLES.replace(sheet=sheet))
        rows = table.frame.select("store", "day", "units", "price", "code").rows()
        assert rows == [
            (1001, DAYS[0], 1.5, 9.5, "007"),
            (1001, DAYS[1], 7, 10, "008"),
            (1001, DAYS[2], None, 11, "n/a"),
        ]
    assert table.columns == ("store", "day", "units", "price", "code", "column 6")


def test_what_to_do_with_another_sheet_or_header_is_said(tmp_path: Path) -> None:
    path = write_excel(tmp_path / "a.xlsx", SHEETS)
    with pytest.raises(
        DataError, match=r"no data rows in the sheet 'Info'; the sheets are 'Info', '2024': pass sheet="
    ):
        read_table(path, ROLES.replace(skip_rows=0))
    with pytest.raises(
        DataError, match=r"If the header is not the first row, pass skip_rows=.*This is the sheet '2024'"
    ):
        build_panel(path, ROLES.replace(skip_rows=0, sheet="2024"))


def test_a_wide_sheet_is_converted_to_the_panel_that_training_reads(tmp_path: Path) -> None:
    rows = [["day", "a", "b"], *([day, n, None if n > 1 else n / 2] for n, day in enumerate(DAYS))]
    path = write_excel(tmp_path / "a.xlsx", {"Sheet": rows})
    convert(path, tmp_path / "panel", Schema(wide=True))
    panel = Panel.open(tmp_path / "panel")
    assert panel.to_frame().equals(build_panel(path, Schema(wide=True)).to_frame())
    assert panel.to_frame().rows() == [
        *(("a", day, n) for n, day in enumerate(DAYS)),
        ("b", DAYS[0], 0),
        ("b", DAYS[1], 0.5),
    ]


def test_what_needs_fastexcel_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        MissingDependencyError, match=r'pip install "neuro-divergent\[excel\]", or save the table as CSV'
    ):
        read_table(tmp_path / "a.xlsx")


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"ds": "2024-01-01", "y": 1, "price": "9,5", "shop": {"name": "a"}},
        {"ds": "2024-01-02", "y": "-", "price": "10", "note": None},
    ]
    text = "\ufeff" + "\n\n".join(map(json.dumps, rows)) + "\n"
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(text.encode()))
    schema = Schema(past="price", null_values="-", decimal=",")
    table = read_table(tmp_path / "a.ndjson.gz", schema)
    assert table.frame.select("ds", "y", "price").rows() == [("2024-01-01", 1.0, 9.5), ("2024-01-02", None, 10.0)]
    assert table.columns == ("ds", "y", "price", "shop", "note")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no data rows"),
        ('{"ds": 1}\n[1]\n', "row 2: is not a JSON object with a value for each column"),
        ('{"ds": 1}\n{"ds": [1]}\n', "row 2, column 'ds': holds a list, in row 1 it is a value"),
    ],
)
def test_json_lines_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "a.jsonl", Schema())
    assert str(caught.value) == f"{tmp_path}/a.jsonl: {message}"


def test_packed_json_lines_are_not_unpacked_beyond_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"ds": 1}\n' * 1_000_000))
    monkeypatch.setattr("neuro_divergent.data.io.isolated.memory_limit", lambda: 0.02)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: unpacks to more than 0\.00 GiB, which is the limit here"):
        read_table(tmp_path / "a.jsonl.gz")


def test_arrow(tmp_path: Path) -> None:
    frame = pl.DataFrame({"ds": DAYS, "y": [1.0, None, 3.0], "unused": ["a", "b", "c"]})
    frame.write_ipc(tmp_path / "a.feather", compression="zstd")
    table = read_table(tmp_path / "a.feather", Schema())
    assert table.frame.equals(frame.select("ds", "y"))
    assert table.columns == ("ds", "y", "unused")
    content = (tmp_path / "a.feather").read_bytes()
    (tmp_path / "b.feather").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"b\.feather: (cannot be read|not a complete)"):
        read_table(tmp_path / "b.feather", Schema())


def test_a_module_of_the_current_directory_is_not_imported(tmp_path: Path) -> None:
    """Whoever reads a file in a directory of somebody else must not run that person's code."""
    (tmp_path / "polars.py").write_text("raise SystemExit('imported')")
    (tmp_path / "a.jsonl").write_text('{"ds": 1, "y": 2.5}\n')
    code = "from neuro_divergent.data.io.source import read_table; print(read_table('a.jsonl').frame.rows())"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[(1, 2.5)]\n"
