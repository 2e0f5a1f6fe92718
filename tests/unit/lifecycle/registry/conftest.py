"""Models that are fitted once, and empty registries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import neuro_divergent as nd
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.unit.lifecycle.registry.models import SavedModel, forecaster, table


@pytest.fixture(scope="session")
def fitted() -> dict[str, ForecastModel]:
    """Return one fitted model of several kinds."""
    data = table()
    hierarchy = nd.Hierarchy(("total", "s0", "s1"), ("s0", "s1"), np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    return {
        "Forecaster": forecaster().fit(data),
        "Ensemble": nd.Ensemble([forecaster(), forecaster("dlinear")]).fit(data),
        "Conformal": nd.Conformal(forecaster()).fit(data),
        "Statistical": nd.Statistical("naive", horizon=4).fit(data),
        "HINT": nd.HINT(forecaster(), hierarchy, "bottom_up").fit(hierarchy.aggregate_table(data)),
        "AutoForecaster": nd.AutoForecaster(horizon=4, budget="1s", models=("nlinear",), jobs=1).fit(data),
    }


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a run with everything that it writes."""
    path = tmp_path_factory.mktemp("runs") / "sales"
    forecaster().fit(table(80), run=path)
    return path


@pytest.fixture
def saved(fitted: dict[str, ForecastModel], tmp_path: Path) -> SavedModel:
    return SavedModel(dict(fitted["Forecaster"].to_files()), tmp_path / "saved")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "models") as made:
        yield made
