"""The step between two rows of a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["", "us", "s", "m", "h", "d", "bd", "w", "mo", "me", "q", "y"]


@dataclass(frozen=True)
class Frequency:
    """A whole number of units: ``Frequency(15, "m")`` is a quarter of an hour, ``Frequency(1, "")`` counts steps."""

    count: int
    unit: Unit
