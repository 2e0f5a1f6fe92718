"""Passwords in addresses, which are not shown."""

from __future__ import annotations

import re
from typing import Any

_PASSWORD = re.compile(r"(?P<account>\b[a-zA-Z][\w+.-]*://[^\s:/@]*):[^\s/]*@")


def without_passwords(value: Any) -> Any:
    """Return plain values in which addresses such as ``postgresql://user:password@host`` have no password."""
    if isinstance(value, str):
        return _PASSWORD.sub(r"\g<account>@", value)
    if isinstance(value, dict):
        return {key: without_passwords(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_passwords(item) for item in value]
    return value
