"""Functions that the file of a pipeline names as ``package.module:name``.

A pipeline file runs the code that it names, like a makefile: run only files that you trust.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean


def resolve_function(reference: str) -> Callable[..., Any]:
    """Import the module that a reference names, and return the function in it.

    Raises:
        ConfigError: If it is no reference, or there is no such module or function, with the closest name.
    """
    module_name, colon, name = reference.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise ConfigError(f"function: {reference!r} is not written as package.module:name.")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigError(f"function: {module_name} cannot be imported: {error}.") from error
        raise ConfigError(
            f"function: there is no module {error.name!r}. It is looked for in the directory of the pipeline file and "
            "among installed packages."
        ) from None
    except Exception as error:
        raise ConfigError(f"function: {module_name} cannot be imported: {type(error).__name__}: {error}.") from error
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [item for item in dir(found) if not item.startswith("_")]
            raise ConfigError(f"function: {module_name} has no {part!r}.{did_you_mean(part, known)}")
        found = getattr(found, part)
    if not callable(found):
        raise ConfigError(f"function: {reference} is a {type(found).__name__}, and not a function.")
    return found  # type: ignore[no-any-return]


@contextmanager
def modules_from(directory: Path) -> Iterator[None]:
    """Let modules of a directory be imported inside the block."""
    place = str(directory.resolve())
    is_new = place not in sys.path
    if is_new:
        sys.path.insert(0, place)
    try:
        yield
    finally:
        if is_new and place in sys.path:
            sys.path.remove(place)
