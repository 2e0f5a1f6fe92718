"""Freezing parts of a network, and unfreezing them when their epoch has come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from neuro_divergent.training.callbacks.base import ClosingCallback
from neuro_divergent.training.freezing import Freeze, Frost

if TYPE_CHECKING:
    from torch import nn

    from neuro_divergent.training.engine import Trainer


class Unfreezer(ClosingCallback):
    """Freezes parts of the network for some epochs, or for all of training, after which it is as before.

    What is frozen follows from the epoch alone, so there is no state to checkpoint.
    """

    def __init__(self, freezes: Iterable[Freeze]) -> None:
        self.freezes = tuple(freezes)
        self._frost: Frost | None = None

    def freeze(self, module: nn.Module) -> list[str]:
        """Freeze now, instead of when training starts, and return the parameters that are trained at some time."""
        self._frost = Frost(module, self.freezes)
        return self._frost.trainable

    def fit_start(self, trainer: Trainer) -> None:
        """Freeze, if that was not done before, and unfreeze what was due before a restart."""
        if self._frost is None:
            self.freeze(trainer.module)
        self.epoch_start(trainer)

    def epoch_start(self, trainer: Trainer) -> None:
        if self._frost is not None:
            self._frost.thaw(trainer.state.epoch)

    def close(self) -> None:
        if self._frost is not None:
            self._frost.thaw_all()
            self._frost = None
