"""Names of clients."""

from __future__ import annotations

import re

from neuro_divergent.core.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def check_name(name: str) -> str:
    """Return the name of a client, which is also that of a directory and stands in a certificate.

    Raises:
        ConfigError: If it has other letters than a to z, digits, ``-``, ``_`` and ``.``, or more than 64.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"client {name[:80]!r}: a name has up to 64 letters from a to z, digits, '-', '_' and '.', and begins with "
            "a letter or a digit."
        )
    return name
