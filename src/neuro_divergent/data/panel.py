"""All series of a table, laid end to end in contiguous arrays.

Nothing is padded and nothing is copied per series: series ``i`` is rows ``offsets[i]:offsets[i + 1]`` of each array.
Rows of a series are one step of ``frequency`` apart, so a time is computed from the first one and never stored.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.frequency import Frequency
from neuro_divergent.data.schema import Schema

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Panel:
    """Series ready to be cut into windows.

    Attributes:
        schema: The roles the columns had in the table.
        ids: One value per series, in the type the table had; sorted.
        starts: First time of each series, in the type the table had.
        frequency: Step between two rows.
        offsets: Where each series begins, and the end: ``num_series + 1`` whole numbers.
        y: Target, one value per row; 0 where not observed.
        mask: Whether ``y`` was observed, or ``None`` when all of it was.
        past_x: Covariates known only in the past, ``(rows, features)``.
        future_x: Covariates known ahead, ``(rows, features)``; calendar features come last.
        static_x: Covariates per series, ``(num_series, features)``.
        past: Names and cardinalities of the columns of ``past_x``; likewise ``future`` and ``static``.
        categories: For each categorical column, its values in code order: the code of ``categories[c][k]`` is ``k + 1``
            because 0 is the slot for unknown values.
    """

    schema: Schema
    ids: pl.Series
    starts: pl.Series
    frequency: Frequency
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    y: np.ndarray[Any, np.dtype[np.float32]]
    mask: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    past_x: np.ndarray[Any, np.dtype[np.float32]] | None = None
    future_x: np.ndarray[Any, np.dtype[np.float32]] | None = None
    static_x: np.ndarray[Any, np.dtype[np.float32]] | None = None
    past: tuple[Feature, ...] = ()
    future: tuple[Feature, ...] = ()
    static: tuple[Feature, ...] = ()
    categories: dict[str, list[Any]] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        """Number of rows of all series together."""
        return len(self.y)

    @property
    def num_series(self) -> int:
        """Number of series."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Number of rows of each series."""
        return np.diff(self.offsets)

    def series(self, index: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the target of one series, without copying it."""
        return self.y[self.offsets[index] : self.offsets[index + 1]]
