"""Stopping when validation no longer improves, and going back to the best weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from neuro_divergent.core.config import knob
from neuro_divergent.training.callbacks.base import Callback, CallbackConfig
from neuro_divergent.training.state import find_metric

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class EarlyStopping(CallbackConfig):
    """When to stop before the end, and whether to return to the best weights.

    Attributes:
        patience: Validations in a row without improvement after which training stops.
        min_delta: How much better than the best a result must be to count as improvement.
        metric: Which result of a validation is watched.
        mode: Whether lower (``min``) or higher (``max``) is better.
        restore_best: Whether training ends with the weights of the best validation instead of the last ones.

    Examples:
        Where nothing can improve, training ends after the first validation and three more:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> zeros, network = torch.zeros(8, 1), torch.nn.Linear(1, 1, bias=False)
        >>> config = nd.TrainingConfig(validate_every=1, early_stopping=nd.EarlyStopping(patience=3))
        >>> trainer = nd.Trainer(network, nd.losses.MSE(), config)
        >>> history = trainer.fit((zeros, zeros), validation=(zeros, zeros))
        >>> trainer.state.step, trainer.state.stop_reason
        (4, 'validation_loss has not improved in 3 validations')
    """

    patience: int = knob(10, low=3, high=30, ge=1)
    min_delta: float = Field(default=1e-4, ge=0)
    metric: str = "validation_loss"
    mode: Literal["min", "max"] = "min"
    restore_best: bool = True

    def build(self) -> EarlyStopper:
        return EarlyStopper(self)


class EarlyStopper(Callback):
    """Watches validations for an ``EarlyStopping``.

    The best weights are those of the best result, however small its lead; ``min_delta`` only counts for patience.
    """

    def __init__(self, config: EarlyStopping) -> None:
        self.config = config
        self.best = math.inf
        self.best_step: int | None = None
        self._reference = math.inf
        self._waited = 0
        self._weights: dict[str, Any] | None = None

    def validation_end(self, trainer: Trainer) -> None:
        value = find_metric(self.config.metric, trainer.state.metrics, "early_stopping", self.config.mode)
        value = value if self.config.mode == "min" else -value
        if value < self.best:
            self.best, self.best_step = value, trainer.state.step
            if self.config.restore_best:
                self._weights = {name: tensor.detach().clone() for name, tensor in trainer.module.state_dict().items()}
        if value < self._reference - self.config.min_delta:
            self._reference, self._waited = value, 0
            return
        self._waited += 1
        if self._waited >= self.config.patience:
            trainer.stop(f"{self.config.metric} has not improved in {self._waited} validations")

    def fit_end(self, trainer: Trainer) -> None:
        if self._weights is not None:
            trainer.module.load_state_dict(self._weights)
            trainer.state.selected_step = self.best_step

    def state_dict(self) -> dict[str, Any]:
        return {
            "best": self.best,
            "best_step": self.best_step,
            "reference": self._reference,
            "waited": self._waited,
            "weights": self._weights,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.best_step = state["best"], state["best_step"]
        self._reference, self._waited, self._weights = state["reference"], state["waited"], state["weights"]
