"""Statistics of a window, which a network removes and restores."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch

from neuro_divergent.layers.revin import Standardisation

VALUES = torch.from_numpy(np.random.default_rng(0).normal(3.0, 2.0, (4, 7, 2)).astype(np.float32))


@pytest.mark.parametrize("mask", [None, torch.ones_like(VALUES)], ids=["no mask", "all observed"])
@pytest.mark.parametrize("level", ["mean", "last"])
def test_spread_is_that_of_the_population_around_the_mean(
    mask: torch.Tensor | None, level: Literal["mean", "last"]
) -> None:
    found = Standardisation.of(VALUES, mask, level)
    values = VALUES.numpy().astype(np.float64)
    expected = values.mean(1) if level == "mean" else values[:, -1]
    np.testing.assert_allclose(found.level[:, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(found.spread[:, 0], np.sqrt(values.var(1) + 1e-5), rtol=1e-5)


def test_restore_inverts_remove() -> None:
    found = Standardisation.of(VALUES, None)
    torch.testing.assert_close(found.restore(found.remove(VALUES)[..., None])[..., 0], VALUES)
