"""The end of the time of a search, in the middle of a trial."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

TIME_IS_UP = "deadline"


class Deadline(Callback):
    """Interrupts training after the step in which the time is up, so that it can be continued from there.

    ``fit`` ends with ``Interrupted``, whose name is ``TIME_IS_UP``; a validation is cancelled.

    Args:
        end: When, in terms of ``time.monotonic``.
    """

    in_vectorized: ClassVar[bool] = True

    def __init__(self, end: float) -> None:
        self._end = end

    def step_end(self, trainer: Trainer) -> None:
        if time.monotonic() >= self._end:
            trainer.interrupt(TIME_IS_UP)

    def validation_batch(self, trainer: Trainer) -> None:
        self.step_end(trainer)
