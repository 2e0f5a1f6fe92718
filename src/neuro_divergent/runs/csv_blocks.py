"""CSV files that may be larger than memory, as blocks of complete lines."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage.regular_file import opened

_BYTES_AT_ONCE = 4 * 1024**2
_MOST_BYTES = 16 * 1024**3


class CsvBlock(NamedTuple):
    """Some lines of a file: the first byte, the byte after the last, and what they hold, as text."""

    begin: int
    end: int
    frame: pl.DataFrame


class CsvBlocks:
    """A CSV file with a header, all of whose values are read as text.

    Raises:
        UntrustedFileError: If it is no regular file, too large, or has a line of several megabytes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with opened(path) as handle:
            self._size = os.fstat(handle).st_size
            if self._size > _MOST_BYTES:
                raise UntrustedFileError(f"{path}: {self._size:,} bytes, at most {_MOST_BYTES:,} are read.")
            content = self._read(handle, 0, _BYTES_AT_ONCE)
        self._header = content[: self._first_line(content)]
        if self._header and not self._header.endswith(b"\n"):
            self._header += b"\n"
        self.columns = tuple(_parsed(self._header, None).columns)

    @property
    def has_rows(self) -> bool:
        """Whether something follows the header."""
        return self._size > len(self._header)

    def __iter__(self) -> Iterator[CsvBlock]:
        return self.blocks()

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[CsvBlock]:
        """Give the file block by block, with the wanted columns or with all."""
        begin = len(self._header)
        with opened(self._path) as handle:
            while begin < self._size:
                content = self._read(handle, begin, _BYTES_AT_ONCE)
                end = self._complete_lines(content, is_last=begin + len(content) == self._size)
                yield CsvBlock(begin, begin + end, _parsed(self._header + content[:end], columns))
                begin += end

    def read(self, begin: int, end: int) -> pl.DataFrame:
        """Return the lines between two bytes, where blocks begin or end."""
        with opened(self._path) as handle:
            return _parsed(self._header + self._read(handle, begin, end - begin), None)

    def read_all(self) -> pl.DataFrame:
        """Return all lines."""
        return self.read(len(self._header), self._size)

    def _read(self, handle: int, begin: int, size: int) -> bytes:
        """Read some bytes, as many as there are; a network disk may give them in several parts."""
        parts, left = [], min(size, self._size - begin)
        while left > 0:
            part = os.pread(handle, left, begin)
            if not part:
                raise UntrustedFileError(f"{self._path}: changed while it was read.")
            parts.append(part)
            begin, left = begin + len(part), left - len(part)
        return b"".join(parts)

    def _first_line(self, content: bytes) -> int:
        """Return where the first line ends; a line break in quotes is none."""
        place, quotes = -1, 0
        while (following := content.find(b"\n", place + 1)) >= 0:
            quotes += content.count(b'"', place + 1, following)
            place = following
            if quotes % 2 == 0:
                return place + 1
        if len(content) == self._size:
            return len(content)
        raise self._too_long()

    def _complete_lines(self, content: bytes, *, is_last: bool) -> int:
        """Return where the last complete line ends; a line break in quotes is none."""
        if is_last:
            return len(content)
        place = content.rfind(b"\n")
        quotes = content.count(b'"', 0, max(place, 0))
        while place >= 0 and quotes % 2:
            earlier = content.rfind(b"\n", 0, place)
            quotes -= content.count(b'"', max(earlier, 0), place)
            place = earlier
        if place < 0:
            raise self._too_long()
        return place + 1

    def _too_long(self) -> UntrustedFileError:
        return UntrustedFileError(f"{self._path}: has a line of more than {_BYTES_AT_ONCE:,} bytes.")


def _parsed(content: bytes, columns: Sequence[str] | None) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(content), columns=columns, infer_schema=False)
