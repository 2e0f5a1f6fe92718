"""Live updates of runs as server-sent events.

No thread waits: between two reads of a file, a stream is only a time at which to wake up.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from neuro_divergent.interfaces.dashboard.federations import FederationEntry, FederationView
from neuro_divergent.interfaces.dashboard.index import Row, RunIndex, counts_of, id_of
from neuro_divergent.interfaces.dashboard.response import to_json
from neuro_divergent.interfaces.dashboard.studies import StudyEntry, StudyView
from neuro_divergent.runs.directory import EVENTS
from neuro_divergent.runs.events import EventFile, parse_events
from neuro_divergent.runs.processes import PROCESSES

MOST_STREAMS = 100

_SECONDS_BETWEEN_LOOKS = 0.25
_SECONDS_BETWEEN_STATES = 2.0
_SECONDS_BETWEEN_LISTS = 1.0
_SECONDS_BETWEEN_PINGS = 10.0
_SECONDS_OF_OVERLAP = 30.0
_BYTES_AT_ONCE = 1024**2
_MOVING = ("quiet", "seconds_left", "samples_per_second", "time")  # a change of these alone is not sent
_QUIET = ("columns", "row", "layers", PROCESSES)

Numbered = tuple[Row, dict[int, Row], Row]
"""The row of something, its numbered parts, and how far it is."""


class Streams:
    """The streams that are open, their number, and whether all of them are to end."""

    def __init__(self, index: RunIndex) -> None:
        self._index = index
        self.is_closing = False
        self.number = 0

    def run(self, key: str, path: Path, offset: int) -> AsyncIterator[bytes]:
        """Yield what is added to the events of a run from a byte on, and its state, until it is over."""
        return self._counted(self._run(key, path, offset))

    def list(self) -> AsyncIterator[bytes]:
        """Yield which runs changed, came and went."""
        return self._counted(self._list())

    def study(self, key: str) -> AsyncIterator[bytes]:
        """Yield the trials of a study that changed, and how far it is, until nobody works on it."""
        return self._counted(self._numbered(key, "trials", self._read_study))

    def federation(self, key: str) -> AsyncIterator[bytes]:
        """Yield the rounds of a federation that are new, and how far it is, until nobody works on it."""
        return self._counted(self._numbered(key, "rounds", self._read_federation))

    def changes(self, key: str) -> AsyncIterator[bytes]:
        """Yield the row of a pipeline, a registry or a continuous training whenever its files change."""
        return self._counted(self._changes(key))

    async def _counted(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self.number += 1
        try:
            async for part in parts:
                yield part
        finally:
            self.number -= 1

    async def _run(self, key: str, path: Path, offset: int) -> AsyncIterator[bytes]:
        file = EventFile(path / EVENTS, offset)
        shown: Row = {}
        next_state, next_ping = 0.0, time.monotonic() + _SECONDS_BETWEEN_PINGS
        yield b"retry: 1000\n\n"
        while not self.is_closing:
            # The state first: what was written before a run was over is in the file by then.
            entry = await run_sync(self._index.find, key)
            before = file.offset
            parts = await run_sync(_read_parts, file)
            now = time.monotonic()
            if file.offset < before:  # the file was replaced
                yield _event("reset", {}, 0)
            for part in parts:
                yield part
            has_more = file.offset != before
            is_over = entry is None or not entry.is_held
            row = {} if entry is None else entry.row
            if row and (_news(row) != _news(shown) or (now >= next_state and not is_over)):
                shown, next_state = row, now + _SECONDS_BETWEEN_STATES
                yield _event("state", row)
            if has_more:
                next_ping = now + _SECONDS_BETWEEN_PINGS
            elif is_over:
                yield _event("end", {}, file.offset)
                return
            elif now >= next_ping:
                next_ping = now + _SECONDS_BETWEEN_PINGS
                yield b": ping\n\n"
            await anyio.sleep(0 if file.offset - before > _BYTES_AT_ONCE // 2 else _SECONDS_BETWEEN_LOOKS)

    async def _numbered(self, key: str, what: str, read: Callable[[str], Numbered]) -> AsyncIterator[bytes]:
        """Yield numbered parts that changed, and how far the whole is, until nobody works on it."""
        shown: dict[int, Row] | None = None
        last: Row = {}
        next_ping = time.monotonic() + _SECONDS_BETWEEN_PINGS
        yield b"retry: 1000\n\n"
        while not self.is_closing:
            row, parts, progress = await run_sync(read, key)
            changed = [item for number, item in parts.items() if shown is None or shown.get(number) != item]
            now = time.monotonic()
            if changed or _news(row) != _news(last):
                yield _event(what, {"row": row, what: changed, **progress})
                next_ping = now + _SECONDS_BETWEEN_PINGS
            elif now >= next_ping:
                next_ping = now + _SECONDS_BETWEEN_PINGS
                yield b": ping\n\n"
            shown, last = parts, row
            if row.get("state") != "running":
                yield _event("end", {})
                return
            await self._pause(now)

    async def _changes(self, key: str) -> AsyncIterator[bytes]:
        shown: Any = None
        next_ping = time.monotonic() + _SECONDS_BETWEEN_PINGS
        yield b"retry: 1000\n\n"
        while not self.is_closing:
            entry = (await run_sync(self._index.entries)).get(key)
            now = time.monotonic()
            if entry is None:
                yield _event("end", {})
                return
            if (entry.stamp, _news(entry.row)) != shown:
                shown = (entry.stamp, _news(entry.row))
                yield _event("changed", {"row": entry.row})
                next_ping = now + _SECONDS_BETWEEN_PINGS
            elif now >= next_ping:
                next_ping = now + _SECONDS_BETWEEN_PINGS
                yield b": ping\n\n"
            await self._pause(now)

    def _read_study(self, key: str) -> Numbered:
        entry = self._index.find_other(StudyEntry, key)
        if entry is None or entry.study is None:
            return {}, {}, {}
        view = StudyView(entry.study, id_of)
        return entry.row, view.rows, view.progress()

    def _read_federation(self, key: str) -> Numbered:
        entry = self._index.find_other(FederationEntry, key)
        if entry is None:
            return {}, {}, {}
        view = FederationView(entry.summary)
        return entry.row, view.rounds, view.progress()

    async def _pause(self, since: float) -> None:
        """Wait until the next look at all of a list, or until all streams are to end."""
        wake = since + _SECONDS_BETWEEN_LISTS
        while time.monotonic() < wake and not self.is_closing:
            await anyio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def _list(self) -> AsyncIterator[bytes]:
        shown: dict[str, Row] = {}
        next_ping = time.monotonic() + _SECONDS_BETWEEN_PINGS
        is_first = True
        yield b"retry: 1000\n\n"
        while not self.is_closing:
            entries = await run_sync(self._index.entries)
            rows = {key: entry.row for key, entry in entries.items()}
            if is_first:
                # The client has just read the list; what changed since is sent, and some rows that did not.
                recent = time.time() - _SECONDS_OF_OVERLAP
                changed = [entry.row for entry in entries.values() if entry.is_held or entry.row["time"] > recent]
            else:
                changed = [row for key, row in rows.items() if key not in shown or _news(row) != _news(shown[key])]
            removed = [key for key in shown if key not in rows]
            now = time.monotonic()
            if changed or removed or is_first:
                yield _event("runs", {"changed": changed, "removed": removed, "counts": counts_of(list(rows.values()))})
                next_ping = now + _SECONDS_BETWEEN_PINGS
            elif now >= next_ping:
                next_ping = now + _SECONDS_BETWEEN_PINGS
                yield b": ping\n\n"
            shown, is_first = rows, False
            await self._pause(now)


def short(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the long list of names that a start has."""
    return {key: value for key, value in event.items() if key != "layers"}


def is_log_event(event: dict[str, Any]) -> bool:
    """Whether an event belongs to the log: neither a row, nor its columns, nor norms by layer, nor processes."""
    return event["event"] not in _QUIET


def _read_parts(file: EventFile) -> list[bytes]:
    return list(_parts(file.read_lines(limit=_BYTES_AT_ONCE), file.offset))


def _parts(lines: Sequence[bytes], end: int) -> Iterator[bytes]:
    """Yield the events of lines that end at a byte, rows that follow each other together, each with where it ends."""
    place = end - sum(len(line) + 1 for line in lines)
    rows: list[dict[str, Any]] = []
    last = place
    has_processes = False
    for line in lines:
        place += len(line) + 1
        for event in parse_events([line]):
            if event["event"] == "row":
                rows.append({key: value for key, value in event.items() if key != "event"})
                last = place
            elif event["event"] == PROCESSES:
                has_processes = True
            elif is_log_event(event):
                if rows:
                    yield _event("rows", {"rows": rows}, last)
                    rows = []
                yield _event("log", {"events": [short(event)]}, place)
                if event["event"] in ("start", "rolled_back"):
                    yield _event("reset", {}, place)
    if rows:
        yield _event("rows", {"rows": rows}, last)
    if has_processes:
        yield _event("processes", {}, place)


def _event(name: str, content: dict[str, Any], offset: int | None = None) -> bytes:
    place = b"" if offset is None else b"id: %d\n" % offset
    return b"event: " + name.encode() + b"\n" + place + b"data: " + to_json(content) + b"\n\n"


def _news(row: Row) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _MOVING}
