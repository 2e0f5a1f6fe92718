"""Exported files that several tests use."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent import Forecaster
from neuro_divergent.serving.export.exporter import export_model
from neuro_divergent.serving.export_file import stored_digest
from tests.unit.serving.small_models import fit, series_table


@dataclass(frozen=True)
class SavedModel:
    """A saved model with its export beside it.

    Attributes:
        forecaster: The model.
        path: Its directory; the exported file is ``path.with_suffix(".onnx")``.
        table: New series for it.
        file: The same as a CSV file.
    """

    forecaster: Forecaster
    path: Path
    table: pl.DataFrame
    file: Path


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedModel:
    """An exported NLinear."""
    directory = tmp_path_factory.mktemp("exported")
    forecaster = fit("nlinear", series_table().select("unique_id", "ds", "y"))
    path = directory / "sales"
    forecaster.save(path)
    export_model(forecaster, path.with_suffix(".onnx"), digest=stored_digest(path))
    table = series_table(rows=40, start=dt.datetime(2024, 6, 1), seed=4).select("unique_id", "ds", "y")
    file = directory / "new.csv"
    table.write_csv(file, datetime_format="%Y-%m-%d %H:%M:%S")
    return SavedModel(forecaster, path, table, file)
