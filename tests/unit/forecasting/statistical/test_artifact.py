"""Files of statistical models that were altered or forged."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.core.storage.manifest import verify_files
from neuro_divergent.forecasting.statistical.artifact import FORMAT
from tests.reliability.mutation import Files, forge, seal
from tests.unit.forecasting.statistical.panels import monthly, panel_of


def saved(name: str = "seasonal_naive") -> Files:
    panel = panel_of([*(monthly(2, 20).series(place).tolist() for place in range(2)), [1.0, float("nan"), 3.0]])
    return seal(dict(nd.Statistical(name, horizon=4, season_length=4).fit(panel).to_files()))


def load(files: Files) -> nd.Statistical:
    return nd.Statistical.from_files(verify_files(files, "model"), "model")


def test_forged_files_are_refused_or_forecast() -> None:
    original, random, loaded = saved(), Random(0), 0
    for _ in range(300):
        try:
            model = load(forge(random, original, "statistical.json"))
        except UntrustedFileError:
            continue
        loaded += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                table = model.predict(levels=[80]) if model.fitted.has_context else None
            except NeuroDivergentError:
                continue
        if table is not None:
            assert np.isfinite(table["forecast"].to_numpy()).all()
    assert 0 < loaded < 300


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"seasonal_naive"', b'"seasonal_naiv"', "Unknown statistical model"),
        (b'"jobs": 1', b'"jobs": -3', "backend or jobs"),
        (b'"season_length": 4', b'"season_length": 0', "season_length"),
        (f'"format": {FORMAT}'.encode(), f'"format": {FORMAT + 1}'.encode(), "Upgrade neuro-divergent"),
    ],
)
def test_wrong_description_is_refused_with_the_reason(old: bytes, new: bytes, message: str) -> None:
    files = {name: content for name, content in saved().items() if name != "manifest.json"}
    assert old in files["statistical.json"]
    files["statistical.json"] = files["statistical.json"].replace(old, new)
    with pytest.raises(UntrustedFileError, match=message):
        load(seal(files))


def test_context_of_a_series_without_observed_values_is_refused() -> None:
    files = {name: content for name, content in saved().items() if name != "manifest.json"}
    observed = files["statistical.safetensors"][-60:]
    assert set(observed) == {0, 1}  # the mask of the 60 rows comes last
    files["statistical.safetensors"] = files["statistical.safetensors"][:-60] + bytes(27) + observed[27:]
    with pytest.raises(UntrustedFileError, match="a series without observed values"):
        load(seal(files))


def test_season_that_is_longer_than_any_memory_is_harmless() -> None:
    files = {name: content for name, content in saved().items() if name != "manifest.json"}
    files["statistical.json"] = files["statistical.json"].replace(
        b'"season_length": 4', b'"season_length": 4000000000000'
    )
    assert np.isfinite(load(seal(files)).predict(levels=[80])["hi-80"].to_numpy()).all()
