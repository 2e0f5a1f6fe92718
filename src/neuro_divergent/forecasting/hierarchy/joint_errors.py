"""Errors of past windows for all series at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError, check_choice

Noise = Literal["bootstrap", "normal"]
NOISES: tuple[Noise, ...] = get_args(Noise)

_LEAST_SHRINKAGE = 1e-6  # keeps a covariance invertible where errors of sums are sums of errors


@dataclass(frozen=True, eq=False)
class JointErrors:
    """Errors of the same windows for all series, so that paths keep their dependence.

    Attributes:
        values: Observed minus forecast values, ``(windows, series, horizon)``; windows are one row apart.
    """

    values: Floats

    @property
    def variances(self) -> Floats:
        """Mean square error of each series; that of a series without errors is small, not zero."""
        squares = np.square(self.values).mean((0, 2))
        largest = float(squares.max())
        result: Floats = np.maximum(squares, 1e-10 * (largest if largest > 0 else 1.0))
        return result

    def covariance(self) -> Floats:
        """Return the covariance ``(series, series)`` of errors at the same step, with correlations shrunk towards none.

        The shrinkage intensity minimises the expected squared error (Schaefer and Strimmer, 2005). Errors count around
        zero, so a bias is part of them. Windows overlap, so the rows that were forecast count as cases, not how often
        each was.
        """
        count, series, horizon = self.values.shape
        deviations = np.sqrt(self.variances)
        scaled = self._cases() / deviations
        correlation = scaled.T @ scaled / len(scaled)
        spread = np.square(scaled).T @ np.square(scaled) / len(scaled) - np.square(correlation)
        apart = ~np.eye(series, dtype=bool)
        signal = float(np.square(correlation[apart]).sum())
        noise = float(spread[apart].sum()) / max(count + horizon - 2, 1)
        intensity = 1.0 if signal == 0 else float(np.clip(noise / signal, _LEAST_SHRINKAGE, 1))
        result: Floats = np.where(apart, (1 - intensity) * correlation, 1.0) * np.outer(deviations, deviations)
        return result

    def draw(self, count: int, *, seed: int, noise: Noise = "bootstrap") -> Floats:
        """Draw errors, ``(count, series, horizon)``.

        ``bootstrap`` repeats whole windows of the past, each about as often. ``normal`` draws from a normal
        distribution whose covariance is that between series times that between steps; the latter is the same for all
        series, so few windows are enough to know it. Both are sums of past errors, so errors of sums that are sums of
        errors remain so.
        """
        check_choice("noise", noise, NOISES)
        if count < 1:
            raise InputError(f"num_paths: {count} must be at least 1.")
        generator = np.random.default_rng(seed)
        windows, series, horizon = self.values.shape
        if noise == "bootstrap":
            return self.values[generator.permutation(np.arange(count) % windows)]
        scaled = self.values / np.sqrt(self.variances)[:, None]
        sizes, directions = np.linalg.eigh(np.einsum("wsh,wsg->hg", scaled, scaled) / (windows * series))
        across_steps = directions * np.sqrt(np.maximum(sizes, 0))
        cases = self._cases()
        triangle: Floats = np.asarray(np.linalg.qr(cases, mode="r"))  # its square is that of the cases
        drawn = generator.standard_normal((count, len(triangle), horizon))
        result: Floats = (triangle.T / math.sqrt(len(cases))) @ drawn @ across_steps.T
        return result

    def _cases(self) -> Floats:
        """Return the errors of each window and step as a row, ``(windows * horizon, series)``."""
        return self.values.transpose(0, 2, 1).reshape(-1, self.values.shape[1])

    def check_quantiles(self, quantiles: Sequence[float], noise: Noise) -> None:
        """Refuse quantiles that are too extreme for the number of windows.

        Raises:
            InputError: If more windows would be needed.
        """
        check_choice("noise", noise, NOISES)
        if noise == "normal" or not quantiles:
            return
        furthest = min(quantiles, key=lambda quantile: min(quantile, 1 - quantile))
        needed = math.ceil(1 / min(furthest, 1 - furthest) - 1 - 1e-9)
        if len(self.values) < needed:
            raise InputError(
                f"the quantile {furthest:g} needs at least {needed} validation windows, there are {len(self.values)}. "
                "Pass noise='normal', take a lower level, or hold out more for validation."
            )
