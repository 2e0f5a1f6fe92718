"""Round numbers along an axis."""

from __future__ import annotations

import math
import sys


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return up to ``most`` evenly spaced round numbers that lie between two numbers.

    The spacing is 1, 2 or 5 times a power of ten. Where low and high are equal, or too close to be divided, the result
    is the lower one.
    """
    if not (high - low) / most >= sys.float_info.min:
        return [low]
    for spacing in _spacings((high - low) / most):
        first, last = math.ceil(low / spacing - 1e-9), math.floor(high / spacing + 1e-9)
        if last - first < most:
            return [number * spacing for number in range(first, last + 1)]
    raise AssertionError("spacings grow without end")


def power_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return powers of ten between two positive numbers, with 2 and 5 times them where there are few; for log axes."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        ticks = [tick for tick in ticks if low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9)]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def _spacings(least: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10(least))
    return [factor * power for factor in (1, 2, 5, 10, 20, 50) if factor * power >= least * (1 - 1e-9)]
