"""A learning rate that falls when the validation loss no longer does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.schedules.base import Pace, Plan, Schedule

if TYPE_CHECKING:
    import torch


@register("plateau")
class Plateau(Schedule):
    """Multiplies the rate by ``gamma`` after ``patience`` validations in a row that did not improve.

    Attributes:
        gamma: Factor of each fall.
        patience: Validations without improvement to bear.
        min_lr: Rate below which it does not fall.
    """

    gamma: float = Field(0.5, gt=0, lt=1)
    patience: int = Field(5, ge=0)
    min_lr: float = Field(0.0, ge=0)

    def start(self, optimizer: torch.optim.Optimizer, plan: Plan) -> Pace:
        """Put torch's ``ReduceLROnPlateau`` to work."""
        del plan
        return _PlateauPace(self, optimizer)


class _PlateauPace:
    def __init__(self, schedule: Plateau, optimizer: torch.optim.Optimizer) -> None:
        from torch.optim.lr_scheduler import ReduceLROnPlateau

        self._scheduler = ReduceLROnPlateau(
            optimizer, factor=schedule.gamma, patience=schedule.patience, min_lr=schedule.min_lr
        )

    def step(self) -> None:
        """Leave the rate: it depends on validations, not on steps."""

    def validated(self, loss: float) -> None:
        self._scheduler.step(loss)

    def state_dict(self) -> dict[str, Any]:
        return dict(self._scheduler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._scheduler.load_state_dict(state)
