"""Scaling of covariates: one shift and one spread per numeric column, from the training part of all series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Array, Bools, Floats, Ints
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.panel import BLOCK_ROWS
from neuro_divergent.data.scaling.base import usable_spread
from neuro_divergent.data.scaling.moments import Moments
from neuro_divergent.data.splits import rows_before

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from neuro_divergent.data.panel import Panel

_READ = 2**20  # rows of a panel of more than four million that are read together


class CovariateTensors(NamedTuple):
    """The parameters of ``CovariateScaling`` as tensors on a device, ``(2, columns)`` each."""

    past: Tensor | None
    future: Tensor | None
    static: Tensor | None


@dataclass(frozen=True, eq=False)
class CovariateScaling:
    """Shift (first row) and spread (second row) of the columns of each kind of covariate, or ``None`` without any.

    Categorical columns have shift 0 and spread 1: their codes stay codes.
    """

    past: Array | None = None
    future: Array | None = None
    static: Array | None = None

    @classmethod
    def fit(cls, panel: Panel, ends: Ints) -> CovariateScaling:
        """Fit the columns of a panel, each series up to (not including) row ``ends``; the rows are read in blocks."""
        return cls(
            _fit_columns(panel.past, _training_blocks(panel, panel.past_x, ends)),
            _fit_columns(panel.future, _training_blocks(panel, panel.future_x, ends)),
            _fit_columns(panel.static, None if panel.static_x is None else iter([_Block(panel.static_x)])),
        )

    def tensors(self, device: torch.device) -> CovariateTensors:
        """Return the parameters as tensors on a device."""
        import torch

        def tensor(params: Array | None) -> Tensor | None:
            return None if params is None else torch.tensor(params, dtype=torch.float32, device=device)

        return CovariateTensors(tensor(self.past), tensor(self.future), tensor(self.static))


class _Block(NamedTuple):
    """Some rows of covariates, ``(rows, features)``, and which of them count; ``None`` for all."""

    values: Array
    seen: Bools | None = None

    def column(self, place: int) -> Floats:
        """Return a column of the rows that count."""
        chosen = self.values[:, place] if self.seen is None else self.values[self.seen, place]
        return chosen.astype(np.float64)


def _training_blocks(panel: Panel, values: Array | None, ends: Ints) -> Iterator[_Block] | None:
    """Return the rows of covariates in blocks, of which those before ``ends`` of their series count."""
    if values is None:
        return None
    rows = len(panel) if len(panel) <= BLOCK_ROWS else _READ
    return (_Block(values[block], rows_before(panel, ends, block)) for block in panel.blocks(max(rows, 1)))


def _fit_columns(features: tuple[Feature, ...], blocks: Iterator[_Block] | None) -> Array | None:
    if blocks is None:
        return None
    params = np.tile(np.array([[0.0], [1.0]], dtype=np.float32), len(features))
    numeric = [column for column, feature in enumerate(features) if feature.cardinality is None]
    found = dict.fromkeys(numeric, Moments())
    for block in blocks if numeric else ():
        for column in numeric:
            found[column] = found[column].merge(Moments.of(block.column(column)))
    for column, moments in found.items():
        params[:, column] = moments.mean, usable_spread(moments.deviation, moments.mean)
    return params
