"""Models that several files of tests export, fitted once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import neuro_divergent as nd
from neuro_divergent.serving.export.exporter import Export, write_export
from tests.unit.serving.export.small_models import COVARIATES, TABLE, forecaster, nhits

KINDS: dict[str, Callable[[], nd.Forecaster]] = {
    "linear": lambda: forecaster().fit(TABLE),
    "scaled": lambda: forecaster(series_scaler="standard").fit(TABLE),
    "covariates": lambda: nhits().fit(TABLE, **COVARIATES),
}


@pytest.fixture(scope="session")
def models() -> Callable[[str], nd.Forecaster]:
    known: dict[str, nd.Forecaster] = {}

    def of(kind: str) -> nd.Forecaster:
        if kind not in known:
            known[kind] = KINDS[kind]()
        return known[kind]

    return of


@pytest.fixture(scope="session")
def exports(
    models: Callable[[str], nd.Forecaster], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Export]:
    place: Path = tmp_path_factory.mktemp("exports")
    known: dict[str, Export] = {}

    def of(kind: str) -> Export:
        if kind not in known:
            known[kind] = write_export(models(kind), place / f"{kind}.onnx")
        return known[kind]

    return of
