"""When a search ends."""

from __future__ import annotations

from typing import Any

import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.objective import Objective
from neuro_divergent.search.trial import State, Trial

GOAL = [Objective(name="mae")]


def trials(*values: float | State) -> list[Trial]:
    return [
        Trial(number, "complete", {}, values={"mae": value}, finished=float(number))
        if isinstance(value, float)
        else Trial(number, value, {}, finished=float(number))
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("limits", "values", "expected"),
    [
        ({"trials": 3}, (1.0, "failed"), None),
        ({"trials": 3}, (1.0, "failed", "pruned"), "3 trials"),
        ({"trials": 3}, (1.0, "running", "running"), "3 trials"),
        ({"trials": 3}, (1.0, "refused", "failed"), None),
        ({"target_value": 0.5}, (1.0, 0.6), None),
        ({"target_value": 0.5}, (1.0, 0.5), "the target of 0.5 is reached"),
        ({"patience": 2}, (1.0, 0.5, 0.7), None),
        ({"patience": 2}, (1.0, 0.5, 0.7, "failed"), "no better trial in 2"),
        ({"patience": 2}, ("failed", "failed", "failed"), None),
    ],
)
def test_search_ends_at_the_first_limit_that_is_reached(
    limits: dict[str, Any], values: Any, expected: str | None
) -> None:
    assert Limits(**limits).reason(trials(*values), GOAL) == expected


def test_target_of_a_maximised_objective_is_reached_from_below() -> None:
    goal = [Objective(name="mae", direction="maximize")]
    assert Limits(target_value=0.8).reason(trials(0.5, 0.7), goal) is None
    assert Limits(target_value=0.8).reason(trials(0.5, 0.9), goal) == "the target of 0.8 is reached"


def test_search_without_an_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs an end"):
        Limits()
