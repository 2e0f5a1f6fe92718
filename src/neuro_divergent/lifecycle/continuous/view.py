"""The table as of a batch: rows that are final, and what may be asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.observations import BATCH
from neuro_divergent.lifecycle.continuous.rows import id_of
from neuro_divergent.lifecycle.continuous.timeline import Timeline
from neuro_divergent.lifecycle.promotion.scales import series_scales


@dataclass(frozen=True, eq=False)
class View:
    """Rows that were known as of a batch, up to the last one that is final.

    Attributes:
        rows: All of them, also those after the end, which have covariates that are known ahead.
        schema: The roles of the columns.
        timeline: Numbers of rows.
        batch: The batch.
        end: Last row with a final value, in rows since the beginning.
    """

    rows: pl.DataFrame
    schema: Schema
    timeline: Timeline
    batch: int
    end: int

    @property
    def frame(self) -> pl.DataFrame:
        """The final rows."""
        return self.until(self.end)

    @property
    def end_time(self) -> Any:
        """Time of the last final row."""
        return self.timeline.time(self.end)

    def until(self, index: int, rows: int | None = None) -> pl.DataFrame:
        """Return the rows up to an index, or only that many of the newest of each series."""
        time = pl.col(self.schema.time)
        found = self.rows.drop(BATCH).filter(time <= self.timeline.time(index))
        return found if rows is None else found.filter(time > self.timeline.time(index - rows))

    def after(self, index: int, rows: int) -> pl.DataFrame:
        """Return covariates that are known ahead, for some rows after an index."""
        time = pl.col(self.schema.time)
        begin, end = self.timeline.time(index), self.timeline.time(index + rows)
        known = self.rows.filter((time > begin) & (time <= end))
        return known.select(id_of(self.schema), self.schema.time, *self.schema.future)

    @cached_property
    def panel(self) -> Panel:
        """The final rows as a panel."""
        return build_panel(self.frame, self.schema)

    @property
    def season_length(self) -> int:
        """Rows in the season that is usual for the frequency."""
        return self.timeline.frequency.season_length

    def scales(self, season_length: int) -> dict[Any, float]:
        """Return the mean absolute difference one season apart of each series."""
        return series_scales(
            self.panel.to_frame(),
            season_length=season_length,
            target=self.schema.target,
            id=id_of(self.schema),
            time=self.schema.time,
        )

    def actuals(self) -> pl.DataFrame:
        """Return the final values: id, time, target."""
        return self.frame.select(id_of(self.schema), self.schema.time, self.schema.target)
