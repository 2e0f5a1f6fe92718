"""Filters and sorts runs.

Nothing here needs torch. Whatever is in a directory, reading it raises no error.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.runs.diff import flatten_config, read_config, read_scores
from neuro_divergent.runs.status import RunSummary, State

SORTS = ("time", "name", "state", "model", "best", "step", "mae")
"""What runs can be sorted by."""

_FIELDS = (
    "name", "state", "message", "step", "total_steps", "phase", "attempt", "quiet", "time", "model", "data", "horizon",
    "metric", "best",
)  # fmt: skip
_CONDITION = re.compile(r"\s*([\w.-]+)\s*(<=|>=|!=|==|=|<|>)\s*(.*?)\s*", re.DOTALL)
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A comparison that a run passes or not.

    Attributes:
        name: Dotted name of a setting (``training.optimizer.lr``), a field of the summary (``best``) or a score
            (``rmse``).
        comparison: ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``. The last four compare numbers.
        value: What to compare with, as text. ``none`` also matches a run that does not have it.
    """

    name: str
    comparison: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition such as ``training.optimizer.lr>0.001``."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise InputError(
                f"{text[:80]!r} is not a condition; write a name, one of = != < <= > >=, and a value, such as "
                "training.optimizer.lr>0.001."
            )
        name, comparison, value = match.groups()
        if comparison in _ORDERS and _as_number(value) is None:
            raise InputError(f"{text[:80]!r}: {comparison} compares numbers, and {value[:40]!r} is none.")
        return cls(name, "=" if comparison == "==" else comparison, value)

    def holds(self, found: Any) -> bool:
        """Whether a value passes; one that is missing or no number is neither smaller nor larger."""
        if self.comparison == "=":
            return self._equals(found)
        if self.comparison == "!=":
            return not self._equals(found)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            return False
        limit = _as_number(self.value)
        return limit is not None and _ORDERS[self.comparison](found, limit)

    def _equals(self, found: Any) -> bool:
        if found is None:
            return self.value == "none"
        if isinstance(found, bool):
            return self.value.lower() == str(found).lower()
        if isinstance(found, (int, float)):
            return found == _as_number(self.value)
        if isinstance(found, str):
            return found == self.value
        return bool(found == _as_json(self.value))


def filter_runs(
    runs: Iterable[RunSummary],
    *,
    states: Sequence[str] = (),
    models: Sequence[str] = (),
    conditions: Sequence[Condition] = (),
) -> list[RunSummary]:
    """Return those of some runs that are in one of the states, have one of the models and pass all conditions.

    No states, or no models, are all of them. The order stays.

    Raises:
        InputError: If there is no such state, or if no run has what a condition names.
    """
    for state in states:
        if state not in get_args(State):
            hint = did_you_mean(state, get_args(State)) or f" Known: {', '.join(get_args(State))}."
            raise InputError(f"{state[:40]!r} is not a state of a run.{hint}")
    kept = [run for run in runs if (not states or run.state in states) and (not models or run.model in models)]
    if not conditions:
        return kept
    known = [(run, _values_of(run, conditions)) for run in kept]
    names = dict.fromkeys(name for _, values in known for name in values)
    for condition in conditions:
        if known and condition.name not in names:
            raise InputError(f"no run has {condition.name!r}.{did_you_mean(condition.name, names)}")
    return [
        run for run, values in known if all(condition.holds(values.get(condition.name)) for condition in conditions)
    ]


def sort_runs(runs: Iterable[RunSummary], by: str = "time", *, descending: bool = False) -> list[RunSummary]:
    """Return runs in the order of one of ``SORTS``; those without the value are last in either direction.

    Equal ones stay in their order.
    """
    if by not in SORTS:
        raise InputError(f"runs cannot be sorted by {by[:40]!r}; choose one of {', '.join(SORTS)}.")
    keyed = [(_key(run, by), run) for run in runs]
    known = sorted((pair for pair in keyed if pair[0] is not None), key=lambda pair: pair[0], reverse=descending)
    return [run for _, run in known] + [run for key, run in keyed if key is None]


def _key(run: RunSummary, by: str) -> Any:
    if by == "mae":
        return None if run.score is None else run.score.get("mae")
    value = getattr(run, by)
    return value.casefold() if isinstance(value, str) else value


def _values_of(run: RunSummary, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Return all that conditions may name; settings and scores are read only if one is not about the summary."""
    values = {name: getattr(run, name) for name in _FIELDS}
    if all(condition.name in values for condition in conditions):
        return values
    return {**flatten_config(read_config(run.path)), **read_scores(run.path), **values}


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
