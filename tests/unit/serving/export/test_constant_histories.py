"""Histories that do not change, in graphs, whose sums round in another way than those of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.data.scaling.base import WindowScaler
from neuro_divergent.data.scaling.pipeline import tells_no_scale
from neuro_divergent.serving.dependency import load_package
from neuro_divergent.serving.export.graph import trace_onnx

L = 96


class TellsNoScale(nn.Module):
    def forward(self, past_y: Tensor, past_mask: Tensor) -> Tensor:
        loc, scale = WindowScaler.from_dict("standard").statistics(past_y, past_mask)
        return tells_no_scale(scale, loc, past_mask).float()


def test_constant_histories_tell_no_scale_in_a_graph_at_any_level_with_and_without_missing_values() -> None:
    mask = torch.ones(4, L, 1)
    mask[0, :5] = 0
    graph = trace_onnx(TellsNoScale(), {"past_y": torch.randn(4, L, 1), "past_mask": mask})
    session: Any = load_package("onnxruntime").InferenceSession(graph.SerializeToString())
    random = np.random.default_rng(0)
    levels = np.float32(10 ** random.uniform(-3, 6, 2000) * random.choice([-1, 1], 2000))
    seen = (random.random((2000, L, 1)) < random.choice([1.0, 0.6], (2000, 1, 1))).astype(np.float32)
    constant = session.run(None, {"past_y": levels[:, None, None] * seen, "past_mask": seen})[0]
    assert constant.all()
    varying = levels[:, None, None] * (1 + 1e-3 * random.normal(size=seen.shape).astype(np.float32))
    assert not session.run(None, {"past_y": varying * seen, "past_mask": seen})[0].any()
