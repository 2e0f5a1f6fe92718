"""Optimizers whose settings are the arguments of a class that torch or a library has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.training.optimizers.base import GroupedOptimizer, Scope, batches
from neuro_divergent.training.optimizers.library import library

if TYPE_CHECKING:
    import torch


class WrappedOptimizer(GroupedOptimizer):
    """Builds the class of its own name in ``torch.optim``, out of its fields.

    Attributes:
        arguments: What the class calls a field, where that is another name.
    """

    arguments: ClassVar[dict[str, str]] = {}

    @property
    def scope(self) -> Scope:
        return "entry"

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        own = [name for name in type(self).model_fields if name == "lr" or name not in GroupedOptimizer.model_fields]
        settings = {self.arguments.get(name, name): getattr(self, name) for name in own}
        return self.wrapped_class()(groups, **settings, **self.implementation(groups))

    def wrapped_class(self) -> Callable[..., torch.optim.Optimizer]:
        """Return the class to build."""
        from torch import optim

        return getattr(optim, type(self).__name__)  # type: ignore[no-any-return]

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        """Return which implementation of the step to take, as arguments of the class."""
        return {"foreach": batches(groups)}


class LibraryOptimizer(WrappedOptimizer):
    """Builds the class of its own name in ``pytorch_optimizer``."""

    def wrapped_class(self) -> Callable[..., torch.optim.Optimizer]:
        return getattr(library(self.name), type(self).__name__)  # type: ignore[no-any-return]
