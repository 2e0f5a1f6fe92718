"""What was written about a run while it trained: read again, also while it still grows.

Nothing here needs torch. Lines that are damaged, and a last one that is still being written, are left out.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.plain_file import opened, read_file
from neuro_divergent.forecasting.run_directory import EVENTS, HISTORY
from neuro_divergent.training.history import History

_ROW = b'{"event":"row",'
_LONGEST_LINE = 4 * 1024**2
_VOIDING = ("start", "rolled_back")
_LONGEST_READ = 64 * 1024**2


@dataclass
class EventFile:
    """Reads ``events.jsonl`` of a run from where it stopped before.

    Attributes:
        path: The file.
        offset: Bytes read so far; always the end of a line.
    """

    path: Path
    offset: int = 0
    _inode: int = field(default=0, repr=False)

    def read_lines(self, *, limit: int = _LONGEST_READ) -> list[bytes]:
        """Return complete lines that were added since the last time; a file that was begun anew is read from its start.

        Args:
            limit: Bytes to read at most; the rest comes the next time.
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
            return []
        end = content.rfind(b"\n") + 1
        if not end and len(content) >= min(limit, _LONGEST_LINE):
            end = len(content)  # not a line of ours
        self.offset += end
        return content[:end].split(b"\n")[:-1]

    def read(self, *, limit: int = _LONGEST_READ) -> list[dict[str, Any]]:
        """Return events that were added since the last time."""
        return list(parse_events(self.read_lines(limit=limit)))


def parse_events(lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of lines; what is not one is left out. All their numbers are finite."""
    for line in lines:
        try:
            text = line.decode("utf-8")
            event = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
            if "\\ud" in text or "\\uD" in text:
                json.dumps(event, ensure_ascii=False).encode("utf-8")  # half a character cannot be encoded
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str) and _is_step(event.get("step")):
            yield event


def read_events(run: Path, *kinds: str) -> list[dict[str, Any]]:
    """Return all events of a run but the rows, or those of some kinds, in their order.

    Args:
        run: Its directory.
        kinds: Such as ``"start"``, ``"layers"``, ``"checkpoint"``; also ``"row"``.
    """
    lines = _all_lines(run)
    if "row" not in kinds:
        lines = [line for line in lines if not line.startswith(_ROW)]
    return [event for event in parse_events(lines) if not kinds or event["event"] in kinds]


def read_history(run: Path) -> pl.DataFrame:
    """Return the history of a run: that which was kept at its end if nothing happened since, or the events' rows.

    The columns are those of ``Forecaster.history``. An unreadable history is an empty one.
    """
    kept, grown = run / HISTORY, run / EVENTS
    try:
        is_current = not grown.exists() or kept.stat().st_mtime_ns >= grown.stat().st_mtime_ns
        if is_current:
            return pl.read_parquet(read_file(kept))
    except (OSError, NeuroDivergentError, pl.exceptions.PolarsError):
        pass
    return history_of(_all_lines(run))


def history_of(lines: Sequence[bytes]) -> pl.DataFrame:
    """Return the rows among the lines of events, without those that became void, as a table."""
    rows: list[bytes] = []
    pieces: list[tuple[int, int]] = []  # how many rows there were when those after this step became void
    for line in lines:
        if line.startswith(_ROW):
            if line.endswith(b"}"):
                rows.append(line)
        else:
            pieces.extend((len(rows), _last_row(event)) for event in parse_events([line]) if event["event"] in _VOIDING)
    empty = History().frame()
    if not rows:
        return empty
    frame = _as_frame(rows)
    types: dict[str, Any] = {
        **empty.schema,
        **{name: pl.Float64 for name in frame.columns if name not in ("event", "time", *empty.columns)},
    }
    missing = [pl.lit(None).alias(name) for name in types if name not in frame.columns]
    frame = frame.with_columns(missing).select(pl.col(name).cast(dtype, strict=False) for name, dtype in types.items())
    return _without_void(frame, pieces)


def layers_of(events: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Return norms by layer: ``step``, ``layer``, ``gradient``, ``weight``, ``update``, from ``start`` and ``layers``.

    ``update`` divided by ``weight`` is by how much a step changes a layer.
    """
    names: list[str] = []
    found: list[tuple[int, dict[str, Any]]] = []
    for event in events:
        if event["event"] in _VOIDING:
            found = [(step, item) for step, item in found if step <= event["step"]]
        if event["event"] == "start" and isinstance(event.get("layers"), list):
            names = [str(name) for name in event["layers"]]
        if event["event"] == "layers" and all(
            isinstance(event.get(key), list) and len(event[key]) == len(names) for key in _NORMS
        ):
            found.append(
                (event["step"], {"layer": names, **{key: [_number(value) for value in event[key]] for key in _NORMS}})
            )
    schema = {"step": pl.Int64, "layer": pl.String, **dict.fromkeys(_NORMS, pl.Float64)}
    rows = [
        (step, *values)
        for step, item in found
        for values in zip(item["layer"], *(item[key] for key in _NORMS), strict=True)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


_NORMS = ("gradient", "weight", "update")


def _all_lines(run: Path) -> list[bytes]:
    file = EventFile(run / EVENTS)
    lines: list[bytes] = []
    before = -1
    while before < file.offset:
        before = file.offset
        lines += file.read_lines()
    return lines


def _as_frame(rows: list[bytes]) -> pl.DataFrame:
    """Parse rows, each to one of a table; where one is damaged, one after the other."""
    try:
        frame = pl.read_ndjson(io.BytesIO(b"\n".join(rows)), infer_schema_length=None)
        if frame.height == len(rows) and _is_plain(frame):
            return frame
    except pl.exceptions.PolarsError:
        pass
    events = [next(parse_events([row]), {}) for row in rows]
    whole = [name for name, dtype in History().frame().schema.items() if dtype == pl.Int64]
    names = dict.fromkeys((*whole, *(name for event in events for name in event if name != "event")))
    return pl.DataFrame(
        {
            name: pl.Series(
                [event.get(name) if _is_step(event.get(name)) else None for event in events], dtype=pl.Int64
            )
            if name in whole
            else pl.Series([_number(event.get(name)) for event in events], dtype=pl.Float64)
            for name in names
        }
    )


def _is_plain(frame: pl.DataFrame) -> bool:
    """Whether a table has nothing but numbers that a row may have."""
    numbers = [dtype for name, dtype in frame.schema.items() if name != "event"]
    finite = frame.select(pl.col(pl.Float32, pl.Float64).is_finite().all())
    return (
        all(dtype.is_numeric() or dtype == pl.Null for dtype in numbers)
        and frame.schema.get("step") == pl.Int64
        and frame.schema.get("epoch", pl.Int64) == pl.Int64
        and all(finite.row(0) if finite.width else ())
        and bool((frame["step"] >= 0).all())
    )


def _without_void(frame: pl.DataFrame, pieces: list[tuple[int, int]]) -> pl.DataFrame:
    """Take away rows of steps that training came behind again later."""
    limits = [2**63 - 1] * len(pieces)
    following = 2**63 - 1
    for place in range(len(pieces) - 1, -1, -1):
        following = min(following, pieces[place][1])
        limits[place] = following
    parts, begin = [], 0
    for (end, _), limit in zip(pieces, limits, strict=True):
        parts.append(frame[begin:end].filter(pl.col("step") <= limit))
        begin = end
    return pl.concat([*parts, frame[begin:].filter(pl.col("step").is_not_null())])


def _last_row(event: dict[str, Any]) -> int:
    """Return the step of the last row that counts when training starts or goes back; files of old do not say."""
    told = event.get("last_row", event["step"])
    return told if _is_step(told) else -1


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if isinstance(value, float) or abs(value) < 2**63 else None


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _no_constant(name: str) -> None:
    raise ValueError(name)
