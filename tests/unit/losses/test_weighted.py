"""Weights of observations."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.losses.weighted import Weighting
from neuro_divergent.losses.weighted.function import WeightFunction
from neuro_divergent.losses.weighted.magnitude import Magnitude
from neuro_divergent.losses.weighted.recency import Recency

TIME = np.arange("2024-01-01", "2024-01-06", dtype="datetime64[D]")
AGE = np.array([4, 3, 2, 1, 0])
VALUES = np.array([1.0, np.nan, 0.0, -3.0, 4.0])


def weekdays(time: Any, values: Any) -> Any:
    """Count weekends a tenth."""
    return np.where(np.is_busday(time), 1.0, 0.1)


def weigh(weighting: Weighting, values: Any = VALUES) -> Any:
    return weighting.weights(AGE, TIME, np.asarray(values))


@pytest.mark.parametrize("half_life", [0.5, 2.0, 100.0])
def test_recency_halves_with_every_half_life(half_life: float) -> None:
    assert weigh(Recency(half_life)) == pytest.approx([0.5 ** (age / half_life) for age in AGE.tolist()])


def test_very_old_rows_count_nothing_instead_of_failing() -> None:
    assert Recency(1e-3).weights(np.array([10**6]), np.array([0]), np.array([1.0])).tolist() == [0.0]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_magnitude_weighs_sizes_relative_to_their_mean(power: float) -> None:
    mean = (1 + 0 + 3 + 4) / 4
    expected = [1.0 if np.isnan(value) else ((1 + abs(value) / mean) / 2) ** power for value in VALUES.tolist()]
    assert weigh(Magnitude(power=power)) == pytest.approx(expected)


@given(st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=5), st.floats(1e-3, 1e3))
def test_magnitude_is_scale_free_and_never_falls_with_size(values: list[float], unit: float) -> None:
    sizes = np.abs(values)
    if sizes.max() < 1e-200:  # the unit would make it vanish
        return
    weight = weigh(Magnitude(), values)
    assert weigh(Magnitude(), np.array(values) * unit) == pytest.approx(weight, rel=1e-9)
    assert (np.diff(weight[np.argsort(sizes)]) >= 0).all()
    assert (weight >= 0.5).all()


@pytest.mark.parametrize("values", [np.zeros(5), np.full(5, np.nan), np.array([0, np.nan, 0, 0, 0])])
def test_magnitude_of_nothing_weighs_all_the_same(values: Any) -> None:
    assert weigh(Magnitude(power=2.0), values).tolist() == [1.0] * 5


def test_a_function_decides_for_all_rows_at_once() -> None:
    calls = []

    def function(time: Any, values: Any) -> Any:
        calls.append(len(values))
        return [1, 2, 3, 4, 5]

    weight = weigh(WeightFunction(function))
    assert weight.tolist() == [1, 2, 3, 4, 5]
    assert weight.dtype == np.float64
    assert calls == [5]
    # 2024-01-05 was a Friday.
    assert WeightFunction(weekdays).weights(AGE, TIME + 2, VALUES).tolist() == [1, 1, 1, 0.1, 0.1]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([1, 2, 3], r"gave weights shaped \(3,\) for values shaped \(5,\)"),
        (1.0, r"gave weights shaped \(\) for values"),
        ([1, 2, -1, -2, 3], "gave 2 of 5 weights that are negative or not finite, the first -1 for 2024-01-03"),
        ([1, 2, 3, np.nan, 3], ".* the first nan for 2024-01-04"),
        ([1, np.inf, 3, 4, 5], ".* the first inf for 2024-01-02"),
        ("heavy", "gave str, not an array of numbers"),
        ([[1], [2, 3]], "gave list, not an array of numbers"),
    ],
)
def test_results_of_a_function_are_checked(result: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"weighting 'function' {message}"):
        weigh(WeightFunction(lambda time, values: result))


def test_an_error_in_a_function_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        weigh(WeightFunction(lambda time, values: 1 / 0))


def test_a_file_keeps_the_label_of_a_function_and_nothing_is_imported_by_it() -> None:
    made = WeightFunction(weekdays)
    label = f"{__name__}:weekdays"
    assert made.to_dict() == {"name": "function", "function": label}
    read = Weighting.from_dict(made.to_dict())
    assert read != made
    assert read == WeightFunction.from_toml(made.to_toml())
    with pytest.raises(ConfigError, match=f"'{label}' is only the name of a function"):
        weigh(read)


@pytest.mark.parametrize("function", [lambda time, values: values, functools.partial(weekdays), print])
def test_anything_that_can_be_called_has_a_label(function: Any) -> None:
    assert ":" in WeightFunction(function).to_dict()["function"]


def test_no_function_is_an_error_when_it_is_used() -> None:
    with pytest.raises(ConfigError, match="no function was given"):
        weigh(WeightFunction())


@pytest.mark.parametrize("wrong", [{"half_life": 0}, {"half_life": -1}, {"halflife": 3}])
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="recency: "):
        Recency(**wrong)


def test_magnitude_of_blocks_weighs_as_magnitude_of_all_rows() -> None:
    values = np.random.default_rng(0).normal(size=1000) + 1e6
    values[::7] = np.nan
    magnitude, age, time = Magnitude(power=2.0), np.arange(1000), np.arange(1000)
    fitted = magnitude.fit(np.array_split(values, 7))
    assert fitted == pytest.approx(np.nanmean(np.abs(values)), rel=1e-14)
    assert magnitude.fit([values]) == np.nanmean(np.abs(values))
    found = magnitude.weights_of_rows(fitted, age[5:9], time[5:9], values[5:9])
    assert found == pytest.approx(magnitude.weights(age, time, values)[5:9], rel=1e-12)
    assert magnitude.fit([np.array([np.nan])]) == 0


def test_weights_of_rows_are_checked() -> None:
    negative = WeightFunction(lambda time, values: -values, rowwise=True)
    with pytest.raises(DataError, match="negative or not finite"):
        negative.weights_of_rows(None, np.arange(2), np.arange(2), np.ones(2))


def test_function_says_in_files_that_it_is_rowwise_only_where_it_is() -> None:
    made = WeightFunction(weekdays, rowwise=True)
    assert made.is_rowwise
    assert made.to_dict()["rowwise"] is True
    assert Weighting.from_dict(made.to_dict()).is_rowwise
    assert not WeightFunction(weekdays).is_rowwise
