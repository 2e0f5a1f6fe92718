"""``nd predict`` with an exported file beside the model gives what it gives without one."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from neuro_divergent import MLP
from neuro_divergent.interfaces.cli.main import app
from neuro_divergent.serving.export.exporter import export_model
from neuro_divergent.serving.export_file import stored_digest
from tests.unit.serving.small_models import HORIZON, INPUT_SIZE, fit, series_table

COLUMNS = ["unique_id", "ds", "promo", "event"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with covariates known ahead, its export, new series and their future."""
    root = tmp_path_factory.mktemp("predict")
    table = series_table().select("unique_id", "ds", "y", "promo", "event")
    forecaster = fit(MLP(hidden_size=8), table, future=("promo", "event"), calendar="hour", missing="interpolate")
    forecaster.save(root / "run" / "model")
    export_model(forecaster, root / "run" / "model.onnx", digest=stored_digest(root / "run" / "model"))
    parts = [part for _, part in table.group_by("unique_id", maintain_order=True)]
    before = pl.concat([part.head(INPUT_SIZE + 9) for part in parts])
    before.write_csv(root / "new.csv", datetime_format="%Y-%m-%d %H:%M")
    before.write_parquet(root / "new.parquet")
    after = pl.concat([part.slice(INPUT_SIZE + 9, HORIZON) for part in parts]).select(COLUMNS)
    after.write_csv(root / "ahead.csv", datetime_format="%Y-%m-%d %H:%M")
    return root


@pytest.fixture
def predict(directory: Path) -> Callable[..., Result]:
    """Run ``nd predict`` with the exported file, or with ``exported=False`` without it."""

    def run(*arguments: str, exported: bool = True, model: str = "run") -> Result:
        file, hidden = directory / "run" / "model.onnx", directory / "hidden"
        if not exported:
            shutil.move(file, hidden)
        try:
            options = [str(directory / item) if (directory / item).exists() else item for item in arguments]
            return CliRunner().invoke(app, ["predict", str(directory / model), *options])
        finally:
            if not exported:
                shutil.move(hidden, file)

    return run


def assert_same(found: str, expected: str) -> None:
    """Compare two CSV files."""
    ours, theirs = (list(csv.reader(io.StringIO(text))) for text in (found, expected))
    assert len(ours) > 1
    assert ours[0] == theirs[0]
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    numbers = [np.array([row[2:] for row in rows[1:]], float) for rows in (ours, theirs)]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        ("new.csv", "--future", "ahead.csv"),
        ("new.csv", "--future", "ahead.csv", "--levels", "80,95", "--quantiles", "0.1"),
        ("new.csv", "--future", "ahead.csv", "--horizon", "3"),
        ("new.csv", "--future", "ahead.csv", "--missing", "forward", "--short", "error"),
        ("new.parquet", "--future", "ahead.csv", "--levels", "80"),
        ("new.csv", "--future", "ahead.csv", "--levels", "37"),
        ("--future", "ahead.csv"),
        ("new.csv",),
        ("new.csv", "--future", "nowhere.csv"),
        ("new.csv", "--future", "ahead.csv", "--levels", "200"),
        ("new.csv", "--future", "ahead.csv", "--horizon", "7"),
        ("nowhere.csv", "--future", "ahead.csv"),
    ],
    ids=" ".join,
)
def test_command_gives_the_same_with_and_without_an_exported_file(
    predict: Callable[..., Result], options: tuple[str, ...]
) -> None:
    found, expected = predict(*options), predict(*options, exported=False)
    assert found.exit_code == expected.exit_code
    if expected.exit_code == 0:
        assert_same(found.stdout, expected.stdout)
    else:
        assert str(found.exception) == str(expected.exception)


def test_json_is_the_same_with_and_without_an_exported_file(predict: Callable[..., Result]) -> None:
    options = ("new.csv", "--future", "ahead.csv", "--levels", "80", "--json")
    found, expected = (json.loads(predict(*options, exported=exported).stdout) for exported in (True, False))
    assert found["rows"] == expected["rows"]
    assert found["model"] == expected["model"]
    for ours, theirs in zip(found["forecasts"], expected["forecasts"], strict=True):
        assert list(ours) == list(theirs)
        assert ours["ds"] == theirs["ds"]
        assert ours["unique_id"] == theirs["unique_id"]
        assert ours["hi-80"] == pytest.approx(theirs["hi-80"], abs=1e-4)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_file_is_the_same_with_and_without_an_exported_file(
    predict: Callable[..., Result], tmp_path: Path, name: str
) -> None:
    frames = []
    for exported in (True, False):
        path = tmp_path / str(exported) / name
        path.parent.mkdir()
        done = predict("new.csv", "--future", "ahead.csv", "--output", str(path), exported=exported)
        assert done.exit_code == 0
        assert f"{3 * HORIZON} rows written to" in done.stdout.replace("\n", " ")
        frames.append(pl.read_csv(path) if name.endswith("csv") else pl.read_parquet(path))
    assert frames[0].schema == frames[1].schema
    assert frames[0].drop("forecast").equals(frames[1].drop("forecast"))
    np.testing.assert_allclose(frames[0]["forecast"].to_numpy(), frames[1]["forecast"].to_numpy(), rtol=0, atol=1e-4)


def test_export_of_another_version_of_the_model_is_ignored(predict: Callable[..., Result], directory: Path) -> None:
    options = ("new.csv", "--future", "ahead.csv")
    expected = predict(*options, exported=False)
    manifest = directory / "run" / "model" / "manifest.json"
    content = manifest.read_bytes()
    manifest.write_bytes(content + b" ")  # another digest; the model itself is then refused
    try:
        refused = predict(*options)
    finally:
        manifest.write_bytes(content)
    assert refused.exit_code != 0
    assert_same(predict(*options).stdout, expected.stdout)


def test_exported_file_by_itself_forecasts_and_says_what_it_lacks(predict: Callable[..., Result]) -> None:
    options = ("new.csv", "--future", "ahead.csv")
    assert_same(predict(*options, model="run/model.onnx").stdout, predict(*options, exported=False).stdout)
    assert "holds no series" in str(predict(model="run/model.onnx").exception)
    assert "not in the exported model" in str(predict(*options, "--levels", "37", model="run/model.onnx").exception)
    assert "not found" in str(predict(*options, model="run/nowhere.onnx").exception)
