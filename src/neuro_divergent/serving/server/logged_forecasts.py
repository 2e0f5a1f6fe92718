"""Reads a forecast log as tables, in the form that checks of drift and comparisons of versions take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.serving.calendar.step import Step
from neuro_divergent.serving.calendar.time_type import TimeType
from neuro_divergent.serving.server.forecast_log import FORMAT, SUFFIX


class _Header(msgspec.Struct):
    format: int
    model: str
    model_version: str
    id: str | None
    time: str
    target: str
    time_type: str
    time_unit: str | None
    time_zone: str | None
    frequency: str
    quantiles: list[float]


class _Line(msgspec.Struct):
    made_at: float
    forecast: list[float | None]
    id: str | int | None = None
    end: int | None = None
    times: list[int] | None = None
    quantiles: list[list[float | None]] = []
    y: list[float | None] | None = None


_HEADER, _LINE = msgspec.json.Decoder(_Header), msgspec.json.Decoder(_Line)


def read_forecasts(directory: str | Path, *, actual: Any = None) -> pl.DataFrame:
    """Return the logged forecasts of a model, one row per series and time, the latest answer of each cut-off.

    Series that were sent without an id or an end cannot be compared with anything and are left out.

    Args:
        directory: Of the log of one model: ``LOG/NAME``.
        actual: Table with the observed values, with the columns of training; they become the column ``actual``, which
            ``forecast_errors`` needs. Rows without one have null.

    Returns:
        Id, time, ``cutoff``, ``step``, ``forecast``, ``q-0.1`` and so on, ``model_version`` and ``made_at``.

    Raises:
        InputError: If there is no log with such forecasts.
        UntrustedFileError: If a part is damaged.

    Examples:
        >>> import neuro_divergent as nd
        >>> import json
        >>> from pathlib import Path
        >>> names = {"model": "sales", "model_version": "1f", "id": "shop", "time": "day", "target": "units"}
        >>> head = {"format": 1, **names, "time_type": "integer", "time_unit": None, "time_zone": None}
        >>> lines = [head | {"frequency": "1", "quantiles": []}]
        >>> lines += [{"made_at": 0.0, "id": "A", "end": 7, "times": [8, 9], "forecast": [5.0, 6.0]}]
        >>> _ = Path("part.jsonl").write_text("".join(json.dumps(line) + chr(10) for line in lines))
        >>> nd.serving.read_forecasts(".").select("shop", "day", "cutoff", "step", "forecast").rows()
        [('A', 8, 7, 1, 5.0), ('A', 9, 7, 2, 6.0)]
    """
    frames, header = [], None
    for header, lines in _read_parts(Path(directory)):
        usable = [line for line in lines if line.times is not None and (line.id is not None or header.id is None)]
        if usable:
            frames.append(_frame(header, usable))
    if header is None or not frames:
        raise InputError(f"{directory}: holds no logged forecast with a time and an id.")
    keys = [header.id or DEFAULT_ID, header.time]
    table = pl.concat(frames, how="diagonal_relaxed").sort("made_at", maintain_order=True)
    table = table.unique([*keys, "cutoff", "model_version"], keep="last", maintain_order=True).sort(*keys, "cutoff")
    return table if actual is None else _with_actual(table, actual, header)


def read_inputs(directory: str | Path) -> pl.DataFrame:
    """Return the histories that were logged with the forecasts, one row per series and time, the latest value of each.

    Args:
        directory: Of the log of one model: ``LOG/NAME``; it must have been written with the inputs.

    Raises:
        InputError: If it holds none.
        UntrustedFileError: If a part is damaged.

    Examples:
        >>> import neuro_divergent as nd
        >>> import json
        >>> from pathlib import Path
        >>> names = {"model": "sales", "model_version": "1f", "id": "shop", "time": "day", "target": "units"}
        >>> head = {"format": 1, **names, "time_type": "integer", "time_unit": None, "time_zone": None}
        >>> lines = [head | {"frequency": "1", "quantiles": []}]
        >>> lines += [{"made_at": 0.0, "id": "A", "end": 7, "times": [8], "forecast": [5.0], "y": [4.0, 4.5]}]
        >>> _ = Path("part.jsonl").write_text("".join(json.dumps(line) + chr(10) for line in lines))
        >>> nd.serving.read_inputs(".").rows()
        [('A', 6, 4.0), ('A', 7, 4.5)]
    """
    frames, header = [], None
    for header, lines in _read_parts(Path(directory)):
        step = Step.parse(header.frequency, _type_of(header))
        for line in lines:
            if not line.y or line.end is None or (line.id is None and header.id is not None):
                continue
            times = step.time_at(np.array([line.end]), np.arange(1 - len(line.y), 1))
            frames.append(
                pl.DataFrame(
                    {
                        header.id or DEFAULT_ID: pl.Series([_name(line, header)]).new_from_index(0, len(line.y)),
                        header.time: pl.Series(times, dtype=pl.Int64).cast(_dtype(header)),
                        header.target: pl.Series(line.y, dtype=pl.Float64),
                        "made_at": pl.Series([line.made_at]).new_from_index(0, len(line.y)),
                    }
                )
            )
    if header is None or not frames:
        raise InputError(f"{directory}: holds no logged inputs with times; serve with --log-inputs.")
    keys = [header.id or DEFAULT_ID, header.time]
    table = pl.concat(frames, how="vertical_relaxed").sort("made_at", maintain_order=True)
    return table.unique(keys, keep="last", maintain_order=True).sort(keys).drop("made_at")


def _read_parts(directory: Path) -> list[tuple[_Header, list[_Line]]]:
    parts = []
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        first, *rest = path.read_bytes().splitlines() or [b""]
        try:
            header = _HEADER.decode(first)
            if header.format > FORMAT:
                raise NewerFormatError(path, header.format, FORMAT)
            parts.append((header, [_LINE.decode(line) for line in rest]))
        except msgspec.MsgspecError as error:
            raise UntrustedFileError(f"{path}: is not part of a forecast log ({error}).") from None
    return parts


def _frame(header: _Header, lines: list[_Line]) -> pl.DataFrame:
    times = [np.asarray(line.times, np.int64) for line in lines]
    lengths = [len(item) for item in times]
    dtype = _dtype(header)
    ends = pl.Series([line.end for line in lines], dtype=pl.Int64)
    rows = np.repeat(np.arange(len(lines)), lengths)
    columns: dict[str, pl.Series] = {
        header.id or DEFAULT_ID: pl.Series([_name(line, header) for line in lines]).gather(rows),
        header.time: pl.Series(np.concatenate(times)).cast(dtype),
        "cutoff": ends.gather(rows).cast(dtype),
        "step": pl.Series(np.concatenate([np.arange(1, length + 1) for length in lengths])),
        "forecast": pl.Series([value for line in lines for value in line.forecast], dtype=pl.Float64),
    }
    for place, quantile in enumerate(header.quantiles):
        values = [value for line in lines for value in line.quantiles[place]]
        columns[f"q-{quantile:g}"] = pl.Series(values, dtype=pl.Float64)
    columns["model_version"] = pl.Series([header.model_version]).new_from_index(0, len(rows))
    made = pl.Series([line.made_at for line in lines], dtype=pl.Float64).gather(rows)
    columns["made_at"] = (made * 1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
    return pl.DataFrame(columns)


def _with_actual(table: pl.DataFrame, actual: Any, header: _Header) -> pl.DataFrame:
    source = read_table(actual)
    frame, name = source.frame, header.id or DEFAULT_ID
    keys = [header.time] if header.id is None and name not in frame.columns else [name, header.time]
    for column in (*keys, header.target):
        if column not in frame.columns:
            raise source.lacks(column)
    frame = frame.with_columns(check_times(frame[header.time], source.error).cast(table.schema[header.time]))
    if name in keys and frame.schema[name] != table.schema[name]:
        table = table.with_columns(pl.col(name).cast(pl.String))
        frame = frame.with_columns(pl.col(name).cast(pl.String))
    seen = frame.select(*keys, pl.col(header.target).cast(pl.Float64).alias("actual"))
    return table.join(seen.unique(keys, keep="last"), on=keys, how="left", maintain_order="left")


def _name(line: _Line, header: _Header) -> str | int:
    """Return the id of a series; a model of one series calls it like its target."""
    return header.target if line.id is None else line.id


def _type_of(header: _Header) -> TimeType:
    return TimeType(header.time_type, header.time_unit, header.time_zone)  # type: ignore[arg-type]


def _dtype(header: _Header) -> pl.DataType:
    if header.time_type == "date":
        return pl.Date()
    if header.time_type == "integer":
        return pl.Int64()
    return pl.Datetime(header.time_unit or "us", header.time_zone)  # type: ignore[arg-type]
