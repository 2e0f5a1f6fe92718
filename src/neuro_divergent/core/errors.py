"""Every error the package raises on purpose, in one tree.

A message says what arrived, what is accepted and what to do about it. The command line prints the
message in one line and exits with ``exit_code``. The first paragraph of a docstring says when the error is raised, the
second what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, ClassVar, Self

from neuro_divergent.core.notebook_traceback import ShortTraceback


class NeuroDivergentError(ShortTraceback, Exception):
    """Root of all errors raised on purpose.

    Catch it around anything of this package; what else is raised is a bug worth a report.

    Examples:
        >>> import neuro_divergent as nd
        >>> try:
        ...     nd.Forecaster("nlinaer", horizon=12)
        ... except nd.errors.NeuroDivergentError as error:
        ...     print(type(error).__name__, error.exit_code, str(error).partition(" Known")[0])
        ConfigError 2 Unknown model 'nlinaer'. Did you mean 'nlinear'?
    """

    exit_code: ClassVar[int] = 1


class InputError(NeuroDivergentError, ValueError):
    """Something the user gave cannot be used.

    Change what the message names: an argument, an option, a path. A run that another process works on is refused with
    this error too: wait for that process, or end it.
    """

    exit_code = 2


class DataError(InputError):
    """A table, file or column is not usable as it is.

    The message names the column, the series and the first row. Correct the table, or pass the policy that the message
    names, such as ``missing="interpolate"``; docs/guides/data.md lists them.

    Attributes:
        changes: Fields of the schema that the message offers, with which the rest of the table can be looked at.
    """

    changes: Mapping[str, Any] = MappingProxyType({})

    def offering(self, **changes: Any) -> Self:
        """Return the same error, with the fields of the schema that its message offers."""
        self.changes = changes
        return self


class ConfigError(InputError):
    """A setting has a wrong name, type or value.

    The message names the setting, what is accepted and the closest known name. ``nd init`` writes a document with all
    settings, and ``nd models NAME`` those of an architecture.
    """


class NotFittedError(InputError):
    """An operation that needs a fitted forecaster was called before ``fit``.

    Call ``fit`` first, or read a saved model with ``nd.load``.
    """


class ExportError(InputError):
    """A model cannot be exported, or its graph would not forecast what ``predict`` does; the message has the reason.

    Forecast with the model itself, or choose an architecture, a loss or a scaler that can be exported; see
    docs/guides/export.md.
    """


class MissingDependencyError(NeuroDivergentError, ImportError):
    """An optional part needs a package that is not installed.

    Run the ``pip install`` that the message gives.
    """

    exit_code = 2


class UntrustedFileError(NeuroDivergentError):
    """A stored file is damaged, altered, of an unknown version or of a kind that is never loaded.

    Take it from a backup, write it again, or resume the run, which uses the newest checkpoint that is whole. Save what
    is in a pickle in another format: a table as CSV or Parquet, weights as safetensors.
    """

    exit_code = 3


class NewerFormatError(UntrustedFileError):
    """A stored file was written by a newer version than this one.

    Upgrade the package where the file is read.
    """

    def __init__(self, place: object, found: int, known: int) -> None:
        super().__init__(f"{place}: format {found}, this version reads up to {known}. Upgrade neuro-divergent.")


class StorageError(NeuroDivergentError, OSError):
    """The disk refused: full, read-only or without permission.

    Make room, change the permission or write elsewhere with ``--output``, then resume the run from its last
    checkpoint.
    """

    exit_code = 4


class DivergedError(NeuroDivergentError, ArithmeticError):
    """The loss, a gradient or a weight became NaN or infinite.

    Lower the learning rate, clip gradients, or set ``divergence="rollback"`` to go back to the last good state with a
    lower rate. ``nd doctor RUN`` says which setting is the likely cause.
    """

    exit_code = 5


class OutOfMemoryError(NeuroDivergentError, MemoryError):
    """The settings ask for more memory than there is.

    Take a smaller ``batch_size`` with ``accumulate`` in proportion, set ``recompute``, or let ``--auto-batch-size``
    find what fits. For tables larger than memory see docs/guides/large-data.md.
    """

    exit_code = 2


class WorkerDiedError(NeuroDivergentError):
    """A worker process ended before its task did: killed by the system, often because memory ran out.

    Start fewer processes with ``jobs``; with ``store`` those tasks that were finished are not done again.
    """


class ProcessLostError(NeuroDivergentError):
    """Contact was lost with a process that trains together with this one; that process knows why.

    Look at what the other process wrote last. ``--retries`` starts all of them again from the last checkpoint.
    """

    exit_code = 6


class RejectedUpdateError(InputError):
    """An update of a client in a federation does not count.

    The message says why: the client has not joined, was not asked in this round, or sent values that do not fit.
    """


class ConflictError(NeuroDivergentError):
    """The aliases of a model changed since they were read; nothing was changed.

    Read the aliases again and repeat the decision on what they are now.

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
    """A task took longer than it may, and its worker process was ended.

    Allow it more time, or make it smaller: fewer steps, fewer rows.
    """


class Interrupted(ShortTraceback, KeyboardInterrupt):
    """A signal requested the end of the process; the state has been saved.

    Resume the run: ``nd train RUN --resume``, or ``Forecaster.resume(run)``.

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
    """The loss or a gradient became NaN or infinite, and training continued as configured.

    A few of them are harmless. Many mean that the learning rate is too high: ``nd doctor RUN`` tells.
    """


class StorageWarning(UserWarning):
    """A file could not be written; work continues without it.

    Make room or change the permission; a result that is missing is written by ``nd report RUN``.
    """


class ConversionWarning(UserWarning):
    """A table is converted to a stored panel, which takes time and room on the disk that nobody may expect.

    Convert it once with ``nd panel build`` and train on the panel.
    """


class ForecastWarning(UserWarning):
    """Forecasts are so far from what was observed that they should not be used.

    Train for longer, or look for what is unusual at the end of the series; ``nd doctor RUN`` has more.
    """


class DataWarning(UserWarning):
    """The data can be used but looks suspicious.

    Look at the rows that the message names. ``strict=True`` makes an error of it.
    """


def did_you_mean(wrong: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name in any case, or an empty string.

    The cutoff is how alike two names must be, between 0 and 1.
    """
    names = {name.lower(): name for name in known}
    close = get_close_matches(wrong.lower(), list(names), n=1, cutoff=cutoff)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def check_choice(what: str, value: object, known: Collection[str]) -> None:
    """Refuse a value that is not one of those known.

    Raises:
        ConfigError: With the closest one, and all of them.
    """
    if value not in known:
        raise ConfigError(f"Unknown {what} {value!r}.{did_you_mean(str(value), known)} Known: {', '.join(known)}.")
