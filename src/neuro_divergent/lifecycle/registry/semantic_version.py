"""The next semantic version of a model, computed from what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class SemanticVersion(NamedTuple):
    """Major, minor and patch; written ``1.4.2``."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


FIRST = SemanticVersion(1, 0, 0)


class Signature(NamedTuple):
    """What a version is compared by.

    Attributes:
        interface: SHA-256 of what users of the model depend on: horizon, frequency, columns, outputs.
        recipe: SHA-256 of how it is made: architecture, task, training settings, rules for search and data.
        formats: Format of the saved files by kind of model.
    """

    interface: str
    recipe: str
    formats: Mapping[str, int]


def next_version(newest: SemanticVersion, before: Signature, after: Signature) -> SemanticVersion:
    """Return the version after the newest one.

    A model of another kind is another recipe; a kind that both hold in different formats is another interface, because
    programs that could read the one may not be able to read the other.
    """
    shared = before.formats.keys() & after.formats.keys()
    if before.interface != after.interface or any(before.formats[kind] != after.formats[kind] for kind in shared):
        return SemanticVersion(newest.major + 1, 0, 0)
    if before.recipe != after.recipe:
        return SemanticVersion(newest.major, newest.minor + 1, 0)
    return SemanticVersion(newest.major, newest.minor, newest.patch + 1)
