"""Aggregations against closed forms and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.federated.aggregation.base import Aggregation

NAMES = Aggregation.registry.names()


def random_deltas(clients: int, size: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(clients, size)))


def equal_weights(clients: int) -> torch.Tensor:
    return torch.full((clients,), 1 / clients, dtype=torch.float64)


def combined(rule: Aggregation, deltas: torch.Tensor) -> np.ndarray[Any, Any]:
    return rule.combine(deltas, equal_weights(len(deltas))).numpy()


@pytest.mark.parametrize("name", NAMES)
def test_an_aggregation_round_trips_through_plain_values(name: str) -> None:
    rule = Aggregation.from_dict(name)
    assert Aggregation.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize("name", NAMES)
def test_equal_updates_of_all_clients_give_that_direction(name: str) -> None:
    delta = random_deltas(1, 7)
    found = combined(Aggregation.from_dict(name), delta.repeat(5, 1))
    np.testing.assert_allclose(found, delta[0].numpy(), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_update_gives_that_direction(name: str) -> None:
    delta = random_deltas(1, 7)
    np.testing.assert_allclose(combined(Aggregation.from_dict(name), delta), delta[0].numpy(), rtol=1e-14)


@given(clients=st.integers(1, 12), seed=st.integers(0, 1000))
def test_the_median_is_that_of_numpy(clients: int, seed: int) -> None:
    deltas = random_deltas(clients, 5, seed)
    np.testing.assert_array_equal(combined(nd.federated.Median(), deltas), np.median(deltas.numpy(), axis=0))


@given(clients=st.integers(1, 12), fraction=st.sampled_from([0.0, 0.1, 0.25, 0.4]), seed=st.integers(0, 1000))
def test_the_trimmed_mean_leaves_out_the_extremes_of_each_coordinate(clients: int, fraction: float, seed: int) -> None:
    deltas = random_deltas(clients, 5, seed)
    cut = min(int(np.ceil(fraction * clients - 1e-9)), (clients - 1) // 2)
    expected = np.sort(deltas.numpy(), axis=0)[cut : clients - cut].mean(axis=0)
    found = combined(nd.federated.TrimmedMean(fraction=fraction), deltas)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def krum_scores(deltas: np.ndarray[Any, Any], hostile: int) -> np.ndarray[Any, Any]:
    """Return the scores as the paper defines them, one pair of clients at a time."""
    count = len(deltas)
    nearest = min(max(count - hostile - 2, 1), max(count - 1, 1))
    scores = []
    for one in range(count):
        distances = sorted(float(((deltas[one] - deltas[other]) ** 2).sum()) for other in range(count) if other != one)
        scores.append(sum(distances[:nearest]))
    return np.array(scores)


@given(clients=st.integers(2, 12), fraction=st.sampled_from([0.0, 0.2, 0.25, 0.4]), seed=st.integers(0, 1000))
def test_krum_takes_the_update_with_the_least_distance_to_its_neighbours(
    clients: int, fraction: float, seed: int
) -> None:
    deltas = random_deltas(clients, 5, seed) + 100
    scores = krum_scores(deltas.numpy(), int(np.ceil(fraction * clients - 1e-9)))
    rule = nd.federated.Krum(fraction=fraction)
    np.testing.assert_allclose(rule.scores(deltas).numpy(), scores, rtol=1e-9)
    chosen = (deltas.numpy() == combined(rule, deltas)).all(axis=1)
    np.testing.assert_allclose(scores[chosen], scores.min(), rtol=1e-9)  # there may be two with the same score


@given(clients=st.integers(2, 12), fraction=st.sampled_from([0.0, 0.2, 0.25, 0.4]), seed=st.integers(0, 1000))
def test_multi_krum_takes_the_mean_of_the_best_updates(clients: int, fraction: float, seed: int) -> None:
    deltas = random_deltas(clients, 5, seed)
    hostile = int(np.ceil(fraction * clients - 1e-9))
    scores = krum_scores(deltas.numpy(), hostile)
    kept = max(clients - hostile, 1)
    ordered = np.sort(scores)
    assume(kept == clients or ordered[kept] - ordered[kept - 1] > 1e-9)  # else either may be left out
    best = np.argsort(scores, kind="stable")[:kept]
    found = combined(nd.federated.MultiKrum(fraction=fraction), deltas)
    np.testing.assert_allclose(found, deltas.numpy()[best].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("name", ["median", "trimmed_mean", "krum", "multi_krum"])
def test_a_robust_rule_withstands_as_many_hostile_clients_as_it_says(name: str) -> None:
    honest = random_deltas(8, 6) * 0.01 + 1
    hostile = torch.full((2, 6), -1e9, dtype=torch.float64)
    found = combined(Aggregation.from_dict(name), torch.cat([honest, hostile]))
    np.testing.assert_allclose(found, 1.0, atol=0.05)


def test_the_trimmed_mean_breaks_down_above_its_fraction() -> None:
    honest, hostile = torch.ones(7, 1, dtype=torch.float64), torch.full((3, 1), -1e9, dtype=torch.float64)
    found = combined(nd.federated.TrimmedMean(fraction=0.2), torch.cat([honest, hostile]))
    assert found[0] < -1e6


def adaptive_in_numpy(rule: str, updates: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the weights after rounds as algorithm 2 of the paper has them."""
    lr, beta1, beta2, tau = 0.1, 0.9, 0.99, 1e-3
    weights, first = np.zeros(updates.shape[1]), np.zeros(updates.shape[1])
    second = np.full(updates.shape[1], tau**2)
    for delta in updates:
        first = beta1 * first + (1 - beta1) * delta
        squares = delta**2
        if rule == "fedadagrad":
            second = second + squares
        elif rule == "fedyogi":
            second = second - (1 - beta2) * squares * np.sign(second - squares)
        else:
            second = beta2 * second + (1 - beta2) * squares
        weights = weights + lr * first / (np.sqrt(second) + tau)
    return weights


@pytest.mark.parametrize("name", ["fedadam", "fedyogi", "fedadagrad"])
def test_an_adaptive_server_steps_as_its_paper_says(name: str) -> None:
    updates = random_deltas(6, 4) * 0.01
    rule = Aggregation.from_dict({"name": name, "lr": 0.1, "beta1": 0.9})
    weights = torch.zeros(4, dtype=torch.float64)
    state = rule.init_state(weights)
    for delta in updates:
        weights, state = rule.step(weights, delta, state)
    np.testing.assert_allclose(weights.numpy(), adaptive_in_numpy(name, updates.numpy()), rtol=1e-12)


def test_fedadam_without_memory_and_with_a_large_tau_is_fedavg_up_to_scale() -> None:
    delta = random_deltas(1, 5)[0] * 1e-3
    rule = nd.federated.FedAdam(lr=1.0, beta1=0.0, beta2=0.0, tau=1e6)
    start = torch.zeros(5, dtype=torch.float64)
    moved, _ = rule.step(start, delta, rule.init_state(start))
    np.testing.assert_allclose(moved.numpy() * 1e6, delta.numpy(), rtol=1e-6)


def test_the_server_learning_rate_and_its_scale_multiply_the_direction() -> None:
    start, direction = random_deltas(2, 5)
    moved, _ = nd.federated.FedAvg(lr=0.5).step(start, direction, {}, scale=0.5)
    np.testing.assert_allclose(moved.numpy(), (start + 0.25 * direction).numpy(), rtol=1e-14)
