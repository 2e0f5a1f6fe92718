"""Cutting a history into patches, the words of a transformer.

Letters: N rows, L history, K patches, S steps per patch.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def cut_patches(history_NL: Tensor, length: int, stride: int) -> Tensor:
    """Return the patches ``(rows, patches, length)`` of histories whose last value goes on for one more stride.

    With it no value at the end is left out, and the latest one is in more than one patch if patches overlap. A patch
    has at most the history and a stride.
    """
    # Replication needs an axis between rows and steps.
    longer = functional.pad(history_NL[:, None], (0, stride), mode="replicate")[:, 0]
    return longer.unfold(1, length, stride)


def cut_side_by_side(history_NL: Tensor, length: int) -> Tensor:
    """Return the patches ``(rows, patches, length)`` that cover histories without overlap.

    The last patch ends with the last value. If the first is not full, the first value fills it from before.
    """
    missing = -history_NL.shape[1] % length
    longer = functional.pad(history_NL[:, None], (missing, 0), mode="replicate")[:, 0] if missing else history_NL
    return longer.reshape(longer.shape[0], -1, length)


def patch_length(wanted: int, stride: int, history: int) -> int:
    """Return the steps per patch: those wanted, or fewer if the history and a stride do not hold them."""
    return min(wanted, history + stride)


def num_patches(length: int, stride: int, history: int) -> int:
    """Return how many patches ``cut_patches`` makes."""
    return (history + stride - length) // stride + 1


def join_patches(patches_NKS: Tensor, history: int) -> Tensor:
    """Return the history ``(rows, history)`` that patches were cut from, if they do not overlap."""
    return patches_NKS.flatten(1)[:, :history]
