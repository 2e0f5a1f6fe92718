"""Files that another set of the same store may hold already."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Reusable(NamedTuple):
    """The content of a file whose name stands for its content, such as one with a digest in it.

    Attributes:
        source: Name of a set in the same store. A store that can do so stores a file of that set again under the new
            name without a copy, if it is there and undamaged.
        make: Returns the content; called where that is not possible.
    """

    source: str
    make: Callable[[], bytes]


Content = bytes | Reusable
"""What may be written to a file."""


def content_of(content: Content) -> bytes:
    """Return the bytes, made if necessary."""
    return content.make() if isinstance(content, Reusable) else content
