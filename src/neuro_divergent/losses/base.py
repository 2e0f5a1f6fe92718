"""What every loss is: how many numbers it wants per step, what they cost, and what they forecast."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry
from neuro_divergent.losses.shapes import beside

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


class Forecast(NamedTuple):
    """What the raw outputs of a network mean.

    ``point`` is shaped ``(batch, horizon, channel)``; ``quantiles`` adds a last axis, one entry per level asked for.
    """

    point: Tensor
    quantiles: Tensor | None = None


class Loss(Component):
    """Turns raw outputs ``(batch, horizon, channel, outputs)`` into a cost and into a forecast.

    The cost is element by element, ``(batch, horizon, channel)``; masking and averaging happen once, in ``reduce``.
    Outputs may lack the last axis when there is one output per step, so any network can be trained.

    Attributes:
        in_units: Whether the cost only means something in the units of the data, as a percentage does: outputs, targets
            and history are then brought back to those units first.
        takes_scaled: Whether targets may be scaled; classes may not.
        probabilistic: Whether the outputs stand for a distribution, so that ``inverse`` answers.
        any_level: Whether ``forecast`` answers any quantile level, not only ``quantile_levels``.
        whole: Whether quantiles and draws are whole numbers in the units of the data.
        in_natural_units: Whether the outputs are parameters of a distribution in the units of the data, which needs
            scalers that shift and stretch and do nothing else.
        are_values: Whether every output is a value on the scale of the target, as a point or a quantile is and a spread
            is not, so that a network may bring its outputs back from a scale of its own.
    """

    registry: ClassVar[Registry] = Registry("loss", "neuro_divergent.losses", "neuro_divergent.losses.distribution")
    in_units: ClassVar[bool] = False
    accepts_scaled: ClassVar[bool] = True
    probabilistic: ClassVar[bool] = False
    any_level: ClassVar[bool] = False
    whole: ClassVar[bool] = False
    requires_original_scale: ClassVar[bool] = False
    point_valued: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """Numbers the network must emit per step and channel."""
        return 1

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Quantile levels the loss can forecast by itself; empty for a point loss."""
        return ()

    @abstractmethod
    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the cost of each target value, in the shape of ``target``.

        Args:
            raw: Outputs of the network.
            target: What they should have been.
            batch: Where both come from, for losses that look at more than the target; absent when a module of any other
                kind is trained.

        Raises:
            DataError: If the outputs do not belong to the targets, by their shapes.
        """

    def finish(self, mean: Tensor) -> Tensor:
        """Return the loss for the mean of the costs; most losses are that mean."""
        return mean

    @abstractmethod
    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        """Return the point forecast and the quantiles asked for, on the scale of the network.

        Args:
            raw: Outputs of the network.
            levels: Quantiles to give; unless ``any_level``, they must be among ``quantile_levels``.
            batch: What the outputs were made from, for losses that look at its scale.
        """

    def inverse(self, raw: Tensor, share: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the values below which shares of the probability lie, on the scale of the network.

        Args:
            raw: Outputs of the network, ``(batch, horizon, channel, outputs)``.
            share: Shares between 0 and 1, ``(draws, batch, horizon, channel)`` or any shape that broadcasts to it.
            batch: What the outputs were made from.
        """
        raise NotImplementedError(f"{self.name} forecasts no distribution")

    def arrange(self, raw: Tensor, target: Tensor) -> Tensor:
        """Return outputs of any accepted shape as ``forecast`` reads them: one axis more than ``target``."""
        return beside(raw, target, self.outputs)


class SingleOutput(Loss):
    """A loss with one output per step: the forecast itself."""

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        """Return the output as the point forecast; such a loss has no quantiles of its own."""
        del batch
        assert not levels, "a point loss has no quantiles"
        return Forecast(raw.squeeze(-1))


class PointLoss(SingleOutput):
    """A loss whose cost depends on the forecast and the target alone."""

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the cost of each target value, in the shape of ``target``."""
        del batch
        return self.cost(self.arrange(raw, target).squeeze(-1), target)

    @abstractmethod
    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        """Return the cost of each value; both arguments have the same shape."""
