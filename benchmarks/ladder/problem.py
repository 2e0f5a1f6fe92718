"""What every rung learns: the same samples, the same network with the same first weights, the same way down.

The rule is plain gradient descent on the mean squared error. A rung that changes the weights after every sample does so
with the rate divided by the samples of a batch, so that after a batch all rungs have moved equally far, to first order.

What the ladder shows depends on choices made here after trials. Networks from 16-64-64-1 to 96-256-256-1 and batches of
32, 100 and 250 were tried, and the ratio of the last rung to the first is largely the size of the batch: for
64-256-256-1 about 20 with 32 samples, 40 to 50 with 100 and 50 to 90 with 250, one thread and two. A prediction with
int8 is 3.7 times quicker than the naive one for 64-256-256-1 and 6 times for 64-128-128-1, because turning int8 into
float32 takes time in proportion to the weights. The rate is small
because larger ones (from 0.01 on) part the naive rung from the others: it still learns where steps on whole batches
overshoot. So the ladder compares the time of the same work, not the time to a loss, where the naive rung would do
better.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Layers = list[tuple[Array, Array]]  # weights (outputs, inputs) and biases

SIZES = (64, 128, 128, 1)
SAMPLES, BATCH = 1000, 250
RATE = 0.003
NOISE = 0.1


def samples() -> tuple[Array, Array]:
    """Return inputs ``(1000, 64)`` and targets ``(1000, 1)`` of variance about 1, in float64."""
    random = np.random.default_rng(0)
    inputs = random.standard_normal((SAMPLES, SIZES[0]))
    first, second = random.standard_normal((2, SIZES[0])) / np.sqrt(SIZES[0])
    clean = np.tanh(2 * inputs @ first) + np.sin(inputs @ second)
    return inputs, (clean / clean.std() + NOISE * random.standard_normal(SAMPLES))[:, None]


def first_weights() -> Layers:
    """Return the weights that every rung begins with, drawn as He et al. (2015) do."""
    random = np.random.default_rng(1)
    return [
        (random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs), np.zeros(outputs))
        for inputs, outputs in pairwise(SIZES)
    ]


def predict(layers: Layers, inputs: Array) -> Array:
    """Return what the network makes of many samples, in float64."""
    values = inputs
    for place, (weights, biases) in enumerate(layers):
        values = values @ weights.astype(np.float64).T + biases.astype(np.float64)
        if place < len(layers) - 1:
            values = np.maximum(values, 0)
    return values


def mean_squared_error(layers: Layers) -> float:
    """Return the loss of a network over all samples, in float64 whatever its weights are."""
    inputs, targets = samples()
    return float(np.square(predict(layers, inputs) - targets).mean())


def parameters(layers: Layers) -> int:
    """Return how many numbers a network has."""
    return sum(weights.size + biases.size for weights, biases in layers)
