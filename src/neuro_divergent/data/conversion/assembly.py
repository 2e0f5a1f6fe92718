"""Parts of a table become parts of its panel: one frequency for all of them, and what is suspicious is counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency import Frequency, infer, is_calendar_step
from neuro_divergent.data.cleaning.frequency_evidence import FrequencyEvidence
from neuro_divergent.data.conversion.rows import Rows
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.layout import Layout, Moved, lay_out, warn_reordered
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import fill_in
from neuro_divergent.data.panel_warnings import Constant, find_constant, find_epochs, warn_of_constant, warn_of_epochs


class UnsortedError(Exception):
    """A series comes back after others: the rows are not sorted by series."""


class OtherFrequencyError(Exception):
    """All rows together have another frequency than the first ones, with which parts were made already."""


class Assembly:
    """Makes the parts of a panel.

    A frequency that is not given is taken from the first part. Where that cannot be all there is to it (a step that is
    not regular, or one of months), all times are read first: ``evidence`` does that.

    Args:
        rows: The table.
        categories: Values of each categorical column.
        evidence: Returns the frequency of all rows.
    """

    def __init__(self, rows: Rows, categories: dict[str, list[Any]], evidence: Callable[[], FrequencyEvidence]) -> None:
        self.rows, self.categories, self._evidence = rows, categories, evidence
        self.frequency: Frequency | None = None
        self.is_settled = False
        self.last: Any = None
        self.moved: Moved | None = None
        self.constant: Constant | None = None
        self.epochs: str | None = None

    def restart(self) -> None:
        """Forget the parts that were made; a frequency that was found stays."""
        self.last = self.moved = self.constant = self.epochs = None
        if not self.is_settled:
            self.frequency = None

    def make(self, table: Table) -> Panel:
        """Return the panel of a table of whole series.

        Raises:
            DataError: If the rows cannot be used.
            UnsortedError: If one of the series does not come after those before.
            OtherFrequencyError: If the parts before have to be made again, with another frequency.
        """
        layout = lay_out(table, self.rows.schema, is_resolved=True)
        if self.last is not None and layout.ids[0] <= self.last:
            raise UnsortedError
        if layout.moved is not None and self.rows.schema.strict:
            warn_reordered(layout.moved, table, layout.schema)
        part = fill_in(layout, self._frequency_of(layout), self.categories)
        if not part.ids.dtype.is_integer():
            part = dataclasses.replace(part, ids=part.ids.cast(pl.String))
        if self.last is None:
            self.epochs = find_epochs(part)
        self.last = part.ids[-1]
        self._note(layout.moved, find_constant(part))
        return dataclasses.replace(part, source=self.rows.name)

    def warn(self) -> None:
        """Warn about rows that were out of order, constant series and times that are integers, once for all parts."""
        if self.moved is not None:
            warn_reordered(self.moved, self.rows.table(pl.DataFrame()), self.rows.schema)
        if self.constant is not None:
            warn_of_constant(self.constant, self.rows.name, self.rows.schema)
        warn_of_epochs(self.epochs, self.rows.name, self.rows.schema)

    def state(self) -> dict[str, Any]:
        """Return what another process needs to go on, as values of JSON."""
        return {
            "frequency": None if self.frequency is None else str(self.frequency),
            "is_settled": self.is_settled,
            "last": self.last,
            "moved": None if self.moved is None else dataclasses.asdict(self.moved),
            "constant": None if self.constant is None else dataclasses.asdict(self.constant),
            "epochs": self.epochs,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on after the parts that another process made."""
        self.frequency = None if state["frequency"] is None else Frequency.parse(state["frequency"])
        self.is_settled, self.last = state["is_settled"], state["last"]
        self.moved = None if state["moved"] is None else Moved(**state["moved"])
        self.constant = None if state["constant"] is None else Constant(**state["constant"])
        self.epochs = state.get("epochs")

    def _note(self, moved: Moved | None, constant: Constant | None) -> None:
        if moved is not None:
            before = self.moved
            self.moved = moved if before is None else dataclasses.replace(before, series=before.series + moved.series)
        if constant is not None:
            seen = self.constant
            self.constant = (
                constant if seen is None else dataclasses.replace(seen, series=seen.series + constant.series)
            )

    def _frequency_of(self, layout: Layout) -> Frequency:
        """Return the frequency of the whole table."""
        if self.is_settled and self.frequency is not None:
            return self.frequency
        given = layout.schema.frequency
        if given is not None:
            frequency = Frequency.parse(given)
            try:
                frequency.check(layout.times.dtype, layout.schema.time)
            except DataError as error:
                raise layout.table.error(str(error)) from None
            if is_calendar_step(frequency):
                frequency = self._evidence().ending(frequency)
            return self._settle(frequency)
        guess = self.frequency or infer(layout.times, layout.offsets)
        size = None if guess is None else guess.size(layout.times.dtype)
        is_regular = size is not None and (layout.spread is None or layout.spread == (size, size))
        if guess is not None and is_regular and not is_calendar_step(guess):
            self.frequency = guess
            return guess
        found = self._evidence().infer()
        if found is None:
            raise layout.table.error(
                'no series has two rows to tell the frequency from. Pass it, such as frequency="1d" (--frequency 1d)'
            )
        return self._settle(found)

    def _settle(self, frequency: Frequency) -> Frequency:
        differs = self.frequency is not None and self.frequency != frequency
        self.frequency, self.is_settled = frequency, True
        if differs and self.last is not None:
            raise OtherFrequencyError
        return frequency
