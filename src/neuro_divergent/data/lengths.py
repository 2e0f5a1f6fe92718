"""What becomes of series that are too short for windows, or for a forecast."""

from __future__ import annotations

import warnings

import numpy as np

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.layout import label_series
from neuro_divergent.data.panel import Panel


def check_lengths(panel: Panel, *, input_size: int, horizon: int) -> Panel:
    """Apply ``schema.short`` to the series that are too short for windows of history and horizon.

    Returns:
        The same panel if every series is long enough. ``"drop"`` leaves the others out with a ``DataWarning``;
        ``"pad"`` puts ``input_size`` masked rows before each series shorter than two windows, so that windows can begin
        before its first row. Covariates repeat their first row there.

    Raises:
        DataError: If a series is too short and must not be, or if none would be left.
    """
    needed = input_size + horizon
    if panel.schema.short == "pad":
        observed = panel.offsets[1:] - panel.first_observed
        padded = np.where(observed < 2 * needed, np.maximum(observed + input_size, needed), 0)
        return panel.lengthened(padded) if (panel.lengths < padded).any() else panel
    return _check_lengths(panel, needed, f"{input_size} history + {horizon} horizon")


def check_history(panel: Panel, *, input_size: int) -> Panel:
    """Apply ``schema.short`` to the series that are too short to forecast from.

    ``"pad"`` puts masked rows before them, as many as are missing; the rest is as for ``check_lengths``.
    """
    return panel.lengthened(input_size) if _pads(panel, input_size) else _check_lengths(panel, input_size, "history")


def _pads(panel: Panel, needed: int) -> bool:
    return panel.schema.short == "pad" and bool((panel.lengths < needed).any())


def _check_lengths(panel: Panel, needed: int, purpose: str) -> Panel:
    short = np.flatnonzero(panel.lengths < needed)
    if not len(short):
        return panel
    count = int(panel.lengths[short[0]])
    place = label_series(panel.schema, panel.ids, int(short[0])) or "the series"
    affected = f"; {len(short)} series affected" if panel.schema.id else ""
    message = f"{place}: {count} row{'s' * (count != 1)}, needs {needed} ({purpose}){affected}"
    if panel.schema.short == "error" or len(short) == panel.num_series:
        cure = 'Pass short="pad" (--short pad) to lengthen them, or short="drop" (--short drop) to leave them out.'
        raise DataError(describe(panel.source, f"{message}. {cure}"))
    warnings.warn(describe(panel.source, f"{message} and left out"), DataWarning, stacklevel=3)
    return panel.take(np.flatnonzero(panel.lengths >= needed))
