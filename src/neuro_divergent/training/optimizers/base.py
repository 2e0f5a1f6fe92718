"""The contract of optimizers: settings that build a ``torch.optim.Optimizer``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from neuro_divergent.core.config import Component, knob
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry
from neuro_divergent.training.optimizers.groups import Group
from neuro_divergent.training.optimizers.patterns import matching

if TYPE_CHECKING:
    import torch
    from torch import nn

Beta = Annotated[float, Field(ge=0, lt=1)]
Scope: TypeAlias = Literal["entry", "tensor", "network"]
_MANY_VALUES = 500_000


class Optimizer(Component):
    """Settings of an optimizer.

    Attributes:
        averages: Whether the weights to use differ from those being trained. What ``build`` returns then has
            ``train()``, to call before training steps, and ``eval()``, to call before validating and at the end; both
            change the parameters in place and do nothing when called twice. Weights and state saved in either mode can
            be loaded again.
        elementwise: Whether the change of a weight depends on that weight and its gradients alone, and is proportional
            to the learning rate, so that networks can be stacked (``training/vectorized``).

    Examples:
        A name, or a table as in a TOML file, stands for an optimizer wherever one is expected:

        >>> import neuro_divergent as nd
        >>> nd.TrainingConfig(optimizer={"name": "sgd", "lr": 0.1}).optimizer.momentum
        0.9
    """

    registry: ClassVar[Registry] = Registry("optimizer", "neuro_divergent.training.optimizers")
    averages: ClassVar[bool] = False
    elementwise: ClassVar[bool] = False

    @property
    def scope(self) -> Scope:
        """What decides how a weight changes: its own gradients (``entry``), those of its tensor, or those of all.

        Processes that each hold a part of the state need to know, so an optimizer that does not say is the last.
        """
        return "network"

    @property
    @abstractmethod
    def rate(self) -> float:
        """The learning rate that a schedule multiplies."""

    @abstractmethod
    def build(self, module: nn.Module, names: Iterable[str] | None = None) -> torch.optim.Optimizer:
        """Return torch's optimizer over the named parameters of a module, also those that are frozen at the moment.

        ``None`` is for all that require a gradient now.
        """


class GroupedOptimizer(Optimizer):
    """An optimizer with a learning rate and a weight decay, which groups of parameters may override.

    Weight decay applies to weight matrices only; biases and the gains and shifts of normalisation layers, recognised by
    having fewer than two axes, are left alone, because pulling them to zero regularises nothing.

    Attributes:
        lr: Learning rate.
        weight_decay: How strongly weights are pulled to zero.
        decay_all: Whether parameters with fewer than two axes decay, too.
        groups: Settings for parameters by name; the first pattern that matches counts.
    """

    lr: float = knob(1e-3, low=1e-4, high=1e-2, log=True, gt=0)
    weight_decay: float = knob(0.0, low=1e-6, high=1e-1, log=True, ge=0)
    decay_all: bool = False
    groups: tuple[Group, ...] = ()

    @property
    def rate(self) -> float:
        return self.lr

    def build(self, module: nn.Module, names: Iterable[str] | None = None) -> torch.optim.Optimizer:
        return self.create(self.arrange(module, trained(module, names)))

    @abstractmethod
    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        """Make the optimizer over parameter groups."""

    def arrange(self, module: nn.Module, names: list[str]) -> list[dict[str, Any]]:
        """Return torch's parameter groups: one for each pair of learning rate and weight decay.

        The group that the optimizer's own settings hold for, if there is one, comes first.
        """
        parameters = dict(module.named_parameters())
        places = dict.fromkeys(names, -1)
        for place, group in reversed(list(enumerate(self.groups))):  # so that the first match has the last word
            found = matching(group.pattern, parameters, f"{self.name}: groups")
            if group.weight_decay and not any(self._decays(parameters[name]) for name in found):
                raise ConfigError(
                    f"{self.name}: groups: {group.pattern!r} has a weight_decay but matches only biases and the like, "
                    "which do not decay. Pass decay_all=True if they shall."
                )
            places.update({name: place for name in found if name in places})
        groups_: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name in sorted(names, key=places.__getitem__):
            rate, decay = self.lr, self.weight_decay
            if places[name] >= 0:
                group = self.groups[places[name]]
                rate, decay = group.rate(rate), decay if group.weight_decay is None else group.weight_decay
            key = (rate, decay if self._decays(parameters[name]) else 0.0)
            groups_.setdefault(key, []).append(parameters[name])
        return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups_.items()]

    def _decays(self, parameter: nn.Parameter) -> bool:
        return self.decay_all or parameter.ndim >= 2


def trained(module: nn.Module, names: Iterable[str] | None = None) -> list[str]:
    """Return the names of the parameters to train: those given, or all that require a gradient."""
    if names is None:
        names = (name for name, parameter in module.named_parameters() if parameter.requires_grad)
    found = list(names)
    if not found:
        raise ConfigError("there is no parameter to train: the module has none, or all of them are frozen.")
    return found


def batches(groups: list[dict[str, Any]]) -> bool:
    """Whether to update all tensors of a group at once ("foreach") where torch has no fused update.

    On a graphics card always. On a processor it saves calls, which makes the step of a small network 1.1 to 1.5 times
    faster, but from about half a million weights on it pushes them out of the cache again and again and is slower, by
    down to 0.6 times.
    """
    parameters = [parameter for group in groups for parameter in group["params"]]
    return any(p.device.type != "cpu" for p in parameters) or sum(p.numel() for p in parameters) < _MANY_VALUES
