"""Scaling of covariates: one shift and one spread per numeric column, from the training part of all series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.scaling.base import usable_spread

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from neuro_divergent.data.panel import Panel


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
    def fit(cls, panel: Panel, ends: Array) -> CovariateScaling:
        """Fit the columns of a panel, each series up to (not including) row ``ends``."""
        seen = np.zeros(len(panel), dtype=bool)
        for begin, end in zip(panel.offsets[:-1], ends, strict=True):
            seen[begin:end] = True
        return cls(
            _fit_columns(panel.past_x, panel.past, seen),
            _fit_columns(panel.future_x, panel.future, seen),
            _fit_columns(panel.static_x, panel.static, np.ones(panel.num_series, dtype=bool)),
        )

    def tensors(self, device: torch.device) -> CovariateTensors:
        """Return the parameters as tensors on a device."""
        import torch

        def tensor(params: Array | None) -> Tensor | None:
            return None if params is None else torch.tensor(params, dtype=torch.float32, device=device)

        return CovariateTensors(tensor(self.past), tensor(self.future), tensor(self.static))


def _fit_columns(values: Array | None, features: tuple[Feature, ...], seen: Array) -> Array | None:
    if values is None:
        return None
    params = np.tile(np.array([[0.0], [1.0]], dtype=np.float32), len(features))
    for column, feature in enumerate(features):
        if feature.cardinality is None:
            chosen = values[seen, column].astype(np.float64)
            level = chosen.mean()
            params[:, column] = level, usable_spread(chosen.std(), level)
    return params
