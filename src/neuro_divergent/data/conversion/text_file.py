"""CSV files of any size, written as Parquet with the types that all their rows have."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.numbers import exact_numbers, floats
from neuro_divergent.data.conversion.rows import RowFile
from neuro_divergent.data.io.csv_file import CsvFile, CsvHeader
from neuro_divergent.data.io.number_columns import clear_texts
from neuro_divergent.data.io.table import first_line
from neuro_divergent.data.schema import Schema

_PIECE = 1 << 20
_PARTS = 16  # A file of more than such a part of the memory is read in chunks.
_USUAL_PACKING = 20  # An upper bound of how many times smaller text becomes when it is packed.
_FIELD_BYTES = 64  # Memory that a value takes while text is parsed.


class TextFile:
    """A CSV file to be written as Parquet.

    Args:
        file: The file.
        schema: The roles of the columns.
        wanted: Names of the columns to keep.
        memory: Bytes to plan with.
    """

    def __init__(self, file: CsvFile, schema: Schema, wanted: Sequence[str], memory: int) -> None:
        self._file, self._schema, self._wanted, self._memory = file, schema, wanted, memory

    def convert(self, stem: Path) -> list[RowFile]:
        """Write Parquet files whose names begin with ``stem``, unless they are there, and return them.

        Raises:
            DataError: If the file cannot be read.
        """
        done = stem.with_suffix(".json")
        if not done.exists():
            size = os.path.getsize(self._file.path)  # noqa: PTH202
            packed = self._file.path.lower().endswith(".gz")
            if size * (_USUAL_PACKING if packed else 1) <= self._memory // _PARTS:
                table = self._file.read(self._schema, self._wanted)
                table.frame.write_parquet(_chunk(stem, 0))
                names, chunks = list(table.columns), 1
            else:
                names, chunks = self._convert_in_chunks(stem)
            work = done.with_suffix(".partial")
            work.write_text(json.dumps({"columns": names, "chunks": chunks}), "utf-8")
            work.rename(done)
        found = json.loads(done.read_text("utf-8"))
        return [self._open(_chunk(stem, number), found["columns"]) for number in range(found["chunks"])]

    def _open(self, path: Path, columns: list[str]) -> RowFile:
        lazy = pl.scan_parquet(path, glob=False)
        rows = int(lazy.select(pl.len()).collect().item())
        types = dict(lazy.collect_schema())
        return RowFile(str(path), self._file.name, rows, types, tuple(columns), guessed=True)

    def _convert_in_chunks(self, stem: Path) -> tuple[list[str], int]:
        spooled = stem.with_suffix(".text")
        file = self._file
        if file.encoding is not None or file.path.lower().endswith(".gz"):
            self._spool(spooled)
            file = file.copied_to(str(spooled))
        header = file.look_over(self._schema, self._wanted)
        try:
            chunks, kept = self._parse(file, header, dict(header.types), stem)
        except ValueError as error:
            if isinstance(error, DataError):
                raise
            # A value is not of the type that the first rows have: all are read as text, and narrowed at the end.
            chunks, kept = self._parse(file, header, dict.fromkeys(header.names, pl.String), stem)
        for number in range(chunks):
            path = _chunk(stem, number)
            frame = pl.read_parquet(path, glob=False)
            # Read into memory completely before it is written again; a killed process begins with the text anyway.
            frame.with_columns(
                floats(frame[name], file.style)
                if name in header.numbers
                else exact_numbers(frame[name], fractions=False)
                for name in kept
            ).write_parquet(path)
        spooled.unlink(missing_ok=True)
        return header.names, chunks

    def _parse(self, file: CsvFile, header: CsvHeader, types: dict[str, Any], stem: Path) -> tuple[int, list[str]]:
        """Write chunks with columns of text where types are not known, and return which hold numbers alone."""
        texts = [name for name in header.chosen if types[name] == pl.String]
        narrow = dict.fromkeys(texts, True)
        rows = max(self._memory // (_PARTS * _FIELD_BYTES * len(header.names)), 1)
        number = 0
        for frame in _without_blank_end(file.batches(header, types, rows)):
            chosen = frame.select(header.chosen)
            chosen = chosen.with_columns(clear_texts(chosen, self._schema))
            for name in texts:
                if narrow[name]:
                    column, is_number = chosen[name], name in header.numbers
                    found = floats(column, file.style) if is_number else exact_numbers(column, fractions=False)
                    narrow[name] = found.dtype != pl.String
            chosen.write_parquet(_chunk(stem, number))
            number += 1
        if not number:
            pl.DataFrame(schema={name: types[name] for name in header.chosen}).write_parquet(_chunk(stem, 0))
        return max(number, 1), [name for name in texts if narrow[name]]

    def _spool(self, path: Path) -> None:
        """Write the text unpacked and in UTF-8."""
        source, encoding = self._file.path, self._file.encoding
        decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)()
        lines = 0
        packed = source.lower().endswith(".gz")
        try:
            with gzip.open(source) if packed else open(source, "rb") as file, path.open("wb") as out:  # noqa: PTH123
                while True:
                    piece = file.read(_PIECE)
                    if decoder is None:
                        out.write(piece)
                    else:
                        text = decoder.decode(piece, final=not piece)
                        lines += text.count("\n")
                        out.write(text.encode("utf-8", "surrogatepass"))
                    if not piece:
                        return
        except UnicodeDecodeError as error:
            place = f"row {lines + 1}" if lines else "header"
            byte = error.object[error.start]
            raise DataError(f"{source}: about {place}: byte 0x{byte:02X} is not {encoding}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{source}: not a complete file ({first_line(error)})") from None


def _without_blank_end(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield frames without the rows at the very end that have no value at all: blank lines may end a file."""
    held: list[pl.DataFrame] = []
    for frame in frames:
        filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
        if not len(filled):
            held.append(frame)
            continue
        yield from held
        end = int(filled[-1]) + 1
        yield frame.head(end)
        held = [frame.slice(end)] if end < frame.height else []


def _chunk(stem: Path, number: int) -> Path:
    return stem.with_name(f"{stem.name}-{number:06d}.parquet")
