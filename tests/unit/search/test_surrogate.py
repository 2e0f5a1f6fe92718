"""The surrogate of a study against functions of known form and against its own definition."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad

from neuro_divergent import search
from neuro_divergent.core.errors import InputError
from neuro_divergent.search.space import Space
from neuro_divergent.search.surrogate import Surrogate, _cost, _matern, _squared
from neuro_divergent.search.trial import Trial

RATE, PENALTY, OPTIMIZER, MOMENTUM = (
    "training.optimizer.lr", "training.l1", "training.optimizer", "training.optimizer.momentum",
)  # fmt: skip
SPACE = Space(
    {
        OPTIMIZER: ["adamw", "sgd"],
        RATE: search.log(1e-5, 1e-1),
        PENALTY: (0.0, 1.0),
        f"{MOMENTUM}@sgd": (0.0, 0.9),
    }
)


def of_rate(value: float) -> float:
    return (math.log10(value) + 2) ** 2


def of_penalty(value: float) -> float:
    return 3 * math.sin(3 * value)


def additive(point: dict[str, Any]) -> float:
    return 20 + of_rate(point[RATE]) + of_penalty(point[PENALTY]) + {"adamw": 0.0, "sgd": 2.0}[point[OPTIMIZER]]


def trials_of(function: Callable[[dict[str, Any]], float], count: int, seed: int = 3) -> list[Trial]:
    chance = random.Random(seed)
    points = [SPACE.random(chance) for _ in range(count)]
    return [Trial(number, "complete", point, values={"mae": function(point)}) for number, point in enumerate(points)]


def test_partial_dependence_of_an_additive_function_is_its_terms_up_to_a_constant() -> None:
    model = Surrogate(trials_of(additive, 60), "mae", SPACE)
    assert model.r2 > 0.98
    for setting, term in ((RATE, of_rate), (PENALTY, of_penalty)):
        found = model.dependence(setting)
        expected = np.array([term(value) for value in found.values])
        centered = found.mean - found.mean.mean()
        np.testing.assert_allclose(centered, expected - expected.mean(), atol=0.05 * np.ptp(expected))
        assert ((found.low <= found.mean) & (found.mean <= found.high)).all()
    choices = model.dependence(OPTIMIZER)
    assert choices.values == ["adamw", "sgd"]
    assert choices.mean[1] - choices.mean[0] == pytest.approx(2.0, abs=0.2)


def test_partial_dependence_of_a_setting_without_influence_is_level() -> None:
    found = Surrogate(trials_of(additive, 60), "mae", SPACE).dependence(MOMENTUM)
    assert found.trials < 60  # those with sgd
    assert np.ptp(found.mean) < 0.3  # of a function that goes over more than 10


def test_partial_dependence_equals_the_average_of_predictions_at_changed_trials() -> None:
    trials = trials_of(additive, 30)
    model = Surrogate(trials, "mae", SPACE)
    found = model.dependence(PENALTY)
    changed = [{**trial.settings, PENALTY: found.values[7]} for trial in trials]
    at = {name: column.encode(changed) for name, column in model.columns.items()}
    kernel = _matern(model._distances(at, model._x))
    assert found.mean[7] == pytest.approx(model._back(kernel @ model._alpha).mean())
    # The variance of an average is the average of all covariances.
    covariance = _matern(model._distances(at, at)) - kernel @ model._inverse @ kernel.T
    deviation = math.sqrt(model._variance * covariance.mean()) * model._scale
    # Two large sums cancel, so processors differ in the digits that are left.
    assert found.high[7] - found.mean[7] == pytest.approx(1.96 * deviation, rel=1e-3)


def test_leave_one_out_error_equals_that_of_leaving_each_trial_out() -> None:
    model = Surrogate(trials_of(additive, 20), "mae", SPACE)
    kernel = np.linalg.inv(model._inverse)  # with its noise
    residuals = []
    for place in range(20):
        others = np.delete(np.arange(20), place)
        weights = np.linalg.solve(kernel[np.ix_(others, others)], model._y[others])
        residuals.append(model._y[place] - kernel[place, others] @ weights)
    assert model.r2 == pytest.approx(1 - np.sum(np.square(residuals)) / np.sum(model._y**2), rel=1e-6)
    assert f"R² {model.r2:.2f}" in model.note


def test_gradient_of_the_posterior_equals_finite_differences() -> None:
    model = Surrogate(trials_of(additive, 15), "mae", SPACE)
    squares = np.stack([_squared(values, values) for values in model._x.values()])
    given = (squares, model._y, (1.5, 1.7))
    for place in (np.zeros(len(squares) + 1), np.linspace(-1, 1, len(squares) + 1)):
        wrong = check_grad(lambda at: _cost(at, *given)[0], lambda at: _cost(at, *given)[1], place)
        assert wrong < 1e-4 * np.linalg.norm(_cost(place, *given)[1])


def test_surrogate_of_noise_says_that_it_explains_little() -> None:
    chance = random.Random(1)
    model = Surrogate(trials_of(lambda point: chance.gauss(10, 1), 40), "mae", SPACE)
    assert model.r2 < 0.3
    assert "explains little" in model.note


def test_surface_over_two_settings_follows_the_function_and_dots_are_where_trials_are() -> None:
    model = Surrogate(trials_of(additive, 80), "mae", SPACE, (RATE, PENALTY))
    surface = model.surface(RATE, PENALTY)
    rates, penalties = (np.array(model.columns[name].grid) for name in (RATE, PENALTY))
    expected = np.array([[21 + of_rate(rate) + of_penalty(other) for rate in rates] for other in penalties])
    assert np.corrcoef(surface.ravel(), expected.ravel())[0, 1] > 0.95
    column = model.columns[RATE]
    assert [column.place_in_grid(value) for value in column.grid] == pytest.approx(range(len(rates)))


def test_values_that_differ_more_than_tenfold_are_modelled_by_their_logarithm() -> None:
    model = Surrogate(trials_of(lambda point: math.exp(of_rate(point[RATE])), 40), "mae", SPACE)
    assert model.is_logarithmic
    found = model.dependence(RATE)
    expected = np.array([of_rate(value) for value in found.values])
    np.testing.assert_allclose(np.log(found.mean), expected, atol=0.4)


@pytest.mark.parametrize(
    ("function", "count", "message"),
    [(additive, 9, "there are 9"), (lambda point: 1.0, 12, "differ in mae")],
)
def test_surrogate_without_enough_to_learn_from_says_so(
    function: Callable[[dict[str, Any]], float], count: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Surrogate(trials_of(function, count), "mae", SPACE)
