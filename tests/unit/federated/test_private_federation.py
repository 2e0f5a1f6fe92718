"""Federations with a privacy budget."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.federated.round_store import MemoryRounds, RoundState
from neuro_divergent.federated.server import Server
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.federated.transport.base import Transport
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.federated.update_check import UpdateCheck
from neuro_divergent.federated.weight_layout import WeightLayout
from neuro_divergent.privacy.ledger import Ledger
from tests.unit.federated.tables import federation, forecaster

BUDGET = {"epsilon": 8.0, "delta": 1e-5}
LAYOUT = WeightLayout.of(torch.nn.Linear(400, 5).double())


class Sending(Transport):
    """Clients that send the same vector in each round; some send something else, or nothing."""

    def __init__(self, count: int, vector: torch.Tensor, others: dict[str, Any] | None = None) -> None:
        self._names = [f"client-{number:03d}" for number in range(count)]
        self._vector = vector
        self._others = others or {}

    def clients(self, number: int) -> list[str]:
        return self._names

    def collect(self, task: RoundTask, chosen: Any, check: UpdateCheck, deadline: float | None) -> None:
        for name in chosen:
            vector = self._others.get(name, self._vector)
            if vector is None:
                continue
            try:
                check.accept(Update(name, task.round, vector, 1))
            except nd.errors.InputError:
                continue

    def finish(self, number: int, weights: torch.Tensor) -> None:
        pass

    @property
    def num_bytes(self) -> tuple[int, int]:
        return 0, 0


def private_server(transport: Transport, ledger: Ledger | None = None, **settings: Any) -> Server:
    made = {"privacy": {**BUDGET, "clip_norm": 2.0}, "rounds": 1, "participation": 0.5, **settings}
    ledger = Ledger(None) if ledger is None else ledger
    return Server(FederationSettings(**made), LAYOUT, transport, MemoryRounds(), ledger=ledger)


def zeros() -> torch.Tensor:
    return torch.zeros(LAYOUT.size, dtype=torch.float64)


def direction(length: float) -> torch.Tensor:
    return torch.full((LAYOUT.size,), length / math.sqrt(LAYOUT.size), dtype=torch.float64)


def test_the_noise_of_a_round_has_the_size_that_the_budget_needs() -> None:
    server = private_server(Sending(40, zeros()))
    weights = server.run(zeros()).weights
    privacy = nd.privacy.ClientLevel(**BUDGET, clip_norm=2.0)
    noise = privacy.mechanism(0.5, 1, 40).noise_multiplier
    assert float(weights.std()) == pytest.approx(noise * 2.0 / (0.5 * 40), rel=0.1)


def test_a_client_moves_the_sum_by_no_more_than_the_clip_norm() -> None:
    big = 1e6
    server = private_server(Sending(1000, direction(big)), participation=1.0)
    moved = server.run(zeros()).weights @ (direction(1.0))
    assert float(moved) == pytest.approx(2.0, abs=0.1)


def test_updates_are_divided_by_the_number_that_is_expected_and_not_by_how_many_came() -> None:
    silent = {f"client-{number:03d}": None for number in range(500)}
    server = private_server(Sending(1000, direction(2.0), silent), participation=1.0)
    moved = server.run(zeros()).weights @ direction(1.0)
    assert float(moved) == pytest.approx(1.0, abs=0.1)


def test_noise_is_never_the_same_again() -> None:
    first, second = (private_server(Sending(40, zeros())).run(zeros()).weights for _ in range(2))
    assert not torch.equal(first, second)


class FailingRounds(MemoryRounds):
    """A disk that refuses to commit."""

    def commit(self, state: RoundState) -> None:
        if state.round:
            raise nd.errors.StorageError("full")
        super().commit(state)


def test_a_round_that_could_not_be_committed_is_charged_and_so_is_its_repetition(tmp_path: Path) -> None:
    settings = FederationSettings(privacy=nd.privacy.ClientLevel(**BUDGET), rounds=3, participation=0.5)
    path = tmp_path / "ledger.jsonl"
    rounds: MemoryRounds = FailingRounds()
    transport = Sending(40, zeros())
    with pytest.raises(nd.errors.StorageError):
        Server(settings, LAYOUT, transport, rounds, ledger=Ledger(path)).run(zeros())
    assert [entry.round_number for entry in Ledger(path).entries] == [1]
    final = Server(settings, LAYOUT, transport, MemoryRounds(), ledger=Ledger(path)).run(zeros())
    charged = [(entry.round_number, entry.attempt) for entry in Ledger(path).entries]
    assert charged == [(1, 1), (1, 2), (2, 1)]
    assert final.round == 2  # the budget was for three charges
    assert Ledger(path).spent(BUDGET["delta"]) <= BUDGET["epsilon"]


def test_a_void_round_is_charged() -> None:
    ledger = Ledger(None)
    silent = {f"client-{number:03d}": None for number in range(10)}
    state = private_server(Sending(10, zeros(), silent), ledger, participation=1.0, min_clients=2).run(zeros())
    assert len(ledger.entries) == 1
    assert torch.equal(state.weights, zeros())
    assert state.row["is_void"]


def test_a_client_whose_update_is_not_finite_has_answered_and_contributes_nothing() -> None:
    broken = {f"client-{number:03d}": direction(math.nan) for number in range(10)}
    state = private_server(Sending(10, zeros(), broken), participation=1.0, min_clients=10).run(zeros())
    assert not state.row["is_void"]
    assert bool(state.weights.isfinite().all())


def test_rows_of_private_rounds_tell_no_loss_and_no_norms() -> None:
    made = federation(6, privacy=BUDGET, participation=0.5).fit()
    row = made.rounds[-1]
    assert [row[name] for name in ("loss", "mean_norm", "max_norm", "examples")] == [None] * 4
    assert 0 < row["epsilon"] <= BUDGET["epsilon"]
    assert made.model.epsilon == row["epsilon"]


def test_who_takes_part_is_drawn_by_chance_for_each_client() -> None:
    counts = [
        len(federation(10, privacy=BUDGET, rounds=1, local_steps=1, participation=0.5).fit().rounds[0]["participants"])
        for _ in range(6)
    ]
    assert len(set(counts)) > 1  # which fails by chance once in some 5,000 times


@pytest.mark.parametrize("name", ["median", "trimmed_mean", "krum", "multi_krum", "scaffold"])
def test_a_rule_that_breaks_the_proof_is_refused(name: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match="no proof covers"):
        FederationSettings(aggregation=name, privacy=BUDGET)


@pytest.mark.parametrize("settings", [{"weighting": "examples"}, {"max_norm": 1.0}])
def test_settings_that_break_the_proof_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(nd.errors.ConfigError):
        FederationSettings(privacy=BUDGET, **settings)


def test_batch_normalisation_is_refused_with_privacy_unless_it_stays_with_the_clients() -> None:
    model = forecaster(nd.MLP(hidden_size=4, norm="batch"))
    with pytest.raises(nd.errors.ConfigError, match="statistics of its batches"):
        federation(2, model, privacy=BUDGET).fit()
    assert federation(2, model, privacy=BUDGET, aggregation="fedbn").fit().is_complete


def test_a_budget_that_is_too_small_for_the_model_is_warned_about() -> None:
    few = federation(3, privacy={"epsilon": 1.0, "delta": 1e-5}).describe_budget()
    assert few is not None
    assert few.noise_ratio > 7
    assert few.warnings
    assert federation(3).describe_budget() is None


def test_a_private_federation_that_is_stopped_goes_on_within_its_budget(tmp_path: Path) -> None:
    seen: list[Any] = []
    federation(5, privacy=BUDGET, rounds=4).fit(run=tmp_path, observe=seen.append, stops=lambda: len(seen) >= 2)
    made = federation(5, privacy=BUDGET, rounds=4).fit(run=tmp_path)
    assert made.is_complete
    assert len(Ledger(tmp_path / "ledger.jsonl").entries) == 4
    assert made.model.epsilon is not None
    assert made.model.epsilon <= BUDGET["epsilon"]


def test_a_ledger_that_has_lost_charges_is_refused(tmp_path: Path) -> None:
    federation(5, privacy=BUDGET, rounds=2).fit(run=tmp_path)
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(nd.errors.UntrustedFileError, match="1 charges for 2 complete rounds"):
        federation(5, privacy=BUDGET, rounds=2).fit(run=tmp_path)
