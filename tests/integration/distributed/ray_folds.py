"""Cross-validates with folds as Ray tasks and in one process, and says whether forecasts agree and what errors are.

The tests call it in a process of its own, with the address of the cluster.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, WorkerDiedError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation.cross_validation.cross_validation import CrossValidation
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

DATA = Synthetic(num_series=3, length=90, noise=0.5).frame()
FOLDS = TimeSeriesSplit(n_splits=3, test_size=5)


class KilledForecaster:
    """Trains like a forecaster until the system kills its process."""

    def __init__(self) -> None:
        self.task = nd.Forecaster("nlinear", horizon=5, input_size=10).task

    def fit(self, data: Any) -> None:
        del data
        os.kill(os.getpid(), signal.SIGKILL)

    def forecast_windows(self, *arguments: Any) -> None:
        raise AssertionError


def cross_validated(input_size: int, **how: Any) -> CrossValidation:
    training = nd.TrainingConfig(max_steps=15, threads=1)
    forecaster = nd.Forecaster("mlp", horizon=5, input_size=input_size, training=training)
    return nd.cross_validate(forecaster, DATA, FOLDS, **how)


def main(address: str) -> dict[str, Any]:
    """Return what came out, as plain values."""
    executor = nd.distributed.RayExecutor(address)
    seen: list[tuple[int, int]] = []
    elsewhere = cross_validated(
        10, jobs=2, executor=executor, progress=lambda done, total, _: seen.append((done, total))
    )
    here = cross_validated(10)
    with pytest.raises(DataError) as failed:
        cross_validated(500, jobs=2, executor=executor)
    with pytest.raises(WorkerDiedError) as died:
        nd.cross_validate(KilledForecaster(), DATA, FOLDS, jobs=2, executor=executor)
    return {
        "same": elsewhere.forecasts.equals(here.forecasts) and elsewhere.scores.equals(here.scores),
        "rows": here.forecasts.height,
        "seen": seen,
        "failed": str(failed.value),
        "died": str(died.value),
    }
