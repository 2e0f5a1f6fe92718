"""Every error the package raises on purpose, in one tree.

A message says what arrived, what is accepted and what to do about it. The command line prints the
message in one line and exits with ``exit_code``.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    """A forecaster was asked for something that only a fitted one has."""


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
    """Training produced a number that is not finite."""

    exit_code = 5


class OutOfMemoryError(NeuroDivergentError, MemoryError):
    """The settings ask for more memory than there is."""

    exit_code = 2


class WorkerDiedError(NeuroDivergentError):
    """A worker process ended before its task did: killed by the system, often because memory ran out."""


class Interrupted(KeyboardInterrupt):
    """Somebody asked the process to end; what was to be saved has been saved.

    Like its parent it is no ``Exception``, so that code which catches those does not go on by mistake.

    Args:
        name: Name of the signal, ``"SIGINT"`` or ``"SIGTERM"``.
        message: What was done about it.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that ends by this signal."""
        return 143 if self.name == "SIGTERM" else 130


class DivergenceWarning(UserWarning):
    """Training produced a number that is not finite and went on as its settings say."""


class StorageWarning(UserWarning):
    """Something could not be written, and work goes on without it for now."""


class DataWarning(UserWarning):
    """The data can be used, but perhaps not all of it is what it seems."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, or an empty string."""
    close = get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
