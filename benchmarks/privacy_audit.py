"""Audit the mechanism many times, and with faults planted in it.

At epsilon 1 and delta 1e-5, with a participation of 0.8 and 50 rounds. Goals: the lower bound of the audit is at most
the claim in all of 200 audits of the correct mechanism, and above it for each fault.

    python benchmarks/privacy_audit.py --processes 2
    python benchmarks/privacy_audit.py --rounds 1 --trials 20000                 # as telling, and quicker
    python benchmarks/privacy_audit.py --runs 2 --faulty 1 --trials 300          # shows that it runs
    python benchmarks/privacy_audit.py --server                                  # through the server of a federation
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.privacy.audit import Audit, AuditResult
from neuro_divergent.privacy.client_level import ClientLevel
from neuro_divergent.privacy.mechanism import Mechanism

if TYPE_CHECKING:
    from torch import Tensor

RESULTS = Path(__file__).resolve().parent / "results"
EPSILON, DELTA, PARTICIPATION = 1.0, 1e-5, 0.8


class LittleNoise(Mechanism):
    """Noise five times too small."""

    def release(self, vectors: Sequence[Tensor], *, size: int | None = None) -> Tensor:
        noise = self.noise_multiplier / 5
        return Mechanism(self.clip_norm, noise, self.participation, self.num_clients).release(vectors, size=size)


class NoClipping(Mechanism):
    """Vectors of any length."""

    def clip(self, vectors: Tensor) -> Tensor:
        return vectors.double()


class DivisionByCount(Mechanism):
    """Division by the number that came."""

    def release(self, vectors: Sequence[Tensor], *, size: int | None = None) -> Tensor:
        return super().release(vectors, size=size) * self.expected_clients / max(len(vectors), 1)


class FixedSize(Mechanism):
    """A fixed number of clients in each round."""

    def sample(self, names: Sequence[str]) -> list[str]:
        return random.sample(list(names), round(self.participation * len(names)))


class ValueClipping(Mechanism):
    """Each coordinate clipped by itself."""

    def clip(self, vectors: Tensor) -> Tensor:
        return vectors.double().clamp(-self.clip_norm, self.clip_norm)


FAULTS = (LittleNoise, NoClipping, DivisionByCount, FixedSize, ValueClipping)


def main() -> None:
    """Audit, print and store."""
    options = _parse()
    if options.server:
        _audit_server(options)
        return
    correct = ClientLevel(epsilon=EPSILON, delta=DELTA).mechanism(PARTICIPATION, options.rounds, 100)
    print(f"{correct}, {options.rounds} rounds, {options.trials} trials, confidence {options.confidence:g}")
    found = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for kind, number in ((Mechanism, options.runs), *((fault, options.faulty) for fault in FAULTS)):
            began = time.perf_counter()
            audited = kind(correct.clip_norm, correct.noise_multiplier, PARTICIPATION, 100)
            results = list(pool.map(functools.partial(_audit, options), [audited] * number))
            seconds = (time.perf_counter() - began) * options.processes / number
            bounds = [result.epsilon_lower for result in results]
            above = sum(not result.passes for result in results)
            goal = above == 0 if kind is Mechanism else above == number
            name = "correct" if kind is Mechanism else kind.__name__
            print(
                f"{name:16} bound {min(bounds):.3f} to {max(bounds):.3f}, median {np.median(bounds):.3f}; above the "
                f"claim of {results[0].claimed:.3f} in {above} of {number} ({'reached' if goal else 'missed'}); "
                f"{seconds:.1f} s each, by {', '.join(sorted({result.statistic for result in results}))}",
                flush=True,
            )
            found[name] = {"bounds": bounds, "claimed": results[0].claimed, "above": above, "seconds": seconds}
    RESULTS.mkdir(parents=True, exist_ok=True)
    stored = {"options": vars(options), "found": found}
    (RESULTS / f"privacy_audit_{options.rounds}.json").write_text(json.dumps(stored, indent=1))


def _audit_server(options: argparse.Namespace) -> None:
    """Audit the server of a federation, which spends its budget in one round."""
    from neuro_divergent.federated.privacy_audit import audit_server
    from neuro_divergent.federated.settings import FederationSettings

    privacy = {"epsilon": EPSILON, "delta": DELTA}
    settings = FederationSettings(privacy=privacy, participation=PARTICIPATION, rounds=options.rounds)
    bounds = []
    for number in range(1, options.runs + 1):
        result = audit_server(settings, trials=options.trials, confidence=options.confidence)
        bounds.append(result.epsilon_lower)
        above = sum(bound > result.claimed for bound in bounds)
        print(f"{number}: bound at most {max(bounds):.3f}; above the claim in {above}", flush=True)


def _audit(options: argparse.Namespace, mechanism: Mechanism) -> AuditResult:
    import torch

    torch.set_num_threads(1)
    return Audit(
        mechanism, rounds=options.rounds, delta=DELTA, trials=options.trials, confidence=options.confidence
    ).run()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="audits of the correct mechanism")
    parser.add_argument("--faulty", type=int, default=10, help="audits of each faulty one")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--server", action="store_true", help="audit the server of a federation, without faults")
    parser.add_argument("--trials", type=int, default=2500)
    parser.add_argument("--confidence", type=float, default=0.99)
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
