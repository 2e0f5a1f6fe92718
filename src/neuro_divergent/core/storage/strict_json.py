"""Strict JSON for untrusted files: unambiguous and of bounded size and depth, or refused.

Python's own parser accepts duplicate keys, ``NaN``, numbers of any length and any size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from neuro_divergent.core.errors import InputError, UntrustedFileError

LIMIT = 256 * 1024**2
"""Default limit in bytes, enough for the ids of millions of series."""

_DEPTH = 100  # brackets within brackets; settings and states have a dozen
_DIGITS = 4300  # of an integer: as many as Python itself turns into text


class _RefusedError(ValueError):
    """Valid for Python's parser, but refused here."""


def loads(content: bytes | str, place: str, limit: int = LIMIT, *, constants: bool = False) -> Any:
    """Read a JSON document, of at most ``limit`` bytes (or characters); ``place`` is its name in messages.

    With ``constants``, ``NaN`` and ``Infinity`` are accepted, which JSON does not have but Python writes.

    Raises:
        UntrustedFileError: If it is no JSON, not UTF-8, too large, too deep, has a key twice, a number that is not
            finite, an integer of more than 4,300 digits or half a character.
    """
    if len(content) > limit:
        raise UntrustedFileError(f"{place}: {len(content):,} bytes of JSON, at most {limit:,} are read.")
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=float if constants else _constant,
        )
        _check_depth(text, value)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a character cannot be encoded
    except RecursionError:
        raise UntrustedFileError(f"{place}: not acceptable JSON (nested too deeply).") from None
    except ValueError as error:  # also what is not UTF-8, and what is not JSON
        raise UntrustedFileError(f"{place}: not acceptable JSON ({error}).") from None
    return value


def dumps(value: Any, *, indent: int | None = None) -> bytes:
    """Return a value as JSON that ``loads`` accepts.

    Raises:
        InputError: If there is a number in it that is not finite, anything that JSON does not have, or too much.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
        _check_depth(text, value)
        content = text.encode("utf-8")
        if len(content) > LIMIT:
            raise _RefusedError(f"{len(content):,} bytes, at most {LIMIT:,} are read")
        return content
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be written as JSON: {error}.") from error


def finite_or_none(value: Any) -> Any:
    """Replace NaN and infinite numbers, which JSON does not have, by ``None``, also inside mappings and lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite_or_none(item) for key, item in value.items()}
    return [finite_or_none(item) for item in value] if isinstance(value, (list, tuple)) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _RefusedError(f"key {twice[:80]!r} twice")
    return made


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS + (digits[0] == "-"):
        raise _RefusedError(f"an integer of {len(digits):,} digits")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _RefusedError(f"{digits[:80]} is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise _RefusedError(f"{name} is not a JSON number")


def _check_depth(text: str, value: Any) -> None:
    """Refuse nesting that would exceed the recursion limit."""
    if text.count("[") + text.count("{") <= _DEPTH:
        return
    level = [value]
    for _ in range(_DEPTH + 1):
        inside = [item for item in level if isinstance(item, (list, tuple, dict))]
        if not inside:
            return
        level = [part for item in inside for part in (item.values() if isinstance(item, dict) else item)]
    raise _RefusedError("nested too deeply")
