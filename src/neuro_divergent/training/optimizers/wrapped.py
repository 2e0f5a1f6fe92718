"""Optimizers whose settings are the arguments of a class that torch or a library has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.training.optimizers.base import GroupedOptimizer, batches
from neuro_divergent.training.optimizers.library import library

if TYPE_CHECKING:
    import torch


class WrappedOptimizer(GroupedOptimizer):
    """Builds the class of its own name, out of its fields.

    Attributes:
        in_library: Whether that class is in ``pytorch_optimizer``; otherwise it is in ``torch.optim``.
        arguments: What the class calls a field, where that is another name.
    """

    in_library: ClassVar[bool] = False
    arguments: ClassVar[dict[str, str]] = {}

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        import torch

        kind = getattr(library(self.name) if self.in_library else torch.optim, type(self).__name__)
        own = [name for name in type(self).model_fields if name == "lr" or name not in GroupedOptimizer.model_fields]
        settings = {self.arguments.get(name, name): getattr(self, name) for name in own}
        optimizer: torch.optim.Optimizer = kind(groups, **settings, **self.implementation(groups))
        return optimizer

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        """Return which implementation of the step to take, as arguments of the class."""
        return {"foreach": batches(groups)}
