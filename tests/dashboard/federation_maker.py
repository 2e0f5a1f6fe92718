"""Makes directories of federations, as servers leave them, without training."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neuro_divergent.federated.directory import FederationDirectory
from neuro_divergent.federated.round_log import RoundLog
from neuro_divergent.federated.settings import FederationConfig

CLIENTS = ("east", "north", "south", "west")
PRIVACY = {"epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0}
SECONDS = 2.0


class FederationMaker:
    """A federation that goes on round by round.

    Args:
        directory: Where it is; created when it is opened.
        clients: Names of the clients.
        rounds: How many rounds are planned.
        dropped: Clients that do not answer, by round.
        refused: Clients whose update is refused, with the reason, by round.
        settings: Further fields of ``FederationSettings``.
    """

    def __init__(
        self,
        directory: Path,
        *,
        clients: Sequence[str] = CLIENTS,
        rounds: int = 12,
        dropped: Mapping[int, Sequence[str]] | None = None,
        refused: Mapping[int, Mapping[str, str]] | None = None,
        **settings: Any,
    ) -> None:
        self.path = directory
        self.config = FederationConfig.from_dict(
            {
                "federation": {"rounds": rounds, "local_epochs": 1, **settings},
                "model": {"name": "nlinear"},
                "task": {"horizon": 4, "input_size": 8},
            }
        )
        self._clients, self._dropped, self._refused = sorted(clients), dropped or {}, refused or {}
        self._begin = time.time() - SECONDS * rounds

    @contextmanager
    def opened(self, state: str = "interrupted") -> Iterator[FederationMaker]:
        """Hold the lock, and write how it ended; ``running`` leaves what a process that was killed does."""
        directory = FederationDirectory(self.path)
        with directory.opened(self.config, {"vectorize": False}):
            yield self
            directory.finish(state)

    def make(self, rounds: int | None = None, state: str | None = None) -> FederationMaker:
        """Do rounds until there are as many: all, if nothing is said."""
        planned = self.config.federation.rounds
        last = planned if rounds is None else rounds
        with self.opened(state or ("finished" if last == planned else "interrupted")):
            self.run(last)
        return self

    def run(self, rounds: int) -> None:
        """Write the rows of rounds until there are as many; the caller holds the lock."""
        rows = self.path / "rounds.jsonl"
        done = len(rows.read_bytes().splitlines()) if rows.exists() else 0
        log = RoundLog(rows, done)
        for number in range(done + 1, rounds + 1):
            log.write(self.row(number))
            if self.config.federation.privacy is not None:
                self._charge(number)

    def row(self, number: int) -> dict[str, Any]:
        """Return the row of a round."""
        dropped, refused = sorted(self._dropped.get(number, ())), dict(self._refused.get(number, {}))
        there = [name for name in self._clients if name not in dropped and name not in refused]
        is_private = self.config.federation.privacy is not None
        told = {
            "loss": 0.2 + 1 / number,
            "mean_norm": 0.5 / number,
            "max_norm": 0.8 / number,
            "examples": 45 * len(there),
        }
        return {
            "round": number,
            "time": self._begin + SECONDS * number,
            "seconds": 0.9 * SECONDS,
            "clients": len(self._clients),
            "sampled": len(self._clients),
            "participants": there,
            "refused": refused,
            "dropped": dropped,
            "is_void": not there,
            "change": 0.4 / number if there else 0.0,
            **(dict.fromkeys(told) if is_private or not there else told),
            "bytes_down": 1500 * len(self._clients),
            "bytes_up": 1600 * len(there),
            "epsilon": 8.0 * (number / self.config.federation.rounds) ** 0.5 if is_private else None,
        }

    def score(self, models: Sequence[str] = ("global", "personal", "local")) -> FederationMaker:
        """Write scores of the clients."""
        rows = [
            {
                "client": client, "model": model, "part": "test", "windows": 3, "mae": 1.0 + 0.1 * place + 0.2 * kind,
                "rmse": 1.3 + 0.1 * place, "mase": None if place == 0 else 0.8, "skill": 0.3 - 0.1 * kind,
            }
            for place, client in enumerate(self._clients)
            for kind, model in enumerate(models)
        ]  # fmt: skip
        (self.path / "scores.json").write_text(json.dumps(rows))
        return self

    def _charge(self, number: int) -> None:
        charge = {
            "round": number, "attempt": 1, "participation": 1.0, "noise_multiplier": 2.0,
            "time": "2026-01-01T00:00:00.000+00:00",
        }  # fmt: skip
        with (self.path / "ledger.jsonl").open("a") as file:
            file.write(json.dumps(charge) + "\n")
