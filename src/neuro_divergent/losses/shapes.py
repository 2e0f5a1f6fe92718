"""Which shapes of outputs and targets belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor


def align_outputs(raw: Tensor, target: Tensor, outputs: int) -> Tensor:
    """Return outputs in the shape of the targets with one axis more, the outputs of each target.

    An axis of size 1 at the end of either may be missing where only one reading is possible, as many networks give
    ``(batch, 1)`` for targets ``(batch,)``. Anything else is refused: subtracting such shapes would pair every output
    with every target, and train without an error towards nonsense.

    Raises:
        DataError: If the shapes do not belong together.
    """
    given, wanted = raw.shape, (*target.shape, outputs)
    if given == wanted:
        return raw
    single = target.shape[-1:] == (1,)
    if (
        (outputs == 1 and given == target.shape)
        or (outputs == 1 and single and given == target.shape[:-1])
        or (single and given == (*target.shape[:-1], outputs))
    ):
        return raw.reshape(wanted)
    raise DataError(
        f"outputs shaped {tuple(given)} do not belong to targets shaped {tuple(target.shape)}: expected {wanted}"
        f"{f' or {tuple(target.shape)}' if outputs == 1 else ''}. Change the last layer of the network or reshape the "
        "targets."
    )
