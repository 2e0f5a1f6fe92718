"""Reads the rows of rounds, also while the federation runs.

Nothing here needs torch. Lines that are damaged, and one that is still being written, are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import opened
from neuro_divergent.runs.values import count, number

_MOST_BYTES = 256 * 1024**2  # of a file, from its end
_BYTES_AT_ONCE = 16 * 1024**2
_LONGEST_NAME, _LONGEST_REASON = 200, 1000


@dataclass(frozen=True)
class RoundRow:
    """What happened in a round; what is not known is ``None``.

    Attributes:
        round: Number of the round, from 1.
        time: When it began, in seconds since 1970.
        seconds: How long it took.
        clients: How many clients there were.
        sampled: How many of them were asked.
        participants: Those whose update counted.
        refused: Those whose update did not count, and why.
        dropped: Those that did not answer.
        is_void: Whether there were too few updates, so that the weights stayed as they were.
        change: Norm of the change of the shared weights.
        loss: Mean training loss of the participants.
        mean_norm: Mean norm of their updates.
        max_norm: Largest norm of their updates.
        examples: Training windows of the participants.
        bytes_down: Bytes that were sent to clients.
        bytes_up: Bytes that came from clients.
        epsilon: Privacy budget that was spent after the round.
    """

    round: int
    time: float | None = None
    seconds: float | None = None
    clients: int | None = None
    sampled: int | None = None
    participants: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    is_void: bool = False
    change: float | None = None
    loss: float | None = None
    mean_norm: float | None = None
    max_norm: float | None = None
    examples: int | None = None
    bytes_down: int | None = None
    bytes_up: int | None = None
    epsilon: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the file has them."""
        lists = {"participants": list(self.participants), "dropped": list(self.dropped)}
        return {**asdict(self), **lists, "refused": dict(self.refused)}


class RoundReader:
    """Reads a file of rows incrementally.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = self._offset = 0
        self._rows: dict[int, RoundRow] = {}
        self._names: dict[str, str] = {}
        self._sorted: tuple[RoundRow, ...] = ()

    def read(self) -> tuple[RoundRow, ...]:
        """Return all rows in the order of rounds; of a round that was done again, the last one."""
        found = [row for line in self._new_lines() if (row := self._parse(line)) is not None]
        if found:
            self._rows |= {row.round: row for row in found}
            self._sorted = tuple(self._rows[place] for place in sorted(self._rows))
        return self._sorted

    def _begin_again(self, inode: int, offset: int = 0) -> None:
        self._inode, self._offset = inode, offset
        self._rows, self._names, self._sorted = {}, {}, ()

    def _new_lines(self) -> Iterator[bytes]:
        """Yield complete lines that were added since the last time; a file that was replaced is read from its start."""
        try:
            with opened(self._path) as handle:
                found = os.fstat(handle)
                if found.st_ino != self._inode or found.st_size < self._offset:
                    self._begin_again(found.st_ino, max(0, found.st_size - _MOST_BYTES))
                os.lseek(handle, self._offset, os.SEEK_SET)
                while content := os.read(handle, _BYTES_AT_ONCE):
                    end = content.rfind(b"\n") + 1
                    if not end and len(content) < _BYTES_AT_ONCE:
                        return  # a line that is being written
                    end = end or len(content)  # not one of our lines
                    self._offset += end
                    yield from content[:end].split(b"\n")
                    os.lseek(handle, self._offset, os.SEEK_SET)
        except NeuroDivergentError:
            self._begin_again(0)

    def _parse(self, line: bytes) -> RoundRow | None:
        """Return the row of a line, or ``None`` if it is none."""
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, dict) or (place := count(values.get("round"))) is None:
            return None
        refused = values.get("refused")
        reasons = refused.items() if isinstance(refused, dict) else ()
        numbers: dict[str, Any] = {name: number(values.get(name)) for name in _NUMBERS}
        counts: dict[str, Any] = {name: count(values.get(name)) for name in _COUNTS}
        return RoundRow(
            round=place,
            participants=self._texts(values.get("participants")),
            refused=tuple((self._name(name), one_line(reason, _LONGEST_REASON)) for name, reason in reasons),
            dropped=self._texts(values.get("dropped")),
            is_void=values.get("is_void") is True,
            **numbers,
            **counts,
        )

    def _texts(self, values: object) -> tuple[str, ...]:
        if not isinstance(values, list):
            return ()
        return tuple(self._name(value) for value in values if isinstance(value, str))

    def _name(self, value: str) -> str:
        """Return a name; those of all rounds share their text in memory."""
        known = self._names.get(value)
        if known is None:
            known = self._names[value] = one_line(value, _LONGEST_NAME)
        return known


_NUMBERS = ("time", "seconds", "change", "loss", "mean_norm", "max_norm", "epsilon")
_COUNTS = ("clients", "sampled", "examples", "bytes_down", "bytes_up")


def one_line(value: object, most: int) -> str:
    """Return text on one line, without control characters; an empty one for what is no text."""
    if not isinstance(value, str):
        return ""
    line = " ".join(value[:most].split())
    return line if line.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in line)
