"""Reads the history of a run from its events as a table, also while it trains."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.runs.directory import EVENTS, HISTORY
from neuro_divergent.runs.events import ROW, VOIDING, EventFile, last_row, parse_events
from neuro_divergent.runs.values import count, number
from neuro_divergent.training.history import History

_BEGIN = b'{"event":'
_COLUMNS = b'{"event":"columns",'
_NEVER = 2**63 - 1
_NOT_OF_ROWS = ("event", "time", "last_row")

Piece = tuple[int, int]
"""How many rows there were when those after a step became void, and that step."""


def read_history(run: str | Path) -> pl.DataFrame:
    """Return the history of a run: the file written at its end if that is current, or the rows of its events.

    The columns are those of ``Forecaster.history``. An unreadable history is an empty one.

    Examples:
        >>> import neuro_divergent as nd
        >>> training = nd.TrainingConfig(max_steps=30, validate_every=10)
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=training)
        >>> _ = forecaster.fit(nd.datasets.air_passengers(), run="runs/flights")
        >>> history = nd.runs.read_history("runs/flights")
        >>> history.columns[:4], history["step"].to_list()
        (['step', 'epoch', 'seconds', 'train_loss'], [10, 20, 30])
        >>> history.equals(forecaster.history)
        True
    """
    kept, grown = Path(run) / HISTORY, Path(run) / EVENTS
    try:
        is_current = not grown.exists() or kept.stat().st_mtime_ns >= grown.stat().st_mtime_ns
        if is_current:
            return pl.read_parquet(read_file(kept))
    except (OSError, NeuroDivergentError, pl.exceptions.PolarsError):
        pass
    table = RowTable()
    for block in EventFile(grown).blocks():
        table.add(block)
    return table.frame


class RowTable:
    """Rows of events that are handed over block by block, each of whole lines.

    A block is parsed in one go by the columns that ``columns`` events have named. Where that fails, because a line is
    damaged or the file is of an earlier version, its lines are parsed one by one.

    Attributes:
        frame: The rows that count.
    """

    def __init__(self, frame: pl.DataFrame | None = None) -> None:
        self.frame = History().frame() if frame is None else frame
        self._named: dict[str, None] = {}

    def add(self, block: bytes) -> None:
        """Add more lines."""
        self._learn_columns(block)
        rows, pieces = self._parse(block)
        lowest = min((step for _, step in pieces), default=_NEVER)
        before = self.frame if lowest == _NEVER else self.frame.filter(pl.col("step") <= lowest)
        rows = _without_void(rows, pieces)
        self.frame = pl.concat([before, rows], how="diagonal") if before.height else rows

    def _learn_columns(self, block: bytes) -> None:
        place = block.find(_COLUMNS)
        while place >= 0:
            end = block.find(b"\n", place)
            for event in parse_events([block[place : None if end < 0 else end]]):
                names = event.get("names")
                if isinstance(names, list):
                    self._named.update(dict.fromkeys(name for name in names if isinstance(name, str)))
            place = block.find(_COLUMNS, place + 1)

    def _parse(self, block: bytes) -> tuple[pl.DataFrame, list[Piece]]:
        if names := list(self._named):
            if found := _parse_whole(block, names):
                return found
            whole = [line for line in block.split(b"\n") if line.startswith(_BEGIN) and line.endswith(b"}")]
            if found := _parse_whole(b"".join(line + b"\n" for line in whole), names):
                return found
        return _parse_lines(block.split(b"\n"))


def _parse_whole(block: bytes, names: list[str]) -> tuple[pl.DataFrame, list[Piece]] | None:
    """Parse all lines at once; ``None`` where one of them is not what it should be."""
    empty = History().frame()
    types: dict[str, Any] = {name: empty.schema.get(name, pl.Float64) for name in (*empty.columns, *names)}
    try:
        schema = {"event": pl.String, "last_row": pl.Int64, **types}
        frame = pl.read_ndjson(io.BytesIO(block), schema=schema)
    except pl.exceptions.PolarsError:
        return None
    is_row = frame["event"] == "row"
    rows = frame.filter(is_row).select(*types)
    if frame.height != block.count(b"\n") or frame["event"].null_count() or not _is_plain(rows):
        return None
    voiding = frame.select("event", "last_row", before=is_row.cum_sum()).filter(pl.col("event").is_in(VOIDING))
    return rows, voiding.select("before", pl.col("last_row").fill_null(-1)).rows()


def _parse_lines(lines: Sequence[bytes]) -> tuple[pl.DataFrame, list[Piece]]:
    """Parse rows and what makes them void, one after the other where some are damaged."""
    rows: list[bytes] = []
    pieces: list[Piece] = []
    for line in lines:
        if line.startswith(ROW):
            if line.endswith(b"}"):
                rows.append(line)
        else:
            pieces.extend((len(rows), last_row(event)) for event in parse_events([line]) if event["event"] in VOIDING)
    empty = History().frame()
    if not rows:
        return empty, pieces
    frame = _as_frame(rows)
    types: dict[str, Any] = {
        **empty.schema,
        **{name: pl.Float64 for name in frame.columns if name not in (*_NOT_OF_ROWS, *empty.columns)},
    }
    missing = [pl.lit(None).alias(name) for name in types if name not in frame.columns]
    frame = frame.with_columns(missing).select(pl.col(name).cast(dtype, strict=False) for name, dtype in types.items())
    return frame, pieces


def _as_frame(rows: list[bytes]) -> pl.DataFrame:
    """Parse rows, each to one of a table; where one is damaged, one after the other."""
    try:
        frame = pl.read_ndjson(io.BytesIO(b"\n".join(rows)), infer_schema_length=None)
        if frame.height == len(rows) and _is_plain(frame):
            return frame
    except pl.exceptions.PolarsError:
        pass
    events = [next(parse_events([row]), {}) for row in rows]
    integers = [name for name, dtype in History().frame().schema.items() if dtype == pl.Int64]
    names = dict.fromkeys((*integers, *(name for event in events for name in event if name != "event")))
    return pl.DataFrame(
        {
            name: pl.Series([count(event.get(name)) for event in events], dtype=pl.Int64)
            if name in integers
            else pl.Series([number(event.get(name)) for event in events], dtype=pl.Float64)
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
        and not frame["step"].null_count()
        and bool((frame["step"] >= 0).all())
    )


def _without_void(frame: pl.DataFrame, pieces: list[Piece]) -> pl.DataFrame:
    """Remove rows of steps that training went back behind later."""
    limits = list(accumulate((step for _, step in reversed(pieces)), min))[::-1]
    parts, begin = [], 0
    for (end, _), limit in zip(pieces, limits, strict=True):
        parts.append(frame[begin:end].filter(pl.col("step") <= limit))
        begin = end
    return pl.concat([*parts, frame[begin:].filter(pl.col("step").is_not_null())])
