"""A setting that is a Python function, or the label of one that a file could not hold.

A file cannot hold a function, and none is ever imported by a name that a file gives: ``to_dict`` writes the label
``module:name`` as information for the reader; using a label where a function is needed is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuro_divergent.core.errors import ConfigError

UserFunction = Callable[..., Any] | str
"""The type of such a field; its default is ``""``, no function yet. Let ``to_dict`` write ``label_of`` it."""


def label_of(function: UserFunction) -> str:
    """Return ``module:name`` of a function; a label stays as it is."""
    if isinstance(function, str):
        return function
    # A partial function or an object that can be called has no name of its own: that of its class is the next best.
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def require(function: UserFunction, what: str) -> Callable[..., Any]:
    """Return the function, or raise if there is only a label; ``what`` names the owner of the setting in messages."""
    if not isinstance(function, str):
        return function
    if not function:
        raise ConfigError(f"{what}: no function was given. Pass any Python function as function=...")
    raise ConfigError(
        f"{what}: {function!r} is only the name of a function. Files do not hold functions and nothing is imported "
        "by name: pass the function again from Python as function=..."
    )
