"""The ledger of a budget: which rounds were charged, on disk before anything is released."""

from __future__ import annotations

import math
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import flush_directory
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.privacy.accountant import Rounds, compute_epsilon

_KEYS = ("round", "attempt", "participation", "noise_multiplier", "time")
_LIMIT = 64 * 1024**2  # bytes: about half a million rounds
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Charge(NamedTuple):
    """A round that was charged.

    Attributes:
        round_number: Which round of the training.
        attempt: 1 for the first time that this round was charged; a round that is repeated is charged again.
        participation: Probability with which each client took part.
        noise_multiplier: Standard deviation of the noise over the norm that contributions were clipped to.
        time: When, in ISO 8601 and UTC.
    """

    round_number: int
    attempt: int
    participation: float
    noise_multiplier: float
    time: str


class Ledger:
    """Rounds that were charged to a budget, one JSON line each; nothing is ever taken out.

    Charge a round first and release its result then: whatever happens in between, no release is missing here. A last
    line without its end is that of a process that was killed while it wrote; nothing was released after it, and it does
    not count.

    Args:
        path: The file; the first charge creates it, in a directory that exists. ``None`` keeps charges in memory, for
            trainings that are not resumed.

    Raises:
        UntrustedFileError: If a line is damaged, with its number.
        StorageError: If the disk refuses.

    Examples:
        >>> import neuro_divergent as nd
        >>> ledger = nd.privacy.Ledger("ledger.jsonl")
        >>> spend = nd.privacy.Rounds(participation=0.5, noise_multiplier=2.0)
        >>> for number in range(3):
        ...     _ = ledger.charge(number, spend)
        >>> round(nd.privacy.Ledger("ledger.jsonl").spent(delta=1e-5), 1)
        2.2
        >>> ledger.allows(spend, epsilon=2.0, delta=1e-5)
        False
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._entries: tuple[Charge, ...] = ()
        self._end = 0
        self._load()

    @property
    def entries(self) -> tuple[Charge, ...]:
        """All charges, the oldest first."""
        return self._entries

    def charge(self, round_number: int, settings: Rounds) -> Charge:
        """Write that a round is about to be released; when this returns, the disk has it.

        Args:
            round_number: Which round of the training, from 0 or 1 as the caller counts.
            settings: Participation and noise of the round; ``Mechanism.rounds()`` gives them.

        Raises:
            InputError: If a number is outside its range, or it is more than one round.
            UntrustedFileError: If the file is damaged, or has lost charges since it was read.
            StorageError: If the disk refuses; do not release then.
        """
        _check(settings.participation, settings.noise_multiplier)
        if settings.number != 1:
            raise InputError(f"number: {settings.number} rounds; charge each on its own.")
        if round_number < 0:
            raise InputError(f"round_number: {round_number} is below 0.")
        self._load()
        attempt = 1 + sum(entry.round_number == round_number for entry in self._entries)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        made = Charge(round_number, attempt, float(settings.participation), float(settings.noise_multiplier), now)
        self._append(strict_json.dumps(dict(zip(_KEYS, made, strict=True))) + b"\n")
        self._entries = (*self._entries, made)
        return made

    def spent(self, delta: float) -> float:
        """Return the epsilon of all charges; 0 if there are none."""
        return compute_epsilon(_group(self._entries), delta) if self._entries else 0.0

    def allows(self, settings: Rounds, *, epsilon: float, delta: float) -> bool:
        """Return whether a budget still has room for further rounds, usually one."""
        return compute_epsilon(_group(self._entries, settings), delta) <= epsilon

    def _load(self) -> None:
        """Read the complete lines of the file."""
        if self.path is None:
            return
        content = read_file(self.path, limit=_LIMIT) if os.path.lexists(self.path) else b""
        end = content.rfind(b"\n") + 1
        lines = content[:end].split(b"\n")[:-1]
        found = tuple(_parse(line, f"{self.path}, line {number}") for number, line in enumerate(lines, start=1))
        known = len(self._entries)
        if found[:known] != self._entries:
            raise UntrustedFileError(f"{self.path}: {known} charges were read or written, and it has others now.")
        self._entries, self._end = found, end

    def _append(self, line: bytes) -> None:
        """Write a line after the last complete one, and wait for the disk."""
        if self.path is None:
            return
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | _FLAGS, 0o644)
            try:
                os.ftruncate(handle, self._end)
                os.lseek(handle, self._end, os.SEEK_SET)
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(handle, rest) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            if not self._end:
                flush_directory(self.path.absolute().parent)
        except OSError as error:
            raise storage_error(self.path, "written", error, needed=len(line)) from error
        self._end += len(line)


def _group(entries: tuple[Charge, ...], further: Rounds | None = None) -> list[Rounds]:
    """Return charges as rounds, those with equal settings together."""
    counts = Counter((entry.participation, entry.noise_multiplier) for entry in entries)
    if further is not None:
        counts[further.participation, further.noise_multiplier] += further.number
    return [Rounds(*settings, number) for settings, number in counts.items()]


def _parse(line: bytes, place: str) -> Charge:
    values = strict_json.loads(line, place)
    if not isinstance(values, dict) or tuple(values) != _KEYS:
        raise UntrustedFileError(f"{place}: is no charge; one has {', '.join(_KEYS)}.")
    made = Charge(*values.values())
    for name, lowest in (("round", 0), ("attempt", 1)):
        if type(values[name]) is not int or values[name] < lowest:
            raise UntrustedFileError(f"{place}: {name} is not an integer from {lowest}.")
    try:
        _check(made.participation, made.noise_multiplier)
        if datetime.fromisoformat(made.time).utcoffset() != timedelta(0):
            raise ValueError("time: is not in UTC.")
    except (ValueError, TypeError) as error:
        raise UntrustedFileError(f"{place}: {error}") from None
    return made


def _check(participation: Any, noise_multiplier: Any) -> None:
    for value in (participation, noise_multiplier):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{str(value)[:40]!r} is not a number.")
    if not 0 < participation <= 1:
        raise InputError(f"participation: {participation} is not a probability above 0.")
    if not 0 < noise_multiplier < math.inf:
        raise InputError(f"noise_multiplier: {noise_multiplier} is not above 0 and finite.")
