"""Times as numbers of rows since the first training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.frequency import Frequency


@dataclass(frozen=True)
class Timeline:
    """Counts rows from a fixed time on, so that everything that waits for data can count.

    Attributes:
        anchor: Time of row 0: the last one of the first training.
        frequency: Step between rows.
    """

    anchor: Any
    frequency: Frequency

    def index(self, time: Any) -> int:
        """Return the number of the row of a time; negative before the anchor.

        Raises:
            DataError: If no row can have that time.
        """
        backwards = time < self.anchor
        earlier, later = (time, self.anchor) if backwards else (self.anchor, time)
        steps = int(self.frequency.between(self._series(earlier), self._series(later))[0])
        if steps < 0:
            raise DataError(f"source: time {time} is no multiple of {self.frequency} from {self.anchor}")
        return -steps if backwards else steps

    def time(self, index: int) -> Any:
        """Return the time of a row."""
        return self.frequency.time_at(self._series(self.anchor), np.array([index])).item()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        kind = "int" if isinstance(self.anchor, int) else "datetime" if isinstance(self.anchor, datetime) else "date"
        anchor = self.anchor if kind == "int" else self.anchor.isoformat()
        return {"kind": kind, "anchor": anchor, "frequency": str(self.frequency)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Timeline:
        """Restore a timeline from the result of ``to_dict``."""
        readers: dict[str, Callable[[Any], Any]] = {
            "int": int,
            "datetime": datetime.fromisoformat,
            "date": date.fromisoformat,
        }
        return cls(readers[values["kind"]](values["anchor"]), Frequency.parse(values["frequency"]))

    def _series(self, time: Any) -> pl.Series:
        return pl.Series("time", [time])
