"""Base class of the augmentations: random changes to some windows of a training batch."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component, knob
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry
from neuro_divergent.core.spec import Batch

if TYPE_CHECKING:
    from torch import Tensor


class Augmentation(Component):
    """Changes training windows at random, which enlarges the training set.

    Randomness comes from torch's default generator. Shapes, types and devices do not change, masked values stay
    masked, and ``loc``, ``scale`` and ``series`` stay those of the original window.

    Attributes:
        probability: Chance of each window to be changed.
        needs_time: Whether inputs must have a time axis.
        changes_targets: Whether targets change along with the history.

    Examples:
        Augmentations are a setting of training, applied in their order:

        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(augment=[nd.augment.Jitter(sigma=0.1), "mixup"])
        >>> [(item.name, item.probability) for item in config.augment]
        [('jitter', 0.5), ('mixup', 0.5)]
    """

    registry: ClassVar[Registry] = Registry("augmentation", "neuro_divergent.data.augment")
    needs_time: ClassVar[bool] = False
    changes_targets: ClassVar[bool] = False

    probability: float = knob(0.5, low=0.1, high=1.0, ge=0.0, le=1.0)

    def apply(self, batch: Any) -> Any:
        """Return a batch of the same kind in which some windows are changed; the input is not modified.

        Args:
            batch: A ``Batch``, or a tuple of inputs, targets and possibly weights. Inputs with three axes are
                ``(batch, time, feature)``.

        Raises:
            ConfigError: If inputs or targets are not of a kind that can be changed in this way.
        """
        if isinstance(batch, Batch):
            return self._change_some(batch)
        inputs, targets, *weight = batch
        self._check(inputs, targets)
        changed = self._change_some(Batch(inputs, future_y=targets, weight=weight[0] if weight else None))
        return (changed.past_y, changed.future_y, changed.weight)[: len(batch)]

    @abstractmethod
    def change(self, batch: Batch) -> Batch:
        """Return the batch with every window changed; fields that do not change must be the same objects."""

    def _change_some(self, batch: Batch) -> Batch:
        changed = self.change(batch)
        if self.probability == 1:
            return changed
        chosen = batch.past_y.new_empty(batch.past_y.shape[0]).uniform_() < self.probability
        if batch.past_mask is None and changed.past_mask is not None:  # windows that are not changed stay observed
            batch = batch._replace(past_mask=changed.past_mask.new_ones(()).expand_as(changed.past_mask))
        return Batch._make(
            new if new is old or new is None or old is None else new.where(per_window(chosen, new), old)
            for new, old in zip(changed, batch, strict=True)
        )

    def _check(self, inputs: Any, targets: Any) -> None:
        if not _is_float(inputs):
            raise ConfigError(f"{self.name} changes inputs that are a floating point tensor; got {_describe(inputs)}.")
        if self.needs_time and inputs.ndim != 3:
            raise ConfigError(
                f"{self.name} needs inputs with a time axis, (batch, time, feature); got {_describe(inputs)}. "
                "Leave it out, or choose jitter or mixup."
            )
        if self.changes_targets and not _is_float(targets):
            raise ConfigError(
                f"{self.name} changes targets too and needs a floating point tensor; got {_describe(targets)}. "
                "Leave it out, or write classes as probabilities."
            )


def per_window(values: Tensor, like: Tensor) -> Tensor:
    """Add axes to one value per window until it has as many as another tensor."""
    return values.view(-1, *(1,) * (like.ndim - 1))


def holds_codes(values: Tensor) -> Tensor:
    """Return which columns (last axis) hold integers only, like categories and unlike most measurements.

    Nothing lies between two categories, so such a column must never be averaged.
    """
    return (values == values.round()).flatten(0, -2).all(0)


def _is_float(values: Any) -> bool:
    return getattr(values, "is_floating_point", bool)() is True


def _describe(values: Any) -> str:
    if not hasattr(values, "dtype"):
        return type(values).__name__
    return f"{str(values.dtype).removeprefix('torch.')} shaped {tuple(values.shape)}"
