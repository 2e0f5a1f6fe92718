"""Addresses of databases, without the passwords they may hold."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from neuro_divergent.core.errors import ConfigError

# Places of files; everything else with a scheme is a database.
_FILES = ("file", "http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "hdfs", "hf", "memory")
_SCHEME = re.compile(r"([A-Za-z][\w.+-]*)://")
# Of options, and of the ODBC settings that one of them may hold.
_SECRET = re.compile(
    r"(?i)[?&;=]\s*(?:\w*password|passwd|pwd|pass|passcode|passphrase|\w*token|\w*secret|\w*api_?key|private_key)\s*="
)


def is_address(name: str) -> bool:
    """Whether a name is the address of a database and not a path, a pattern or a place of files."""
    match = _SCHEME.match(name)
    return match is not None and match[1].lower() not in _FILES and not os.path.lexists(name)


def without_password(address: str) -> str:
    """Return an address as messages show it: without the password and options, which can hold one too."""
    scheme, _, rest = address.partition("://")
    account, at, host = rest.rpartition("@")
    return f"{scheme}://{account.partition(':')[0]}{at}{host.partition('?')[0]}"


def refuse_password(address: str) -> None:
    """Refuse an address with a password: it is stored with runs and models.

    Raises:
        ConfigError: If the address holds one and does not name an environment variable instead.
    """
    password = address.partition("://")[2].rpartition("@")[0].partition(":")[2]
    if _SECRET.search(unquote(address)) or (password and variable_of(password) is None):
        shown = without_password(address)
        raise ConfigError(
            f"{shown}: holds a password, which would be stored with the run. Write the name of an environment variable "
            "in its place ('postgresql://user:$NAME@host/database', in quotes), or leave it out, where the driver "
            "finds it (PGPASSWORD or ~/.pgpass)"
        )


def variable_of(password: str) -> str | None:
    """Return the environment variable that stands in the place of a password, if one does: ``$NAME``, ``${NAME}``."""
    match = re.fullmatch(r"\$(?:\{(\w+)\}|(\w+))", password)
    return None if match is None else match[1] or match[2]
