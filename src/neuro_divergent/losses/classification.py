"""Losses whose targets are classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field, model_validator

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.errors import DataError
from neuro_divergent.losses.base import Forecast, Loss, LossTraits
from neuro_divergent.losses.levels import Weight
from neuro_divergent.losses.shapes import align_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("cross_entropy")
class CrossEntropy(Loss):
    """Minus the logarithm of the probability that the network gives to the right class.

    Targets are the numbers of classes, ``0 .. classes - 1``, as integers or as floats. Outputs are logits, one per
    class on the last axis: ``(batch, classes)`` for targets ``(batch,)``, ``(batch, horizon, channel, classes)`` for
    targets ``(batch, horizon, channel)``. The point forecast is the number of the most likely class.

    Attributes:
        classes: Outputs that a forecaster builds its network with. A network of your own decides by its last axis, and
            this is not looked at.
        label_smoothing: Fraction of each target that is spread evenly over all classes.
        weights: How much each class counts, one positive number for each. The costs are averaged over the targets, not
            over their weights.

    Examples:
        Without any preference among three classes the cost is ``log 3``; a clear and right one costs little:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss, logits = nd.CrossEntropy(classes=3), torch.tensor([[0.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
        >>> [round(cost, 3) for cost in loss.elementwise(logits, torch.tensor([2, 1])).tolist()]
        [1.099, 0.013]
        >>> loss.forecast(logits[1:]).point.tolist()
        [1.0]
    """

    traits: ClassVar[LossTraits] = LossTraits(accepts_scaled=False)

    classes: int = Field(default=2, ge=2)
    label_smoothing: float = knob(0.0, low=0.0, high=0.2, ge=0, lt=1)
    weights: tuple[Weight, ...] | None = None

    @model_validator(mode="after")
    def _one_weight_for_each_class(self) -> Self:
        if self.weights is not None and len(self.weights) != self.classes:
            raise ValueError(
                f"cross_entropy: weights: {len(self.weights)} weights for {self.classes} classes; set both to agree"
            )
        return self

    @property
    def outputs(self) -> int:
        return self.classes

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        # Written out, because torch's own leaves out targets of -100 without a word.
        logarithm = self.arrange(raw, target).log_softmax(-1)
        count = logarithm.shape[-1]
        if self.weights is not None:
            if len(self.weights) != count:
                raise DataError(f"cross_entropy: {len(self.weights)} weights for outputs of {count} classes.")
            logarithm = logarithm * logarithm.new_tensor(self.weights)
        right = logarithm.gather(-1, _class_numbers(target, count).unsqueeze(-1)).squeeze(-1)
        return -(right.lerp(logarithm.mean(-1), self.label_smoothing) if self.label_smoothing else right)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        assert not levels, "classes have no quantiles"
        return Forecast(raw.argmax(-1).to(raw.dtype))

    def arrange(self, raw: Tensor, target: Tensor) -> Tensor:
        if raw.shape == target.shape:
            raise DataError(
                f"cross_entropy: outputs and targets are both shaped {tuple(target.shape)}. Outputs need one axis "
                "more, a number for each class; for one-hot targets pass target.argmax(-1)."
            )
        if raw.ndim == 0 or raw.shape[-1] < 2:
            raise DataError(
                f"cross_entropy: outputs shaped {tuple(raw.shape)} have less than two classes on the last axis. Give "
                "the network one output per class, or use binary_cross_entropy for a single one."
            )
        return align_outputs(raw, target, raw.shape[-1])


@register("binary_cross_entropy")
class BinaryCrossEntropy(Loss):
    """Cross-entropy of two classes from a single output, the logit of class 1.

    Targets are 0 and 1, or probabilities in between. The point forecast is the probability of class 1.

    Attributes:
        label_smoothing: Fraction of each target that is spread evenly over both classes.
        positive_weight: How much class 1 counts compared with class 0, for classes of very different frequency.

    Examples:
        A logit of 0 is a probability of one half; a logit of 3 for what turns out to be class 0 is costly:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss, logits = nd.losses.BinaryCrossEntropy(), torch.tensor([0.0, 3.0])
        >>> [round(cost, 3) for cost in loss.elementwise(logits, torch.tensor([1.0, 0.0])).tolist()]
        [0.693, 3.049]
        >>> [round(probability, 3) for probability in loss.forecast(logits[:, None]).point.tolist()]
        [0.5, 0.953]
    """

    traits: ClassVar[LossTraits] = LossTraits(accepts_scaled=False)

    label_smoothing: float = knob(0.0, low=0.0, high=0.2, ge=0, lt=1)
    positive_weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        if _on_cpu(target) and bool(((target < 0) | (target > 1)).any()):
            raise DataError(
                f"binary_cross_entropy: targets reach from {float(target.min()):g} to {float(target.max()):g}; they "
                "must be 0 and 1, or probabilities in between. Use cross_entropy for more than two classes."
            )
        logit = self.arrange(raw, target).squeeze(-1)
        smoothed = target.to(logit.dtype)
        if self.label_smoothing:
            smoothed = smoothed * (1 - self.label_smoothing) + self.label_smoothing / 2
        weight = None if self.positive_weight == 1 else logit.new_tensor(self.positive_weight)
        return binary_cross_entropy_with_logits(logit, smoothed, pos_weight=weight, reduction="none")

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        assert not levels, "classes have no quantiles"
        return Forecast(raw.squeeze(-1).sigmoid())


def _class_numbers(target: Tensor, classes: int) -> Tensor:
    """Return targets as integers, or say which of them is no class."""
    numbers = target.long()
    if _on_cpu(target):
        wrong = (numbers != target) | (numbers < 0) | (numbers >= classes)
        if bool(wrong.any()):
            raise DataError(
                f"cross_entropy: target {target[wrong][0].item():g} is not the number of a class: the network has "
                f"outputs for 0 to {classes - 1}."
            )
    return numbers


def _on_cpu(target: Tensor) -> bool:
    """Whether looking at values is cheap; on another device it would wait for all work before."""
    return target.device.type == "cpu"
