"""Drift of the inputs, while the actual values of the forecasts are not there yet."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel import Panel
from neuro_divergent.lifecycle.drift.detection import ALPHA, detect_drift
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.errors import Errors
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix


def input_drift(
    panel: Panel, since: object, *, alpha: float = ALPHA, season_length: int | None = None, seed: int = 0
) -> dict[str, DriftResult]:
    """Compare seasonal differences of the target and of numeric covariates before and after a time.

    Raw values alarm on every trend and slow season. So each value is compared with the one some complete seasons
    earlier, as many as the new part is long: every new value is then compared with one of before, and a change of level
    remains visible until the end. The rest is as for errors: the panel decides, and series are named.

    Args:
        panel: The series, old and new rows together.
        since: First time of the new part.
        alpha: Probability of a false alarm of all columns together; each has its part.
        season_length: Rows in a season; unset, it follows from the frequency.
        seed: Of the bootstrap.

    Returns:
        A result for each column. Categories, calendar features and static covariates are not compared.

    Raises:
        InputError: If there are no rows before or after that time.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=4, length=120, frequency=1).frame()
        >>> table = table.with_columns(pl.when(pl.col("ds") >= 90).then(pl.col("y") + 20).otherwise("y").alias("y"))
        >>> table.write_parquet("higher.parquet")
        >>> panel = nd.Panel.build("higher.parquet", "panel")
        >>> nd.lifecycle.input_drift(panel, since=90, season_length=7)["y"].verdict
        'drift'
    """
    names = [feature.name for feature in (*panel.past, *panel.future) if feature.cardinality is None]
    names = [name for name in names if name in panel.schema.covariates]
    columns: dict[str, str | None] = {panel.schema.target: None, **{name: name for name in names}}
    results = {}
    for name, column in columns.items():
        matrix = SeriesMatrix.from_panel(panel, column, season_length=season_length)
        old, new = seasonal_differences(matrix, since)
        found = detect_drift(old, new, alpha=alpha / len(columns), seed=seed)
        results[name] = dataclasses.replace(found, what=name)
    return results


def seasonal_differences(matrix: SeriesMatrix, since: object) -> tuple[Errors, Errors]:
    """Return differences to the value some complete seasons earlier, before a time and from it on."""
    is_new = (matrix.times >= since).to_numpy()
    count = int(is_new.sum())
    if not count or count == matrix.num_times:
        side = "after" if not count else "before"
        raise InputError(f"there are no rows {side} {since}, so there is nothing to compare.")
    lag = matrix.season_length * math.ceil(count / matrix.season_length)
    differences = np.full_like(matrix.values, np.nan)
    if lag < matrix.num_times:
        differences[:, lag:] = matrix.values[:, lag:] - matrix.values[:, :-lag]
    old = ~is_new & (np.arange(matrix.num_times) >= lag)
    return _part(matrix, differences, old), _part(matrix, differences, is_new)


def _part(matrix: SeriesMatrix, differences: np.ndarray, kept: np.ndarray) -> Errors:
    return Errors(
        ids=matrix.ids,
        times=matrix.times.filter(pl.Series(kept)),
        values=differences[:, kept],
        season_length=matrix.season_length,
    )
