"""Where the rounds of the server and the requests of clients meet."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass

from neuro_divergent.core.errors import RejectedUpdateError
from neuro_divergent.federated.update import Update
from neuro_divergent.federated.update_check import UpdateCheck


@dataclass(frozen=True)
class Announcement:
    """What clients are told.

    Attributes:
        round: Number of the round; of the last one in the end.
        content: The task, or the final weights, as bytes.
        chosen: Clients that it is for.
        is_final: Whether training is over.
    """

    round: int
    content: bytes
    chosen: frozenset[str]
    is_final: bool = False


class Exchange:
    """Holds the task of the current round for clients that ask, and takes their updates.

    The server works in a thread of its own, requests are answered in an event loop.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._announced: Announcement | None = None
        self._check: UpdateCheck | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Event | None = None
        self._is_closed = False
        self.sent = 0
        self.received = 0
        self.last_seen: dict[str, float] = {}
        self.dismissed: set[str] = set()  # clients that have the final weights

    def begin(self) -> None:
        """Bind to the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._waiting = asyncio.Event()

    def see(self, client: str) -> None:
        """Note that a client was there."""
        self.last_seen[client] = time.time()
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Let all requests that wait go, and no others wait."""
        self._is_closed = True
        self._wake()

    def dismiss(self, client: str) -> None:
        """Note that a client has the final weights."""
        with self._changed:
            self.dismissed.add(client)
            self._changed.notify_all()

    def announce(self, announcement: Announcement, check: UpdateCheck | None = None) -> None:
        """Put a task out, or the end."""
        with self._changed:
            self._announced, self._check = announcement, check
        self._wake()

    def withdraw(self) -> None:
        """Take the task back: its round is over."""
        with self._changed:
            self._announced, self._check = None, None

    def task_for(self, client: str) -> Announcement | None:
        """Return what there is for a client now: a task that it has not answered, or the end."""
        with self._changed:
            found, check = self._announced, self._check
            if found is None or found.is_final:
                return found
            return found if check is not None and client in check.waits_for else None

    async def wait_for_task(self, client: str, seconds: float) -> Announcement | None:
        """Return what there is for a client, as soon as there is something; ``None`` after some seconds."""
        end = time.monotonic() + seconds
        while True:
            assert self._waiting is not None
            waiting = self._waiting
            found = self.task_for(client)
            left = end - time.monotonic()
            if found is not None or left <= 0 or self._is_closed:
                return found
            try:
                await asyncio.wait_for(waiting.wait(), left)
            except TimeoutError:
                return None

    def take(self, update: Update) -> None:
        """Take an update.

        Raises:
            RejectedUpdateError: If it does not count.
        """
        with self._changed:
            if self._check is None:
                raise RejectedUpdateError(f"there is no round to send an update of round {update.round} for.")
            try:
                self._check.accept(update)
            finally:
                self._changed.notify_all()

    def refuse(self, client: str, number: int, reason: str) -> None:
        """Note that a client has no update for a round.

        Raises:
            RejectedUpdateError: If it was not asked for one.
        """
        with self._changed:
            check, announced = self._check, self._announced
            if check is None or announced is None or announced.round != number or client not in check.waits_for:
                raise RejectedUpdateError(f"client {client!r} was not asked in round {number}.")
            check.refuse(client, reason)
            self._changed.notify_all()

    def wait(self, check: UpdateCheck, seconds: float | None, slice_seconds: float = 1.0) -> None:
        """Wait until every client that was asked has answered, or for some seconds.

        Signals are handled in between.
        """
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while check.waits_for:
                left = slice_seconds if end is None else min(slice_seconds, end - time.monotonic())
                if left <= 0:
                    return
                self._changed.wait(left)

    def wait_until_seen(self, seconds: float) -> None:
        """Wait until some client is there, or for some seconds."""
        with self._changed:
            self._changed.wait(seconds)

    def _wake(self) -> None:
        """Let all requests that wait look again."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._renew)

    def _renew(self) -> None:
        before, self._waiting = self._waiting, asyncio.Event()
        if before is not None:
            before.set()
