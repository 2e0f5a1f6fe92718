"""Mean and variance of numbers that come in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and variance of some numbers, computed in float64.

    Those of one block are what ``mean`` and ``var`` of NumPy give. Blocks are merged by the difference of their means
    (Chan, Golub and LeVeque, 1983), which loses no digits where the mean is large compared with the spread.
    """

    count: int = 0
    mean: float = math.nan
    variance: float = math.nan

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Return those of an array."""
        if not values.size:
            return cls()
        return cls(values.size, float(values.mean(dtype=np.float64)), float(values.var(dtype=np.float64)))

    @classmethod
    def of_blocks(cls, blocks: Iterable[Array]) -> Moments:
        """Return those of all numbers of some arrays."""
        merged = cls()
        for block in blocks:
            merged = merged.merge(cls.of(block))
        return merged

    def merge(self, other: Moments) -> Moments:
        """Return those of both together."""
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        part = other.count / count
        apart = other.mean - self.mean
        within = self.variance + (other.variance - self.variance) * part
        return Moments(count, self.mean + apart * part, within + apart * apart * part * (1 - part))

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)
