"""The audit of the server finds faults that break the promise, and none in the server as it is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.federated.privacy_audit import audit_server
from neuro_divergent.federated.settings import FederationSettings
from neuro_divergent.privacy.mechanism import Mechanism
from neuro_divergent.privacy.system_noise import draw_normal

SETTINGS = FederationSettings(privacy={"epsilon": 1.0, "delta": 1e-5}, participation=0.8, rounds=50)
Patch = Callable[[pytest.MonkeyPatch], None]


def too_little_noise(patch: pytest.MonkeyPatch) -> None:
    def release(self: Mechanism, vectors: Sequence[torch.Tensor], *, size: int | None = None) -> torch.Tensor:
        total = self.noise_multiplier / 5 * self.clip_norm * torch.from_numpy(draw_normal(size or 16))
        return (total + sum(self.clip(vector) for vector in vectors)) / self.expected_clients

    patch.setattr(Mechanism, "release", release)


def no_clipping(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mechanism, "clip", lambda self, vector: vector.to(torch.float64))


def division_by_those_who_came(patch: pytest.MonkeyPatch) -> None:
    original = Mechanism.release

    def release(self: Mechanism, vectors: Sequence[torch.Tensor], *, size: int | None = None) -> torch.Tensor:
        return original(self, vectors, size=size) * self.expected_clients / max(len(vectors), 1)

    patch.setattr(Mechanism, "release", release)


def a_fixed_number_of_clients(patch: pytest.MonkeyPatch) -> None:
    def sample(self: Mechanism, names: Sequence[str]) -> list[str]:
        return random.Random().sample(list(names), round(self.participation * len(names)))

    patch.setattr(Mechanism, "sample", sample)


def test_the_server_as_it_is_passes() -> None:
    found = audit_server(SETTINGS, trials=2500)
    assert found.passes
    assert found.claimed == pytest.approx(1.0, abs=0.01)


OTHERS = [no_clipping, division_by_those_who_came, a_fixed_number_of_clients]


@pytest.mark.parametrize(
    "fault", [too_little_noise, *(pytest.param(fault, marks=pytest.mark.long) for fault in OTHERS)]
)
def test_a_server_with_a_fault_is_caught(fault: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    found = audit_server(SETTINGS, trials=10_000 if fault is a_fixed_number_of_clients else 2500)
    assert not found.passes, found


def test_a_federation_without_privacy_cannot_be_audited() -> None:
    with pytest.raises(nd.errors.ConfigError, match="promises none"):
        audit_server(FederationSettings())
