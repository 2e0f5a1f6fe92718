"""A Gaussian process of an objective over the settings of the trials: what partial dependence and contours are made of.

Numbers are scaled to their range (logarithms where the search is logarithmic), choices are one column each. The
kernel is Matern 5/2 with a length for each setting; lengths and noise maximise the posterior, with a prior under which
a setting does not matter much until trials say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.search.dimension import Dimension, Range
from neuro_divergent.search.space import Space
from neuro_divergent.search.trial import Trial

FEWEST = 10
"""Complete trials from which on a surrogate is fitted."""
_MOST = 300  # trials, because the time grows with their cube
_GRID = 25  # values of a range
_WIDE = 10.0  # ratio from which on the logarithm of the objective is modelled
_LENGTH = (np.sqrt(2.0), np.sqrt(3.0))  # mean and deviation of the logarithm of a length in one dimension
_NOISE = (np.log(1e-2), 2.0)  # of the variance of the noise, relative to that of the function
_BOUNDS = ((-4.0, 6.0), (np.log(1e-6), np.log(1e2)))


@dataclass(frozen=True)
class Dependence:
    """The mean of the objective for values of a setting, over what the trials have for the others.

    Attributes:
        values: Values of the setting.
        mean: Mean of the surrogate; where ``is_logarithmic``, the geometric one.
        low: Lower end of an interval that holds this mean with 95 %.
        high: Upper end.
        trials: How many trials have the setting.
    """

    values: list[Any]
    mean: Floats
    low: Floats
    high: Floats
    trials: int


class Surrogate:
    """A Gaussian process fitted to the complete trials of a study.

    Args:
        trials: Trials; of very many, some evenly spaced ones are used.
        objective: Name of the value to model.
        space: Their space.
        settings: Settings to model; the others count as noise. Unset, all in which trials differ. With ``settings``,
            only trials that have all of them are used.

    Raises:
        InputError: If there are fewer than ten complete trials, or they differ in nothing.
    """

    def __init__(
        self, trials: Sequence[Trial], objective: str, space: Space, settings: Sequence[str] | None = None
    ) -> None:
        used = [trial for trial in trials if trial.state == "complete" and objective in trial.values]
        used = [trial for trial in used if all(name in trial.settings for name in settings or ())]
        if len(used) < FEWEST:
            raise InputError(f"a surrogate needs {FEWEST} complete trials; there are {len(used)}.")
        self.complete = len(used)
        if len(used) > _MOST:
            used = [used[place] for place in np.linspace(0, len(used) - 1, _MOST).round().astype(int)]
        self.trials = used
        self.columns = {name: _Columns(name, space, used) for name in settings or _varied(space, used)}
        if not self.columns or any(len(item.grid) < 2 for item in self.columns.values()):
            raise InputError("a surrogate needs settings in which the trials differ.")
        values = np.array([trial.values[objective] for trial in used])
        self.is_logarithmic = bool(values.min() > 0 and values.max() / values.min() > _WIDE)
        targets = np.log(values) if self.is_logarithmic else values
        self._center, self._scale = float(targets.mean()), float(targets.std())
        if not self._scale > 0:
            raise InputError(f"a surrogate needs trials that differ in {objective}.")
        self._y = (targets - self._center) / self._scale
        self._x = {name: item.encode([trial.settings for trial in used]) for name, item in self.columns.items()}
        self._fit()

    @cached_property
    def r2(self) -> float:
        """R2 of the prediction of each trial by the others, with the lengths and the noise of all."""
        residual = self._alpha / np.diag(self._inverse)
        return float(1 - np.sum(residual**2) / np.sum(self._y**2))

    @property
    def note(self) -> str:
        """How far the surrogate can be trusted, in a sentence."""
        text = f"Gaussian process of {len(self.trials):,} trials; leave-one-out R² {self.r2:.2f}."
        if self.complete > len(self.trials):
            text = text.replace(" trials;", f" of {self.complete:,} trials;")
        return text if self.r2 >= 0.3 else f"{text} It explains little of the trials: do not conclude much from it."

    def dependence(self, setting: str) -> Dependence:
        """Return the partial dependence on a setting, averaged over the trials that have it.

        Raises:
            InputError: If trials do not differ in it.
        """
        if setting not in self.columns:
            raise InputError(f"{setting}: trials do not differ in it; they do in {', '.join(self.columns)}.")
        column = self.columns[setting]
        has = np.array([setting in trial.settings for trial in self.trials])
        x = {name: values[has] for name, values in self._x.items()}
        # The difference between two points in this setting is 0, whatever its value.
        between = _matern(self._distances(x, x, but=setting)).mean()
        mean, deviation = [], []
        for value in column.grid:
            at = {**x, setting: np.repeat(column.encode([{setting: value}]), int(has.sum()), axis=0)}
            weights = _matern(self._distances(at, self._x)).mean(0)
            variance = self._variance * (between - weights @ self._inverse @ weights)
            mean.append(weights @ self._alpha)
            deviation.append(np.sqrt(max(float(variance), 0.0)))
        middle, spread = np.array(mean), 1.96 * np.array(deviation)
        low, high = (self._back(middle + sign * spread) for sign in (-1, 1))
        return Dependence(column.grid, self._back(middle), low, high, int(has.sum()))

    def surface(self, first: str, second: str) -> Floats:
        """Return the prediction for each pair of values of two settings: a row for each value of the second.

        Only for a surrogate of these two settings.
        """
        across, down = self.columns[first], self.columns[second]
        points = [{first: one, second: other} for other in down.grid for one in across.grid]
        at = {name: item.encode(points) for name, item in self.columns.items()}
        predicted = _matern(self._distances(at, self._x)) @ self._alpha
        return self._back(predicted).reshape(len(down.grid), len(across.grid))

    def _back(self, standardized: Floats) -> Floats:
        values = self._center + self._scale * standardized
        return np.asarray(np.exp(values) if self.is_logarithmic else values, np.float64)

    def _distances(self, one: dict[str, Floats], other: dict[str, Floats], but: str = "") -> Floats:
        """Return squared distances in units of the lengths."""
        total = np.zeros((len(next(iter(one.values()))), len(next(iter(other.values())))))
        for name, length in zip(self.columns, self._lengths, strict=True):
            if name != but:
                total += _squared(one[name], other[name]) / length**2
        return total

    def _fit(self) -> None:
        squares = np.stack([_squared(values, values) for values in self._x.values()])
        size = len(squares)
        prior = (_LENGTH[0] + 0.5 * np.log(size), _LENGTH[1])
        begin = np.append(np.full(size, np.log(0.5) + 0.5 * np.log(size)), np.log(1e-2))
        bounds = [_BOUNDS[0]] * size + [_BOUNDS[1]]
        found = minimize(_cost, begin, (squares, self._y, prior), jac=True, method="L-BFGS-B", bounds=bounds)
        self._lengths, noise = np.exp(found.x[:-1]), float(np.exp(found.x[-1]))
        kernel = _matern(np.tensordot(self._lengths**-2.0, squares, 1)) + noise * np.eye(len(self._y))
        self._inverse: Floats = cho_solve(cho_factor(kernel, lower=True), np.eye(len(self._y)))
        self._alpha: Floats = self._inverse @ self._y
        self._variance = float(self._y @ self._alpha) / len(self._y)


class _Columns:
    """A setting as columns of numbers, and values of it to predict for."""

    def __init__(self, setting: str, space: Space, trials: Sequence[Trial]) -> None:
        self.setting = setting
        seen = [trial.settings[setting] for trial in trials if setting in trial.settings]
        dimensions = [item.dimension for item in space if item.setting == setting]
        ranges = [item for item in dimensions if isinstance(item, Range)]
        self.is_number = bool(ranges) and all(map(_is_number, seen))
        self.is_logarithmic = any(item.log for item in ranges)
        self.choices: list[Any] = []
        if self.is_number:
            self._low, self._high = self._place(min(seen)), self._place(max(seen))
            self.grid = _grid(ranges, min(seen), max(seen), is_logarithmic=self.is_logarithmic)
        else:
            order = [value for item in dimensions for value in item.grid()]
            self.choices = [value for value in _distinct(order) if value in seen] or _distinct(seen)
            self.grid = self.choices

    def encode(self, points: Sequence[dict[str, Any]]) -> Floats:
        """Return a row for each point; one without the setting is in the middle of it."""
        if not self.is_number:
            rows = [[float(point.get(self.setting) == choice) for choice in self.choices] for point in points]
            return np.array(rows, np.float64) / math.sqrt(2)  # so that two choices are 1 apart
        width = (self._high - self._low) or 1.0
        places = [
            (self._place(point[self.setting]) - self._low) / width if self.setting in point else 0.5 for point in points
        ]
        return np.array(places)[:, None]

    def place_in_grid(self, value: Any) -> float:
        """Return where a value lies between those to predict for, counted from 0."""
        if not self.is_number:
            return float(self.choices.index(value))
        places = [self._place(item) for item in self.grid]
        return float(np.interp(self._place(value), places, np.arange(len(places))))

    def _place(self, value: Any) -> float:
        return float(np.log(value) if self.is_logarithmic else value)


def _grid(ranges: Sequence[Dimension], low: float, high: float, *, is_logarithmic: bool) -> list[Any]:
    """Return evenly spaced values between two that were tried."""
    space = np.geomspace if is_logarithmic else np.linspace
    values = [float(value) for value in space(low, high, _GRID)]
    values[0], values[-1] = low, high  # without the rounding of logarithms
    nearest = ranges[0].nearest if len(ranges) == 1 else lambda value: value
    return list(dict.fromkeys(map(nearest, values)))


def _varied(space: Space, trials: Sequence[Trial]) -> list[str]:
    """Return the settings of which trials have at least two values."""
    names = dict.fromkeys(item.setting for item in space)
    seen = {name: [trial.settings[name] for trial in trials if name in trial.settings] for name in names}
    return [name for name, values in seen.items() if len(_distinct(values)) > 1]


def _cost(given: Floats, squares: Floats, y: Floats, prior: tuple[float, float]) -> tuple[float, Floats]:
    """Return the negative logarithm of the posterior and its gradient, with the best variance of the function."""
    lengths, noise = given[:-1], np.exp(given[-1])
    scaled = squares * np.exp(-2 * lengths)[:, None, None]
    total = scaled.sum(0)
    factor = cho_factor(_matern(total) + noise * np.eye(len(y)), lower=True)
    alpha = cho_solve(factor, y)
    inverse = cho_solve(factor, np.eye(len(y)))
    variance = float(y @ alpha) / len(y)
    cost = 0.5 * len(y) * np.log(variance) + np.log(np.diag(factor[0])).sum()
    change = 0.5 * inverse - 0.5 * np.outer(alpha, alpha) / variance
    root = np.sqrt(5 * total)
    slope = 5 / 3 * (1 + root) * np.exp(-root)
    gradient = np.append(np.einsum("ij,kij->k", change * slope, scaled), noise * np.trace(change))
    ends = np.append(lengths - prior[0], given[-1] - _NOISE[0])
    widths = np.append(np.full(len(lengths), prior[1]), _NOISE[1])
    return cost + float(0.5 * np.sum((ends / widths) ** 2)), gradient + ends / widths**2


def _matern(squares: Floats) -> Floats:
    root = np.sqrt(5 * np.maximum(squares, 0.0))
    return np.asarray((1 + root + root**2 / 3) * np.exp(-root), np.float64)


def _squared(one: Floats, other: Floats) -> Floats:
    return np.asarray(((one[:, None, :] - other[None, :, :]) ** 2).sum(-1), np.float64)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Return different values, also lists and tables, in their order."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
