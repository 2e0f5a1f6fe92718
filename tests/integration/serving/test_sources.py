"""Models from directories and registries are served, exported where they have no export, and swapped with an alias."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.lifecycle.drift.model_check import check_inputs
from neuro_divergent.lifecycle.registry.registry import Registry
from neuro_divergent.serving.server.logged_forecasts import read_inputs
from tests.integration.serving.server_process import ServerProcess, running

INPUT_SIZE, HORIZON, COUNT = 12, 4, 80
BEGIN = datetime(2024, 1, 1)


def table() -> pl.DataFrame:
    """Return a series of hours."""
    values = 20 + np.sin(np.arange(COUNT) / 3) + np.random.default_rng(0).normal(0, 0.1, COUNT)
    times = [BEGIN + timedelta(hours=hour) for hour in range(COUNT)]
    return pl.DataFrame({"unique_id": ["A"] * COUNT, "ds": times, "y": values})


def train(model: str, seed: int = 0) -> Forecaster:
    """Return a forecaster after a few steps."""
    training = nd.TrainingConfig(max_steps=3, batch_size=16, seed=seed)
    return nd.Forecaster(model, horizon=HORIZON, input_size=INPUT_SIZE, training=training).fit(table())


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Forecaster, Forecaster]:
    """Train two models."""
    return train("nlinear"), train("nlinear", seed=1)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache of exports that the tests have in common, so that each model is exported once."""
    return tmp_path_factory.mktemp("cache")


def ask(server: ServerProcess) -> tuple[str, list[float]]:
    """Return the version and the forecast for the end of the table."""
    frame = table()
    series = {"id": "A", "end": frame["ds"][-1].isoformat(), "y": frame["y"].tail(INPUT_SIZE).to_list()}
    answer = server.post("/forecast", {"series": [series]})
    assert answer.status == 200, answer.body
    return answer.json()["model_version"], answer.json()["series"][0]["forecast"]


@pytest.mark.long
def test_saved_model_without_export_is_exported_to_the_cache_and_equals_predict(
    models: tuple[Forecaster, Forecaster], tmp_path: Path, cache: Path
) -> None:
    models[0].save(tmp_path / "sales")
    wanted = models[0].predict(table())["forecast"].to_list()
    options = ["--cache", str(cache), "--poll", "0"]
    with running(tmp_path / "sales", options=options) as server:
        assert ask(server)[1] == pytest.approx(wanted, rel=1e-4)
        assert any("exporting to" in line for line in server.log)
    (cached,) = cache.glob("*.onnx")
    written = cached.stat().st_mtime_ns
    options += ["--log-forecasts", str(tmp_path / "log"), "--log-inputs"]
    with running(tmp_path / "sales", options=options) as server:
        assert ask(server)[1] == pytest.approx(wanted, rel=1e-4)
        new = [float(value) for value in 20 + np.sin(np.arange(COUNT, COUNT + 60) / 3)]
        for place in range(INPUT_SIZE, 61, INPUT_SIZE):
            end = (BEGIN + timedelta(hours=COUNT + place - 1)).isoformat()
            series = {"id": "A", "end": end, "y": new[place - INPUT_SIZE : place]}
            assert server.post("/forecast", {"series": [series]}).status == 200
        assert server.stop() == 0
    assert cached.stat().st_mtime_ns == written
    results = check_inputs(models[0], read_inputs(tmp_path / "log" / "sales"))
    assert results["y"].verdict in ("no drift", "drift", "not judged")
    assert results["y"].new_times is not None
    assert results["y"].new_times.len() == 60


@pytest.mark.long
def test_architecture_that_cannot_be_exported_is_served_with_torch(tmp_path: Path) -> None:
    model = train("timesnet")
    model.save(tmp_path / "sales")
    wanted = model.predict(table())["forecast"].to_list()
    with running(tmp_path / "sales", options=["--cache", str(tmp_path / "cache"), "--poll", "0"]) as server:
        assert ask(server)[1] == pytest.approx(wanted, rel=1e-4)
        assert any("served with torch" in line for line in server.log)


@pytest.mark.long
def test_alias_that_moves_swaps_the_version(models: tuple[Forecaster, Forecaster], tmp_path: Path, cache: Path) -> None:
    with Registry(tmp_path / "models") as registry:
        for number, model in enumerate(models, start=1):
            model.save(tmp_path / f"model{number}")
            registry.register(tmp_path / f"model{number}", "sales")
        registry.promote("sales==v1")
        digests = [registry.get(f"sales==v{number}").digest for number in (1, 2)]
        wanted = [model.predict(table())["forecast"].to_list() for model in models]
        options = ["--registry", str(tmp_path / "models"), "--cache", str(cache), "--poll", "0.2"]
        with running("sales@champion", options=options) as server:
            version, forecast = ask(server)
            assert version == digests[0]
            assert forecast == pytest.approx(wanted[0], rel=1e-4)
            registry.promote("sales==v2")
            end = time.monotonic() + 90
            while ask(server)[0] != digests[1]:
                assert time.monotonic() < end
                time.sleep(0.1)
            assert ask(server)[1] == pytest.approx(wanted[1], rel=1e-4)
            registry.rollback("sales")
            end = time.monotonic() + 30
            while ask(server)[0] != digests[0]:
                assert time.monotonic() < end
                time.sleep(0.1)
            assert server.stop() == 0


@pytest.mark.long
def test_sigterm_while_a_model_is_exported_ends_at_once(models: tuple[Forecaster, Forecaster], tmp_path: Path) -> None:
    models[0].save(tmp_path / "sales")
    command = [sys.executable, "-m", "neuro_divergent.serving", str(tmp_path / "sales"), "--port", "0"]
    command += ["--cache", str(tmp_path / "cache")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"exporting to" in process.stderr.readline()
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert time.monotonic() - begin < 15  # an export takes longer on a machine that is as busy as that
    assert list((tmp_path / "cache").iterdir()) == []
