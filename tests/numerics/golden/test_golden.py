"""Every architecture forecasts what is stored for it, from weights and inputs by formula.

Everything is computed in double precision, where changing every weight and constant in its last digit moves a forecast
by less than a hundredth of the tolerance, so that it holds on every processor. That the stored values are right, and
not only those of an earlier version, is what ``make parity`` shows: NeuralForecast's networks give the same ones.
"""

from __future__ import annotations

import pytest
import torch

from neuro_divergent.models.base import Architecture
from tests.numerics.golden import stored
from tests.numerics.golden.cases import cases_of, default_size
from tests.numerics.golden.formula import numbers

NAMES = Architecture.registry.names()


def test_numbers_by_formula_are_those_of_splitmix64() -> None:
    """The first values of SplitMix64 with the seed 0, as its authors' code prints them."""
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    expected = torch.tensor([(value >> 11) / 2**52 - 1 for value in known], dtype=torch.float64)
    assert torch.equal(numbers("", 3), expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_architecture_has_stored_values_for_all_its_cases(name: str) -> None:
    assert stored.path_of(name).is_file(), f"{name} has no stored forecasts yet: '{stored.COMMAND}' makes them"
    found = list(stored.read(name)["cases"])
    assert found == list(cases_of(name)), f"the cases of {name} are others now: '{stored.COMMAND}' stores them"


def test_no_values_are_stored_of_what_is_not_registered() -> None:
    assert {path.stem for path in stored.DIRECTORY.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_parameters_with_default_settings_is_the_stored_one(name: str) -> None:
    assert default_size(name) == stored.read(name)["default parameters"]


@pytest.mark.parametrize("name", NAMES)
def test_number_of_parameters_and_forecasts_are_the_stored_ones(name: str) -> None:
    values = stored.read(name)["cases"]
    for key, case in cases_of(name).items():
        found = stored.measured(case)
        assert found["parameters"] == values[key]["parameters"], key
        torch.testing.assert_close(
            torch.tensor(found["forecast"], dtype=torch.float64),
            torch.tensor(values[key]["forecast"], dtype=torch.float64),
            rtol=1e-9,
            atol=1e-9,
            msg=lambda text, key=key: f"{name}, {key}: {text}",
        )
