"""Simulated differences of losses, and what a shadow test makes of them."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from neuro_divergent.core.arrays import Floats
from neuro_divergent.lifecycle.promotion.block import Block
from neuro_divergent.lifecycle.promotion.shadow_test import ShadowState, ShadowTest

HORIZON = 12


def differences(
    kind: str, *, repetitions: int, steps: int, series: int = 20, gain: float = 0.0, seed: int = 0
) -> Floats:
    """Return differences of the losses at each step, averaged over series: ``(repetitions, steps)``.

    Those of one series have a standard deviation of 1 and a mean of ``gain``; two series are correlated by 0.5.
    """
    generator = np.random.default_rng(seed)
    size = np.sqrt(0.5 + 0.5 / series)
    if kind == "heavy tails":
        noise = generator.standard_t(3, (repetitions, steps)) / np.sqrt(3)
    elif kind == "autocorrelated":
        noise = lfilter([np.sqrt(1 - 0.8**2)], [1, -0.8], generator.standard_normal((repetitions, steps + 100)))[
            :, 100:
        ]
    else:
        noise = generator.standard_normal((repetitions, steps))
    if kind == "volatility clusters":
        noise = np.stack(_garch(noise), axis=1)
    return size * noise + gain


def _garch(noise: Floats) -> list[Floats]:
    variance, values = np.ones(len(noise)), []
    for step in range(noise.shape[1]):
        values.append(noise[:, step] * np.sqrt(variance))
        variance = 0.05 + 0.15 * values[-1] ** 2 + 0.80 * variance
    return values


def blocks_of(steps: Floats, *, horizon: int = HORIZON, gap: int = HORIZON) -> list[Block]:
    """Return the blocks of one row of differences, as losses of two versions."""
    starts = range(0, len(steps) - horizon + 1, horizon + gap)
    return [
        Block(start, start + horizon + gap, str(start), str(start + horizon), 5.0 + mean, 5.0, 10.0, 1)
        for start, mean in zip(starts, (float(steps[place : place + horizon].mean()) for place in starts), strict=True)
    ]


def run(test: ShadowTest, steps: Floats, *, gap: int = HORIZON) -> ShadowState:
    """Run a test on one row of differences, looking at it after every block."""
    state = test.start()
    for block in blocks_of(steps, gap=gap):
        state = test.update(state, [block])
    return state


def promoted(kind: str, *, gain: float, repetitions: int, series: int = 20, seed: int = 0) -> float:
    """Return the fraction of repetitions in which the challenger took over within 60 blocks."""
    steps = 60 * 2 * HORIZON
    rows = differences(kind, repetitions=repetitions, steps=steps, series=series, gain=gain, seed=seed)
    return float(np.mean([run(ShadowTest(), row).outcome == "switch" for row in rows]))
