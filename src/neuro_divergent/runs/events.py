"""Reads the events of a run, also while it trains.

Nothing here needs torch. Lines that are damaged, and a last one that is still being written, are left out.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import opened
from neuro_divergent.runs.directory import EVENTS
from neuro_divergent.runs.values import is_step, number

ROW = b'{"event":"row",'
_NORMS = ("gradient", "weight", "update")
_LONGEST_LINE = 4 * 1024**2
VOIDING = ("start", "rolled_back")
_LONGEST_READ = 64 * 1024**2


@dataclass
class EventFile:
    """Reads ``events.jsonl`` of a run incrementally.

    Attributes:
        path: The file.
        offset: Bytes read so far; always the end of a line.
    """

    path: Path
    offset: int = 0
    _inode: int = field(default=0, repr=False)

    def read_block(self, *, limit: int = _LONGEST_READ) -> bytes:
        """Return complete lines that were added since the last time; a file that was replaced is read from its start.

        Beyond ``limit`` bytes, the rest comes the next time.
        """
        try:
            with opened(self.path) as handle:
                found = os.fstat(handle)
                if found.st_size < self.offset or (self._inode and found.st_ino != self._inode):
                    self.offset = 0
                self._inode = found.st_ino
                os.lseek(handle, self.offset, os.SEEK_SET)
                content = os.read(handle, min(limit, found.st_size - self.offset))
        except NeuroDivergentError:
            return b""
        end = content.rfind(b"\n") + 1
        if not end and len(content) >= min(limit, _LONGEST_LINE):
            end = len(content)  # not one of our lines
        self.offset += end
        return content[:end]

    def blocks(self) -> Iterator[bytes]:
        """Yield complete lines that were added since the last time, some megabytes at once, until there are no more."""
        before = -1
        while before < self.offset:
            before = self.offset
            if block := self.read_block():
                yield block

    def read_lines(self, *, limit: int = _LONGEST_READ) -> list[bytes]:
        """Return what ``read_block`` does, line by line."""
        return self.read_block(limit=limit).split(b"\n")[:-1]

    def read(self, *, limit: int = _LONGEST_READ) -> list[dict[str, Any]]:
        """Return events that were added since the last time."""
        return list(parse_events(self.read_lines(limit=limit)))


def parse_events(lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of lines; what is not one is left out. All their numbers are finite."""
    for line in lines:
        try:
            text = line.decode("utf-8")
            event = json.loads(text, parse_constant=_no_constant, parse_float=_finite_number)
            if "\\ud" in text or "\\uD" in text:
                json.dumps(event, ensure_ascii=False).encode("utf-8")  # half a character cannot be encoded
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str) and is_step(event.get("step")):
            yield event


def read_events(run: str | Path, *kinds: str) -> list[dict[str, Any]]:
    """Return all events of a run but the rows, or those of some kinds, such as ``"start"`` or ``"row"``, in order.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> _ = forecaster.fit(nd.datasets.air_passengers(), run="runs/flights")
        >>> [(event["event"], event["step"]) for event in nd.runs.read_events("runs/flights", "start", "row", "end")]
        [('start', 0), ('row', 10), ('row', 20), ('end', 20)]
    """
    found: list[dict[str, Any]] = []
    for block in EventFile(Path(run) / EVENTS).blocks():
        lines = block.split(b"\n")
        if "row" not in kinds:
            lines = [line for line in lines if not line.startswith(ROW)]
        found += [event for event in parse_events(lines) if not kinds or event["event"] in kinds]
    return found


def layers_of(events: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return norms by layer: ``step``, ``layer``, ``gradient``, ``weight``, ``update``, from ``start`` and ``layers``.

    ``update`` divided by ``weight`` is by how much a step changes a layer.
    """
    names: list[str] = []
    found: list[tuple[Any, ...]] = []
    for event in events:
        if event["event"] in VOIDING:
            found = [row for row in found if row[0] <= event["step"]]
        if event["event"] == "start" and isinstance(event.get("layers"), list):
            names = [str(name) for name in event["layers"]]
        norms: list[Any] = [event.get(key) for key in _NORMS]
        if event["event"] == "layers" and all(isinstance(item, list) and len(item) == len(names) for item in norms):
            numbers = (map(number, item) for item in norms)
            found += [(event["step"], *row) for row in zip(names, *numbers, strict=True)]
    schema = {"step": pl.Int64, "layer": pl.String, **dict.fromkeys(_NORMS, pl.Float64)}
    return pl.DataFrame(found, schema=schema, orient="row")


def last_row(event: dict[str, Any]) -> int:
    """Return the step of the last row that counts when training starts or goes back; older files do not have it."""
    row = event.get("last_row", event["step"])
    return row if is_step(row) else -1


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _no_constant(name: str) -> None:
    raise ValueError(name)
