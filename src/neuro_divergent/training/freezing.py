"""Parts of a network that are not trained, or not yet."""

from __future__ import annotations

from collections.abc import Iterable
from types import MethodType
from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.training.optimizers.patterns import matching

if TYPE_CHECKING:
    from torch import nn

_STATISTICS = "running_mean"


class Freeze(Config):
    """Which parameters stay as they are.

    Attributes:
        pattern: Matches names of parameters, such as ``encoder.*``; ``*`` also stands for dots.
        until: Epoch, counted from 0, at whose beginning they start to be trained; ``None`` for never.

    Examples:
        A step moves the second layer only:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
        >>> before = [parameter.item() for parameter in network.parameters()]
        >>> config = nd.TrainingConfig(max_steps=1, freeze=nd.training.Freeze("0.*"))
        >>> _ = nd.Trainer(network, nd.losses.MSE(), config).fit((torch.ones(4, 1), torch.full((4, 1), 9.0)))
        >>> [parameter.item() == value for parameter, value in zip(network.parameters(), before)]
        [True, True, False, False]
    """

    pattern: str = Field(min_length=1)
    until: int | None = Field(default=None, ge=1)

    def __init__(self, pattern: str | None = None, **values: Any) -> None:
        super().__init__(**values if pattern is None else {"pattern": pattern, **values})


class Frost:
    """Freezes parts of a module, in place.

    Frozen parameters require no gradient and have none. A normalisation layer whose ``running_mean`` matches a pattern,
    as it does with ``encoder.*`` but not with ``*.weight``, stays in evaluation mode: it normalises with its running
    statistics and leaves them alone, so that a frozen part computes the same thing throughout. Dropout stays active.

    Of several patterns that match a name the first counts. Parameters that required no gradient before are left alone,
    now and later.

    Attributes:
        trainable: Names of the parameters that are trained, now or later: those to make an optimizer for.
    """

    def __init__(self, module: nn.Module, freezes: Iterable[Freeze]) -> None:
        self._module = module
        self._parameters = {name: item for name, item in module.named_parameters() if item.requires_grad}
        self._layers = {
            f"{name}.{_STATISTICS}".removeprefix("."): part
            for name, part in module.named_modules()
            if getattr(part, _STATISTICS, None) is not None
        }
        everything = [*(name for name, _ in module.named_parameters()), *self._layers]
        thaws: dict[str, int | None] = {}
        for freeze in reversed(list(freezes)):  # so that the first match has the last word
            thaws.update(dict.fromkeys(matching(freeze.pattern, everything, "freeze"), freeze.until))
        self._thaws = {name: thaws[name] for name in [*self._parameters, *self._layers] if name in thaws}
        if not set(self._parameters) - set(self._thaws):
            raise ConfigError("freeze: nothing is left to train in the first epoch. Freeze less.")
        self.trainable = [name for name in self._parameters if self._thaws.get(name, 0) is not None]
        for name in self._thaws:
            self._hold(name)

    def thaw(self, epoch: int) -> list[str]:
        """Release what is due at the beginning of an epoch and return its names."""
        return self._release([name for name, until in self._thaws.items() if until is not None and until <= epoch])

    def thaw_all(self) -> list[str]:
        """Release everything and return its names."""
        return self._release(list(self._thaws))

    def _hold(self, name: str) -> None:
        if name in self._parameters:
            self._parameters[name].requires_grad_(False)
            self._parameters[name].grad = None
        else:
            layer = self._layers[name].eval()
            # An attribute of the object hides the method of its class: train() on the network skips the layer.
            layer.train = MethodType(_ignore, layer)

    def _release(self, names: list[str]) -> list[str]:
        for name in names:
            del self._thaws[name]
            if name in self._parameters:
                self._parameters[name].requires_grad_(True)
            else:
                del self._layers[name].train
                self._layers[name].train(self._module.training)
        return names


def _ignore(layer: nn.Module, mode: bool = True) -> nn.Module:
    return layer
