"""Random numbers of the operating system's generator, which no seed repeats and no earlier number predicts."""

from __future__ import annotations

import math
import os

import numpy as np
from scipy.special import ndtri

from neuro_divergent.core.arrays import Floats

_PARTS = 4


def draw_uniform(size: int) -> Floats:
    """Return numbers from 0 to 1, without 1, in steps of 2^-53."""
    return (_draw_integers(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_normal(size: int) -> Floats:
    """Return standard normal numbers.

    Each is the sum of four over their standard deviation: float64 has gaps, and which numbers a single draw can reach
    would tell what it was added to (Mironov, On Significance of the Least Significant Bits for Differential Privacy,
    CCS 2012). Finding four at once takes too long (Holohan and Braghin, Secure Random Sampling in Differential
    Privacy, ESORICS 2021); that is a defence, not a proof.
    """
    drawn = _draw_integers(_PARTS * size)
    # The sign is one bit and the tail the other 63, never 0: both tails reach as far and are equally fine.
    tails = ((drawn >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64
    signed = np.where(drawn & np.uint64(1), 1.0, -1.0) * ndtri(tails)
    return np.asarray(signed.reshape(_PARTS, size).sum(axis=0) / math.sqrt(_PARTS))


def _draw_integers(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
