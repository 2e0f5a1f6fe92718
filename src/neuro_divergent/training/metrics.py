"""Validation metrics besides the loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import ConfigError, DataWarning, did_you_mean
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.shapes import align_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch

    Measure = Callable[[Tensor, Tensor, Batch | None], Tensor]

_ACCURACY = "accuracy"


@dataclass(frozen=True)
class Metric:
    """A result measured in validation.

    Attributes:
        name: What it is called in the history.
        read: Takes output, target and batch (``None`` where there is no forecasting task) and returns what the output
            forecasts, on the scale of the network.
        measure: Takes that, target and batch and returns a value for each target, in the shape of ``target``.
        finish: Makes the result out of the mean of those values.
        on_original_scale: Whether ``measure`` takes forecast, target and history on the scale of the data.
    """

    name: str
    read: Measure
    measure: Measure
    finish: Callable[[Tensor], Tensor]
    on_original_scale: bool = False


def metric_for(metric: str | Loss, loss: object) -> Metric:
    """Return how to measure a metric on the outputs of a network that was trained with a loss.

    Args:
        metric: ``"accuracy"``, the name of a loss with one output, or such a loss with settings of its own
            (``MASE(season_length=12)``). Losses are measured on the point forecast.
        loss: What the network is trained with, which says what its outputs mean. Of torch's own losses, outputs under
            binary cross-entropy with logits are read as probabilities, and those under cross-entropy have the classes
            on the second axis. Outputs under any other function are taken as they are.
    """
    if isinstance(metric, str):
        key = metric.lower().replace("-", "_")
        if key == _ACCURACY:
            scaled = loss.traits.accepts_scaled if isinstance(loss, Loss) else True
            return Metric(_ACCURACY, _reader(loss), _accuracy_for(loss), _mean, on_original_scale=scaled)
        if key not in known_metrics():
            hint = did_you_mean(key, known_metrics())
            raise ConfigError(f"Unknown metric {metric!r}.{hint} Known: {', '.join(known_metrics())}.")
        metric = Loss.from_dict(key)
    elif not _measures_a_point(metric):
        raise ConfigError(f"metric {metric.name!r}: only a loss with one output, the forecast itself, is a metric.")
    on_original_scale = metric.traits.cost_on_original_scale
    return Metric(metric.name, _reader(loss), metric.elementwise, metric.finish, on_original_scale)


def known_metrics() -> tuple[str, ...]:
    """Return the names of all metrics."""
    losses = (Loss.from_dict(name) for name in Loss.registry.names())
    return (_ACCURACY, *(loss.name for loss in losses if _measures_a_point(loss)))


def accuracy(output: Tensor, target: Tensor) -> Tensor:
    """Return 1 for each target that was predicted correctly and 0 for the others, in the shape of ``target``.

    Outputs with one axis more than the targets are scores of classes, of which the highest is the prediction. Others
    are the prediction itself, which is rounded: numbers of classes, or probabilities of class 1. Logits of a single
    class are neither; watch ``"accuracy"`` under ``BinaryCrossEntropy`` or torch's ``BCEWithLogitsLoss``, which tell
    what they mean.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> scores = torch.tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> nd.training.accuracy(scores, torch.tensor([1, 1])).tolist()  # the second is predicted as class 0
        [1.0, 0.0]
    """
    if output.ndim == target.ndim + 1 and output.shape[-1] > 1:
        return _agreement(align_outputs(output, target, output.shape[-1]).argmax(-1), target)
    prediction = align_outputs(output, target, 1).squeeze(-1)
    if bool((prediction < -0.5).any()) and not bool((target < 0).any()):
        warnings.warn(
            "accuracy: outputs are rounded to numbers of classes, and some are below -0.5. If they are logits of class "
            "1, the accuracy is wrong: use the loss 'binary_cross_entropy' or nn.BCEWithLogitsLoss(), or a metric of "
            "your own.",
            DataWarning,
            stacklevel=2,
        )
    return _agreement(prediction, target)


def _agreement(prediction: Tensor, target: Tensor) -> Tensor:
    return (prediction.round() == target.float().round()).float()


def _accuracy_for(loss: object) -> Measure:
    """Return what compares forecasts with targets; the outputs under any other function may be scores of classes."""
    compare = _agreement if isinstance(loss, Loss) else accuracy
    return lambda prediction, target, batch: compare(prediction, target)


def _reader(loss: object) -> Measure:
    """Return what turns outputs into forecasts, in the shape of the targets; without a loss of ours they are those."""

    def read(output: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
        if isinstance(loss, Loss):
            return loss.forecast(loss.arrange(output, target), (), batch).point
        return _read_torch(loss, output, target)

    return read


def _read_torch(loss: object, output: Tensor, target: Tensor) -> Tensor:
    """Return outputs under a loss of torch as probabilities, or with the scores of classes on the last axis."""
    from torch import Tensor, nn
    from torch.nn import functional

    if not isinstance(output, Tensor):
        raise ConfigError(
            f"metrics: the module returned a {type(output).__name__}, and metrics that have names need one tensor. "
            "Pass a function of output and batch: Trainer(metrics={'hits': hits})."
        )
    if isinstance(loss, nn.BCEWithLogitsLoss) or loss is functional.binary_cross_entropy_with_logits:
        return output.sigmoid()
    has_classes = isinstance(loss, (nn.CrossEntropyLoss, nn.NLLLoss)) or loss is functional.cross_entropy
    return output.movedim(1, -1) if has_classes and output.ndim == target.ndim + 1 else output


def _measures_a_point(loss: Loss) -> bool:
    """Whether a loss costs forecasts of the target itself, not logits or several levels."""
    return loss.traits.accepts_scaled and loss.outputs == 1


def _mean(mean: Tensor) -> Tensor:
    return mean
