"""Reads CSV files; a file that cannot be read is parsed again to report which row is wrong."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import mmap
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, Any, NamedTuple

import polars as pl

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.data.cleaning.numbers import (
    PLAIN,
    NumberStyle,
    exact_numbers,
    find_decimal_commas,
    find_pointed_thousands,
    floats,
    may_have_thousands,
)
from neuro_divergent.data.cleaning.remedy import Remedy
from neuro_divergent.data.io.file_kind import usual_separator
from neuro_divergent.data.io.number_columns import clear_texts, number_roles, read_decimal_commas
from neuro_divergent.data.io.separator import LARGEST_FIELD, flag_of, large_fields, possible_separators
from neuro_divergent.data.io.table import Table, first_line, show_name
from neuro_divergent.data.schema import Schema

_WRONG_BYTE = r"[\udc80-\udcff]"  # Python's surrogates for bytes that cannot be decoded.
_UNREADABLE = (OSError, EOFError, zlib.error, MemoryError)
_PROBLEMS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, *_UNREADABLE)
_PIECE = 1 << 20
_SAMPLE = 1 << 16  # characters that show how columns are separated
_LATIN = {"encoding": "latin-1"}
_TITLES, _MORE = 20, 10  # lines above a header that are explained, and lines below it that are looked at


class CsvHeader(NamedTuple):
    """The columns of a CSV file.

    Attributes:
        names: All of them.
        chosen: Those that are wanted.
        types: The type to try for each.
        numbers: Those that hold numbers if every value is one.
    """

    names: list[str]
    chosen: list[str]
    types: dict[str, Any]
    numbers: list[str]


class CsvFile:
    """One CSV file.

    Args:
        path: Where it is; a name that ends in ``.gz`` is unpacked.
        separator: What is between the columns; found in the file when left out.
        encoding: How its text is written, by the name that Python has for it; UTF-8 when left out.
        name: How messages call it, where it is a copy of another file.
        style: How its numbers are written.
        skip_rows: Lines above the header.
    """

    def __init__(
        self,
        path: str,
        separator: str | None = None,
        encoding: str | None = None,
        name: str | None = None,
        *,
        style: NumberStyle = PLAIN,
        skip_rows: int = 0,
    ) -> None:
        self.path, self.name, self.style, self.skip_rows = path, name or path, style, skip_rows
        self.encoding = None if encoding is None or _is_utf8(encoding) else encoding
        self._separator = separator

    @classmethod
    def of(cls, path: str, schema: Schema | None) -> CsvFile:
        """Return a file that is written as a schema says."""
        if schema is None:
            return cls(path)
        style = NumberStyle.of(schema)
        return cls(path, schema.separator, schema.encoding, style=style, skip_rows=schema.skip_rows)

    @cached_property
    def separator(self) -> str:
        """What is between the columns: as given, or what the first lines have in common.

        Raises:
            DataError: If that may be one of two.
        """
        if self._separator is not None:
            return self._separator
        try:
            with self._open(errors="surrogateescape") as file:
                text = file.read(_SAMPLE)
                if file.read(1):  # The last line is not complete.
                    text = text[: text.rfind("\n") + 1] or text
        except _UNREADABLE as error:
            raise self._fail(f"not a complete file ({first_line(error)})") from None
        usual = usual_separator(self.path)
        found = possible_separators(text, usual)
        if len(found) > 1:
            shown = f"separator={found[0]!r} (--separator {flag_of(found[0])})"
            raise self._fail(f"columns may be separated by {' or '.join(map(repr, found))}. Say which: pass {shown}")
        return found[0] if found else usual

    def copied_to(self, path: str) -> CsvFile:
        """Return a copy of this file that is in UTF-8 and not packed."""
        return CsvFile(path, self.separator, None, self.name, style=self.style, skip_rows=self.skip_rows)

    @property
    def _options(self) -> dict[str, Any]:
        """Arguments for polars."""
        skipped = {"skip_lines": self.skip_rows} if self.skip_rows else {}  # which older versions do not have
        return {"separator": self.separator, "glob": False, **skipped}

    def read(self, schema: Schema | None, wanted: Sequence[str] | None) -> Table:
        """Return the wanted columns, or all of them, with the types that their roles ask for.

        Raises:
            DataError: If a row is not a row, with its number.
        """
        header = self.look_over(schema, wanted)
        frame, style = self._parse(header), self.style
        texts = [frame[name] for name in header.numbers if frame.schema[name] == pl.String]
        texts = [text for text in texts if floats(text, style) is text]
        if schema is not None and NumberStyle.is_open(schema) and find_decimal_commas(texts, style) is not None:
            # Columns that were read as numbers tell, too, what a comma or a point is.
            everything = self._parse(header._replace(types=dict.fromkeys(header.names, pl.String)))
            numbers = everything.select(header.numbers)
            style, notice = read_decimal_commas(numbers, style, self._fail, strict=schema.strict)
            if notice:
                frame = frame.with_columns(numbers)
                warnings.warn(f"{self.name}: {notice}", DataWarning, stacklevel=4)
        elif schema is not None and self.separator == ";" and NumberStyle.of(schema) == PLAIN and not schema.decimal:
            self._tell_of_points(frame.select(header.numbers), header, schema)
        columns = [
            floats(column, style) if column.name in header.numbers else exact_numbers(column, fractions=schema is None)
            for column in clear_texts(frame, schema)
            if column.dtype == pl.String
        ]
        return Table(frame.with_columns(columns), self.name, "polars", _named(header.names), guessed=True)

    def _tell_of_points(self, numbers: pl.DataFrame, header: CsvHeader, schema: Schema) -> None:
        """Warn where points that were read as decimal marks may stand between thousands, as commas are usual here."""
        if not any(may_have_thousands(column) for column in numbers if column.dtype == pl.Float64):
            return
        everything = self._scan(header.names, dict.fromkeys(header.names, pl.String))
        texts = everything.select(name for name in header.names if name not in (schema.time, schema.id))
        found = find_pointed_thousands(texts, self.style)
        if found is None or found[0] not in numbers.columns:
            return
        column, row, text = found
        message = f"row {row + 1}, column {column!r}: {text!r} is read as {float(text):g}, not {text.replace('.', '')}"
        cure = 'Pass decimal="." (--decimal .) to confirm it, or thousands="." (--thousands .)'
        if schema.strict:
            raise self._fail(f"{message}. {cure}; strict=True guesses nothing")
        warnings.warn(f"{self.name}: {message}. {cure}", DataWarning, stacklevel=5)

    def look_over(self, schema: Schema | None, wanted: Sequence[str] | None) -> CsvHeader:
        """Check what can be checked without parsing all rows, and return the columns with the types to try.

        Raises:
            DataError: If the header is wrong or the file is no text.
        """
        self._look_over()
        names = self._header()
        chosen = [name for name in names if wanted is None or name in wanted]
        # Nothing may be lost by guessing a type: the series "007" is not the series 7, and 3/4/21 is no date yet.
        numbers = _numbers_of(schema, chosen)
        guessed = [name for name in numbers if schema and name not in (schema.target, schema.weight)]
        types: dict[str, Any] = {**dict.fromkeys(names, pl.String), **self._guess(guessed, names)}
        for name in (schema.target, schema.weight) if schema else ():
            if name in numbers:
                types[name] = pl.Float64
        if not self.style.is_plain:  # which polars would not understand, or understand as something else
            types = {name: pl.String if dtype == pl.Float64 else dtype for name, dtype in types.items()}
        return CsvHeader(names, chosen, types, numbers)

    def batches(self, header: CsvHeader, types: Mapping[str, Any], rows: int) -> Iterator[pl.DataFrame]:
        """Yield all columns, about so many rows at a time; the file is UTF-8 and not packed.

        Raises:
            DataError: If a row is not a row, with its number.
            ValueError: If a value is not of its type.
        """
        lazy = pl.scan_csv(self.path, schema_overrides=list(types.values()), **self._options)
        is_checked = False
        try:
            for frame in lazy.collect_batches(chunk_size=rows, maintain_order=True):
                if not is_checked and frame.height and frame.to_series(-1).null_count():
                    is_checked = True
                    if self._has_short_line(len(header.names)):
                        self._find_wrong_row(len(header.names))
                self._refuse_large_fields(frame)
                is_unique = len(set(header.names)) == len(header.names)
                yield frame.rename(dict(zip(frame.columns, header.names, strict=True))) if is_unique else frame
        except _PROBLEMS as error:
            if isinstance(error, DataError):
                raise
            self._find_wrong_row(len(header.names))
            if all(dtype == pl.String for dtype in types.values()):
                raise self._fail(f"cannot be read ({first_line(error)})") from None
            raise ValueError(first_line(error)) from None

    def _fail(self, message: str) -> DataError:
        return DataError(f"{self.name}: {message}")

    @cached_property
    def _content(self) -> bytes | None:
        """The text in UTF-8 where the file holds something else, so that it is unpacked once and within bounds."""
        packed = self.path.lower().endswith(".gz")
        if not packed and self.encoding is None:
            return None
        try:
            with gzip.open(self.path) if packed else open(self.path, "rb") as file:  # noqa: PTH123
                content = self._within_bounds(file)
        except _UNREADABLE as error:
            raise self._fail(f"not a complete file ({first_line(error)})") from None
        if self.encoding is None:
            return content
        try:
            return codecs.decode(content, self.encoding).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            row = codecs.decode(content[: error.start], self.encoding, "replace").count("\n")
            raise self._fail(f"{_row(row)}: byte 0x{content[error.start]:02X} is not {self.encoding}") from None

    def _within_bounds(self, file: gzip.GzipFile | io.BufferedReader) -> bytes:
        most = memory_limit() / 4  # The text, the table and its arrays are in memory at the same time.
        pieces: list[bytes] = []
        while piece := file.read(_PIECE):
            pieces.append(piece)
            if len(pieces) * _PIECE > most * 2**30:
                raise self._fail(f"unpacks to more than {most:.2f} GiB, which is the limit here. Use Parquet for it")
        return b"".join(pieces)

    def _open(self, errors: str = "strict") -> IO[str]:
        content = self._content
        file: Any = open(self.path, "rb") if content is None else io.BytesIO(content)  # noqa: PTH123, SIM115
        for _ in range(self.skip_rows):
            file.readline(LARGEST_FIELD)
        return io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors, newline="")

    def _look_over(self) -> None:
        """Check what can be checked without parsing, which takes a hundredth of the time of reading."""
        if self._content is not None:
            self._refuse_bytes(self._content)
            return
        with open(self.path, "rb") as file:  # noqa: PTH123
            if file.seek(0, 2):
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    self._refuse_bytes(content)

    def _refuse_bytes(self, content: bytes | mmap.mmap) -> None:
        if _has_long_line(content):
            self._find_wrong_row()  # A column of numbers would not tell how long one of them was.
        place = content.find(b"\0")
        if place < 0:
            return
        if place < 4 or content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            message = 'is not UTF-8 but perhaps UTF-16; pass encoding="utf-16" (--encoding utf-16)'
            raise self._fail(message).offering(encoding="utf-16")
        row = content[:place].count(b"\n")
        raise self._fail(f"{_row(row)}: NUL byte, which no text has; is the file damaged?")

    def _header(self) -> list[str]:
        try:
            with self._open(errors="surrogateescape") as file, large_fields():
                # More than the header is decoded, and not all of it is.
                names = next((row for row in csv.reader(file, delimiter=self.separator) if row), [])
        except csv.Error as error:
            raise self._fail(_explain(error, 0)) from None
        except _UNREADABLE as error:
            raise self._fail(f"header cannot be read ({first_line(error)})") from None
        if wrong := re.search(_WRONG_BYTE, "".join(names)):
            raise self._fail(_not_utf8(0, wrong)).offering(**_LATIN)
        if not names:
            raise self._fail("no data rows")
        if names[0].lower().startswith("sep="):
            skip = self.skip_rows + 1
            message = f"the first line tells Excel the separator; pass skip_rows={skip} (--skip-rows {skip})"
            raise self._fail(message).offering(skip_rows=skip)
        if len(names) == 1 and (other := next((mark for mark in ";\t|," if mark in names[0]), None)):
            cure = f"pass separator={other!r} (--separator {flag_of(other)}), or leave it out"
            raise self._fail(f"columns are separated by {other!r}; {cure}").offering(separator=other)
        stripped = [name.strip() for name in names]
        if len(set(stripped)) == len(set(names)):
            names = stripped
        for name, count in Counter(filter(None, names)).items():
            if count > 1:
                places = [str(place) for place, other in enumerate(names, 1) if other == name]
                raise self._fail(f"column {show_name(name)!r} appears twice ({', '.join(places[:5])})")
        return [name or _unnamed(place) for place, name in enumerate(names)]

    def _scan(self, names: list[str], types: Mapping[str, Any] | None, rows: int | None = None) -> pl.DataFrame:
        # Unused columns are read too: without them a row with too many fields would not be detected.
        how: dict[str, Any] = {"schema_overrides": list(types.values())} if types else {"infer_schema_length": rows}
        source = self.path if self._content is None else self._content
        frame = pl.read_csv(source, n_rows=rows, **how, **self._options)
        return frame.rename(dict(zip(frame.columns, names, strict=True))) if len(set(names)) == len(names) else frame

    def _guess(self, inferred: list[str], names: list[str]) -> dict[str, Any]:
        if not inferred:
            return {}
        try:
            schema = self._scan(names, None, rows=1000).schema
        except _PROBLEMS:
            return {}
        simple = {name: pl.Float64 if schema[name].is_numeric() else schema[name] for name in inferred}
        return {name: dtype if dtype in (pl.Float64, pl.Boolean) else pl.String for name, dtype in simple.items()}

    def _parse(self, header: CsvHeader) -> pl.DataFrame:
        names, types, chosen = header.names, header.types, header.chosen
        try:
            frame = self._scan(names, types)
        except _PROBLEMS:
            self._find_wrong_row(len(names))
            try:
                frame = self._scan(names, dict.fromkeys(names, pl.String))
            except _PROBLEMS as error:
                raise self._fail(f"cannot be read ({first_line(error)})") from None
        # A row with too few fields has no last one, but so has a complete row whose last value is missing.
        if frame.height and frame.to_series(-1).null_count() and self._has_short_line(len(names)):
            self._find_wrong_row(len(names))
        self._refuse_large_fields(frame)
        if frame.height and not any(value is not None for value in frame.row(-1)):  # Blank lines may end a file.
            filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
            frame = frame.head(int(filled[-1]) + 1 if len(filled) else 0)
        return frame.select(chosen)

    def _refuse_large_fields(self, frame: pl.DataFrame) -> None:
        for column in frame.select(pl.col(pl.String)):
            lengths = column.str.len_bytes()
            if (lengths.max() or 0) > LARGEST_FIELD:  # type: ignore[operator]
                row = int((lengths > LARGEST_FIELD).arg_true()[0]) + 1
                raise self._fail(_too_large(row))

    def _has_short_line(self, fields: int) -> bool:
        with self._open(errors="surrogateescape") as file:
            return any(line.count(self.separator) < fields - 1 and not line.isspace() for line in file)

    def _find_wrong_row(self, fields: int | None = None) -> None:
        """Read the file the slow way and raise an error for the first row that is not a row."""
        row = -1
        try:
            with self._open() as file, large_fields():
                for row, values in enumerate(csv.reader(file, delimiter=self.separator, strict=True)):
                    if fields is not None and values and row and len(values) != fields:
                        message = f"row {row}: {len(values)} field{'s' * (len(values) != 1)}, expected {fields}"
                        cure = self._explain_fields(row, values, fields)
                        raise self._fail(message + cure.text).offering(**cure.changes)
        except UnicodeDecodeError:
            self._find_wrong_byte()
        except csv.Error as error:
            raise self._fail(_explain(error, row + 1)) from None
        except _UNREADABLE as error:
            raise self._fail(f"not a complete file ({first_line(error)})") from None

    def _explain_fields(self, row: int, values: list[str], fields: int) -> Remedy:
        """Return what may be the reason for a wrong number of fields near the top, or nothing."""
        if row <= _TITLES and len(values) > fields:
            with self._open(errors="surrogateescape") as file:
                lines = [line for _, line in zip(range(_TITLES + _MORE), file, strict=False)]
            counts = [len(line) for line in csv.reader(lines, delimiter=self.separator)]
            begin = next((place for place, count in enumerate(counts) if count == len(values)), 0)
            below = counts[begin:]
            if begin and len(below) > 2 and all(count in (0, len(values)) for count in below):
                skip = self.skip_rows + begin
                cure = f"pass skip_rows={skip} (--skip-rows {skip})"
                return Remedy(f". If the header is line {skip + 1} of the file, {cure}", {"skip_rows": skip})
        return Remedy("")

    def _find_wrong_byte(self) -> None:
        with self._open(errors="surrogateescape") as file:
            for row, line in enumerate(file):
                if wrong := re.search(_WRONG_BYTE, line):
                    raise self._fail(_not_utf8(row, wrong)).offering(**_LATIN)


def _unnamed(place: int) -> str:
    """Return what a column is called whose header is empty, by its place counted from 0; the first one has no name."""
    return f"column {place + 1}" if place else ""


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that have a header, or are the first."""
    return tuple(name for place, name in enumerate(names) if not place or name != _unnamed(place))


def _numbers_of(schema: Schema | None, chosen: Sequence[str]) -> list[str]:
    """Return the columns that hold numbers if every value is one."""
    if schema is None:
        return []
    if schema.wide:
        time = schema.time if schema.time in chosen else next(iter(chosen), "")
        return [name for name in chosen if name not in (time, *schema.categorical)]
    return [name for name in number_roles(schema) if name in chosen]


def _has_long_line(content: bytes | mmap.mmap) -> bool:
    """Whether a line is so long that one field may be too large."""
    begin = 0
    while len(content) - begin > LARGEST_FIELD:
        begin = content.rfind(b"\n", begin, begin + LARGEST_FIELD) + 1
        if not begin:
            return True
    return False


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _row(row: int) -> str:
    return f"row {row}" if row else "header"


def _explain(error: csv.Error, row: int) -> str:
    if "field limit" in str(error):
        return _too_large(row)
    return f"{_row(row)}: {error}; is a quotation mark left open?"


def _too_large(row: int) -> str:
    return f"{_row(row)}: field exceeds {LARGEST_FIELD >> 20} MiB; is a quotation mark left open?"


def _not_utf8(row: int, wrong: re.Match[str]) -> str:
    byte = ord(wrong[0]) - 0xDC00
    cure = 'pass its encoding, such as encoding="latin-1" (--encoding latin-1)'
    return f"{_row(row)}: byte 0x{byte:02X} is not UTF-8; {cure}"
