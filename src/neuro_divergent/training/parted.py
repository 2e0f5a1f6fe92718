"""Tensors of which each process holds a part (``torch.distributed.tensor.DTensor``), without importing their class.

Other tensors are returned as they are, so that nothing here has to be asked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from torch import Tensor


def is_parted(tensor: Tensor) -> bool:
    """Whether this process holds a part of a tensor only."""
    return hasattr(tensor, "full_tensor")


def own_part(tensor: Tensor) -> Tensor:
    """Return what this process holds of a tensor, in the same memory."""
    return cast("Tensor", tensor.to_local()) if hasattr(tensor, "to_local") else tensor


def put_together(tensor: Tensor) -> Tensor:
    """Return a tensor with the parts of all processes, all of which must call this."""
    return cast("Tensor", tensor.full_tensor()) if hasattr(tensor, "full_tensor") else tensor
