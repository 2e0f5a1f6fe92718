"""How two versions of models differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neuro_divergent.lifecycle.registry.model_version import ModelVersion

_SECTIONS = ("interface", "config", "data", "code", "environment")


@dataclass(frozen=True)
class Difference:
    """A value in which two versions differ; ``None`` where one does not have it.

    Attributes:
        section: ``interface``, ``config``, ``data``, ``code`` or ``environment``.
        name: Dotted name in it.
        a: Value of the first.
        b: Value of the second.
    """

    section: str
    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class VersionDiff:
    """Two versions and how they differ.

    Attributes:
        a: The first, such as ``sales==1.4.2``.
        b: The second.
        is_same_model: Whether their files are the same.
        differences: Values in which they differ.
        scores: Scores of both by metric, of the model's own row.
        notes: Why scores cannot be compared, where they cannot.
    """

    a: str
    b: str
    is_same_model: bool
    differences: list[Difference]
    scores: dict[str, tuple[float | None, float | None]]
    notes: list[str]

    @classmethod
    def of(cls, a: ModelVersion, b: ModelVersion) -> VersionDiff:
        """Compare two versions."""
        found = [
            Difference(section, name, before, after)
            for section in _SECTIONS
            for name, before, after in _differences(getattr(a, section) or {}, getattr(b, section) or {})
        ]
        first, second = own_scores(a), own_scores(b)
        names = [*first, *(name for name in second if name not in first)]
        scores = {name: (first.get(name), second.get(name)) for name in names}
        return cls(str(a), str(b), a.digest == b.digest, found, scores, _notes(a, b) if scores else [])

    def section(self, name: str) -> list[Difference]:
        """Return the differences in one section."""
        return [item for item in self.differences if item.section == name]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "scores": {name: list(pair) for name, pair in self.scores.items()}}


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    first, second = dict(_walk(a)), dict(_walk(b))
    for name in [*first, *(name for name in second if name not in first)]:
        if first.get(name) != second.get(name):
            yield name, first.get(name), second.get(name)


def _walk(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield plain values by dotted name; members of a list of settings by their position."""
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        value = {str(number): item for number, item in enumerate(value, 1)}
    if not isinstance(value, Mapping):
        yield place, value
        return
    for name, item in value.items():
        yield from _walk(item, f"{place}.{name}" if place else str(name))


def own_scores(version: ModelVersion) -> dict[str, float | None]:
    """Return the scores of the model itself; baselines are the other rows."""
    scores = version.scores or {}
    rows = scores.get("scores")
    if isinstance(rows, list):
        own = [row for row in rows if isinstance(row, dict) and row.get("name") == scores.get("model")]
        scores = own[0] if own else {}
    numbers = {name: value for name, value in scores.items() if isinstance(value, (int, float)) and value is not True}
    return {name: float(value) for name, value in numbers.items()}


def _notes(a: ModelVersion, b: ModelVersion) -> list[str]:
    first, second = a.scores or {}, b.scores or {}
    notes = []
    for name, text in (("part", "parts"), ("windows", "numbers of windows"), ("first_cutoff", "times")):
        if first.get(name) != second.get(name):
            notes.append(f"The scores are of different {text}: {first.get(name)} and {second.get(name)}.")
    return notes
