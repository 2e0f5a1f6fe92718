"""Base class of the architectures: a frozen config that builds a network for a task."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry
from neuro_divergent.core.spec import Batch, Feature, Inputs, TaskSpec, Traits

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Architecture", "Batch", "Feature", "Inputs", "TaskSpec", "Traits"]  # what a new architecture needs


class Architecture(Component):
    """Shape of a network, without any training setting.

    A subclass declares its fields, its ``traits`` and ``network``; everything else comes from here.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.Architecture.from_dict({"name": "mlp", "hidden_size": 64}) == nd.MLP(hidden_size=64)
        True
        >>> nd.NHITS.traits.future_x, nd.NLinear.traits.future_x
        (True, False)
        >>> network = nd.NLinear().build(nd.models.TaskSpec(horizon=12, input_size=36))
        >>> sum(parameter.numel() for parameter in network.parameters()) == 12 * (36 + 1)
        True
    """

    registry: ClassVar[Registry] = Registry("model", "neuro_divergent.models")
    traits: ClassVar[Traits]

    def build(self, spec: TaskSpec) -> nn.Module:
        """Return a new network whose ``forward(inputs)`` returns ``(batch, horizon, channel, outputs)``.

        It must accept ``Inputs`` and a ``Batch``, which has the same fields and more. A network that needs the others
        declares ``reads_batch = True`` and always gets a ``Batch``.

        Raises:
            ConfigError: If the task has covariates that the architecture cannot use.
        """
        self._refuse("past", spec.past, self.traits.past_x)
        self._refuse("future", spec.future, self.traits.future_x)
        self._refuse("static", spec.static, self.traits.static_x)
        return self.network(spec)

    @abstractmethod
    def network(self, spec: TaskSpec) -> nn.Module:
        """Make the network; the covariates of ``spec`` have been checked against the traits."""

    def _refuse(self, role: str, features: tuple[Feature, ...], usable: bool) -> None:
        if features and not usable:
            names = ", ".join(repr(feature.name) for feature in features)
            raise ConfigError(
                f"{self.name} cannot use {role} covariates ({names}). Leave them out, or choose a model that can: "
                f"'nd models' lists them."
            )
