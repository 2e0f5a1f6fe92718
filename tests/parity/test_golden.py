"""The stored forecasts by formula are those of NeuralForecast 3.3.0 with the same weights, inputs and settings.

Both sides compute in double precision, but NeuralForecast makes constants in single precision.
"""

from __future__ import annotations

import pytest
import torch

from neuro_divergent.models.base import Architecture
from tests.numerics.golden import stored
from tests.numerics.golden.cases import cases_of
from tests.numerics.golden.formula import batch_for, double_precision, set_weights
from tests.parity.pair import copy_to_theirs, size
from tests.parity.pairs import PAIRS
from tests.parity.theirs import their_forecast

# Architectures that are compared in other ways, and why not in this one.
APART = {
    "deepar": "theirs leaves the steps after the first to their trainer: compared one step ahead",
    "fedformer": "theirs takes the values of attention from the keys, so that the weights are not free",
    "stemgnn": "another layout: compared by size",
    "tft": "another layout: compared by size",
    "timellm": "another prompt: compared given the same one",
    "timexer": "another layout: compared by size",
}
CASES = {
    f"{name}-{key}": case
    for name in Architecture.registry.names()
    if name in PAIRS and name not in APART
    for key, case in cases_of(name).items()
    if PAIRS[name].exists_for(case.config(), case.spec, missing=case.missing)
}


@pytest.mark.parametrize("key", CASES)
def test_stored_forecast_is_that_of_neuralforecast(key: str) -> None:
    case = CASES[key]
    pair, spec, batch = PAIRS[case.name], case.spec, batch_for(case.spec, case.missing)
    # Windows of all series have one set of static covariates there.
    one_by_one = pair.one_by_one or (pair.joint and batch.static_x is not None)
    with double_precision():
        sides = pair.build(case.config(), spec)
        sides.theirs.double()
        set_weights(sides.ours)
        copy_to_theirs(pair, sides)
        forecast = their_forecast(sides.theirs, batch, spec, joint=pair.joint, one_by_one=one_by_one)
    assert size(sides.ours) == size(sides.theirs) - pair.unread(case.config(), spec)
    found = forecast.permute(0, 2, 3, 1).flatten(0, 2)
    expected = torch.tensor(stored.read(case.name)["cases"][key.partition("-")[2]]["forecast"], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5, msg=lambda text: f"{key}: {text}")


@pytest.mark.parametrize("name", Architecture.registry.names())
def test_every_architecture_is_compared_or_says_why_not(name: str) -> None:
    compared = any(case.name == name for case in CASES.values())
    assert compared != (name in APART)
