"""What happened in training, row by row."""

from __future__ import annotations

import time
from typing import Any

import polars as pl


class History:
    """Rows of losses and rates.

    ``train_loss`` is the mean over the steps since the row before, and ``gradient_norm`` is the one of the last step,
    before clipping. Validation columns are empty in rows without a validation.
    """

    _SCHEMA = {  # noqa: RUF012
        "step": pl.Int64,
        "epoch": pl.Int64,
        "seconds": pl.Float64,
        "train_loss": pl.Float64,
        "learning_rate": pl.Float64,
        "gradient_norm": pl.Float64,
        "samples_per_second": pl.Float64,
        "validation_loss": pl.Float64,
    }

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._began = time.perf_counter()

    def start(self) -> None:
        """Set the clock to zero, or to where the last row left it."""
        self._began = time.perf_counter() - (self.rows[-1]["seconds"] if self.rows else 0.0)

    @property
    def seconds(self) -> float:
        """Time since training began."""
        return time.perf_counter() - self._began

    def add(self, **row: Any) -> None:
        """Add a row, stamped with the time."""
        self.rows.append({"seconds": self.seconds, **row})

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        extra = {key: pl.Float64 for row in self.rows for key in row if key not in self._SCHEMA}
        return pl.DataFrame(self.rows, schema={**self._SCHEMA, **extra})
