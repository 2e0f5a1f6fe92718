"""The lowest versions of the dependencies that ``pyproject.toml`` allows."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement


def lowest_versions(project: Path, extras: Sequence[str] = ()) -> dict[str, str]:
    """Return the lower bound of each dependency of the core and of some extras; one without a bound is an error."""
    settings = tomllib.loads(project.read_text("utf-8"))["project"]
    found: dict[str, str] = {}
    for text in [
        *settings["dependencies"],
        *(text for name in extras for text in settings["optional-dependencies"][name]),
    ]:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate():
            continue
        bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==", "~=")]
        if not bounds:
            raise ValueError(f"{text}: has no lower bound")
        found[requirement.name] = bounds[0]
    return found
