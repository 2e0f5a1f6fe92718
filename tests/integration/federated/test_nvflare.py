"""A federation over NVIDIA FLARE: server and clients are processes with certificates, on this machine."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("nvflare", reason="nvflare is not installed: pip install 'neuro-divergent[nvflare]'")

from neuro_divergent import NLinear, TrainingConfig
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.federated import Federation, FederationConfig, GlobalModel
from neuro_divergent.federated.directory import MODEL, ROWS
from neuro_divergent.federated.round_log import read_rows
from neuro_divergent.federated.transport.nvflare.job import write_job
from neuro_divergent.federated.transport.nvflare.submission import submit
from neuro_divergent.forecasting.forecaster import Forecaster
from tests.integration.federated.nvflare_system import ADMINISTRATOR, SERVER, System

pytestmark = pytest.mark.long

NAME = "demand"
CLIENTS = ("site-1", "site-2", "site-3")
HOURS = 300


def table(number: int) -> pl.DataFrame:
    hours = np.arange(HOURS)
    noise = np.random.default_rng(number).standard_normal(HOURS)
    begin = datetime(2024, 1, 1)
    return pl.DataFrame(
        {
            "unique_id": ["load"] * HOURS,
            "ds": [begin + timedelta(hours=int(hour)) for hour in hours],
            "y": np.sin(hours * 2 * np.pi / 24 + number) + 0.1 * noise,
        }
    )


def federation(rounds: int, tables: dict[str, Path]) -> Federation:
    training = TrainingConfig(batch_size=32, threads=1, device="cpu")
    forecaster = Forecaster(NLinear(), horizon=6, input_size=24, training=training)
    found = Federation(forecaster, rounds=rounds, local_epochs=1, vectorize=False, seed=3)
    for name, path in tables.items():
        found.add_client(name, str(path))
    return found


def digest(model: GlobalModel) -> str:
    content = b"".join(model.weights[name].numpy().tobytes() for name in sorted(model.weights))
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for number, name in enumerate(CLIENTS):
        found[name] = tmp_path / f"{name}.parquet"
        table(number).write_parquet(found[name])
    return found


@pytest.fixture
def system(tmp_path: Path, tables: dict[str, Path]) -> Iterator[System]:
    found = System(tmp_path, tables, NAME)
    found.start(SERVER, *CLIENTS)
    yield found
    found.stop()
    assert not found.leftovers()


def write(system: System, config: FederationConfig) -> Path:
    return write_job(system.root / NAME, config, CLIENTS, poll=0.1, lost_after=6.0, start_within=40.0)


def final_models(system: System) -> list[GlobalModel]:
    return [GlobalModel.load(system.directory(name) / NAME / MODEL) for name in (SERVER, *CLIENTS)]


def test_nvflare_federation_has_the_weights_of_one_in_process(system: System, tables: dict[str, Path]) -> None:
    expected = federation(4, tables).fit()
    job = write(system, expected.config)

    submit(job, system.kit(ADMINISTRATOR), ADMINISTRATOR, poll=0.5)

    assert {digest(model) for model in final_models(system)} == {digest(expected.model)}
    rows = read_rows(system.directory(SERVER) / NAME / ROWS)
    assert [row["participants"] for row in rows] == [list(CLIENTS)] * 4
    assert all(row["bytes_down"] > 0 and row["bytes_up"] > 0 for row in rows)


def test_nvflare_federation_with_a_missing_table_says_so(system: System, tables: dict[str, Path]) -> None:
    job = write(system, federation(2, tables).config)
    tables["site-2"].unlink()

    with pytest.raises(ConfigError, match="client 'site-2' cannot take part"):
        submit(job, system.kit(ADMINISTRATOR), ADMINISTRATOR, poll=0.5)


@pytest.mark.skipif(not os.environ.get("ND_SOAK"), reason="takes five minutes: 'make soak' runs it")
def test_nvflare_federation_after_kills_has_the_weights_of_one_without(
    system: System, tables: dict[str, Path], record_property: pytest.RecordProperty
) -> None:
    rounds, kills = 100, 12
    expected = federation(rounds, tables).fit()
    job = write(system, expected.config)
    rows = system.directory(SERVER) / NAME / ROWS
    done = threading.Event()
    killed: list[str] = []

    def kill_now_and_then() -> None:
        choice = random.Random(5)
        targets = [(name, only_job) for name in (SERVER, *CLIENTS) for only_job in (False, True)]
        while not done.is_set() and len(killed) < kills:
            if choice.random() < 0.35:  # while rounds are trained, which is a small part of the time
                before, end = len(read_rows(rows)), time.monotonic() + 60
                while len(read_rows(rows)) == before and time.monotonic() < end and not done.wait(0.05):
                    pass
                pause = choice.uniform(0.0, 1.0)
            else:
                pause = choice.uniform(0.0, 8.0)
            if done.wait(pause):
                break
            name, only_job = choice.choice(targets)
            if system.kill(name, only_job=only_job):
                killed.append(name)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    began = time.monotonic()
    try:
        submit(job, system.kit(ADMINISTRATOR), ADMINISTRATOR, poll=0.5, attempts=100)
    finally:
        done.set()
        killer.join()

    assert len(killed) >= 10
    assert SERVER in killed
    assert set(killed) & set(CLIENTS)
    assert {digest(model) for model in final_models(system)} == {digest(expected.model)}
    assert [row["round"] for row in read_rows(rows)] == list(range(1, rounds + 1))
    record_property("kills", len(killed))
    record_property("seconds", time.monotonic() - began)
