"""Watching for gradients that are not finite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from neuro_divergent.core.errors import ConfigError, DivergedError, did_you_mean
from neuro_divergent.training.callbacks.base import Callback

if TYPE_CHECKING:
    from torch import nn

    from neuro_divergent.training.engine import Trainer

_POLICIES = ("stop", "skip")
_NAMED = 5


class NanGuard(Callback):
    """Finds gradients that are not finite before they reach the weights.

    Without it, training ends at the next row of the history after the loss is lost, with weights that are lost too.
    With it, training ends, or the step is left out, while the weights are still good, and the parameters are named.
    In fp16 it has nothing to do: gradients overflow there now and then, and the scaling of the loss looks after it.

    Args:
        policy: ``"stop"`` ends training with an error; ``"skip"`` leaves the step out, so that neither weights nor the
            moments of the optimizer change.
        patience: Steps left out in a row after which ``"skip"`` ends training too.

    Attributes:
        skipped: Steps left out so far.
    """

    def __init__(self, policy: Literal["stop", "skip"] = "stop", *, patience: int = 10) -> None:
        if policy not in _POLICIES:
            hint = did_you_mean(str(policy), _POLICIES)
            raise ConfigError(f"nan guard: unknown policy {policy!r}.{hint} Known: {', '.join(_POLICIES)}.")
        if patience < 1:
            raise ConfigError(f"nan guard: patience must be at least 1; got {patience}.")
        self.policy = policy
        self.patience = patience
        self.skipped = 0
        self._in_a_row = 0

    def gradients_ready(self, trainer: Trainer) -> None:
        """Check all gradients at once; ask for names only if there is something to name."""
        from torch.nn.utils import get_total_norm

        if trainer.config.precision == "fp16":
            return
        gradients = [item.grad for item in trainer.module.parameters() if item.grad is not None]
        # One number tells that all is well. If it is not finite, large gradients may just have overflowed in its sum.
        bad = [] if math.isfinite(get_total_norm(gradients)) else _find_bad(trainer.module)
        if not bad:
            self._in_a_row = 0
            return
        message = _describe(bad, len(gradients), trainer.state.step + 1)
        if self.policy == "stop":
            raise DivergedError(f"{message} Lower the learning rate, clip gradients or scale the data.")
        self.skipped += 1
        self._in_a_row += 1
        if self._in_a_row >= self.patience:
            raise DivergedError(f"{message} Steps to skip in a row: {self._in_a_row}, so skipping does not help.")
        for item in trainer.module.parameters():
            item.grad = None

    def state_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return {"skipped": self.skipped, "in_a_row": self._in_a_row}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a state again."""
        self.skipped, self._in_a_row = state["skipped"], state["in_a_row"]


def _find_bad(module: nn.Module) -> list[str]:
    """Return the parameters whose gradients are not finite."""
    gradients = ((name, parameter.grad) for name, parameter in module.named_parameters())
    return [name for name, gradient in gradients if gradient is not None and not gradient.isfinite().all()]


def _describe(bad: list[str], count: int, step: int) -> str:
    """Say which gradients are not finite."""
    if len(bad) == count:
        return f"no parameter has a finite gradient at step {step}: the loss was probably not finite itself."
    shown = ", ".join(repr(name) for name in bad[:_NAMED]) + (f" and {len(bad) - _NAMED} more" * (len(bad) > _NAMED))
    return f"the gradient of {shown} is not finite at step {step} ({len(bad)} of {count} parameters)."
