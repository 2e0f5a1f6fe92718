"""Who belongs to a federation, on disk."""

from __future__ import annotations

import threading
from pathlib import Path

from neuro_divergent.core.errors import RejectedUpdateError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_json, write_file
from neuro_divergent.data.cleaning.frequency import Frequency

_LIMIT = 16 * 1024**2


class Members:
    """The clients that have joined, and the round from which each takes part.

    They are kept in a file, so that a server that starts again draws from the same clients, whoever has come back by
    then. All have rows of the same frequency: that of the settings, or else that of the first one that comes.

    Args:
        path: The file.
        allowed: Names that may join; empty for all that have a certificate.
        frequency: Step between rows that clients must have; ``None`` for that of the first one.
    """

    def __init__(self, path: Path, allowed: frozenset[str] = frozenset(), frequency: str | int | None = None) -> None:
        self._path = path
        self._allowed = allowed
        self._frequency = None if frequency is None else str(Frequency.parse(frequency))
        self._lock = threading.Lock()
        self._since: dict[str, int] = {}
        self._open = 1
        if path.exists():
            found = read_json(path, _LIMIT)
            if not isinstance(found, dict) or not all(type(number) is int for number in found.values()):
                raise UntrustedFileError(f"{path}: does not list the clients of a federation.")
            self._since = found

    def __contains__(self, name: str) -> bool:
        return name in self._since

    def open_round(self, number: int) -> None:
        """Let those who join from now on take part from this round on."""
        self._open = number

    def join(self, name: str, frequency: str) -> None:
        """Let a client take part; one that is in stays as it is.

        Raises:
            RejectedUpdateError: If the client is not one of those that may join, or has rows of another frequency.
        """
        if self._allowed and name not in self._allowed:
            raise RejectedUpdateError(f"client {name!r} is not one of this federation.")
        with self._lock:
            self._frequency = self._frequency or frequency
            if frequency != self._frequency:
                raise RejectedUpdateError(
                    f"the client has a row every {frequency!r}; all clients of this federation need {self._frequency!r}"
                )
            if name not in self._since:
                joined = {**self._since, name: self._open}
                write_file(self._path, strict_json.dumps(joined, indent=1))
                self._since = joined

    def at(self, number: int) -> list[str]:
        """Return the names of those that take part in a round."""
        return sorted(name for name, since in self._since.items() if since <= number)
