"""Convex combinations of two windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation, holds_codes, per_window

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("mixup")
class Mixup(Augmentation):
    """Replaces a window by an average of itself and another window of the batch, targets and covariates alike.

    Zhang et al., "mixup: Beyond Empirical Risk Minimization", ICLR 2018. The weight of a window is drawn for each and
    never below one half: its partner is met as often the other way round, and the window's series, scale and categories
    are then those of the larger part. Columns of integers count as categories. A value is observed where it was in
    both windows.

    Attributes:
        alpha: Both parameters of the beta distribution that the weight is drawn from; larger mixes more evenly.

    Examples:
        Inputs and targets are averaged with the same weight, of which at least one half stays with the window itself:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> inputs = torch.tensor([[0.0], [0.0], [1.0], [1.0]])
        >>> mixed, targets = nd.augment.Mixup(probability=1.0).apply((inputs, inputs))
        >>> bool((mixed == targets).all()), bool((mixed[:2] <= 0.5).all()), bool((mixed[2:] >= 0.5).all())
        (True, True, True)
    """

    changes_targets: ClassVar[bool] = True

    alpha: float = knob(0.2, low=0.1, high=1.0, log=True, gt=0.0)

    def change(self, batch: Batch) -> Batch:
        import torch
        from torch.distributions import Beta

        values = batch.past_y
        order = torch.randperm(len(values), device=values.device)
        alpha = torch.full((len(values),), self.alpha, device=values.device)
        drawn = Beta(alpha, alpha, validate_args=False).sample()
        weight = drawn.maximum(1 - drawn).to(values.dtype)

        def mix(values: Tensor | None) -> Tensor | None:
            return None if values is None else values[order].lerp(values, per_window(weight, values))

        def mix_columns(values: Tensor | None) -> Tensor | None:
            mixed = mix(values)
            return None if values is None or mixed is None else values.where(holds_codes(values), mixed)

        past_mask, future_mask = batch.past_mask, batch.future_mask
        past, future, soft = mix(batch.past_y), mix(batch.future_y), mix(batch.soft_y)
        assert past is not None
        if past_mask is not None:
            past_mask = past_mask * past_mask[order]
            past = past * past_mask
        if future_mask is not None:
            future_mask = future_mask * future_mask[order]
            future = None if future is None else future * future_mask
        return batch._replace(
            past_y=past,
            past_mask=past_mask,
            past_x=mix_columns(batch.past_x),
            future_x=mix_columns(batch.future_x),
            static_x=mix_columns(batch.static_x),
            future_y=future,
            future_mask=future_mask,
            weight=mix(batch.weight),
            soft_y=soft,
        )
