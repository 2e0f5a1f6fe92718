"""Reading a history at other times than it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.data.augment.base import holds_codes

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


def resample_history(batch: Batch, positions: Tensor) -> Batch:
    """Return the batch with its history, and the covariates of the history, read at the given times.

    Values between two steps are interpolated; one is observed when all that it is made from was. Categories, that is
    columns of integers, are those of the nearest step. The horizon stays. Positions are steps counted from 0, whole or
    not, within the history, ``(batch, history)``.
    """
    import torch

    length = batch.past_y.shape[1]
    if length == 1:
        return batch
    before = positions.floor().clamp(0, length - 2)
    weight = (positions - before).unsqueeze(-1)
    index = before.long().unsqueeze(-1)

    def neighbours(values: Tensor) -> tuple[Tensor, Tensor]:
        place = index.expand(-1, -1, values.shape[-1])
        return values.gather(1, place), values.gather(1, place + 1)

    def columns(values: Tensor) -> Tensor:
        left, right = neighbours(values)
        between = left.lerp(right, weight.to(values.dtype))
        return right.where(weight >= 0.5, left).where(holds_codes(values), between)

    left, right = neighbours(batch.past_y)
    past, mask = left.lerp(right, weight.to(left.dtype)), batch.past_mask
    if mask is not None:
        left, right = neighbours(mask)
        mask = left.where(weight < 1, 1) * right.where(weight > 0, 1)
        past = past * mask
    future = batch.future_x
    if future is not None:
        future = torch.cat([columns(future[:, :length]), future[:, length:]], 1)
    return batch._replace(
        past_y=past, past_mask=mask, past_x=None if batch.past_x is None else columns(batch.past_x), future_x=future
    )
