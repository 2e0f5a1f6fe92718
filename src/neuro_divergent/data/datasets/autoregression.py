"""Noise that remembers: what the made-up data sets add to their levels."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats


def autoregression(random: np.random.Generator, steps: int, coefficient: float, noise: float | Floats) -> Floats:
    """Return a series in which each value is the one before times a coefficient, plus normal noise.

    Args:
        random: The generator.
        steps: Its length.
        coefficient: Between 0 (plain noise) and 1 (a random walk).
        noise: Standard deviation of the noise, the same for all steps or one for each.
    """
    values = random.normal(0, noise, steps)
    for step in range(1, steps):
        values[step] += coefficient * values[step - 1]
    return values
