"""What a search may try for one setting: a range of numbers, or some choices."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

_SCALARS = (bool, int, float, str)
_GRID_POINTS = 5  # of a range without steps


class Dimension(ABC):
    """Values that a search may try for one setting."""

    @abstractmethod
    def contains(self, value: Any) -> bool:
        """Whether a value is one of those."""

    @abstractmethod
    def nearest(self, value: Any) -> Any:
        """Return the value closest to another one; the first choice where there is no order."""

    @abstractmethod
    def at(self, fraction: float) -> Any:
        """Return the value at a place between 0 (included) and 1 (excluded); equal parts are equally likely."""

    @abstractmethod
    def grid(self) -> list[Any]:
        """Return all values, or evenly spaced ones of a range without steps."""

    @abstractmethod
    def distribution(self) -> BaseDistribution:
        """Return the same for Optuna."""

    @abstractmethod
    def to_plain(self) -> Any:
        """Return plain values, enough for ``dimension_of`` to make this object again."""

    def encode(self, value: Any) -> Any:
        """Return a value as Optuna stores it."""
        return value

    def decode(self, stored: Any) -> Any:
        """Return the value that Optuna has stored."""
        return stored


@dataclass(frozen=True)
class Range(Dimension):
    """Numbers from ``low`` to ``high``, both included.

    Attributes:
        low: The smallest number.
        high: The largest one.
        log: Whether to try them evenly on a logarithmic scale.
        step: Distance between two of them; unset, 1 for integers, and none for others.
        unit: ``"horizon"`` if both ends are multiples of the horizon, which is not known yet.

    Examples:
        >>> import neuro_divergent as nd
        >>> width = nd.search.Range(32, 128, step=32)
        >>> width.grid()
        [32, 64, 96, 128]
        >>> width.contains(48), width.nearest(48)
        (False, 64)
        >>> nd.search.Range(128, 32)
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: range: 128 to 32: the first number must be the smaller one.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        numbers = [value for value in (self.low, self.high, self.step) if value is not None]
        if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in numbers):
            raise ConfigError(f"range: {self.low!r} to {self.high!r} must be numbers; a list names choices.")
        if not all(map(math.isfinite, numbers)) or not self.low < self.high:
            raise ConfigError(f"range: {self.low!r} to {self.high!r}: the first number must be the smaller one.")
        if self.log and self.low <= 0:
            raise ConfigError(f"range: {self.low!r} to {self.high!r}: a logarithmic range begins above 0.")
        if self.step is not None and (self.log or self.step <= 0):
            raise ConfigError(f"range: step {self.step!r} must be more than 0, and a logarithmic range has none.")
        if self.unit not in (None, "horizon"):
            raise ConfigError(f"range: unit {self.unit!r} must be 'horizon'.")

    @property
    def is_integer(self) -> bool:
        """Whether all of them are integers."""
        return all(isinstance(value, int) for value in (self.low, self.high, self.step or 1))

    @property
    def _steps(self) -> int | None:
        """Number of values, if they are countable."""
        step = self.step or (1 if self.is_integer else None)
        return None if step is None else math.floor((self.high - self.low) / step + 1e-9) + 1

    def contains(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self.low <= value <= self.high:
            return False
        return (not self.is_integer or float(value).is_integer()) and math.isclose(
            self.nearest(value), value, rel_tol=1e-9, abs_tol=1e-12
        )

    def nearest(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.low
        inside = min(max(value, self.low), self.high)
        if self._steps is None:
            return float(inside)
        step = self.step or 1
        # Half a step is rounded up, so that a history between two lengths becomes the longer one.
        place = min(math.floor((inside - self.low) / step + 0.5), self._steps - 1)
        return self._nth(place)

    def at(self, fraction: float) -> Any:
        if self.log:
            margin = 0.5 if self.is_integer else 0.0  # so that both ends are as likely as the others
            low, high = math.log(self.low - margin), math.log(self.high + margin)
            value = math.exp(low + fraction * (high - low))
            return self.nearest(value) if self.is_integer else min(max(value, self.low), self.high)
        if self._steps is not None:
            return self._nth(min(int(fraction * self._steps), self._steps - 1))
        return self.low + fraction * (self.high - self.low)

    def grid(self) -> list[Any]:
        if self._steps is not None and not self.log:
            return [self._nth(place) for place in range(self._steps)]
        fractions = [place / (_GRID_POINTS - 1) for place in range(_GRID_POINTS)]
        if self.log:
            values = [self.low * (self.high / self.low) ** fraction for fraction in fractions]
        else:
            values = [self.low + fraction * (self.high - self.low) for fraction in fractions]
        return list(dict.fromkeys(map(self.nearest, values)))

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.is_integer:
            return IntDistribution(int(self.low), int(self.high), log=self.log, step=int(self.step or 1))
        return FloatDistribution(float(self.low), float(self.high), log=self.log, step=self.step)

    def to_plain(self) -> Any:
        further = {"log": self.log or None, "step": self.step, "unit": self.unit}
        return {
            "low": self.low,
            "high": self.high,
            **{key: value for key, value in further.items() if value is not None},
        }

    def __str__(self) -> str:
        shown = f"{self.low:g} to {self.high:g}"
        if self.unit == "horizon":
            return f"{shown} horizons"
        steps = "" if self.step is None else f" in steps of {self.step:g}"
        return f"{shown}{steps}{' (logarithmic)' if self.log else ''}"

    def scaled(self, horizon: int) -> Range:
        """Return the range in rows, if it is in horizons."""
        if self.unit is None:
            return self
        low, high = int(self.low * horizon), int(self.high * horizon)
        return Range(low, high, step=horizon if horizon > 1 else None)

    def widened(self, value: int) -> Range:
        """Return the range with as many steps more as a value above its end needs."""
        step = self.step or 1
        return (
            self
            if value <= self.high
            else replace(self, high=int(self.low + math.ceil((value - self.low) / step) * step))
        )

    def _nth(self, place: int) -> Any:
        value = self.low + place * (self.step or 1)
        return int(value) if self.is_integer else float(value)


@dataclass(frozen=True)
class Choices(Dimension):
    """Some values without an order, plain ones: numbers, text, lists and tables.

    Attributes:
        values: The values that are tried.

    Examples:
        >>> import neuro_divergent as nd
        >>> scaler = nd.search.Choices(("standard", "robust", "none"))
        >>> scaler.grid()
        ['standard', 'robust', 'none']
        >>> scaler.contains("minmax"), scaler.nearest("minmax")
        (False, 'standard')
    """

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ConfigError("choices: name at least one.")
        labels = [self.encode(value) for value in self.values]
        for place, label in enumerate(labels):
            if label in labels[:place]:
                raise ConfigError(f"choices: {label!r} comes twice.")

    def contains(self, value: Any) -> bool:
        return any(_is_same(value, known) for known in self.values)

    def nearest(self, value: Any) -> Any:
        return next((known for known in self.values if _is_same(value, known)), self.values[0])

    def at(self, fraction: float) -> Any:
        return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]

    def grid(self) -> list[Any]:
        return list(self.values)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution([self.encode(value) for value in self.values])

    def encode(self, value: Any) -> Any:
        return value if isinstance(value, _SCALARS) else json.dumps(value)

    def decode(self, stored: Any) -> Any:
        return next(value for value in self.values if _is_same(self.encode(value), stored))

    def to_plain(self) -> Any:
        return list(self.values)

    def __str__(self) -> str:
        return ", ".join(value if isinstance(value, str) else json.dumps(value) for value in self.values)


def log(low: float, high: float) -> Range:
    """Return the numbers between two, to be tried evenly on a logarithmic scale; integers if both ends are.

    Examples:
        >>> import neuro_divergent as nd
        >>> [round(value, 5) for value in nd.search.log(1e-4, 1e-2).grid()]
        [0.0001, 0.00032, 0.001, 0.00316, 0.01]
        >>> nd.search.log(16, 256).grid()
        [16, 32, 64, 128, 256]
    """
    return Range(low, high, log=True)


def uniform(low: float, high: float, step: float | None = None) -> Range:
    """Return the numbers between two, both included, to be tried evenly; integers if both ends are.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.search.uniform(0.0, 0.5, step=0.25).grid()
        [0.0, 0.25, 0.5]
        >>> nd.search.uniform(1, 4).grid()
        [1, 2, 3, 4]
    """
    return Range(low, high, step=step)


def horizons(low: int, high: int) -> Range:
    """Return multiples of the horizon, for ``task.input_size``.

    Examples:
        >>> import neuro_divergent as nd
        >>> history = nd.search.horizons(1, 4)
        >>> str(history)
        '1 to 4 horizons'
        >>> str(history.scaled(24))
        '24 to 96 in steps of 24'
    """
    return Range(low, high, unit="horizon")


def dimension_of(given: Any) -> Dimension:
    """Read what a search may try: a list of choices, a pair ``(low, high)``, or a table with ``low`` and ``high``.

    Raises:
        ConfigError: If it is something else.
    """
    if isinstance(given, Dimension):
        return given
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ConfigError(f"{given!r}: a range is a pair (low, high); choices are a list.")
        return Range(*given)
    if isinstance(given, Mapping):
        known = ("low", "high", "log", "step", "unit")
        for key in given:
            if key not in known:
                raise ConfigError(f"range: unknown key {key!r}.{did_you_mean(str(key), known)}")
        if not {"low", "high"} <= set(given):
            raise ConfigError(f"{dict(given)!r}: a range has low and high.")
        return Range(**given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Choices(tuple(map(plain_value, given)))
    raise ConfigError(
        f"{given!r}: expected choices as a list, a range as a pair (low, high), or log(low, high). What is not to be "
        "searched is set in the forecaster."
    )


def plain_value(value: Any) -> Any:
    """Return a value of a setting as it is in a file: lists for tuples, tables for components, ``"none"``."""
    if value is None:
        return "none"
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return value


def _is_same(value: Any, other: Any) -> bool:
    """Whether two plain values are the same; ``True`` is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and plain_value(value) == plain_value(other)
