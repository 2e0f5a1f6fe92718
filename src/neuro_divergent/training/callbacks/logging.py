"""Training in the log of the program it runs in."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.callbacks.base import Callback, NamedCallback

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer

LOGGER = logging.getLogger("neuro_divergent.training")
_SKIPPED = ("step", "epoch", "seconds")


@register("log")
class Log(NamedCallback):
    """Logs rows of the history, the end of training and errors with Python's logging.

    The logger is ``neuro_divergent.training``; where its messages go, and from which level on, is up to the program.

    Attributes:
        every: Rows from one message to the next; rows with a validation are always logged.

    Examples:
        After ``logging.basicConfig(level="INFO")`` every tenth row of the history appears on the terminal:

        >>> import neuro_divergent as nd
        >>> nd.TrainingConfig(callbacks=nd.callbacks.Log(every=10)).callbacks
        (Log(every=10),)
    """

    every: int = Field(default=1, ge=1)

    def __init__(self, every: int = 1, **values: Any) -> None:
        super().__init__(**{"every": every, **values})

    def build(self) -> RowLogger:
        return RowLogger(self.every)


class RowLogger(Callback):
    """Writes the messages of a ``Log``."""

    main_only: ClassVar[bool] = True

    def __init__(self, every: int) -> None:
        self.every = every

    def fit_start(self, trainer: Trainer) -> None:
        total, per_epoch = trainer.plan.total_steps, trainer.plan.steps_per_epoch
        LOGGER.info("training for up to %d steps, %d per epoch, from step %d on", total, per_epoch, trainer.state.step)

    def logged(self, trainer: Trainer) -> None:
        row = trainer.history.rows[-1]
        if len(trainer.history.rows) % self.every and "validation_loss" not in row:
            return
        numbers = " ".join(f"{name}={row[name]:.6g}" for name in row if name not in _SKIPPED and row[name] is not None)
        LOGGER.info("step %d/%d epoch %d: %s", row["step"], trainer.plan.total_steps, row["epoch"], numbers)

    def fit_end(self, trainer: Trainer) -> None:
        reason = trainer.state.stop_reason or "all steps are done"
        LOGGER.info("training ended at step %d after %.1f s: %s", trainer.state.step, trainer.history.seconds, reason)

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        LOGGER.error("training failed at step %d: %s: %s", trainer.state.step, type(error).__name__, error)
