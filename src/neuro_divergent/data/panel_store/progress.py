"""How work on a stored panel tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

ByteProgress = Callable[[int, int], None]
"""Called with the bytes done and all bytes."""
