"""Control requests from outside, as files in a directory."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.callbacks.checkpointing import Checkpointer
    from neuro_divergent.training.callbacks.events import EventLog
    from neuro_divergent.training.engine import Trainer

STOP, CHECKPOINT = "stop", "checkpoint"
REQUESTS = (STOP, CHECKPOINT)
_SECONDS_BETWEEN_LOOKS = 0.25


class Control(Callback):
    """Looks several times a second for files named ``stop`` and ``checkpoint``; removes them and does it.

    ``stop`` ends training as if it were over, with a model; ``checkpoint`` writes a checkpoint after the step. What is
    in a file does not matter. A request left from an earlier start is removed. The directory need not exist.
    """

    main_only: ClassVar[bool] = True

    def __init__(self, directory: str | Path, *, events: EventLog, checkpoints: Checkpointer | None = None) -> None:
        self.directory = Path(directory)
        self._events = events
        self._checkpoints = checkpoints
        self._next_look = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        for request in REQUESTS:
            self._take(request)

    def step_end(self, trainer: Trainer) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _SECONDS_BETWEEN_LOOKS
        if self._checkpoints is not None and self._take(CHECKPOINT):
            self._events.write("control", step=trainer.state.step, wish=CHECKPOINT)
            self._checkpoints.request()
        if self._take(STOP):
            self._events.write("control", step=trainer.state.step, wish=STOP)
            trainer.stop("somebody asked for it", requested=True)

    def _take(self, request: str) -> bool:
        """Return whether a request exists, and remove it."""
        path = self.directory / request
        if not path.is_file():
            return False
        with suppress(OSError):
            path.unlink()
            return True
        return False
