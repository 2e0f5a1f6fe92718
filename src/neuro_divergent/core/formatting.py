"""Numbers, sizes, durations and times as text that people read: reports, figures, tables and messages."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

UNDEFINED = "n/a"
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_SECONDS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def format_number(value: float | None) -> str:
    """Return a number with up to four digits: ``12,000``, ``1.5M``, ``0.0012``; ``n/a`` for None and NaN."""
    if value is None or math.isnan(value):
        return UNDEFINED
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:.3g}"
    for limit, letter in ((1e9, "G"), (1e6, "M")):
        if size >= limit:
            return f"{value / limit:.4g}{letter}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if size >= 1 or size == 0 else f"{value:.3g}"


def format_distinct(values: Sequence[float]) -> list[str]:
    """Return numbers with as many digits as it takes to make the texts of different numbers different."""
    texts = [format_number(value) for value in values]
    digits = 5
    while len(set(texts)) < len(set(values)) and digits < 18:
        texts = [f"{value:,.{digits}g}" for value in values]
        digits += 1
    return texts


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things: ``1 window``, ``1,200 windows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_percent(fraction: float | None) -> str:
    """Return a fraction as a percentage: ``26 %``, ``0.31 %``, ``below 0.01 %``; ``n/a`` for None and NaN."""
    if fraction is None or math.isnan(fraction):
        return UNDEFINED
    if 0 < fraction < 1e-4:
        return "below 0.01 %"
    return f"{100 * fraction:.2g} %" if 0 < abs(fraction) < 0.01 else f"{100 * fraction:.0f} %"


def format_p_value(probability: float | None) -> str:
    """Return a p value with two digits; ``< 0.0001`` below that, an empty text for None."""
    if probability is None:
        return ""
    return "< 0.0001" if probability < 1e-4 else f"{probability:.2g}"


def format_bytes(size: float) -> str:
    """Return a number of bytes in the decimal unit that suits it: ``5 bytes``, ``840 MB``, ``1.5 TB``."""
    for unit, name in _BYTES:
        if size >= 0.9995 * unit:  # which three digits round to one of this unit
            return f"{size / unit:,.3g} {name}" if size < 1000 * unit else f"{size / unit:,.0f} {name}"
    return f"{size:.0f} bytes"


def format_duration(seconds: float) -> str:
    """Return a length of time in the largest unit that it has two of: ``8.9 s``, ``90 s``, ``2.5 min``, ``3 h``."""
    for length, unit in _SECONDS:
        if seconds >= 2 * length:
            return f"{_two_digits(seconds / length)} {unit}"
    return f"{_two_digits(seconds)} s" if seconds >= 0.01 else "0 s" if seconds <= 0 else "below 0.01 s"


def format_timestamp(moment: float | None) -> str:
    """Return seconds since 1970 as date and time of UTC; an empty text for what is none."""
    if moment is None or not 0 <= moment < 2**37:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))


def format_time(value: Any) -> str:
    """Return a time of a series, which may be an integer, without seconds and hours that are zero."""
    text = value.isoformat(sep=" ") if hasattr(value, "hour") else str(value)
    return text.removesuffix("+00:00").removesuffix(":00").removesuffix(" 00:00")


def _two_digits(value: float) -> str:
    return f"{value:.2g}" if value < 9.95 else f"{value:,.0f}"
