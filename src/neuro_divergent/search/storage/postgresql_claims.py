"""Claims in a PostgreSQL database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from neuro_divergent.core.errors import StorageError
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.storage.claims import Claims

_STUDY = 2**31 - 1  # no trial has this number
_KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}


class PostgreSQLClaims(Claims):
    """Claims that are advisory locks of the database, which the server releases when the connection ends.

    Args:
        address: The database, as in ``StudyConfig.storage``.
        study: Name of the study in it.
    """

    def __init__(self, address: str, study: str) -> None:
        psycopg = load_optuna("psycopg")
        self._key = int.from_bytes(hashlib.sha256(study.encode()).digest()[:4], "big", signed=True)
        self._held: set[int] = set()
        try:
            self._connection = psycopg.connect(
                f"postgresql://{address.partition('://')[2]}", autocommit=True, **_KEEPALIVE
            )
            # The server notices a machine that is gone as quickly as the client does.
            for name in ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"):
                value = _KEEPALIVE[name.removeprefix("tcp_")]
                with suppress(psycopg.Error):
                    self._connection.execute(f"SET {name} = {value}")
        except psycopg.OperationalError as error:
            raise StorageError(f"{address}: {str(error).splitlines()[0]}") from error

    def try_claim(self, number: int) -> bool:
        if number in self._held or not self._ask("pg_try_advisory_lock", number):
            return False
        self._held.add(number)
        return True

    def release(self, number: int) -> None:
        self._held.discard(number)
        self._ask("pg_advisory_unlock", number)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        self._ask("pg_advisory_lock", _STUDY)
        try:
            yield
        finally:
            self._ask("pg_advisory_unlock", _STUDY)

    def close(self) -> None:
        self._held.clear()
        self._connection.close()

    def _ask(self, function: str, number: int) -> Any:
        psycopg = load_optuna("psycopg")
        try:
            return self._connection.execute(f"SELECT {function}(%s, %s)", (self._key, number)).fetchone()[0]
        except psycopg.Error as error:
            raise StorageError(f"the database of the study does not answer: {str(error).splitlines()[0]}") from error
