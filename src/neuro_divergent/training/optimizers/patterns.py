"""Picking parameters by a pattern on their names."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from fnmatch import fnmatchcase

from neuro_divergent.core.errors import ConfigError


def matching(pattern: str, names: Collection[str], where: str) -> list[str]:
    """Return the names that a pattern such as ``encoder.*`` or ``*.bias`` matches.

    ``*`` stands for any characters, dots too, ``?`` for one, ``[ab]`` for one of several. A pattern that matches
    nothing is refused, since it may be a typing mistake; ``where`` is the setting it comes from, for the message.
    """
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        close = get_close_matches(pattern, list(names), n=3, cutoff=0.3) or list(names)[:3]
        raise ConfigError(f"{where}: {pattern!r} matches no parameter. Closest: {', '.join(close)}.")
    return found
