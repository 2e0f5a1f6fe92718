"""An audit does not contradict a mechanism that keeps its promise, and disproves each that does not."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

import neuro_divergent.privacy.mechanism as mechanism_module
from neuro_divergent.core.errors import InputError
from neuro_divergent.privacy.audit import CANARY, Audit, AuditResult
from neuro_divergent.privacy.client_level import ClientLevel
from neuro_divergent.privacy.mechanism import Mechanism

DELTA = 1e-5


@pytest.fixture(autouse=True)
def reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the operating system's generator, so that no test fails by chance."""
    generator = np.random.default_rng(0)
    monkeypatch.setattr(os, "urandom", generator.bytes)


class LittleNoise(Mechanism):
    def release(self, vectors: Sequence[Tensor], *, size: int | None = None) -> Tensor:
        noise = self.noise_multiplier / 5
        return Mechanism(self.clip_norm, noise, self.participation, self.num_clients).release(vectors, size=size)


class NoClipping(Mechanism):
    def clip(self, vectors: Tensor) -> Tensor:
        return vectors.double()


class ValueClipping(Mechanism):
    def clip(self, vectors: Tensor) -> Tensor:
        return vectors.double().clamp(-self.clip_norm, self.clip_norm)


class DivisionByCount(Mechanism):
    def release(self, vectors: Sequence[Tensor], *, size: int | None = None) -> Tensor:
        return super().release(vectors, size=size) * self.expected_clients / max(len(vectors), 1)


class FixedSize(Mechanism):
    def sample(self, names: Sequence[str]) -> list[str]:
        return GENERATOR.sample(list(names), round(self.participation * len(names)))


class FixedNumber(Mechanism):
    def sample(self, names: Sequence[str]) -> list[str]:
        return GENERATOR.sample(list(names), round(self.participation * self.num_clients))


class NoCheckOfInfinity(Mechanism):
    def clip(self, vectors: Tensor) -> Tensor:
        vectors = vectors.double()
        return vectors * (self.clip_norm / vectors.norm(dim=-1, keepdim=True)).clamp(max=1.0)


GENERATOR = random.Random(0)


def audit(kind: type[Mechanism], rounds: int, trials: int) -> AuditResult:
    mechanism = ClientLevel(epsilon=1.0, delta=DELTA).mechanism(0.8, rounds, 100)
    audited = kind(mechanism.clip_norm, mechanism.noise_multiplier, 0.8, 100)
    return Audit(audited, rounds=rounds, delta=DELTA, trials=trials).run()


def test_audits_of_the_correct_mechanism_stay_below_its_claim() -> None:
    results = [audit(Mechanism, 1, 2000) for _ in range(4)] + [audit(Mechanism, 50, 200)]
    assert all(result.passes for result in results)
    assert max(result.epsilon_lower for result in results) > 0.1
    assert all(result.claimed == pytest.approx(1.0, rel=1e-3) for result in results)


@pytest.mark.parametrize(
    ("kind", "statistic"),
    [
        (LittleNoise, "projection"),
        (NoClipping, "projection"),
        (ValueClipping, "projection"),
        (DivisionByCount, "spread"),
    ],
)
def test_audit_of_50_rounds_disproves_a_fault(kind: type[Mechanism], statistic: str) -> None:
    result = audit(kind, 50, 400 if kind is ValueClipping else 200)
    assert not result.passes
    assert result.statistic == statistic
    assert "DISPROVES the claim of 1" in str(result)


@pytest.mark.parametrize("kind", [LittleNoise, NoClipping, ValueClipping, DivisionByCount, NoCheckOfInfinity])
def test_audit_of_one_round_disproves_a_fault(kind: type[Mechanism]) -> None:
    assert not audit(kind, 1, 3000).passes


@pytest.mark.parametrize("kind", [FixedSize, FixedNumber])
def test_audit_of_one_round_disproves_sampling_of_a_fixed_size(kind: type[Mechanism]) -> None:
    assert not audit(kind, 1, 10_000).passes


@pytest.mark.long
@pytest.mark.parametrize("kind", [FixedSize, pytest.param(FixedNumber, marks=pytest.mark.soak)])
def test_audit_of_50_rounds_disproves_sampling_of_a_fixed_size(kind: type[Mechanism]) -> None:
    assert not audit(kind, 50, 2500).passes


@pytest.mark.parametrize("value", ["repeated", "shared"])
def test_audit_disproves_noise_that_is_not_independent(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    draws = {
        "repeated": lambda size: np.random.default_rng(0).normal(size=size),
        "shared": lambda size: np.full(size, np.random.normal()),
    }
    monkeypatch.setattr(mechanism_module, "draw_normal", draws[value])
    assert not audit(Mechanism, 10, 300).passes


def test_audit_calls_the_server_with_and_without_the_canary() -> None:
    mechanism = Mechanism(2.0, 3.25, 0.8, 100)
    audited = Audit(mechanism, rounds=1, delta=DELTA, trials=200)
    seen: dict[bool, int] = {True: 0, False: 0}

    def release(clients: Mapping[str, Tensor]) -> Tensor:
        seen[CANARY in clients] += 1
        assert len(clients) == audited.mechanism.num_clients - (CANARY not in clients)
        others = [vector for name, vector in clients.items() if name != CANARY]
        assert all(float(vector.norm()) == pytest.approx(2.0) for vector in others)
        return torch.zeros(16, dtype=torch.float64)

    result = audited.run(release)
    assert seen == {True: 400, False: 400}
    assert result.epsilon_lower == 0.0
    assert "does not contradict" in str(result)


@pytest.mark.parametrize("participation", [0.01, 0.1, 0.5, 0.8, 0.95])
def test_number_of_clients_draws_as_many_with_the_canary_as_without(participation: float) -> None:
    number = Audit(Mechanism(1.0, 5.0, participation, 1), rounds=1, delta=DELTA).mechanism.num_clients
    assert round(participation * number) == round(participation * (number - 1)) >= 1


def test_participation_of_all_needs_no_sampling() -> None:
    assert Audit(Mechanism(1.0, 5.0, 1.0, 1), rounds=1, delta=DELTA).mechanism.num_clients == 8
    assert Audit(Mechanism(1.0, 5.0, 1.0, 1), rounds=1, delta=DELTA, num_clients=5).mechanism.num_clients == 5


def test_settings_that_tell_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="trials: 10"):
        Audit(Mechanism(1.0, 5.0, 0.8, 8), rounds=1, delta=DELTA, trials=10)
    with pytest.raises(InputError, match="confidence: 1"):
        Audit(Mechanism(1.0, 5.0, 0.8, 8), rounds=1, delta=DELTA, confidence=1.0)
    assert math.isfinite(Audit(Mechanism(1.0, 5.0, 0.8, 8), rounds=1, delta=DELTA).claimed)
