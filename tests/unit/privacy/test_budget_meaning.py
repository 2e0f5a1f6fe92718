"""What a budget means is said in numbers that hold."""

from __future__ import annotations

import re

import pytest

from neuro_divergent.privacy.budget_meaning import LARGEST_RATIO, explain_budget
from neuro_divergent.privacy.client_level import ClientLevel

PRIVACY = ClientLevel(epsilon=1.0, delta=1e-5)


def test_a_ratio_that_models_learn_through_gives_no_warning() -> None:
    meaning = explain_budget(PRIVACY, 0.8, 50, 100, 588)
    assert meaning.noise_multiplier == pytest.approx(21.15, rel=2e-3)
    assert meaning.noise_ratio == pytest.approx(6.41, rel=0.01)
    assert meaning.rounds == 50
    assert not meaning.warnings
    text = str(meaning)
    assert "2.72 times as likely" in text
    assert "6.41 times as long as the longest update" in text


def test_each_remedy_for_too_much_noise_brings_the_ratio_to_the_limit() -> None:
    warning = explain_budget(PRIVACY, 0.8, 50, 100, 3020).warnings[0]
    clients, weights = (int(number.replace(",", "")) for number in re.findall(r"([\d,]+) (?:clients|weights)", warning))
    epsilon = float(re.findall(r"epsilon of (\d+\.\d+)", warning)[0])
    for privacy, given_clients, given_weights in (
        (PRIVACY, clients, 3020),
        (PRIVACY, 100, weights),
        (ClientLevel(epsilon=epsilon, delta=1e-5), 100, 3020),
    ):
        ratio = explain_budget(privacy, 0.8, 50, given_clients, given_weights).noise_ratio
        assert ratio == pytest.approx(LARGEST_RATIO, rel=0.01)


def test_an_epsilon_is_no_remedy_where_none_is_large_enough() -> None:
    warning = explain_budget(PRIVACY, 0.8, 50, 10, 10_000_000).warnings[0]
    assert "clients" in warning
    assert "epsilon of" not in warning


def test_a_delta_that_gives_up_a_client_is_warned_about() -> None:
    warnings = explain_budget(ClientLevel(epsilon=1.0, delta=0.01), 0.8, 50, 100, 10).warnings
    assert warnings == ("delta 0.01 allows the data of one of 100 clients to be published; give less than 0.0001.",)


def test_a_budget_for_fewer_rounds_than_planned_is_warned_about() -> None:
    meaning = explain_budget(ClientLevel(epsilon=1.0, delta=1e-5, noise_multiplier=10.0), 0.8, 50, 1000, 10)
    assert 5 < meaning.rounds < 50
    assert f"allows {meaning.rounds} of 50 rounds" in meaning.warnings[0]
    assert f"For {meaning.rounds} rounds" in meaning.sentences[1]


@pytest.mark.parametrize(("epsilon", "words"), [(0.5, "strong"), (8.0, "usual"), (5000.0, "next to nothing")])
def test_budgets_are_told_by_strength(epsilon: float, words: str) -> None:
    privacy = ClientLevel(epsilon=epsilon, delta=1e-5, noise_multiplier=100.0)
    assert words in explain_budget(privacy, 0.5, 1, 1000, 10).sentences[0]
