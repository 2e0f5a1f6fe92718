"""How often a network that forecasts step by step is shown the true step before."""

from __future__ import annotations

from abc import abstractmethod
from math import exp
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import Component, knob, register
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import nn


class TeacherForcing(Component):
    """Ratio of steps that are decoded from the true value before them instead of the forecast one.

    Bengio et al., "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks", NeurIPS 2015. The curves
    are theirs, written in the fraction of training done and scaled to run exactly from ``start`` to ``end``.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(teacher_forcing={"name": "linear", "end": 0.2})
        >>> [round(config.teacher_forcing.ratio(progress), 2) for progress in (0.0, 0.5, 1.0)]
        [1.0, 0.6, 0.2]
    """

    registry: ClassVar[Registry] = Registry("teacher forcing", "neuro_divergent.training.teacher_forcing")

    @abstractmethod
    def ratio(self, progress: float) -> float:
        """Return the ratio for a fraction of training done, both 0 to 1."""


class _Decay(TeacherForcing):
    """Runs from one ratio to another.

    Attributes:
        start: Ratio at the beginning of training.
        end: Ratio at the end.
    """

    start: float = knob(1.0, low=0.5, high=1.0, ge=0.0, le=1.0)
    end: float = knob(0.0, low=0.0, high=0.5, ge=0.0, le=1.0)

    def ratio(self, progress: float) -> float:
        return self.end + (self.start - self.end) * self._left(min(max(progress, 0.0), 1.0))

    @abstractmethod
    def _left(self, progress: float) -> float:
        """Return how much of the way is left: 1 at the beginning and 0 at the end."""


@register("constant")
class ConstantForcing(TeacherForcing):
    """The same ratio all along.

    Attributes:
        share: That ratio.

    Examples:
        >>> import neuro_divergent as nd
        >>> [nd.training.ConstantForcing(share=0.5).ratio(progress) for progress in (0.0, 1.0)]
        [0.5, 0.5]
    """

    share: float = knob(1.0, low=0.0, high=1.0, ge=0.0, le=1.0)

    def ratio(self, progress: float) -> float:
        return self.share


@register("linear")
class LinearForcing(_Decay):
    """A ratio that changes evenly.

    Examples:
        >>> import neuro_divergent as nd
        >>> [nd.training.LinearForcing().ratio(progress) for progress in (0.0, 0.25, 0.5, 1.0)]
        [1.0, 0.75, 0.5, 0.0]
    """

    def _left(self, progress: float) -> float:
        return 1 - progress


@register("exponential")
class ExponentialForcing(_Decay):
    """A ratio that changes fast at first and ever more slowly.

    Attributes:
        rate: How fast: the distance to where the curve tends is divided by ``exp(rate)`` over training.

    Examples:
        >>> import neuro_divergent as nd
        >>> [round(nd.training.ExponentialForcing().ratio(progress), 3) for progress in (0.0, 0.25, 0.5, 1.0)]
        [1.0, 0.282, 0.076, 0.0]
    """

    rate: float = Field(default=5.0, gt=0.0, le=100.0)

    def _left(self, progress: float) -> float:
        floor = exp(-self.rate)
        return (exp(-self.rate * progress) - floor) / (1 - floor)


@register("inverse_sigmoid")
class InverseSigmoidForcing(_Decay):
    """A ratio that stays for a while, changes around the middle of training, and stays again.

    Attributes:
        steepness: How sudden the change is.

    Examples:
        >>> import neuro_divergent as nd
        >>> [round(nd.training.InverseSigmoidForcing().ratio(progress), 3) for progress in (0.0, 0.25, 0.5, 0.75, 1.0)]
        [1.0, 0.93, 0.5, 0.07, 0.0]
    """

    steepness: float = Field(default=10.0, gt=0.0, le=100.0)

    def _left(self, progress: float) -> float:
        def curve(at: float) -> float:
            return 1 / (1 + exp(self.steepness * (at - 0.5)))

        return (curve(progress) - curve(1)) / (curve(0) - curve(1))


def set_ratio(module: nn.Module, ratio: float) -> int:
    """Set ``teacher_forcing_ratio`` on every part of a module that has it, and return how many do."""
    parts = [part for part in module.modules() if hasattr(part, "teacher_forcing_ratio")]
    for part in parts:
        part.teacher_forcing_ratio = ratio  # type: ignore[assignment]
    return len(parts)
