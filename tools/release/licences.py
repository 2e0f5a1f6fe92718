"""The licences of what the package and its extras install, as the installed packages tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = "neuro-divergent"
# Terms that would bind users of the package, and none at all.
_REFUSED = re.compile(r"\b(A?GPL|GNU (Affero )?General|SSPL|Proprietary|UNKNOWN)\b", re.IGNORECASE)
_ALLOWED = re.compile(r"LGPL|Lesser|MPL|exception|OR (MIT|BSD|Apache)", re.IGNORECASE)
Row = tuple[str, str, str]


def licence_table(development: Sequence[str] = ()) -> list[Row]:
    """Return name, version and licence of every installed package that the project or one of its extras needs.

    Args:
        development: Extras that are for developers alone.
    """
    extras = set(distribution(PROJECT).metadata.get_all("Provides-Extra") or ()) - set(development)
    seen: dict[str, Row] = {}
    _collect(PROJECT, frozenset(extras), seen, set())
    seen.pop(PROJECT, None)
    return [seen[name] for name in sorted(seen)]


def refused_licences(table: Iterable[Row]) -> list[str]:
    """Return the packages whose licence would bind users of the package, or is not told."""
    return [
        f"{name} ({licence})" for name, _, licence in table if _REFUSED.search(licence) and not _ALLOWED.search(licence)
    ]


def _collect(name: str, extras: frozenset[str], seen: dict[str, Row], asked: set[tuple[str, frozenset[str]]]) -> None:
    """Add a package and what it needs under some of its extras, as far as that is installed."""
    if (name, extras) in asked:
        return
    asked.add((name, extras))
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    seen[canonicalize_name(name)] = (found.metadata["Name"], found.version, _licence(found))
    for text in found.requires or ():
        need = Requirement(text)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            _collect(canonicalize_name(need.name), frozenset(need.extras), seen, asked)


def _licence(found: Distribution) -> str:
    """Return what a package says of its licence: an expression, else classifiers, else the first line of a text."""
    facts = found.metadata
    if expression := facts.get("License-Expression"):
        return str(expression)
    classified = [
        line.rpartition("::")[2].strip()
        for line in facts.get_all("Classifier") or ()
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    if classified:
        return ", ".join(classified)
    text = str(facts.get("License") or "").strip().splitlines()
    return text[0][:60] if text and text[0] else "UNKNOWN"
