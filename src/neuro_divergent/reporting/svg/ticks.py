"""Round numbers along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNDEFINED = "n/a"


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return up to ``most`` evenly spaced round numbers that lie between two numbers.

    The spacing is 1, 2 or 5 times a power of ten. Where low and high are equal the result is that number.
    """
    if not low < high:
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


def show_number(value: float | None) -> str:
    """Write a number as short as it can be read: ``12,000``, ``1.5M``, ``0.0012``; one that is not defined, as such."""
    if value is None or math.isnan(value):
        return UNDEFINED
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:.3g}"
    for limit, divisor, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M")):
        if size >= limit:
            return f"{value / divisor:.4g}{letter}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if size >= 1 or size == 0 else f"{value:.3g}"


def show_numbers(values: Sequence[float]) -> list[str]:
    """Write different numbers so that they can be told apart, as short as that can be."""
    texts = [show_number(value) for value in values]
    digits = 5
    while len(set(texts)) < len(set(values)) and digits < 18:
        texts = [f"{value:,.{digits}g}" for value in values]
        digits += 1
    return texts


def _spacings(least: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10(least))
    return [factor * power for factor in (1, 2, 5, 10, 20, 50) if factor * power >= least * (1 - 1e-9)]
