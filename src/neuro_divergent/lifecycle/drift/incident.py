"""Something that is wrong with the feed of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from neuro_divergent.core.formatting import format_count, format_number, format_time
from neuro_divergent.lifecycle.drift.plain_time import plain_time

Kind = Literal["constant", "missing", "unit", "duplicates", "negative", "zeros"]
_MOST_NAMES = 5


@dataclass(frozen=True)
class Incident:
    """A broken feed, of some series or of all. It is never a reason to train again.

    Attributes:
        kind: ``constant`` (one value again and again), ``missing`` (no values), ``unit`` (values times 10, 60, 1,000,
            ...), ``duplicates`` (a time twice), ``negative`` (where none ever was) or ``zeros`` (most values are
            suddenly 0).
        series: Names of the series, those with the largest numbers first.
        of: Number of series that were checked.
        since: Time at which it began.
        until: Last time of it.
        amount: How large it is: rows of a constant or missing stretch, the factor of a unit, repeated rows, the lowest
            negative value, or the fraction of zeros. Of several series it is the largest.
    """

    kind: Kind
    series: tuple[Any, ...]
    of: int
    since: Any
    until: Any
    amount: float

    @property
    def is_whole_feed(self) -> bool:
        """Whether at least half of the series have it."""
        return 2 * len(self.series) >= self.of

    @property
    def sentence(self) -> str:
        """What is wrong, in words."""
        names = ", ".join(map(str, self.series[:_MOST_NAMES]))
        more = len(self.series) - _MOST_NAMES
        names += f" and {more:,} more" if more > 0 else ""
        who = names if len(self.series) == 1 else f"{len(self.series):,} of {self.of:,} series ({names})"
        when = format_time(self.since)
        when = f"since {when}" if self.until is None else f"from {when} to {format_time(self.until)}"
        return f"{who}: {self._what()}, {when}."

    def _what(self) -> str:
        amount = format_number(self.amount)
        rows = format_count(round(self.amount), "row")
        repeats = format_count(round(self.amount), "row repeats", "rows repeat")
        # The factor of a jump downwards is easier to read the other way round.
        factor = (
            f"multiplied by about {amount}"
            if self.amount >= 1
            else f"divided by about {format_number(1 / (self.amount or 1))}"
        )
        return {
            "constant": f"the same value in {rows}, which it never had before",
            "missing": f"no values in {rows}, which it never had before",
            "unit": f"values are suddenly {factor}, as by another unit",
            "duplicates": f"{repeats} a time that is already there",
            "negative": f"negative values, down to {amount}, where there was never one",
            "zeros": f"{100 * self.amount:.0f} % of the values are suddenly zero",
        }[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "kind": self.kind,
            "series": [name if isinstance(name, int) else str(name) for name in self.series],
            "of": self.of,
            "since": plain_time(self.since),
            "until": plain_time(self.until),
            "amount": self.amount,
            "sentence": self.sentence,
        }
