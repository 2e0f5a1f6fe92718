"""The transport over tasks of NVIDIA FLARE, on the side of the server."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal
from torch import Tensor

from neuro_divergent.core.errors import ConfigError, Interrupted, ProcessLostError, RejectedUpdateError
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.transport.nvflare.message import (
    ALIVE,
    FINISH,
    TRAIN,
    answer_of,
    carry,
    content_of,
    frequency_of,
)
from neuro_divergent.federated.update import RoundTask
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.weight_layout import WeightLayout
from neuro_divergent.federated.wire import decode_update, encode_task

_LOOK = 0.5  # seconds between looks at what else may have ended the wait
_FAREWELL = 60.0  # seconds that clients have in the end to take the final weights


class NVFlareTransport(Transport):
    """Offers each round as a task, which clients fetch.

    A client whose process ended cannot come back into a job that runs. Without a deadline a round needs it, so the job
    is ended then, to be submitted again.

    Args:
        controller: The controller of the job.
        context: Its context.
        abort: Set by NVIDIA FLARE when the job is to end.
        layout: The shared weights.
        names: All clients of the federation.
        lost_after: Seconds without a sign of life after which a client is lost.
        start_within: The same for a client that has given none in this job.
    """

    def __init__(
        self,
        controller: Controller,
        context: FLContext,
        abort: Signal,
        layout: WeightLayout,
        names: Sequence[str],
        *,
        lost_after: float,
        start_within: float,
    ) -> None:
        self._controller = controller
        self._context = context
        self._abort = abort
        self._layout = layout
        self._names = sorted(names)
        self._signs = _SignsOfLife(context, lost_after, start_within)
        self._frequency = ""
        self._sent = self._received = 0

    def clients(self, number: int) -> Sequence[str]:
        return self._names

    def collect(self, task: RoundTask, chosen: Sequence[str], check: UpdateCheck, deadline: float | None) -> None:
        """Ask clients for an update of a round.

        Raises:
            ProcessLostError: If a client is lost and there is no deadline, or did not answer.
            ConfigError: If a client cannot take part.
        """
        offer = self._offer(TRAIN, task, chosen)
        self._signs.begin()
        end = None if deadline is None else time.monotonic() + deadline
        while check.waits_for and (end is None or time.monotonic() < end):
            self._raise_if_aborted()
            if (found := offer.wait(end)) is not None:
                self._take(*found, check)
            elif end is None and (lost := self._signs.missing(check.waits_for)):
                raise ProcessLostError(f"client {lost[0]!r} gives no sign of life.")
        offer.withdraw()

    def finish(self, number: int, weights: Tensor) -> None:
        """Give the final weights to all clients that are there; one that does not take them is not waited for."""
        offer = self._offer(FINISH, RoundTask(number, weights), self._names)
        missing, end = set(self._names), time.monotonic() + _FAREWELL
        self._signs.begin()
        while missing and time.monotonic() < end and not self._abort.triggered:
            if (found := offer.wait(end)) is not None:
                missing.discard(found[0])
            else:
                missing.difference_update(self._signs.missing(missing))
        offer.withdraw()

    @property
    def num_bytes(self) -> tuple[int, int]:
        return self._sent, self._received

    def _offer(self, name: str, task: RoundTask, chosen: Sequence[str]) -> _Offer:
        content = encode_task(task, self._layout)

        def count() -> None:
            self._sent += len(content)

        return _Offer(self._controller, self._context, name, content, chosen, count)

    def _take(self, client: str, answer: Shareable, check: UpdateCheck) -> None:
        """Hand what a client answered to the check."""
        kind, problem = answer_of(answer)
        if kind == "failed":
            raise ConfigError(f"client {client!r} cannot take part: {problem}.")
        if kind == "lost":
            raise ProcessLostError(f"client {client!r} did not answer: {problem}.")
        if kind == "refused":
            check.refuse(client, problem)
            return
        self._require_same_frequency(client, frequency_of(answer))
        content = content_of(answer)
        self._received += len(content)
        try:
            check.accept(decode_update(content, self._layout, client))
        except RejectedUpdateError as error:
            if client in check.waits_for:  # it has answered, with something that is no update
                check.refuse(client, str(error))

    def _require_same_frequency(self, client: str, frequency: str) -> None:
        self._frequency = self._frequency or frequency
        if frequency != self._frequency:
            raise ConfigError(
                f"client {client!r} has a row every {frequency}, and others every {self._frequency}; all clients need "
                "the same frequency."
            )

    def _raise_if_aborted(self) -> None:
        if self._abort.triggered:
            raise Interrupted("SIGTERM", "the job was ended")


class _Offer:
    """A task that clients fetch and answer."""

    def __init__(
        self,
        controller: Controller,
        context: FLContext,
        name: str,
        content: bytes,
        chosen: Sequence[str],
        count: Callable[[], None],
    ) -> None:
        self._controller = controller
        self._answers: queue.SimpleQueue[tuple[str, Shareable]] = queue.SimpleQueue()
        self._count = count
        self._task = Task(
            name, carry(content), after_task_sent_cb=self._note_sent, result_received_cb=self._note_received
        )
        controller.broadcast(self._task, context, targets=list(chosen), min_responses=len(chosen))

    def wait(self, end: float | None) -> tuple[str, Shareable] | None:
        """Return a client and its answer; ``None`` after a moment without one, or at the end of the time."""
        left = _LOOK if end is None else min(_LOOK, max(end - time.monotonic(), 0.0))
        try:
            return self._answers.get(timeout=left)
        except queue.Empty:
            return None

    def withdraw(self) -> None:
        """Offer the task no longer; later answers are dropped."""
        self._controller.cancel_task(self._task)

    def _note_sent(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        self._count()

    def _note_received(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        self._answers.put((client_task.client.name, client_task.result))


class _SignsOfLife:
    """Asks clients now and then whether they are there."""

    def __init__(self, context: FLContext, lost_after: float, start_within: float) -> None:
        self._engine: Any = context.get_engine()
        self._context = context
        self._lost_after, self._start_within = lost_after, max(start_within, lost_after)
        self._created = self._began = self._asked = time.monotonic()
        self._seen: dict[str, float] = {}

    def begin(self) -> None:
        """Begin to count from now on, since nobody was asked for a while."""
        self._began = time.monotonic()

    def missing(self, names: Collection[str]) -> list[str]:
        """Return those of some clients that have given no sign of life for too long."""
        every = self._lost_after / 4
        if time.monotonic() - self._asked >= every:
            replies = self._engine.send_aux_request(
                sorted(names), ALIVE, Shareable(), timeout=every, fl_ctx=self._context, optional=True
            )
            self._asked = time.monotonic()
            for name, reply in (replies or {}).items():
                if isinstance(reply, Shareable) and reply.get_return_code() == ReturnCode.OK:
                    self._seen[name] = self._asked
        return [name for name in sorted(names) if self._is_lost(name)]

    def _is_lost(self, name: str) -> bool:
        if name in self._seen:
            return self._asked - max(self._seen[name], self._began) > self._lost_after
        return self._asked - self._created > self._start_within
