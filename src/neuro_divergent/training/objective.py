"""The objective of training: a loss over batches, with weights, a curriculum and a teacher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.nested import map_tensors, num_rows
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.reduce import weighted_mean, weighted_sum
from neuro_divergent.training.curriculum import Curriculum
from neuro_divergent.training.metrics import Metric
from neuro_divergent.training.strategy import Strategy

Restore = Callable[[Tensor, Batch], Tensor]
LossFunction = Loss | Callable[[Tensor, Tensor], Tensor]


def as_loss(loss: object) -> LossFunction:
    """Return a loss for one of ours, its name, or a function of output and target.

    Raises:
        ConfigError: If it is none of these.
    """
    if isinstance(loss, str):
        return Loss.from_dict(loss)
    if isinstance(loss, type):
        raise ConfigError(f"loss: {loss.__name__} is a class; pass an object of it: {loss.__name__}().")
    if not isinstance(loss, Loss) and not callable(loss):
        raise ConfigError(
            f"loss: {loss!r} is neither a loss, nor the name of one, nor a function of output and target."
        )
    return loss


class Example(NamedTuple):
    """A batch taken apart.

    Attributes:
        inputs: What the module reads.
        target: Its target.
        weight: How much each target counts, or ``None`` when all count the same.
        batch: The batch itself where it is one of windows.
    """

    inputs: Any
    target: Tensor
    weight: Tensor | None
    batch: Batch | None

    @classmethod
    def of(cls, batch: Any) -> Example:
        """Take apart a ``Batch``, a pair (inputs, targets) or a triple with weights."""
        if isinstance(batch, Batch):
            assert batch.future_y is not None, "a batch to train on has targets"
            weight = batch.future_mask
            if batch.weight is not None:
                weight = batch.weight if weight is None else weight * batch.weight
            return cls(batch, batch.future_y, weight, batch)
        if isinstance(batch, (tuple, list)) and len(batch) in (2, 3):
            inputs, target, *rest = batch
            return cls(inputs, target, _broadcast(rest[0], target) if rest else None, None)
        raise DataError(
            "a batch is a pair (inputs, targets), a triple with weights, or a Batch; got "
            f"{type(batch).__name__}{f' of {len(batch)}' if isinstance(batch, (tuple, list, dict)) else ''}."
        )


class Objective:
    """Turns outputs into costs.

    ``restore`` brings values of a batch back to the units of the data, for losses that need them, and ``distillation``
    is the fraction of the cost that is measured against what a teacher forecasts, where batches tell that. ``strategy``
    is asked for the costs of other processes where a curriculum chooses among them.
    """

    def __init__(
        self,
        loss: LossFunction,
        *,
        restore: Restore | None = None,
        curriculum: Curriculum | None = None,
        distillation: float = 0.0,
        strategy: Strategy | None = None,
    ) -> None:
        self.loss = loss
        self.restore = restore
        self.curriculum = curriculum
        self.distillation = distillation
        self._strategy = strategy

    def total(self, output: Tensor, example: Example, progress: float | None = None) -> tuple[Tensor, Tensor | float]:
        """Return the weighted sum of the costs and the sum of the weights.

        ``progress`` is unset in validation, where there is no curriculum and no teacher.
        """
        if not isinstance(self.loss, Loss):
            rows = 0.0 if _stands_in(example) else float(len(example.target))
            return self._function(output, example) * rows, rows
        return weighted_sum(*self._weighed(output, example, progress))

    def mean(self, output: Tensor, example: Example, progress: float | None = None) -> Tensor:
        """Return the loss of one batch: ``finish`` of the mean that ``total`` stands for, in fewer operations."""
        if not isinstance(self.loss, Loss):
            return self._function(output, example)
        return self.loss.finish(weighted_mean(*self._weighed(output, example, progress)))

    def measure(self, metric: Metric, output: Tensor, example: Example) -> tuple[Tensor, Tensor | float]:
        """Return the sum of a metric over what was observed, and the number of values."""
        target, batch = example.target, example.batch
        forecast = metric.read(output, target, batch)
        if metric.on_original_scale:
            forecast, target, batch = self._on_original_scale(forecast, target, batch)
        return self.count(metric.measure(forecast, target, batch), example)

    def check_output(self, output: Any) -> Any:
        """Return what a module gave that is no tensor; refuse it for a loss of ours, which would not understand it."""
        if isinstance(self.loss, Loss):
            raise ConfigError(
                f"the module returned a {type(output).__name__}, and the loss {self.loss.name} needs one tensor. "
                "Return that, or pass a function of output and target as the loss."
            )
        return output

    def check_shape(self, output: Tensor, example: Example) -> None:
        """Refuse what a network gave for windows unless its axes are those that forecasts are read from."""
        if example.batch is None or not isinstance(self.loss, Loss):
            return
        expected = (*example.target.shape, self.loss.outputs)
        if output.shape[:-1] != example.target.shape:  # the loss checks the last axis itself
            raise ConfigError(
                f"the network returned {tuple(output.shape)}; a network for windows returns (batch, horizon, channel, "
                f"outputs), which is {expected} here. outputs is the last axis even if it is 1."
            )

    def count(self, values: Tensor, example: Example) -> tuple[Tensor, Tensor | float]:
        """Return the sum over what was observed, and the number of values."""
        if _stands_in(example):
            return values.new_zeros(()), 0.0
        if values.ndim == 0:  # one number for the batch, which counts as often as it has rows
            rows = float(len(example.target))
            return values * rows, rows
        return weighted_sum(values, None if example.batch is None else example.batch.future_mask)

    def finish(self, mean: Tensor) -> Tensor:
        """Return the loss for a mean cost."""
        return self.loss.finish(mean) if isinstance(self.loss, Loss) else mean

    def _function(self, output: Tensor, example: Example) -> Tensor:
        """Return the mean cost that a plain function gives, which has no cost per target."""
        assert not isinstance(self.loss, Loss)
        has_weights = example.weight is not None and not _stands_in(example)
        needs = "weights need" if has_weights else "a curriculum needs" if self.curriculum else None
        if needs:
            raise ConfigError(f"{needs} a loss that costs each target by itself: pass one of ours, such as MSE().")
        cost = self.loss(output, example.target)
        if not isinstance(cost, Tensor) or cost.numel() != 1:
            found = f"a tensor shaped {tuple(cost.shape)}" if isinstance(cost, Tensor) else type(cost).__name__
            raise ConfigError(f"loss: the function returned {found}; return one number as a tensor, such as the mean.")
        return cost

    def _weighed(self, output: Tensor, example: Example, progress: float | None) -> tuple[Tensor, Tensor | None]:
        """Return the cost of each target and how much it counts."""
        cost = self._costs(output, example, teaching=progress is not None)
        weight = example.weight
        if progress is not None and self.curriculum is not None:
            shared = self._strategy is not None and self._strategy.world_size > 1
            gather = self._gather if shared else None
            chosen = self.curriculum.weigh(cost.detach(), example.target, progress, weight, gather)
            if chosen is not None:
                weight = chosen if weight is None else weight * chosen
        return cost, weight

    def _gather(self, values: Tensor) -> tuple[int, list[Tensor]]:
        """Return the number of this process, and the values of all."""
        assert self._strategy is not None
        return self._strategy.rank, self._strategy.gather(values)

    def _costs(self, output: Tensor, example: Example, *, teaching: bool) -> Tensor:
        assert isinstance(self.loss, Loss)
        target, batch = example.target, example.batch
        soft = batch.soft_y if batch is not None and teaching else None
        if self.loss.traits.cost_on_original_scale:
            soft = None if soft is None else self._on_original_scale(soft, target, batch)[0]
            output, target, batch = self._on_original_scale(output, target, batch)
        cost = self.loss.elementwise(output, target, batch)
        if soft is None:
            return cost
        return cost.lerp(self.loss.elementwise(output, soft, batch), self.distillation)

    def _on_original_scale(
        self, output: Tensor, target: Tensor, batch: Batch | None
    ) -> tuple[Tensor, Tensor, Batch | None]:
        """Bring outputs, targets and history back to the units of the data."""
        if batch is None or self.restore is None:
            return output, target, batch
        past = self.restore(batch.past_y, batch)
        return self.restore(output, batch), self.restore(target, batch), batch._replace(past_y=past)


def select_rows(batch: Any, rows: slice | Tensor) -> Any:
    """Return some rows of a batch as a batch; what is no tensor with one entry per row stays as it is."""
    present = num_rows(batch[0])

    def chosen(item: Tensor) -> Tensor:
        return item[rows] if item.ndim and item.shape[0] == present else item

    return map_tensors(chosen, batch if isinstance(batch, Batch) else tuple(batch))


def _stands_in(example: Example) -> bool:
    """Whether nothing of a pair of tensors counts: it stands in where a batch has no row for a process."""
    return example.batch is None and example.weight is not None and not example.weight.any()


def _broadcast(weight: Tensor, target: Tensor) -> Tensor:
    """Give one weight per item the axes of the target."""
    if weight.ndim > target.ndim or len(weight) != len(target):
        raise DataError(
            f"weights must be one for each item or one for each target; got {tuple(weight.shape)} for "
            f"{tuple(target.shape)}."
        )
    return weight.reshape(weight.shape + (1,) * (target.ndim - weight.ndim))
