"""How long a process is held up by others."""

from __future__ import annotations

import time
from contextlib import ContextDecorator
from typing import Any

from neuro_divergent.core.call_counter import CallCounter


class Waiting(ContextDecorator):
    """Adds up the time that this process spends in exchanges with others: waiting for the slowest, and sending.

    It is a context, or a decorator, for exchanges that return when they are complete. A backward pass exchanges
    gradients while it computes; from the last part on that it sends, it waits.

    Args:
        counter: Counts the exchanges that begin, so that a process that hangs can be told from those that wait for it.
    """

    def __init__(self, counter: CallCounter | None = None) -> None:
        self._counter = counter
        self._seconds = 0.0
        self._entered = 0.0
        self._last_sent: float | None = None
        self._last_received = 0.0

    @property
    def seconds(self) -> float:
        """Time spent so far."""
        self._settle()
        return self._seconds

    def __enter__(self) -> None:
        self._count()
        self._entered = time.perf_counter()

    def __exit__(self, *exception: Any) -> None:
        self._seconds += time.perf_counter() - self._entered

    def sent(self, *, is_last: bool) -> None:
        """A part of the gradients is about to be sent in a backward pass."""
        self._count()
        self._settle()
        if is_last:
            self._last_sent = time.perf_counter()

    def received(self) -> None:
        """A part of the gradients has come back; called by a thread of torch, before the backward pass goes on."""
        self._last_received = time.perf_counter()

    def _count(self) -> None:
        if self._counter is not None:
            self._counter.add()

    def _settle(self) -> None:
        """Add the time of the last backward pass, which is over."""
        if self._last_sent is not None:
            self._seconds += max(self._last_received - self._last_sent, 0.0)
            self._last_sent = None
