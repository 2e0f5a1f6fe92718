"""The forecast log never holds back requests: it leaves out what it cannot write, and counts it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from neuro_divergent.serving.exported_model import ExportedModel, load
from neuro_divergent.serving.prepared import Prepared
from neuro_divergent.serving.request import Request, Series
from neuro_divergent.serving.server import forecast_log
from neuro_divergent.serving.server.batcher import Batcher
from neuro_divergent.serving.server.forecast_log import ForecastLog
from neuro_divergent.serving.server.logged_forecasts import read_forecasts
from neuro_divergent.serving.server.metrics import Metrics
from neuro_divergent.serving.server.served_version import ServedVersion
from tests.integration.serving.small_graph import INPUT_SIZE, write_graph


@pytest.fixture
def version(tmp_path: Path) -> ServedVersion:
    """Return a version without a server."""
    model = load(write_graph(tmp_path / "mean.onnx"))
    return ServedVersion(model, "mean", Batcher.__new__(Batcher))


def prepare(model: ExportedModel, count: int) -> Prepared:
    """Return some series."""
    series = [Series(id=f"s{place}", end="2024-01-31T23:00:00", y=[1.0] * INPUT_SIZE) for place in range(count)]
    return model.prepare(Request(series=series))


def counted(metrics: Metrics) -> dict[str, float]:
    """Return the counts of the log by outcome."""
    return {labels[0][1]: value for labels, value in metrics.logged.values.items()}


def test_parts_are_written_when_they_are_old_and_at_the_end(version: ServedVersion, tmp_path: Path) -> None:
    metrics = Metrics()
    log = ForecastLog(tmp_path / "log", metrics, part_seconds=0.1)
    prepared = prepare(version.model, 3)
    forecast = version.model.run(prepared.inputs)
    log.add(version, prepared, forecast)
    end = time.monotonic() + 10
    while not list((tmp_path / "log" / "mean").glob("*.jsonl")):
        assert time.monotonic() < end
        time.sleep(0.01)
    log.add(version, prepare(version.model, 1), forecast[:1])
    log.close()
    assert counted(metrics) == {"written": 4}
    assert len(list((tmp_path / "log" / "mean").iterdir())) == 2
    assert read_forecasts(tmp_path / "log" / "mean")["unique_id"].n_unique() == 3


def test_series_above_the_bound_are_left_out_and_counted(
    version: ServedVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast_log, "_MOST_SERIES", 2)
    metrics = Metrics()
    log = ForecastLog(tmp_path / "log", metrics)
    log.add(version, prepare(version.model, 5), np.zeros((5, 3, 1, 4), np.float32))
    log.close()
    assert counted(metrics) == {"left out": 5}


def test_disk_that_refuses_loses_the_part_and_the_thread_goes_on(version: ServedVersion, tmp_path: Path) -> None:
    metrics = Metrics()
    log = ForecastLog(tmp_path / "log", metrics)
    (tmp_path / "log" / "mean").write_text("a file where the directory should be")
    log.add(version, prepare(version.model, 2), np.zeros((2, 3, 1, 4), np.float32))
    log.close()
    assert counted(metrics) == {"lost": 2}
