"""The nodes of a hierarchy in a panel: where each of them is, and their values at the same times."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Bools, Floats, Ints
from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.calendar import show, show_time
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy, check_names
from neuro_divergent.forecasting.predictor import WindowForecasts

_TOLERANCE = 1e-3  # of the mean size of a node; tables of rounded numbers are not warned about


def node_places(panel: Panel, hierarchy: Hierarchy) -> Ints:
    """Return the place of each node in a panel.

    Raises:
        DataError: If its series are not the nodes, or do not all end at the same time.
    """
    names = panel.ids.cast(pl.String).to_list()
    check_names(names, hierarchy.nodes, "node", panel.source)
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    if ends.n_unique() > 1:
        other = int(np.flatnonzero((ends != ends[0]).to_numpy())[0])
        spans = [f"{show(panel.ids[place])} ends at {show_time(ends, place)}" for place in (0, other)]
        raise DataError(
            describe(panel.source, f"nodes must end at the same time to add up: {spans[0]}, but {spans[1]}.")
        )
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in hierarchy.nodes], dtype=np.int64)


def aligned(panel: Panel, places: Ints) -> tuple[Floats, Bools]:
    """Return the last values of every node ``(nodes, steps)``, and at which steps all of them were observed."""
    steps = int(panel.lengths.min())
    rows = (panel.offsets[1:] - steps)[places][:, None] + np.arange(steps)
    seen = np.ones(steps, bool) if panel.mask is None else panel.mask[rows].all(0)
    return panel.y[rows].astype(np.float64), seen


def by_cutoff(panel: Panel, found: WindowForecasts, values: Array) -> tuple[Ints, Ints, Floats]:
    """Lay out values of windows as ``(cut-offs, series, horizon)``, NaN where a series has none, after two arrays.

    These are minus the rows from each cut-off to the end, by which windows are matched because nodes may begin at
    different times but end at the same one, and the place of each window among the cut-offs.
    """
    ages, cutoff = np.unique(found.rows - panel.offsets[found.series + 1], return_inverse=True)
    laid_out = np.full((len(ages), panel.num_series, values.shape[1]), np.nan)
    laid_out[cutoff, found.series] = values
    return ages, cutoff, laid_out


def warn_incoherent(panel: Panel, places: Ints, hierarchy: Hierarchy) -> None:
    """Warn about a table that does not add up, which may belong to another hierarchy."""
    values, seen = aligned(panel, places)
    values = values[:, seen]
    if not values.size:
        return
    apart = np.abs(hierarchy.aggregate(values[hierarchy.bottom_rows]) - values).max(1)
    relative = apart / np.maximum(np.abs(values).mean(1), np.finfo(np.float32).tiny)
    worst = int(relative.argmax())
    if relative[worst] > _TOLERANCE:
        warnings.warn(
            f"node {hierarchy.nodes[worst]!r} differs from the sum of its parts by up to {apart[worst]:.3g}, "
            f"{relative[worst]:.1%} of its mean size. Is this the hierarchy of the table?",
            DataWarning,
            stacklevel=3,
        )
