"""Puts the windows of requests that have arrived through the network together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32

Run = Callable[[Mapping[str, Array]], Floats32]
_WEIGHT = 0.2  # of a new measurement in the running mean


class Batcher:
    """Runs whatever has arrived as one batch, without waiting for more.

    A batch is made as soon as the event loop has handled all requests that were there. While a batch runs in the
    thread, requests collect for the next one. All methods belong to the event loop.

    Args:
        run: The network.
        executor: Thread for batches that take long.
        largest: Windows of a batch; a request with more is run in several.
        inline_seconds: Batches that take less run on the event loop: handing them over would take longer.
        observe: Called with the inputs and the number of requests of each batch.
    """

    def __init__(
        self,
        run: Run,
        executor: Executor,
        *,
        largest: int,
        inline_seconds: float,
        observe: Callable[[Mapping[str, Array], int], None],
    ) -> None:
        self._run = run
        self._executor = executor
        self._largest = largest
        self._inline_seconds = inline_seconds
        self._observe = observe
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Entry] = deque()
        self._running: list[_Entry] = []
        self._is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._seconds: dict[int, float] = {}  # of a batch, by the bit length of its size

    @property
    def depth(self) -> int:
        """Requests without a forecast."""
        return len(self._waiting) + len(self._running)

    def warm_up(self, inputs: Mapping[str, Array]) -> None:
        """Run batches of 1, 2, 4 ... copies of one window, until one takes too long for the event loop.

        May be called from another thread, before the first request.
        """
        size = 1
        while size <= self._largest:
            batch = {name: np.repeat(values, size, axis=0) for name, values in inputs.items()}
            seconds = []
            for _ in range(3):
                begin = time.perf_counter()
                self._run(batch)
                seconds.append(time.perf_counter() - begin)
                if seconds[-1] > 0.25:
                    break
            self._seconds[size.bit_length()] = min(seconds)
            if min(seconds) > self._inline_seconds:
                break
            size *= 2

    def submit(self, inputs: Mapping[str, Array], size: int, deadline: float) -> asyncio.Future[Floats32]:
        """Return the forecasts of some windows, when they are made.

        Args:
            inputs: Arrays with the windows along axis 0.
            size: Number of windows.
            deadline: Time of the event loop after which the future fails with ``TimeoutError``.
        """
        entry = _Entry(inputs, size, deadline, self._loop.create_future())
        self._waiting.append(entry)
        if not self._is_scheduled and not self._running:
            self._is_scheduled = True
            self._loop.call_soon(self._flush)
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._expire)
        return entry.future

    def _flush(self) -> None:
        self._is_scheduled = False
        if self._running or not self._waiting:
            return
        entries = self._take()
        rows = sum(entry.size for entry in entries)
        if self._expected(rows) <= self._inline_seconds:
            begin = time.perf_counter()
            outcome = self._compute(entries)
            self._learn(rows, time.perf_counter() - begin)
            _resolve(entries, outcome)
            if self._waiting:
                self._is_scheduled = True
                self._loop.call_soon(self._flush)
            return
        self._running = entries
        self._loop.run_in_executor(self._executor, self._compute_timed, entries, rows).add_done_callback(self._finish)

    def _take(self) -> list[_Entry]:
        """Return the oldest requests that fit in a batch; at least one."""
        entries, rows = [self._waiting.popleft()], 0
        rows = entries[0].size
        while self._waiting and rows + self._waiting[0].size <= self._largest:
            entries.append(self._waiting.popleft())
            rows += entries[-1].size
        return entries

    def _compute_timed(self, entries: list[_Entry], rows: int) -> tuple[list[Floats32 | Exception], int, float]:
        begin = time.perf_counter()
        outcome = self._compute(entries)
        return outcome, rows, time.perf_counter() - begin

    def _finish(self, future: asyncio.Future[tuple[list[Floats32 | Exception], int, float]]) -> None:
        entries, self._running = self._running, []
        if future.cancelled() or future.exception() is not None:
            error = None if future.cancelled() else future.exception()
            _resolve(entries, [RuntimeError(f"the network could not be run: {error}")] * len(entries))
        else:
            outcome, rows, seconds = future.result()
            self._learn(rows, seconds)
            _resolve(entries, outcome)
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._flush)

    def _compute(self, entries: list[_Entry]) -> list[Floats32 | Exception]:
        """Return the forecasts of each request; where a batch fails, each request is run by itself."""
        try:
            return list(self._compute_together(entries))
        except Exception as error:  # noqa: BLE001 - whatever the network raises is the answer of its request
            if len(entries) == 1:
                return [error]
        return [result for entry in entries for result in self._compute([entry])]

    def _compute_together(self, entries: list[_Entry]) -> Sequence[Floats32]:
        first = entries[0]
        if len(entries) == 1:
            inputs = first.inputs
        else:
            inputs = {name: np.concatenate([entry.inputs[name] for entry in entries]) for name in first.inputs}
        self._observe(inputs, len(entries))
        if len(entries) == 1 and first.size > self._largest:
            parts = [
                self._run({name: values[begin : begin + self._largest] for name, values in inputs.items()})
                for begin in range(0, first.size, self._largest)
            ]
            return [np.concatenate(parts)]
        forecast = self._run(inputs)
        if len(entries) == 1:
            return [forecast]
        results, begin = [], 0
        for entry in entries:
            results.append(forecast[begin : begin + entry.size])
            begin += entry.size
        return results

    def _expected(self, rows: int) -> float:
        """Return how long a batch takes; infinity for sizes above those that fit the event loop."""
        return self._seconds.get((min(rows, self._largest) - 1).bit_length() + 1, float("inf"))

    def _learn(self, rows: int, seconds: float) -> None:
        place = (min(rows, self._largest) - 1).bit_length() + 1
        known = self._seconds.get(place)
        if rows <= self._largest:
            self._seconds[place] = seconds if known is None else (1 - _WEIGHT) * known + _WEIGHT * seconds

    def _expire(self) -> None:
        """Fail requests that have waited too long, and wait for the next."""
        self._timer = None
        now = self._loop.time()
        for entry in self._running:
            if entry.deadline <= now and not entry.future.done():
                entry.future.set_exception(TimeoutError())
        while self._waiting and self._waiting[0].deadline <= now:
            entry = self._waiting.popleft()
            if not entry.future.done():
                entry.future.set_exception(TimeoutError())
        left = [entry.deadline for entry in self._running if entry.deadline > now]
        left += [entry.deadline for entry in self._waiting]
        if left:
            self._timer = self._loop.call_at(min(left), self._expire)


class _Entry:
    __slots__ = ("deadline", "future", "inputs", "size")

    def __init__(
        self, inputs: Mapping[str, Array], size: int, deadline: float, future: asyncio.Future[Floats32]
    ) -> None:
        self.inputs = inputs
        self.size = size
        self.deadline = deadline
        self.future = future


def _resolve(entries: list[_Entry], outcome: Sequence[Floats32 | Exception]) -> None:
    for entry, result in zip(entries, outcome, strict=True):
        if entry.future.done():  # it has expired, or its connection is gone
            continue
        if isinstance(result, Exception):
            entry.future.set_exception(result)
        else:
            entry.future.set_result(result)
