"""The library's optimizers whose weights for evaluation are not those they train.

Going from one to the other and back is exact here: a validation in between changes no bit of what follows.
"""

from __future__ import annotations

import torch
from pytorch_optimizer import Lookahead, ScheduleFreeAdamW, ScheduleFreeSGD


class SlowWeights(Lookahead):
    """Lookahead; ``eval()`` puts the slow weights in place, ``train()`` the fast ones."""

    def train(self) -> None:
        """Restore the fast weights."""
        if self._resting:
            self.clear_and_load_backup()

    def eval(self) -> None:
        """Put the slow weights in place."""
        if not self._resting:
            self.backup_and_load_cache()

    @property
    def _resting(self) -> bool:
        return any("backup_params" in state for state in self.state.values())


class _ExactReturn(torch.optim.Optimizer):
    """Keeps the trained weights while the average is in place; the library computes them back, but for rounding."""

    def train(self) -> None:
        """Restore the weights between the average and the last ones."""
        for group in self.param_groups:
            group["train_mode"] = True
            for parameter in group["params"]:
                trained = self.state[parameter].pop("trained", None)
                if trained is not None:
                    parameter.data.copy_(trained)

    def eval(self) -> None:
        """Put the average in place."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if group["train_mode"] and "z" in self.state[parameter]:
                    self.state[parameter]["trained"] = parameter.detach().clone()
        super().eval()  # type: ignore[misc]


class ExactScheduleFreeAdamW(_ExactReturn, ScheduleFreeAdamW):
    """Schedule-free AdamW."""


class ExactScheduleFreeSGD(_ExactReturn, ScheduleFreeSGD):
    """Schedule-free gradient descent."""
