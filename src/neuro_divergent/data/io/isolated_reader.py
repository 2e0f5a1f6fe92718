"""Reads Excel, JSON lines and Arrow files; run as a process of its own by ``isolated.py``.

The libraries that read these files believe what the files say about themselves. A sheet with two cells in its far
corners makes one of them ask for half a terabyte, which ends the process. This process may have only so much memory,
and whoever waits for it goes on.

Its argument is a JSON object: ``kind``, ``path``, ``wanted`` (columns, or null), ``sheet``, ``skip_rows``, and how many
bytes of ``memory`` and of ``unpacked`` text are allowed. It writes a line of JSON, then the table as an Arrow stream.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zlib
from contextlib import suppress
from typing import Any, NamedTuple

import polars as pl

FAILED = 3
"""Exit code where the file cannot be read; standard error then ends with the reason."""
_UNNAMED = re.compile(r"__UNNAMED__(\d+)")
_PIECE = 1 << 20
_PROBLEMS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError, ValueError, EOFError)


class Answer(NamedTuple):
    """A table, all its columns, the sheets of the file and the one that was read."""

    frame: pl.DataFrame | None
    columns: list[str] = []  # noqa: RUF012 - never changed
    sheets: list[str] = []  # noqa: RUF012
    sheet: str | None = None


def read_excel(request: dict[str, Any]) -> Answer:
    """Read a sheet; formulas are not computed, their stored results are read."""
    import fastexcel

    path, wanted = request["path"], request["sheet"]
    sheets: list[str] = fastexcel.read_excel(path).sheet_names
    sheet = sheets[0] if wanted is None and sheets else wanted if wanted in sheets else None
    if sheet is None and str(wanted).isdecimal() and 0 < int(wanted) <= len(sheets):
        sheet = sheets[int(wanted) - 1]
    if sheet is None:
        return Answer(None, sheets=sheets)
    skipped = {"header_row": request["skip_rows"]} if request["skip_rows"] else {}
    frame = pl.read_excel(
        path,
        sheet_name=sheet,
        engine="calamine",
        infer_schema_length=None,
        drop_empty_rows=False,
        raise_if_empty=False,
        read_options=skipped,
    )
    names = {name: _plain_name(name) for name in frame.columns if _UNNAMED.fullmatch(name)}
    frame = frame.rename(names)
    return Answer(frame, frame.columns, sheets, sheet)


def _plain_name(name: str) -> str:
    place = int(name.removeprefix("__UNNAMED__"))
    return f"column {place + 1}" if place else ""


def read_json_lines(request: dict[str, Any]) -> Answer:
    """Read one object per line."""
    content = _unpacked(request["path"], request["unpacked"]).removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        return Answer(pl.DataFrame())
    try:
        frame = pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)
    except _PROBLEMS:
        _refuse_wrong_line(content)
        raise
    return Answer(frame, frame.columns)


def _unpacked(path: str, limit: int) -> bytes:
    packed = path.lower().endswith(".gz")
    pieces, size = [], 0
    try:
        with gzip.open(path) if packed else open(path, "rb") as file:  # noqa: PTH123
            while piece := file.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > limit:
                    raise ValueError(f"unpacks to more than {limit / 2**30:.2f} GiB, which is the limit here")
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"not a complete file ({error})") from None
    return b"".join(pieces)


def _refuse_wrong_line(content: bytes) -> None:
    """Raise an error for the first line that is not an object whose values fit those of the lines before."""
    kinds: dict[str, tuple[str, int]] = {}
    row = 0
    for line in content.splitlines():
        if not line.strip():
            continue
        row += 1
        try:
            values = json.loads(line)
        except RecursionError:
            raise ValueError(f"row {row}: nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from None
        if not isinstance(values, dict):
            raise ValueError(f"row {row}: is not a JSON object with a value for each column")
        for name, value in values.items():
            kind = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else "a value"
            kind = "true or false" if isinstance(value, bool) else kind
            before, first = kinds.setdefault(name, (kind, row)) if value is not None else (kind, row)
            if kind != before:
                raise ValueError(f"row {row}, column {name!r}: holds {kind}, in row {first} it is {before}")


def read_arrow(request: dict[str, Any]) -> Answer:
    """Read an Arrow file."""
    path, wanted = request["path"], request["wanted"]
    columns = list(pl.read_ipc_schema(path))
    chosen = None if wanted is None else [name for name in columns if name in wanted]
    return Answer(pl.read_ipc(path, columns=chosen), columns)


_READERS = {"excel": read_excel, "json_lines": read_json_lines, "arrow": read_arrow}


def main(text: str) -> int:
    """Read a file as the arguments say, and write the table to standard output."""
    request = json.loads(text)
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit.
        import resource

        if request["memory"]:
            resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    try:
        found = _READERS[request["kind"]](request)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file cannot be read
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        sys.stderr.write(f"\n{text}\n")
        return FAILED
    frame, wanted = found.frame, request["wanted"]
    rows = None if frame is None else frame.height  # which a table without columns does not have
    if frame is not None and wanted is not None:
        frame = frame.select(name for name in frame.columns if name in wanted)
    known = {"columns": found.columns, "sheets": found.sheets, "sheet": found.sheet, "rows": rows}
    sys.stdout.buffer.write(json.dumps(known).encode() + b"\n")
    if frame is not None:
        frame.write_ipc_stream(sys.stdout.buffer)
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
