"""Every error the package raises on purpose, in one tree.

A message says what arrived, what is accepted and what to do about it. The command line prints the
message in one line and exits with ``exit_code``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import ClassVar


class NeuroDivergentError(Exception):
    """Root of all errors raised on purpose."""

    exit_code: ClassVar[int] = 1


class InputError(NeuroDivergentError, ValueError):
    """Something the user gave cannot be used."""

    exit_code = 2


class DataError(InputError):
    """A table, file or column is not usable as it is."""


class ConfigError(InputError):
    """A setting has a wrong name, type or value."""


class NotFittedError(InputError):
    """An operation that needs a fitted forecaster was called before ``fit``."""


class ExportError(InputError):
    """A model cannot be exported, or its graph would not forecast what ``predict`` does; the message has the reason."""


class MissingDependencyError(NeuroDivergentError, ImportError):
    """An optional part needs a package that is not installed."""

    exit_code = 2


class UntrustedFileError(NeuroDivergentError):
    """A stored file is damaged, altered, of an unknown version or of a kind that is never loaded."""

    exit_code = 3


class NewerFormatError(UntrustedFileError):
    """A stored file was written by a newer version than this one."""

    def __init__(self, place: object, found: int, known: int) -> None:
        super().__init__(f"{place}: format {found}, this version reads up to {known}. Upgrade neuro-divergent.")


class StorageError(NeuroDivergentError, OSError):
    """The disk refused: full, read-only or without permission."""

    exit_code = 4


class DivergedError(NeuroDivergentError, ArithmeticError):
    """The loss, a gradient or a weight became NaN or infinite."""

    exit_code = 5


class OutOfMemoryError(NeuroDivergentError, MemoryError):
    """The settings ask for more memory than there is."""

    exit_code = 2


class WorkerDiedError(NeuroDivergentError):
    """A worker process ended before its task did: killed by the system, often because memory ran out."""


class ProcessLostError(NeuroDivergentError):
    """Contact was lost with a process that trains together with this one; that process knows why."""

    exit_code = 6


class RejectedUpdateError(InputError):
    """An update of a client in a federation does not count."""


class ConflictError(NeuroDivergentError):
    """The aliases of a model changed since they were read; nothing was changed.

    Attributes:
        expected: The revision that the caller had seen.
        found: The present one.
    """

    def __init__(self, name: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"{name}: the aliases are at revision {found}, not {expected}: somebody changed them. Look at the history "
            "and decide again."
        )
        self.expected = expected
        self.found = found


class TaskTimeoutError(NeuroDivergentError):
    """A task took longer than it may, and its worker process was ended."""


class Interrupted(KeyboardInterrupt):
    """A signal requested the end of the process; the state has been saved.

    Like its parent it is no ``Exception``, so that code which catches those does not continue by mistake.

    Args:
        name: Name of the signal, ``"SIGINT"`` or ``"SIGTERM"``, or ``"deadline"`` where time was up instead.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    @property
    def exit_code(self) -> int:
        """Exit code of a process that ends by this signal."""
        return 143 if self.name == "SIGTERM" else 130


class DivergenceWarning(UserWarning):
    """The loss or a gradient became NaN or infinite, and training continued as configured."""


class StorageWarning(UserWarning):
    """A file could not be written; work continues without it."""


class ConversionWarning(UserWarning):
    """A table is converted to a stored panel, which takes time and room on the disk that nobody may expect."""


class ForecastWarning(UserWarning):
    """Forecasts are so far from what was observed that they should not be used."""


class DataWarning(UserWarning):
    """The data can be used but looks suspicious."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string."""
    close = get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def check_choice(what: str, value: object, known: Collection[str]) -> None:
    """Refuse a value that is not one of those known.

    Raises:
        ConfigError: With the closest one, and all of them.
    """
    if value not in known:
        raise ConfigError(f"Unknown {what} {value!r}.{did_you_mean(str(value), known)} Known: {', '.join(known)}.")
