"""Server and clients over HTTPS that are killed again and again."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import socket
import time
from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.federated.round_log import read_rows
from neuro_divergent.federated.transport.https.remote_server import RemoteServer
from neuro_divergent.privacy.ledger import Ledger
from tests.integration.federated.https_federation import NAMES, client, config, issue
from tests.unit.federated.tables import federation

pytestmark = pytest.mark.long

KILLS = 300 if os.environ.get("ND_SOAK") else 30
PRELOADED = ["torch", "torch._dynamo", "tests.integration.federated.https_federation"]


def run_server(directory: Path, settings: dict[str, Any], port: int) -> None:
    """Serve until the federation is over."""
    os.environ["OMP_NUM_THREADS"] = "1"
    made = nd.federated.FederationConfig.from_dict(settings)
    RemoteServer(made, directory / "run", directory / "server", host="127.0.0.1", port=port, farewell=5).run()


def run_client(directory: Path, name: str, number: int, port: int) -> None:
    """Take part until the federation is over."""
    os.environ["OMP_NUM_THREADS"] = "1"
    client(directory, name, f"https://127.0.0.1:{port}", number, patience=120).run()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Fleet:
    """The processes of a federation, each started again when it was killed."""

    def __init__(self, directory: Path, settings: nd.federated.FederationConfig) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        port = free_port()
        self._make: dict[str, Any] = {
            "server": lambda: context.Process(target=run_server, args=(directory, settings.to_dict(), port)),
            **{
                name: lambda name=name, number=number: context.Process(
                    target=run_client, args=(directory, name, number, port)
                )
                for number, name in enumerate(NAMES)
            },
        }
        self._running = {name: self._start(name) for name in self._make}

    def kill(self, name: str) -> bool:
        """Kill a process by SIGKILL, and start it again; return whether it was running."""
        process = self._running[name]
        if process.exitcode == 0:
            return False
        assert process.exitcode is None, f"{name} failed"
        process.kill()
        process.join(30)
        self._running[name] = self._start(name)
        return True

    def wait(self, seconds: float) -> None:
        """Wait until the server is done."""
        self._running["server"].join(seconds)
        assert self._running["server"].exitcode == 0

    @property
    def is_over(self) -> bool:
        """Whether the server is done."""
        return self._running["server"].exitcode == 0

    def end(self) -> None:
        """End all processes."""
        for process in self._running.values():
            if process.exitcode is None:
                process.kill()
            process.join(30)

    def _start(self, name: str) -> Any:
        process = self._make[name]()
        process.start()
        return process


def kill_often(directory: Path, settings: nd.federated.FederationConfig, kills: int) -> int:
    """Run a federation whose processes are killed at random; return how often."""
    generator, done = random.Random(len(str(directory)) + kills), 0
    fleet = Fleet(directory, settings)
    try:
        while done < kills and not fleet.is_over:
            time.sleep(generator.choice([0.05, 0.1, 0.2, 0.4, 0.8]))
            done += fleet.kill(generator.choice(["server", "server", *NAMES]))
        fleet.wait(300)
    finally:
        fleet.end()
    return done


def digest(weights: Any) -> str:
    return hashlib.sha256(b"".join(weights[name].numpy().tobytes() for name in sorted(weights))).hexdigest()


def test_kills_of_server_and_clients_do_not_change_the_final_weights(tmp_path: Path, record_property: Any) -> None:
    done, runs = 0, 0
    expected = digest(federation(3, rounds=30).fit().model.weights)
    while done < KILLS:
        directory = tmp_path / str(runs)
        issue(directory)
        done += kill_often(directory, config(rounds=30), KILLS - done)
        runs += 1
        rows = read_rows(directory / "run" / "rounds.jsonl")
        assert [row["round"] for row in rows] == list(range(1, 31))
        assert digest(nd.federated.GlobalModel.load(directory / "run" / "model").weights) == expected
    record_property("kills", done)
    record_property("runs", runs)


def test_the_ledger_never_has_less_than_was_released(tmp_path: Path, record_property: Any) -> None:
    budget = {"epsilon": 8.0, "delta": 1e-5, "clip_norm": 0.5, "noise_multiplier": 10.0}
    settings = config(rounds=20, privacy=budget)
    issue(tmp_path)
    done = kill_often(tmp_path, settings, max(KILLS // 5, 6))
    entries = Ledger(tmp_path / "run" / "ledger.jsonl").entries
    rows = read_rows(tmp_path / "run" / "rounds.jsonl")
    charged = [entry.round_number for entry in entries]
    assert set(charged) >= {row["round"] for row in rows}
    assert all(row["epsilon"] <= budget["epsilon"] for row in rows)
    model = nd.federated.GlobalModel.load(tmp_path / "run" / "model")
    assert model.epsilon is not None
    assert Ledger(tmp_path / "run" / "ledger.jsonl").spent(1e-5) >= model.epsilon - 1e-9
    record_property("kills", done)
