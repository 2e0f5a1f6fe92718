"""Exports and differences of versions."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.unit.lifecycle.registry.models import SavedModel, table


def test_an_exported_directory_loads_and_has_the_evidence(registry: Registry, run: Path, tmp_path: Path) -> None:
    version = registry.register(run, "sales")
    path = registry.export("sales", tmp_path / "out" / "sales")
    assert_frame_equal(nd.load(path).predict(), version.load().predict())
    assert json.loads((path / "version.json").read_text())["digest"] == version.digest
    assert (path / "backtest.parquet").read_bytes() == (run / "backtest.parquet").read_bytes()
    with pytest.raises(InputError, match="exists already"):
        registry.export("sales", path)
    with pytest.raises(ConfigError, match="Did you mean 'mlflow'"):
        registry.export("sales", tmp_path / "x", "mflow")  # type: ignore[arg-type]
    assert [item.name for item in (tmp_path / "out").iterdir()] == ["sales"]


@pytest.mark.parametrize("kind", ["Forecaster", "Statistical"])
def test_an_export_for_mlflow_is_loaded_by_mlflow(
    registry: Registry, fitted: dict[str, ForecastModel], tmp_path: Path, kind: str
) -> None:
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    registry.register(fitted[kind], "sales", scores={"mae": 1.0})
    model = pyfunc.load_model(str(registry.export("sales", tmp_path / "out", "mlflow")))
    assert model.metadata.flavors["neuro_divergent"]["version"] == "1.0.0"
    given = table().to_pandas()
    found = model.predict(given)
    assert isinstance(found, pd.DataFrame)
    assert_frame_equal(pl.from_pandas(found), pl.from_pandas(fitted[kind].predict(given)))
    # One without rows asks for the series of training.
    assert_frame_equal(model.predict(given.head(0)), fitted[kind].predict())
    assert type(model.get_raw_model()).__name__ == kind
    assert "neuro-divergent==" in (tmp_path / "out" / "requirements.txt").read_text()


def test_intervals_are_given_to_mlflow_as_parameters(
    registry: Registry, fitted: dict[str, ForecastModel], tmp_path: Path
) -> None:
    from neuro_divergent.lifecycle.registry.mlflow_flavor import _load_pyfunc

    registry.register(fitted["Forecaster"], "sales")
    path = registry.export("sales", tmp_path / "out", "mlflow")
    found = _load_pyfunc(str(path / "model")).predict(table(), {"levels": [80]})
    assert_frame_equal(found, fitted["Forecaster"].predict(table(), levels=[80]))


def test_differences_of_two_versions(registry: Registry, saved: SavedModel) -> None:
    registry.register(saved.write(1), "sales", scores={"mae": 1.0, "windows": 3}, data={"rows": 10})
    changes = {"task__horizon": 6, "training__max_epochs": 9}
    registry.register(saved.write(2, **changes), "sales", scores={"mae": 0.5, "windows": 4}, data={"rows": 12})
    found = registry.diff("sales==v1", "sales==2.0.0")
    assert not found.is_same_model
    assert {(item.name, item.a, item.b) for item in found.section("interface")} == {("horizon", 4, 6)}
    assert {item.name for item in found.section("config")} == {"task.horizon", "training.max_epochs"}
    assert [(item.name, item.a, item.b) for item in found.section("data")] == [("rows", 10, 12)]
    assert found.scores["mae"] == (1.0, 0.5)
    assert found.notes == ["The scores are of different numbers of windows: 3 and 4."]
    same = registry.diff("sales==v1", "sales==v1")
    assert same.is_same_model
    assert same.differences == []
    assert json.loads(json.dumps(found.to_dict()))["scores"]["mae"] == [1.0, 0.5]


def test_scores_of_a_run_are_those_of_the_model_and_not_of_a_baseline(registry: Registry, run: Path) -> None:
    version = registry.register(run, "sales")
    assert version.scores is not None
    own = next(row for row in version.scores["scores"] if row["name"] == "nlinear")
    assert registry.diff("sales", "sales").scores["mae"] == (own["mae"], own["mae"])
