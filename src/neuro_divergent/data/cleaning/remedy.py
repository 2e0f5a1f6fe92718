"""What to do about something wrong in a table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Remedy(NamedTuple):
    """What to do about something wrong in a table.

    Attributes:
        text: The end of a message that says so; nothing where nothing is known.
        changes: Fields of the schema that it offers; none where the user has to choose or to correct the table.
    """

    text: str
    changes: Mapping[str, Any] = MappingProxyType({})
