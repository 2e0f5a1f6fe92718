"""Models that several tests of scoring use; trained once."""

from __future__ import annotations

import pytest

import neuro_divergent as nd
from neuro_divergent.serving.exported_model import ExportedModel
from tests.unit.serving.scoring.scored_models import exported, fit, series_table

LENGTHS = [30, 30, 30, 30]


@pytest.fixture(scope="session")
def masking() -> nd.Forecaster:
    """A model whose tables may have holes."""
    return fit(series_table(LENGTHS), missing="mask", gaps="mask")


@pytest.fixture(scope="session")
def masking_graph(masking: nd.Forecaster) -> ExportedModel:
    """The same, exported."""
    return exported(masking)


@pytest.fixture(scope="session")
def filling() -> nd.Forecaster:
    """A model that fills holes from neighbours, with covariates of all kinds."""
    return fit(
        series_table(LENGTHS, covariates=True),
        model="mlp",
        missing="interpolate",
        gaps="interpolate",
        past="price",
        future="promo",
        static="region",
        calendar=("day_of_week", "month_sin"),
    )


@pytest.fixture(scope="session")
def filling_graph(filling: nd.Forecaster) -> ExportedModel:
    """The same, exported."""
    return exported(filling)
