"""A small model that learns from a large one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.splits import split_by_time
from neuro_divergent.forecasting.distill import TaughtLoader


def waves(num_series: int = 3, length: int = 160) -> pl.DataFrame:
    random = np.random.default_rng(1)
    time = np.arange(length)
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": f"s{index}",
                "ds": time,
                "y": 50 * (index + 1) + 10 * np.sin(2 * np.pi * time / 12 + index) + random.normal(0, 0.5, length),
            }
        )
        for index in range(num_series)
    )


def forecaster(model: Any, *, steps: int = 60, **task: Any) -> nd.Forecaster:
    distillation = task.pop("distillation", 0.5)
    training = nd.TrainingConfig(max_steps=steps, threads=1, batch_size=32, distillation=distillation)
    return nd.Forecaster(model, training=training, **{"horizon": 6, "input_size": 24, **task})


@pytest.fixture(scope="module")
def teacher() -> nd.Forecaster:
    return forecaster(nd.MLP(hidden_size=64), input_size=18, scaler="robust", series_scaler="standard").fit(waves())


@pytest.mark.parametrize("scalers", [{}, {"scaler": "minmax"}, {"scaler": "identity", "series_scaler": "standard"}])
def test_batches_hold_what_the_teacher_forecasts(teacher: nd.Forecaster, scalers: dict[str, str]) -> None:
    """The teacher's forecast of a window, in units, is what its own predict says for the rows before."""
    student = forecaster("nlinear", steps=1, **scalers).fit(waves())
    assert student.panel is not None
    split = split_by_time(student.panel, input_size=24, horizon=6)
    batcher = student.fitted.batcher(student.panel)
    loader = TaughtLoader(WindowLoader(split.train, batcher, Order(batch_size=7, shuffle=True)), teacher.fitted)
    batch = next(iter(loader.epoch(0)))
    assert batch.soft_y is not None
    soft = batcher.restore(batch.soft_y, batch)[:, :, 0]
    history = batcher.restore(batch.past_y, batch)[:, :, 0]
    frame = waves()
    for row in range(len(soft)):
        name = f"s{int(batch.series[row])}"
        own = frame.filter(pl.col("unique_id") == name)
        end = next(
            place for place in range(24, 160) if np.allclose(own["y"][place - 24 : place], history[row], atol=1e-3)
        )
        expected = teacher.predict(own.head(end))["forecast"].to_numpy()
        assert soft[row].numpy() == pytest.approx(expected, abs=1e-2)


def test_learning_from_the_teacher_alone_brings_the_student_to_the_teacher(teacher: nd.Forecaster) -> None:
    apart = []
    for share, taught in ((0.5, None), (1.0, teacher)):
        student = forecaster("nlinear", steps=500, distillation=share).fit(waves(), teacher=taught)
        difference = student.predict()["forecast"].to_numpy() - teacher.predict()["forecast"].to_numpy()
        apart.append(np.abs(difference).mean())
    assert apart[1] < apart[0]


def test_distillation_of_zero_equals_training_without_a_teacher(teacher: nd.Forecaster) -> None:
    alone = forecaster("nlinear", distillation=0.0).fit(waves())
    with_teacher = forecaster("nlinear", distillation=0.0).fit(waves(), teacher=teacher)
    torch.testing.assert_close(
        torch.tensor(alone.predict()["forecast"]),
        torch.tensor(with_teacher.predict()["forecast"]),
        rtol=1e-5,
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("student", "message"),
    [
        ({"horizon": 4}, "the teacher forecasts 6 steps, the student 4"),
        ({"input_size": 12}, "the teacher reads 18 steps of history, the student's windows have 12"),
        ({"joint": True}, "takes all series at once"),
    ],
)
def test_a_teacher_that_does_not_fit_is_refused(teacher: nd.Forecaster, student: dict[str, Any], message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=message):
        forecaster("nlinear", **student).fit(waves(), teacher=teacher)


def test_a_teacher_with_other_columns_is_refused(teacher: nd.Forecaster) -> None:
    with pytest.raises(nd.errors.ConfigError, match="other covariates"):
        forecaster("mlp").fit(waves().with_columns(price=pl.col("y") / 2), past=["price"], teacher=teacher)


def test_an_untrained_teacher_is_refused() -> None:
    with pytest.raises(nd.errors.NotFittedError):
        forecaster("nlinear").fit(waves(), teacher=forecaster("mlp"))


def test_values_go_to_the_scale_of_a_batch_and_back() -> None:
    student = forecaster("nlinear", steps=1, scaler="robust", series_scaler="log").fit(waves())
    assert student.panel is not None
    batcher: WindowBatcher = student.fitted.batcher(student.panel)
    batch = batcher.windows(np.array([0, 2]), np.array([3, 330]))
    assert batch.future_y is not None
    there = batcher.restore(batch.future_y, batch)
    torch.testing.assert_close(batcher.rescale(there, batch), batch.future_y, rtol=1e-3, atol=1e-3)
