"""Arguments that several functions share: counts, new data, and the windows at the end of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows

if TYPE_CHECKING:
    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.forecasting.task import Task


def require_counts(**counts: int | None) -> None:
    """Refuse an argument that is neither unset nor a positive integer."""
    for name, count in counts.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError(f"{name}: {count!r} must be an integer of at least 1.")


def new_panel(forecaster: ForecastModel, data: Any) -> Panel:
    """Return new data as a panel with the schema and encodings of training, whose series have room for a window."""
    context, task = forecaster.fitted.context, forecaster.task
    from neuro_divergent.forecasting.given_panel import as_panel

    panel = as_panel(data, context)
    if panel is None:
        panel = build_panel(data, context.schema, fitted=context)
    if task.joint:
        panel.require_aligned()
    return check_lengths(panel, input_size=task.history, horizon=task.horizon)


def windows_from(panel: Panel, task: Task, begins: Ints, step: int) -> Windows:
    """Return the windows with targets from some row of each series to its end, ``step`` rows apart."""
    return Windows(panel, task.history, task.horizon, begins, panel.offsets[1:], step, bool(task.joint))


def rows_at_end(panel: Panel, last: int | float, least: int) -> Ints:
    """Return how many rows of each series ``last`` means, a fraction below 1 or a number; no fewer than ``least``."""
    if isinstance(last, bool) or not last > 0 or (last >= 1 and last != int(last)):
        raise InputError(f"last: {last!r} must be a fraction between 0 and 1 or an integer number of rows.")
    rows = np.round(last * panel.lengths) if last < 1 else np.full(panel.num_series, last)
    return np.maximum(rows.astype(np.int64), least)
