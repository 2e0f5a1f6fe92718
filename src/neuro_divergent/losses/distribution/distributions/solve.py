"""Quantiles of distributions that have no formula for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[[Tensor], Tensor]
_EPSILON = torch.finfo(torch.float64).eps
_EXACT = 1e-11  # fraction of the smaller tail
_STEPS = 200  # bisection alone would need about 60 in 64 bits, wherever the bracket is


def special(function: Callable[..., Any], *values: Tensor) -> Tensor:
    """Apply a function of ``scipy.special`` to each value, in 64 bits on the CPU; no gradient flows through it."""
    arrays = [value.detach().cpu().double().numpy() for value in values]
    return torch.from_numpy(np.asarray(function(*arrays))).to(values[0])


def smallest_integer(cdf: Function, probability: Tensor, guess: Tensor) -> Tensor:
    """Return the smallest integer, from 0 on, whose ``cdf`` reaches a probability below 1; begins at the guess."""
    high = guess.floor().clamp_min(0).expand((probability + guess).shape)
    low = high - 1
    # Make strides, each twice as long as the one before, until cdf(low) < probability <= cdf(high); below 0 there is
    # nothing.
    stride = 1.0
    while bool((short := cdf(high) < probability).any()):
        low, high = high.where(short, low), (high + stride).where(short, high)
        stride *= 2
    stride = 1.0
    while bool((far := (low >= 0) & (cdf(low.clamp_min(0)) >= probability)).any()):
        high, low = low.where(far, high), (low - stride).clamp_min(-1).where(far, low)
        stride *= 2
    while True:
        middle = ((low + high) / 2).floor()
        inside = (low < middle) & (middle < high)
        if not bool(inside.any()):  # numbers beyond 2 ** 53 are further apart than 1
            break
        short = cdf(middle.clamp_min(0)) < probability
        low, high = middle.where(inside & short, low), middle.where(inside & ~short, high)
    return high


def between(cdf: Callable[..., Tensor], probability: Tensor, low: Tensor, high: Tensor, *parameters: Tensor) -> Tensor:
    """Return where an increasing ``cdf`` of values and their parameters equals the probability.

    The method of Chandrupatla (1997) is one of the fastest that cannot fail, and goes on only with the values that are
    not found yet. The ``cdf`` of ``low`` is not above the probability, that of ``high`` not below it. All arguments
    broadcast against each other.
    """
    shape = (probability + low + high).shape
    given = [item.expand(shape).reshape(-1) for item in (probability, low, high, *parameters)]
    probability, b, a, parameters = given[0], given[1], given[2], tuple(given[3:])
    enough = _EXACT * probability.minimum(1 - probability) + 4 * _EPSILON * probability
    fa, fb = cdf(a, *parameters) - probability, cdf(b, *parameters) - probability
    found = a.where(fa.abs() <= fb.abs(), b)
    places = torch.arange(found.shape[0], device=found.device)
    part = torch.full_like(a, 0.5)
    going = (fa > enough) & (fb < -enough)
    for _ in range(_STEPS):
        probability, enough, places, part = probability[going], enough[going], places[going], part[going]
        a, fa, b, fb, parameters = a[going], fa[going], b[going], fb[going], tuple(item[going] for item in parameters)
        if places.shape[0] == 0:
            break
        x = a + part * (b - a)
        fx = cdf(x, *parameters) - probability
        same = (fx < 0) == (fa < 0)
        c, fc = a.where(same, b), fa.where(same, fb)
        b, fb = b.where(same, a), fb.where(same, fa)
        a, fa = x, fx
        found[places] = a.where(fa.abs() <= fb.abs(), b)
        margin = 2 * _EPSILON * torch.maximum(a.abs(), b.abs()) / (b - a).abs()
        going = (margin < 0.5) & (fa.abs() > enough)
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        smooth = (phi.square() < xi) & ((1 - phi).square() < 1 - xi)
        step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        part = step.where(smooth, 0.5).clamp(margin, 1 - margin)
    return found.reshape(shape)
