"""A time zone: from UTC to what its clocks show, and back."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError, MissingDependencyError

_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)


class Zone:
    """Offsets of a time zone.

    Args:
        name: In the tz database, such as ``Europe/Berlin``.
        per_second: Integers that make a second.

    Raises:
        MissingDependencyError: If this machine has no such zone.
    """

    def __init__(self, name: str, per_second: int) -> None:
        self.name, self.per_second = name, per_second
        try:
            self._zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise MissingDependencyError(
                f"the time zone {name[:60]!r} is not known on this machine. Install its database: pip install tzdata"
            ) from None

    def to_local(self, times: Ints) -> Ints:
        """Return what the clocks show at times in UTC."""
        return times + self.offsets(times) * self.per_second

    def offsets(self, times: Ints) -> Ints:
        """Return the seconds by which clocks are ahead of UTC."""
        if self.name == "UTC":
            return np.zeros_like(times)
        seconds, places = np.unique(times // self.per_second, return_inverse=True)
        try:
            found = [_seconds(datetime.fromtimestamp(second, self._zone)) for second in seconds.tolist()]
        except (ValueError, OverflowError, OSError):
            raise DataError(f"times beyond the year 9999 have no offset in {self.name}") from None
        return np.array(found, np.int64)[places].reshape(times.shape)

    def to_utc(self, local: Ints, offsets: Ints | None) -> Ints:
        """Return when clocks show some times.

        Args:
            local: What the clocks show.
            offsets: Offset of the time that each was counted from. A time that clocks show twice takes the same
                offset, and one that they skip the offset after the change. ``None`` refuses both.

        Raises:
            DataError: If ``offsets`` is ``None`` and a time does not exist or is ambiguous.
        """
        seconds = local // self.per_second
        before = np.broadcast_to(0 if offsets is None else offsets, seconds.shape).ravel().tolist()
        found = [
            self._offset(second, None if offsets is None else origin)
            for second, origin in zip(seconds.ravel().tolist(), before, strict=True)
        ]
        return local - np.array(found, np.int64).reshape(local.shape) * self.per_second

    def _offset(self, second: int, origin: int | None) -> int:
        try:
            shown = (_EPOCH + timedelta(seconds=second)).replace(tzinfo=self._zone)
        except OverflowError:
            raise DataError(f"times beyond the year 9999 have no offset in {self.name}") from None
        earlier, later = _seconds(shown), _seconds(shown.replace(fold=1))
        if earlier == later:
            return earlier
        if origin is None:
            problem = "ambiguous" if earlier > later else "non-existent"
            raise DataError(f"{shown:%Y-%m-%d %H:%M} is {problem} in {self.name}. Convert the times to UTC")
        if earlier > later:
            return earlier if origin == earlier else later
        return later


def _seconds(time: datetime) -> int:
    offset = time.utcoffset()
    return 0 if offset is None else offset // _SECOND
