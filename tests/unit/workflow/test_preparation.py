"""What a run says about the choice of its history and about what it was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting import validation
from neuro_divergent.forecasting.task import Task
from neuro_divergent.workflow.preparation import describe_preparation


def trained(lengths: list[int], **task: Any) -> nd.Forecaster:
    frames = [pl.DataFrame({"unique_id": f"s{n}", "ds": np.arange(n), "y": np.sin(np.arange(n))}) for n in lengths]
    training = nd.TrainingConfig(max_steps=3, threads=1, early_stopping=None)
    return nd.Forecaster("nlinear", horizon=4, training=training, **task).fit(pl.concat(frames))


def test_chosen_history_padded_series_and_both_trainings_are_told() -> None:
    assert describe_preparation(Task(horizon=4), trained([100, 90, 20])) == [
        "The history has 12 rows: 3 horizons.",
        "1 of 3 series are short: the histories of some of their windows begin before the first row, with missing "
        "values.",
        "The model was trained twice: first without the validation part, which gives the number of steps and the "
        "scores and intervals, then for 3 steps on all rows.",
    ]


def test_what_was_given_and_not_done_is_not_told() -> None:
    given = {"input_size": 8, "refit": False}
    assert describe_preparation(Task(horizon=4, **given), trained([100, 90], **given)) == []


def test_a_test_part_is_left_out_of_the_second_training() -> None:
    told = describe_preparation(Task(horizon=4, input_size=8), trained([100, 90], input_size=8, test=10))
    assert told[-1].endswith("the number of steps and the intervals, then for 3 steps on all rows but the test part.")


def test_panel_on_disk_and_a_sample_of_validation_windows_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"input_size": 8, "refit": False, "validation": 20}
    in_memory = trained([100, 90], **given)
    assert in_memory.panel is not None
    in_memory.panel.save(tmp_path / "panel")
    monkeypatch.setattr(validation, "BLOCK_ROWS", 0)
    monkeypatch.setattr(validation, "LEAST_WINDOWS", 1)
    monkeypatch.setattr(validation, "MOST_WINDOWS", 3)
    training = nd.TrainingConfig(max_steps=3, threads=1, early_stopping=None)
    made = nd.Forecaster("nlinear", horizon=4, training=training, **given).fit(Panel.open(tmp_path / "panel"))
    told = describe_preparation(Task(horizon=4, **given), made)
    assert told[0] == f"The data stay on disk, as a panel: 190 rows of 2 series in {tmp_path / 'panel'}."
    assert told[1].startswith("Validation used 3 of the ")
    assert len(told) == 2
