"""Windows made larger or smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation, per_window

if TYPE_CHECKING:
    from neuro_divergent.core.spec import Batch


@register("scale")
class Scale(Augmentation):
    """Multiplies the history and the target of a window by one random factor.

    The factor is log-normal: always positive, and as often below 1 as above. Windows are multiplied on the scale that
    the network sees, around zero.

    Attributes:
        sigma: Standard deviation of the logarithm of the factor.

    Examples:
        History and target of a window are multiplied by the same number:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> inputs, targets = torch.ones(4, 8, 1), torch.ones(4, 2, 1)
        >>> larger, changed = nd.augment.Scale(sigma=0.3, probability=1.0).apply((inputs, targets))
        >>> bool((larger[:, :2] == changed).all()), len(changed.unique())
        (True, 4)
    """

    changes_targets: ClassVar[bool] = True

    sigma: float = knob(0.1, low=0.02, high=0.5, log=True, ge=0.0)

    def change(self, batch: Batch) -> Batch:
        factor = batch.past_y.new_empty(len(batch.past_y)).normal_().mul_(self.sigma).exp_()
        past, future, soft = (
            None if values is None else values * per_window(factor, values)
            for values in (batch.past_y, batch.future_y, batch.soft_y)
        )
        assert past is not None
        return batch._replace(past_y=past, future_y=future, soft_y=soft)
