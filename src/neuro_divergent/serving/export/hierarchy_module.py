"""A hierarchy: forecasts of all nodes, reconciled by one matrix."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Floats
from neuro_divergent.forecasting.predictor import Values
from neuro_divergent.serving.export.inputs import GraphInputs, together
from neuro_divergent.serving.export.network_module import NetworkModule
from neuro_divergent.serving.export.window_module import WindowModule


class HierarchyModule(WindowModule):
    """Forecasts every node with one network and makes the forecasts add up.

    The paths that ``HINT.predict`` takes quantiles from are the reconciled forecast plus errors that do not depend on
    it, so a quantile is the forecast plus a constant.

    Args:
        module: The network; windows of the result hold all nodes side by side.
        matrix: From base forecasts to coherent ones, ``(nodes, nodes)``.
        offsets: Distance of each quantile from the point, ``(quantiles, nodes, horizon)``.
    """

    matrix: Tensor  # nodes nodes
    offsets: Tensor  # H nodes Q

    def __init__(self, module: NetworkModule, *, matrix: Floats, offsets: Floats) -> None:
        super().__init__()
        self.module, self.input_size, self.channels = module, module.input_size, len(matrix)
        self.joint, self.takes_series, self.requires_known, self.integer_valued = True, False, True, False
        self.register_buffer("matrix", torch.from_numpy(np.ascontiguousarray(matrix)), persistent=False)
        moved = np.ascontiguousarray(offsets.transpose(2, 1, 0))
        self.register_buffer("offsets", torch.from_numpy(moved), persistent=False)

    def forward(self, inputs: GraphInputs) -> Values:
        if self.module.joint:
            base, _ = self.module(inputs)
        else:
            base = together(self.module(inputs.apart())[0], self.channels)
        point = base.double() @ self.matrix.T
        if not self.offsets.shape[-1]:
            return point.to(base.dtype), None
        return point.to(base.dtype), (point.unsqueeze(-1) + self.offsets).to(base.dtype)
