"""The log of forecasts is read by the checks of drift."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.errors import forecast_errors
from neuro_divergent.serving.server.logged_forecasts import read_forecasts, read_inputs
from tests.integration.serving.server_process import running
from tests.integration.serving.small_graph import HORIZON, INPUT_SIZE, digest_of, expected

BEGIN = datetime(2024, 1, 1)
COUNT = 120


def table() -> pl.DataFrame:
    """Return two series of hours."""
    chance = np.random.default_rng(3)
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": [name] * COUNT,
                "ds": [BEGIN + timedelta(hours=hour) for hour in range(COUNT)],
                "y": chance.normal(50, 2, COUNT),
            }
        )
        for name in ("A", "B")
    )


@pytest.fixture(scope="module")
def log(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ask for forecasts from many cut-offs, one of them twice, and return the log."""
    directory = tmp_path_factory.mktemp("log")
    data = {name: frame["y"].to_list() for (name,), frame in table().partition_by("unique_id", as_dict=True).items()}
    options = ["--poll", "0", "--log-forecasts", str(directory), "--log-inputs"]
    with running(graph, options=options) as server:
        for last in [*range(INPUT_SIZE - 1, COUNT - HORIZON, HORIZON), INPUT_SIZE - 1]:
            end = (BEGIN + timedelta(hours=last)).isoformat()
            series = [{"id": name, "end": end, "y": y[last + 1 - INPUT_SIZE : last + 1]} for name, y in data.items()]
            assert server.post("/forecast", {"series": series}).status == 200
        assert server.post("/forecast", {"series": [{"y": [1.0] * INPUT_SIZE}]}).status == 200
        assert server.stop() == 0
    return directory / "mean"


def test_log_holds_the_forecasts_of_every_cutoff_once(log: Path) -> None:
    frame = read_forecasts(log)
    assert frame.columns[:5] == ["unique_id", "ds", "cutoff", "step", "forecast"]
    assert frame["model_version"].unique().to_list() == [digest_of(0)]
    cutoffs = len(range(INPUT_SIZE - 1, COUNT - HORIZON, HORIZON))
    assert frame.height == 2 * cutoffs * HORIZON
    first = frame.filter(pl.col("unique_id") == "A").head(HORIZON)
    history = table().filter(pl.col("unique_id") == "A")["y"].head(INPUT_SIZE).to_list()
    assert first["forecast"].to_list() == pytest.approx(expected(history), rel=1e-6)
    assert first["ds"].to_list() == [BEGIN + timedelta(hours=INPUT_SIZE + step) for step in range(HORIZON)]
    assert first["cutoff"].unique().to_list() == [BEGIN + timedelta(hours=INPUT_SIZE - 1)]
    assert first["step"].to_list() == [1, 2, 3]
    np.testing.assert_allclose(first["q-0.9"] - first["q-0.1"], 2, rtol=1e-5)


def test_forecast_errors_and_drift_are_computed_from_the_log(log: Path, tmp_path: Path) -> None:
    table().write_csv(tmp_path / "actual.csv")
    frame = read_forecasts(log, actual=str(tmp_path / "actual.csv"))
    errors = forecast_errors(frame, frequency="1h")
    joined = read_forecasts(log).join(table(), on=["unique_id", "ds"])
    assert np.nanmean(errors.values) == pytest.approx((joined["y"] - joined["forecast"]).mean(), rel=1e-6)
    assert errors.horizon == HORIZON
    middle = errors.times[errors.num_times // 2]
    result = detect_drift(errors.before(middle), errors.since(middle), alpha=0.03)
    assert result.verdict in ("no drift", "not judged")


def test_logged_inputs_equal_what_was_sent(log: Path) -> None:
    inputs = read_inputs(log)
    joined = inputs.join(table().rename({"y": "sent"}), on=["unique_id", "ds"], how="inner")
    assert joined.height == inputs.height
    np.testing.assert_allclose(joined["y"], joined["sent"], rtol=1e-6)


def test_directory_without_a_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no logged forecast"):
        read_forecasts(tmp_path)
