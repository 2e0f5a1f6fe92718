"""Settings that earlier versions wrote under another name: the one place that knows the old names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RENAMED: dict[str, dict[str, str]] = {"task": {"step": "stride"}}
"""Old name to present name, by section."""


def with_present_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored settings of a run with the present name of each."""
    return {
        section: present_names(section, values) if isinstance(values, Mapping) else values
        for section, values in config.items()
    }


def present_names(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of one section with the present name of each.

    An old name that stands next to its present one stays, so that it is refused as unknown.
    """
    names = {old: new for old, new in RENAMED.get(section, {}).items() if new not in values}
    return {names.get(key, key): item for key, item in values.items()}
