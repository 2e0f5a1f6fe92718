"""Tasks and their outcomes as messages between processes.

Messages are pickled. They come from processes that this one started, never from a file.
"""

from __future__ import annotations

import functools
import pickle
import reprlib
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from neuro_divergent.core.errors import InputError, NeuroDivergentError


def perform(function: Callable[..., Any], message: bytes, shared: tuple[Any, ...]) -> bytes:
    """Call a function with a task and what all tasks share, and return the outcome as a message."""
    value, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(unpickled(message), *shared)
        except BaseException as raised:  # noqa: BLE001 (raised again in the parent)
            error = raised
    return packed(value, error, [(item.category, str(item.message)) for item in caught])


def packed(value: Any, error: BaseException | None, caught: list[tuple[type[Warning], str]]) -> bytes:
    """Pickle an outcome, or else an error that says why it cannot be pickled."""
    if error is not None:
        error.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)))
        error = error.with_traceback(None)
        try:  # many exceptions can be pickled but not unpickled, because their constructor takes other arguments
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001 (every type of object refuses in its own way)
            notes = error.__notes__
            error = NeuroDivergentError(f"{type(error).__name__}: {error}")
            error.add_note(notes[-1])
    try:
        content = pickled(value, "the returned value")
    except InputError as refused:
        content, error = pickle.dumps(None), refused
    return pickle.dumps((content, error, caught))


def unpickled(message: bytes) -> Any:
    """Return the value of a message that ``pickled`` made.

    Raises:
        InputError: If it needs a class or function of a notebook, which other processes do not have.
    """
    try:
        return pickle.loads(message)
    except AttributeError as error:
        if "'__main__'" not in str(error):
            raise
        raise InputError(
            f"{error}: other processes do not have what a notebook or an interactive session defines. Put it into a "
            "file and import it from there, or use one process (jobs=1)."
        ) from None


def unpacked(message: bytes) -> tuple[Any, BaseException | None, list[tuple[type[Warning], str]]]:
    """Return the value, the error and the warnings of an outcome."""
    try:
        value, error, caught = pickle.loads(message)
        return pickle.loads(value), error, caught
    except Exception as refused:  # noqa: BLE001 (every type of object refuses in its own way)
        return None, InputError(f"the returned value cannot be unpickled: {refused}."), []


def pickled(value: Any, name: str) -> bytes:
    """Return a value as a message.

    Raises:
        InputError: If it cannot be pickled; the message names the part that cannot.
    """
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 (every type of object refuses in its own way)
        raise InputError(
            f"{_unpicklable(value, name, set())} cannot be sent to another process: {error}. Define functions and "
            "classes at the top of a module, or use one process."
        ) from None


def _unpicklable(value: Any, name: str, seen: set[int]) -> str:
    """Return the path to the innermost part of a value that cannot be pickled, and the part."""
    seen.add(id(value))
    for path, part in _parts(value, name):
        if id(part) in seen:
            continue
        try:
            pickle.dumps(part)
        except Exception:  # noqa: BLE001 (every type of object refuses in its own way)
            return _unpicklable(part, path, seen)
    return f"{name} ({reprlib.repr(value)})"


def _parts(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{name}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}[{place}]", part) for place, part in enumerate(value))
    elif isinstance(value, functools.partial):
        yield from ((f"{name}.{key}", getattr(value, key)) for key in ("func", "args", "keywords"))
    elif not isinstance(value, type) and hasattr(value, "__dict__"):
        yield from ((f"{name}.{key}", part) for key, part in vars(value).items())
