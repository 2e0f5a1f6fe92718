"""``nd federated`` and ``nd privacy`` in processes of their own."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest

import neuro_divergent
from tests.integration.test_command_line import nd, refused, start
from tests.unit.federated.tables import table

SETTINGS = """
[federation]
rounds = {rounds}
local_epochs = 1
{more}

[model]
name = "nlinear"

[task]
horizon = 4
input_size = 8

[clients]
north = "north.csv"
south = "south.csv"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for number, name in enumerate(("north", "south")):
        table(number).write_csv(tmp_path / f"{name}.csv")
    write_settings(tmp_path)
    return tmp_path


def write_settings(place: Path, rounds: int = 2, more: str = "") -> None:
    (place / "federation.toml").write_text(SETTINGS.format(rounds=rounds, more=more))


def test_a_federation_from_settings_to_model_scores_report_and_status(place: Path) -> None:
    said, _ = nd("federated", "run", "federation.toml", "--output", "out", "--local", cwd=place)
    assert "round 2/2, 2 of 2 clients" in said
    assert "local" in said
    scores = json.loads((place / "out" / "scores.json").read_text())
    assert {(row["client"], row["model"]) for row in scores} == {
        (client, model) for client in ("north", "south") for model in ("global", "local")
    }
    assert (place / "out" / "report.html").read_text().startswith("<!doctype html>")
    assert neuro_divergent.federated.GlobalModel.load(place / "out" / "model").rounds == 2
    assert "2 of 2" in nd("federated", "status", "out", cwd=place)[0]
    assert "out/report.html" in nd("report", "out", cwd=place)[0]
    assert "out" not in nd("runs", "list", ".", cwd=place)[0].split()


@pytest.mark.long
def test_a_table_is_divided_by_a_column_and_json_is_the_only_output(place: Path) -> None:
    import polars as pl

    both = pl.concat([table(number).with_columns(shop=pl.lit(f"shop {number}")) for number in range(3)])
    both.write_csv(place / "all.csv")
    settings = (place / "federation.toml").read_text().partition("[clients]")[0]
    (place / "open.toml").write_text(settings)
    said, _ = nd("federated", "run", "open.toml", "--data", "all.csv", "--by", "shop", "--json", cwd=place)
    found = json.loads(said)
    assert {row["client"] for row in found["scores"]} == {"shop-0", "shop-1", "shop-2"}


def test_mistakes_are_told_in_one_line(place: Path) -> None:
    assert "no column 'nowhere'" in refused(
        "federated", "run", "federation.toml", "--data", "north.csv", "--by", "nowhere", cwd=place
    )
    assert (
        "did you mean 'fedavg'"
        in refused("federated", "run", "federation.toml", "--set", "federation.aggregation=fedagv", cwd=place).lower()
    )
    assert "not found" in refused("federated", "run", "nowhere.toml", cwd=place)
    assert "is not a federation" in refused("federated", "status", ".", cwd=place)
    (place / "open.toml").write_text("[task]\nhorizon = 4\n")
    assert "there are no clients" in refused("federated", "run", "open.toml", cwd=place)


@pytest.mark.long
def test_a_private_federation_says_what_its_budget_means_and_can_be_audited(place: Path) -> None:
    write_settings(place, more="[federation.privacy]\nepsilon = 8.0\ndelta = 1e-5")
    said, _ = nd("federated", "run", "federation.toml", "--output", "out", cwd=place)
    assert "Epsilon 8" in said
    audited = json.loads(nd("privacy", "audit", "out", "--trials", "300", "--json", cwd=place)[0])
    assert audited["passes"]
    assert 0 < audited["spent"] <= 8.0
    assert "promises no privacy" in refused("privacy", "audit", str(run_without_privacy(place)), cwd=place)


def run_without_privacy(place: Path) -> Path:
    write_settings(place, rounds=1)
    nd("federated", "run", "federation.toml", "--output", "plain", "--quiet", cwd=place)
    return place / "plain"


def test_the_meaning_of_a_budget_needs_no_data(tmp_path: Path) -> None:
    options = ["--epsilon", "1", "--rounds", "50", "--clients", "100", "--weights", "3020", "--participation", "0.8"]
    said, warned = nd("privacy", "budget", *options, cwd=tmp_path)
    assert "21.15" in said
    assert "208 clients" in warned


def test_clients_are_added_to_a_federation_later_but_not_twice(tmp_path: Path) -> None:
    nd("federated", "init", "hospitals", "--clients", "north,south", "--host", "127.0.0.1", cwd=tmp_path)
    nd("federated", "init", "hospitals", "--clients", "west", cwd=tmp_path)
    keys = sorted((tmp_path / "hospitals").rglob("*key.pem"))
    assert len(keys) == 5
    assert {oct(key.stat().st_mode & 0o777) for key in keys} == {"0o600"}
    assert "already" in refused("federated", "init", "hospitals", "--clients", "west", cwd=tmp_path)
    assert "a name has" in refused("federated", "init", "hospitals", "--clients", "../etc", cwd=tmp_path)
    text = (tmp_path / "hospitals" / "server" / "federation.toml").read_text()
    config = neuro_divergent.federated.FederationConfig.from_toml(text)
    assert set(config.clients) == {"north", "south", "west"}


@pytest.mark.long
def test_server_and_clients_as_commands_survive_an_interruption(place: Path) -> None:
    nd("federated", "init", "hospitals", "--clients", "north,south", "--host", "127.0.0.1", cwd=place)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    changes = ["--set", "federation.rounds=6", "--set", "task.horizon=4", "--set", "task.input_size=8"]
    command = ["federated", "server", "hospitals/server", "--host", "127.0.0.1", "--port", port, *changes]
    server = start(*command, cwd=place)
    clients = [
        start(
            "federated", "client", f"hospitals/clients/{name}", "--server", f"https://127.0.0.1:{port}", "--data",
            f"{name}.csv", cwd=place,
        )
        for name in ("north", "south")
    ]  # fmt: skip
    rows = place / "hospitals" / "server" / "run" / "rounds.jsonl"
    end = time.monotonic() + 120
    while not (rows.exists() and rows.stat().st_size) and time.monotonic() < end:
        time.sleep(0.05)
    server.send_signal(signal.SIGINT)
    said = server.communicate(timeout=60)
    if server.returncode != 0:  # which it is if all rounds were done by then
        assert "Resume with: nd federated server hospitals/server" in said[1]
        server = start(*command, cwd=place)
        assert server.communicate(timeout=120)[0]
    for process in clients:
        heard, problem = process.communicate(timeout=120)
        assert process.returncode == 0, problem
        assert "round 6: trained" in heard
    assert server.returncode == 0
    model = neuro_divergent.load(place / "hospitals" / "clients" / "north" / "results" / "model")
    assert len(model.predict()) == 4
