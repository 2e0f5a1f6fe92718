"""A log of the forecasts that were made, for checks of drift and comparisons of versions."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.response import by_series

if TYPE_CHECKING:
    from neuro_divergent.serving.prepared import Prepared
    from neuro_divergent.serving.server.metrics import Metrics
    from neuro_divergent.serving.server.served_version import ServedVersion

FORMAT = 1
SUFFIX = ".jsonl"
_MOST_SERIES = 20_000  # that wait to be written
_PART_BYTES = 8 * 1024**2
_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class ForecastLog:
    """Writes forecasts to files of JSON lines, one directory per model, from a thread of its own.

    A part holds forecasts of one version: first a line that describes the columns, then one line per series. It is
    written complete or not at all, when it is large enough or old enough. Where the disk is too slow, forecasts are
    left out and counted; requests never wait. ``read_forecasts`` reads the parts as a table.

    Series without an end are logged with steps instead of times. Tensors of the open inference protocol have neither
    ids nor times, and are not logged.

    Args:
        directory: Where the parts are written.
        metrics: Where the series that were written, left out or lost are counted.
        with_inputs: Whether the histories are logged as well.
        part_seconds: Age at which a part is written.
    """

    def __init__(
        self, directory: Path, metrics: Metrics, *, with_inputs: bool = False, part_seconds: float = 60.0
    ) -> None:
        self._directory = directory
        self._metrics = metrics
        self._with_inputs = with_inputs
        self._part_seconds = part_seconds
        self._queue: queue.SimpleQueue[_Record | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._parts: dict[tuple[str, str], _Part] = {}
        self._number = 0
        directory.mkdir(parents=True, exist_ok=True)
        self._thread = threading.Thread(target=self._work, name="forecast-log", daemon=True)
        self._thread.start()

    def add(self, version: ServedVersion, prepared: Prepared, forecast: Floats32) -> None:
        """Log the answer of a request, or count it as left out if too many are waiting."""
        count = len(prepared.ids)
        with self._lock:
            is_full = self._waiting + count > _MOST_SERIES
            if not is_full:
                self._waiting += count
        if is_full:
            self._count("left out", count)
        else:
            self._queue.put(_Record(version, prepared, forecast, time.time()))

    def close(self) -> None:
        """Write all that was logged, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            try:
                record = self._queue.get(timeout=min(1.0, self._part_seconds))
            except queue.Empty:
                pass
            else:
                is_open = record is not None
                if record is not None:
                    self._append(record)
            now = time.monotonic()
            for key, part in list(self._parts.items()):
                if not is_open or part.size >= _PART_BYTES or now - part.begun >= self._part_seconds:
                    self._write(key, self._parts.pop(key))

    def _append(self, record: _Record) -> None:
        key = (record.version.name, record.version.version)
        part = self._parts.get(key)
        if part is None:
            description = record.version.model.description
            part = self._parts[key] = _Part([_encode(_header(*key, description))], 0, 0, time.monotonic())
        for line in _lines(record, with_inputs=self._with_inputs):
            part.lines.append(line)
            part.size += len(line)
        count = len(record.prepared.ids)
        part.series += count
        with self._lock:
            self._waiting -= count

    def _write(self, key: tuple[str, str], part: _Part) -> None:
        name, version = key
        self._number += 1
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        path = self._directory / name / f"{stamp}-{version[:12]}-{os.getpid()}-{self._number:06d}{SUFFIX}"
        try:
            write_file(path, b"\n".join(part.lines) + b"\n")
        except StorageError as error:
            _log.error("the forecast log lost %d series: %s", part.series, error)
            self._count("lost", part.series)
        else:
            self._count("written", part.series)

    def _count(self, outcome: str, count: int) -> None:
        with self._lock:
            self._metrics.logged.add((("outcome", outcome),), count)


@dataclass(frozen=True, slots=True)
class _Record:
    version: ServedVersion
    prepared: Prepared
    forecast: Floats32
    made: float


@dataclass(slots=True)
class _Part:
    lines: list[bytes]
    size: int
    series: int
    begun: float


def _header(name: str, version: str, description: Description) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "model": name,
        "model_version": version,
        "id": description.id,
        "time": description.time,
        "target": description.target,
        "time_type": description.time_type,
        "time_unit": description.time_unit,
        "time_zone": description.time_zone,
        "frequency": description.frequency,
        "quantiles": description.quantiles,
    }


def _lines(record: _Record, *, with_inputs: bool) -> list[bytes]:
    """Return a line for each series: times as the integers of their type, the point, and all quantiles."""
    prepared = record.prepared
    horizon = prepared.requested.horizon
    series = by_series(prepared, record.forecast)[:, :horizon]
    history = _histories(prepared) if with_inputs else None
    lines = []
    for row, (name, times) in enumerate(zip(prepared.ids, prepared.times, strict=True)):
        line: dict[str, Any] = {"made_at": record.made, "id": name, "forecast": series[row, :, 0].tolist()}
        if times is not None:
            line["end"], line["times"] = int(times.end), times.values.tolist()
        if series.shape[2] > 1:
            line["quantiles"] = series[row, :, 1:].T.tolist()
        if history is not None:
            line["y"] = history[row]
        lines.append(_encode(line))
    return lines


def _histories(prepared: Prepared) -> list[list[float | None]]:
    """Return the observed values of each series, without the padding before them; ``None`` where one is missing."""
    values, mask = prepared.inputs["past_y"], prepared.inputs["past_mask"] > 0
    if prepared.channels is None:
        values, mask = values[..., 0], mask[..., 0]
    else:
        values, mask = values[0].T[prepared.channels], mask[0].T[prepared.channels]
    found: list[list[float | None]] = []
    for row, observed in zip(values, mask, strict=True):
        begin = int(observed.argmax()) if observed.any() else len(row)
        found.append(
            [float(value) if seen else None for value, seen in zip(row[begin:], observed[begin:], strict=True)]
        )
    return found
