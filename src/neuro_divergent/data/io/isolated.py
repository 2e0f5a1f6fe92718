"""Excel, JSON lines and Arrow files, read by another process that may fail instead of this one."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import polars as pl

from neuro_divergent.core.errors import DataError, MissingDependencyError
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.data.io.file_kind import Kind
from neuro_divergent.data.io.table import Table, first_line
from neuro_divergent.data.schema import Schema

_READER = "neuro_divergent.data.io.isolated_reader"
_NAMES: dict[Kind, str] = {"excel": "Excel file", "json_lines": "file of JSON lines", "arrow": "Arrow file"}
_OWN_MEMORY = 2.0  # GiB of addresses that Python and polars take, most of them never used
_MOST_ENTRIES = 10_000
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")  # begins old Excel files, and those with a password


def read_isolated(path: str, kind: Kind, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
    """Read the wanted columns, or all of them.

    Raises:
        DataError: If the file is damaged, or larger than the memory when it is unpacked.
        MissingDependencyError: If the package is missing that reads it.
    """
    if kind == "excel":
        _check_excel(path)
    request = {
        "kind": kind,
        "path": path,
        "wanted": None if wanted is None else list(wanted),
        "sheet": None if schema is None else schema.sheet,
        "skip_rows": 0 if schema is None else schema.skip_rows,
        "memory": _bytes(memory_limit() / 2 + _OWN_MEMORY),
        "unpacked": _bytes(memory_limit() / 4) or 1 << 40,
    }
    with tempfile.TemporaryFile() as output:
        _run(request, output)
        output.seek(0)
        known = json.loads(output.readline())
        sheets, sheet = known["sheets"], known["sheet"]
        shown = ", ".join(repr(name) for name in sheets[:20])
        if known["rows"] is None:
            raise DataError(f"{path}: has no sheet {request['sheet']!r}; the sheets are {shown}")
        frame = pl.read_ipc_stream(output.read())
    if not known["rows"] and len(sheets) > 1:
        raise DataError(f"{path}: no data rows in the sheet {sheet!r}; the sheets are {shown}: pass sheet= (--sheet)")
    columns = tuple(known["columns"])
    if not known["rows"]:
        raise DataError(f"{path}: no data rows")
    is_guessed = kind != "arrow"
    note = _note(columns, sheets, sheet)
    return Table(_without_blank_end(frame), path, "polars", columns, is_guessed, has_points=is_guessed, note=note)


def _bytes(gibibytes: float) -> int:
    """Return bytes; 0 where there is no limit."""
    return 0 if gibibytes == float("inf") else int(gibibytes * 2**30)


def _run(request: dict[str, Any], output: IO[bytes]) -> None:
    path, name = request["path"], _NAMES[request["kind"]]
    if not sys.executable:
        raise DataError(f"{path}: {name}s are read by another process, and this program has no Python to start one")
    done = subprocess.run(
        [sys.executable, "-P", "-m", _READER, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    if done.returncode:
        from neuro_divergent.data.io.isolated_reader import FAILED

        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        if done.returncode == FAILED and lines:
            reason = lines[-1][:200]
            raise DataError(f"{path}: {reason}" if reason.startswith(_OURS) else f"{path}: cannot be read ({reason})")
        if request["memory"]:
            limit = f"{request['memory'] / 2**30 - _OWN_MEMORY:.2f} GiB, half of the memory"
            raise DataError(f"{path}: not a complete {name}, or one that needs more than {limit}. Save it as CSV")
        raise DataError(f"{path}: not a complete {name} (the process that read it ended)")


_OURS = ("row ", "not a complete", "unpacks to")


def _check_excel(path: str) -> None:
    """Refuse what is no Excel file, or would be too large, before anything reads it."""
    if importlib.util.find_spec("fastexcel") is None:
        raise MissingDependencyError(
            "Excel files need the package fastexcel, which is not installed. Run: pip install "
            '"neuro-divergent[excel]", or save the table as CSV'
        )
    with open(path, "rb") as file:  # noqa: PTH123 (the path is shown as it was given)
        if file.read(len(_COMPOUND)) == _COMPOUND:
            raise DataError(f"{path}: has a password or the old format .xls; save it as .xlsx without a password")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise DataError(f"{path}: not a complete Excel file ({first_line(error)})") from None
    unpacked, most = sum(entry.file_size for entry in entries) / 2**30, memory_limit() / 4
    if unpacked > most:
        raise DataError(f"{path}: declares {unpacked:.2f} GiB uncompressed, limit {most:.2f} GiB. Save it as CSV")
    if len(entries) > _MOST_ENTRIES:
        raise DataError(f"{path}: holds {len(entries):,} files, and an Excel file has {_MOST_ENTRIES:,} at most")
    if any(entry.flag_bits & 1 for entry in entries):
        raise DataError(f"{path}: has a password; save it without one")


def _without_blank_end(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table without the rows at its end that have no value at all, such as formatted cells."""
    if not frame.height or any(value is not None for value in frame.row(-1)):
        return frame
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
    return frame.head(int(filled[-1]) + 1 if len(filled) else 0)


def _note(columns: Sequence[str], sheets: Sequence[str], sheet: str | None) -> str:
    """Return what to say where a column is missing: the header may be further down, or on another sheet."""
    note = ""
    unnamed = sum(name == "" or name.startswith("column ") for name in columns)
    if 2 * unnamed >= len(columns) > 1:
        note += " If the header is not the first row, pass skip_rows= (--skip-rows): how many rows are above it."
    if len(sheets) > 1:
        others = ", ".join(repr(name) for name in sheets if name != sheet)
        note += f" This is the sheet {sheet!r}; others are {others[:200]}: pass sheet= (--sheet)."
    return note
