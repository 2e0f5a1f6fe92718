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
    """

    share: float = knob(1.0, low=0.0, high=1.0, ge=0.0, le=1.0)

    def ratio(self, progress: float) -> float:
        return self.share


@register("linear")
class LinearForcing(_Decay):
    """A ratio that changes evenly."""

    def _left(self, progress: float) -> float:
        return 1 - progress


@register("exponential")
class ExponentialForcing(_Decay):
    """A ratio that changes fast at first and ever more slowly.

    Attributes:
        rate: How fast: the distance to where the curve tends is divided by ``exp(rate)`` over training.
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
