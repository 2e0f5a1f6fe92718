"""Combining tensors gives what combining arrays does."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.forecasting.ensemble.combination import Combination
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.point import MAE
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.serving.export.combination_module import CombinationModule

SETS = ((0.1, 0.5, 0.9), (0.5,), (0.1, 0.9), (0.2, 0.5))


@st.composite
def combinations(draw: Any) -> tuple[Combination, tuple[float, ...], int]:
    count = draw(st.integers(1, 4))
    losses: tuple[Loss, ...] = tuple(QuantileLoss(draw(st.sampled_from(SETS))) for _ in range(count))
    if draw(st.booleans()):
        losses = (MAE(), *losses[1:])
    knows_median = all(0.5 in loss.quantile_levels for loss in losses)
    method = draw(st.sampled_from(["mean", "median", *(["quantile_average"] if knows_median else [])]))
    weights = draw(st.none() | st.lists(st.integers(1, 4), min_size=count, max_size=count))
    combination = Combination(losses, method, None if weights is None else np.array(weights) / sum(weights))
    known = sorted({level for loss in losses for level in loss.quantile_levels})
    wanted = (
        () if combination.is_measured or isinstance(losses[0], MAE) else tuple(draw(st.sets(st.sampled_from(known))))
    )
    return combination, wanted, draw(st.integers(0, 1000))


@settings(max_examples=150, deadline=None)
@given(combinations())
def test_points_and_quantiles_are_combined_as_for_arrays(case: tuple[Combination, tuple[float, ...], int]) -> None:
    combination, wanted, seed = case
    random = np.random.default_rng(seed)
    forecasts: list[tuple[Any, Any]] = []
    for levels in combination.member_quantiles(wanted):
        point = random.normal(size=(5, 3, 1)).astype(np.float32)
        forecasts.append((point, random.normal(size=(5, 3, 1, len(levels))).astype(np.float32) if levels else None))
    point, quantiles = combination.combine(wanted, forecasts)
    tensors = [(torch.from_numpy(one), None if two is None else torch.from_numpy(two)) for one, two in forecasts]
    found, bounds = CombinationModule(combination, wanted)(tensors)
    np.testing.assert_allclose(found.numpy(), point, rtol=1e-5, atol=1e-6)
    assert (bounds is None) == (quantiles is None)
    if quantiles is not None:
        np.testing.assert_allclose(bounds.numpy(), quantiles, rtol=1e-5, atol=1e-6)
