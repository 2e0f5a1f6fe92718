"""The time budget of an automatic search: its clock, what was spent on whom, and what the next candidate will cost."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from neuro_divergent.core.errors import InputError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([smhd]?)\s*")


def parse_budget(value: str | float) -> float:
    """Return the seconds that ``"90s"``, ``"10m"``, ``"1h"`` or a number of seconds stand for.

    Raises:
        InputError: If it is something else, or not above 0.
    """
    seconds = math.nan
    if isinstance(value, str):
        if found := _PATTERN.fullmatch(value):
            seconds = float(found[1]) * _UNITS[found[2]]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    if not 0 < seconds < math.inf:
        raise InputError(f"budget: {value!r} is not a time; write 90s, 10m, 1h or a number of seconds above 0.")
    return seconds


class Budget:
    """A clock that counts down from the beginning of a search.

    Args:
        seconds: Wall-clock time from the beginning to the end.
        spent: Time that a search had used before it was interrupted.
        clock: Returns the time in seconds; for tests.
    """

    def __init__(self, seconds: float, *, spent: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._began = clock() - spent

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds to the end; 0 after it."""
        return max(self.seconds - self.spent, 0.0)


@dataclass
class Cost:
    """What was measured of one candidate.

    Attributes:
        wall: Seconds by the clock, over all its tasks.
        processor: Processor seconds of them.
        work: Units of work of the measured tasks: steps of training, or rows that a model was estimated from.
        measured: Seconds of those units, without what is spent once per task.
        fixed: Seconds that a task takes in addition, at most so far.
    """

    wall: float = 0.0
    processor: float = 0.0
    work: float = 0.0
    measured: float = 0.0
    fixed: float = 0.0


@dataclass
class Ledger:
    """Seconds by candidate, and from them the seconds that more work will take.

    Attributes:
        guesses: Seconds of a unit of work of a candidate before anything of it is measured.
        costs: What was measured.
    """

    guesses: dict[str, float] = field(default_factory=dict)
    costs: dict[str, Cost] = field(default_factory=dict)

    def add(
        self, name: str, *, wall: float, processor: float, work: float, measured: float, is_cold: bool = False
    ) -> None:
        """Record a task: its seconds, and how many of them some units of work took.

        A cold task is the first of its kind in a process: what it spends on imports is not spent again.
        """
        cost = self.costs.setdefault(name, Cost())
        cost.wall += wall
        cost.processor += processor
        cost.work += work
        cost.measured += measured
        if work > 0 and not is_cold:
            cost.fixed = max(cost.fixed, wall - measured)

    def of(self, name: str) -> Cost:
        """Return what was measured of a candidate."""
        return self.costs.get(name, Cost())

    def unit(self, name: str) -> float:
        """Return the seconds of a unit of work, as measured, or as guessed before that."""
        cost = self.of(name)
        return cost.measured / cost.work if cost.work > 0 else self.guesses.get(name, 0.0)

    def predict(self, name: str, work: float) -> float:
        """Return the seconds that a task with some units of work will take."""
        return self.of(name).fixed + self.unit(name) * work
