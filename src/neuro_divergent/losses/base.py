"""What every loss is: how many numbers it wants per step, what they cost, and what they forecast."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry
from neuro_divergent.losses.shapes import align_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


class Forecast(NamedTuple):
    """What the raw outputs of a network mean.

    ``point`` is shaped ``(batch, horizon, channel)``; ``quantiles`` adds a last axis, one entry per level requested.
    """

    point: Tensor
    quantiles: Tensor | None = None


@dataclass(frozen=True)
class LossTraits:
    """What kind of loss it is; forecasting and scaling depend on these.

    Attributes:
        accepts_scaled: Whether targets may be scaled; classes may not.
        cost_on_original_scale: Whether the cost only has a meaning on the scale of the data, as a percentage does:
            outputs, targets and history are then brought back to that scale first.
        requires_original_scale: Whether the outputs are parameters of a distribution on the scale of the data, which
            needs scalers that are affine.
        probabilistic: Whether the outputs stand for a distribution, so that ``inverse`` is defined.
        any_level: Whether ``forecast`` gives any quantile level, not only ``quantile_levels``.
        integer_valued: Whether quantiles and draws are integers on the scale of the data.
        point_valued: Whether every output is a value on the scale of the target, as a point or a quantile is and a
            spread is not, so that a network may bring its outputs back from a scale of its own.
        quantiles_not_exported: Why quantiles cannot be part of an exported graph; empty if they can.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.losses.Poisson().traits.integer_valued, nd.losses.Normal().traits.integer_valued
        (True, False)
        >>> nd.losses.MAPE().traits.cost_on_original_scale  # a percentage of a scaled value means nothing
        True
    """

    accepts_scaled: bool = True
    cost_on_original_scale: bool = False
    requires_original_scale: bool = False
    probabilistic: bool = False
    any_level: bool = False
    integer_valued: bool = False
    point_valued: bool = True
    quantiles_not_exported: str = ""


class Loss(Component):
    """Turns raw outputs ``(batch, horizon, channel, outputs)`` into a cost and into a forecast.

    The cost is element by element, ``(batch, horizon, channel)``; masking and averaging happen once, in ``reduce``.
    Outputs may lack the last axis when there is one output per step, so any network can be trained.

    Attributes:
        traits: What kind of loss it is.

    Examples:
        A name, or a table as in a TOML file, stands for a loss wherever one is expected:

        >>> import neuro_divergent as nd
        >>> nd.losses.Loss.from_dict({"name": "huber", "delta": 2.0})
        Huber(delta=2.0)
        >>> nd.Forecaster("nlinear", horizon=12, loss="quantile").task.loss.quantiles
        (0.1, 0.5, 0.9)
    """

    registry: ClassVar[Registry] = Registry("loss", "neuro_divergent.losses", "neuro_divergent.losses.distribution")
    traits: ClassVar[LossTraits] = LossTraits()

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

        ``batch`` is where both come from, for losses that look at more; absent when another kind of module is trained.

        Raises:
            DataError: If the outputs do not belong to the targets, by their shapes.
        """

    def finish(self, mean: Tensor) -> Tensor:
        """Return the loss for the mean of the costs; most losses are that mean."""
        return mean

    @abstractmethod
    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        """Return the point forecast and the quantiles requested, on the scale of the network.

        Unless ``traits.any_level``, levels must be among ``quantile_levels``. Some losses look at the scale of the
        batch.
        """

    def inverse(self, raw: Tensor, probability: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the values of the quantile function (inverse CDF) at some probabilities, on the scale of the network.

        Probabilities are ``(draws, batch, horizon, channel)`` or any shape that broadcasts to it.
        """
        raise NotImplementedError(f"{self.name} forecasts no distribution")

    def not_exported(self, levels: tuple[float, ...] = ()) -> str:
        """Return why forecasts with these quantile levels cannot be part of an exported graph; empty if they can."""
        reads_quantiles = bool(levels) or getattr(self, "point", "mean") == "median"
        return self.traits.quantiles_not_exported if reads_quantiles else ""

    def arrange(self, raw: Tensor, target: Tensor) -> Tensor:
        """Return outputs of any accepted shape as ``forecast`` reads them: one axis more than ``target``."""
        return align_outputs(raw, target, self.outputs)


class SingleOutput(Loss):
    """A loss with one output per step: the forecast itself."""

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        assert not levels, "a point loss has no quantiles"
        return Forecast(raw.squeeze(-1))


class PointLoss(SingleOutput):
    """A loss whose cost depends on the forecast and the target alone."""

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        return self.cost(self.arrange(raw, target).squeeze(-1), target)

    @abstractmethod
    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        """Return the cost of each value; both arguments have the same shape."""
