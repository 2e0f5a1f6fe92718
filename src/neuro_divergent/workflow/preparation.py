"""What was chosen for a run, and what it was trained on, in sentences."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.formatting import format_count
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.history import choose_history
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.validation import describe_validation


def describe_preparation(asked: Task, forecaster: Forecaster) -> list[str]:
    """Return how the history was chosen, which series were lengthened, and what the model was trained on.

    Args:
        asked: The task as it was given, with what was left open.
        forecaster: The trained forecaster, with its data.
    """
    assert forecaster.panel is not None
    panel, fitted, found = forecaster.panel, forecaster.fitted, []
    task = fitted.task
    if panel.directory is not None:
        found.append(
            f"The data stay on disk, as a panel: {format_count(len(panel), 'row')} of "
            f"{format_count(panel.num_series, 'series', 'series')} in {panel.directory}."
        )
    if asked.input_size is None:
        reason = choose_history(asked, panel).reason
        found.append(f"The history has {format_count(task.history, 'row')}: {reason}.")
    padded = int(np.count_nonzero(panel.first_observed > panel.offsets[:-1]))
    if padded and panel.schema.short == "pad":
        found.append(
            f"{padded:,} of {panel.num_series:,} series are short: the histories of some of their windows begin "
            "before the first row, with missing values."
        )
    split = forecaster.split
    if split is not None and len(split.validation) and (sampled := describe_validation(split.validation)) is not None:
        found.append(sampled)
    trained_on = fitted.trained_on
    if trained_on is not None and trained_on.all_rows:
        rows = "all rows but the test part" if task.test else "all rows"
        use = "intervals" if task.test else "scores and intervals"
        found.append(
            f"The model was trained twice: first without the validation part, which gives the number of steps and the "
            f"{use}, then for {format_count(trained_on.steps, 'step')} on {rows}."
        )
    return found
