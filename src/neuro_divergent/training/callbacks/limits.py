"""A time limit for training."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class TimeLimit(Callback):
    """Ends training after the first step that is over later than a number of seconds.

    What follows the last step (a validation, going back to the best weights) comes on top. Time that training took
    before it was interrupted counts; the time in between does not.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> limit = nd.callbacks.TimeLimit(seconds=1e-6)
        >>> trainer = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), callbacks=limit)
        >>> history = trainer.fit((torch.ones(8, 1), torch.zeros(8, 1)))
        >>> trainer.state.step, trainer.state.stop_reason
        (1, 'the time limit of 1e-06 s is reached')
    """

    def __init__(self, seconds: float) -> None:
        if not seconds > 0:
            raise ConfigError(f"time limit: must be more than 0 seconds; got {seconds}.")
        self.seconds = seconds
        self._spent = 0.0
        self._end = 0.0

    def fit_start(self, trainer: Trainer) -> None:
        self._end = time.monotonic() + self.seconds - (self._spent if trainer.state.step else 0.0)

    def step_end(self, trainer: Trainer) -> None:
        if time.monotonic() >= self._end:
            trainer.stop(f"the time limit of {self.seconds:g} s is reached")

    def state_dict(self) -> dict[str, Any]:
        return {"spent": self.seconds - (self._end - time.monotonic())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._spent = float(state["spent"])
