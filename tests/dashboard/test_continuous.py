"""What the routes answer about continuous training, and that nothing of it is written or followed elsewhere."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.continuous_maker import ContinuousMaker
from tests.dashboard.registry_maker import RegistryMaker
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream, served

MakeClient = Callable[..., Client]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a continuous training, its registry, the run of one training, and one that has not begun."""
    root = tmp_path_factory.mktemp("continuous")
    RegistryMaker(root / "models").make()
    ContinuousMaker(root / "load", registry=str(root / "models")).make()
    make_run(root / "load" / "attempts" / "0002" / "run")
    ContinuousMaker(root / "begun")
    return root


def details(client: Client, path: Path) -> dict[str, Any]:
    reply = client.get(f"/api/continuous/{id_of(path)}")
    assert reply.status == 200, reply.json()
    found: dict[str, Any] = reply.json()
    return found


def test_continuous_training_is_listed_with_state_and_batches(root: Path, make_client: MakeClient) -> None:
    listed = {run["name"]: run for run in make_client(root).get("/api/runs").json()["runs"]}
    load, begun = listed["load"], listed["begun"]
    assert (load["kind"], load["state"], load["step"], load["model"]) == ("continuous", "waiting", 80, "nlinear")
    assert (load["data"], load["horizon"]) == ("meters/*.parquet", 24)
    assert set(load) == set(listed["models"])
    assert (begun["state"], begun["step"]) == ("waiting", 0)
    assert begun["message"] == "It waits for the next tick. There is no champion yet."


def test_details_say_where_it_stands(root: Path, make_client: MakeClient) -> None:
    found = details(make_client(root), root / "load")
    assert found["sentence"] == (
        "It waits for the next tick. Version 2 serves as champion; version 4 runs in its shadow. "
        "1 incident of the feed is in quarantine."
    )
    assert (found["name"], found["model_name"], found["champion"]) == ("load", "sales", 2)
    assert found["registry_id"] == id_of(root / "models")
    assert [item["alias"] for item in found["aliases"]] == ["champion", "challenger", "previous"]


def test_evidence_of_the_comparison_is_the_exponential_and_a_fraction_of_the_threshold(
    root: Path, make_client: MakeClient
) -> None:
    found = details(make_client(root), root / "load")["comparison"]
    assert found["value"] == pytest.approx(7.5)
    assert found["threshold"] == 20
    assert found["fraction"] == pytest.approx(math.log(7.5) / math.log(20))
    assert (found["blocks"], found["max_blocks"], found["purpose"]) == (9, 60, "promotion")


@pytest.mark.parametrize(("log_value", "fraction"), [(-3.0, 0.0), (0.0, 0.0), (5000.0, 1.0)])
def test_extreme_evidence_has_a_value_and_stays_on_the_bar(
    tmp_path: Path, make_client: MakeClient, log_value: float, fraction: float
) -> None:
    ContinuousMaker(tmp_path / "load").compare(serving=1, shadow=2, log_value=log_value, blocks=3)
    found = details(make_client(tmp_path), tmp_path / "load")["comparison"]
    assert found["fraction"] == fraction
    assert found["value"] == pytest.approx(math.exp(min(log_value, 700.0)))


def test_looks_decisions_trainings_and_incidents_are_told(root: Path, make_client: MakeClient) -> None:
    found = details(make_client(root), root / "load")
    assert [look["row"] for look in found["looks"]] == [24 * number for number in range(80)]
    drift = [look["row"] // 24 for look in found["looks"] if look["is_drift"]]
    assert drift == list(range(40, 55))
    assert [look["row"] // 24 for look in found["looks"] if look["sentence"]] == drift
    assert [item["number"] for item in found["decisions"]] == list(range(8, 0, -1))
    assert found["decisions"][0]["evidence"]["gate"]["checks"][0]["sentence"] == "All forecasts are finite."
    assert [item["number"] for item in found["attempts"]] == [4, 3, 2, 1]
    assert [item["run_id"] for item in found["attempts"]] == [None, None, id_of(root / "load/attempts/0002/run"), None]
    assert [item["state"] for item in found["incidents"]] == ["accepted", "quarantined"]
    assert found["incidents"][1]["findings"][0]["sentence"].startswith("2 of 4 series (north, south): values are")


def test_run_of_a_training_is_shown_by_its_id_and_not_listed(root: Path, make_client: MakeClient) -> None:
    client = make_client(root)
    assert set(ids(client)) == {"load", "begun", "models"}
    reply = client.get(f"/api/runs/{id_of(root / 'load' / 'attempts' / '0002' / 'run')}")
    assert reply.status == 200
    assert reply.json()["model"]


def test_training_before_the_first_tick_is_shown(root: Path, make_client: MakeClient) -> None:
    found = details(make_client(root), root / "begun")
    assert (found["decisions"], found["looks"], found["comparison"], found["end"]) == ([], [], None, None)
    assert found["settings"]["triggers"]["drift"] == 0.05


def test_registry_beside_it_is_found_by_a_relative_path(tmp_path: Path, make_client: MakeClient) -> None:
    RegistryMaker(tmp_path / "models").make()
    ContinuousMaker(tmp_path / "load", registry="models").make(4)
    ContinuousMaker(tmp_path / "other", registry="postgresql://me:secret@host/models").make(4)
    client = make_client(tmp_path)
    assert details(client, tmp_path / "load")["registry_id"] == id_of(tmp_path / "models")
    other = details(client, tmp_path / "other")
    assert (other["registry_id"], other["registry"], other["aliases"]) == (None, "postgresql://me@host/models", [])


def test_addresses_queries_and_hooks_are_not_shown(tmp_path: Path, make_client: MakeClient) -> None:
    source = {
        "name": "sql", "address": "postgresql://me:secret@host/data", "query": "SELECT secret", "watermark": "updated"
    }  # fmt: skip
    hooks = {"webhook": "https://hooks.example.org/secret", "allowed_hosts": ["hooks.example.org"]}
    ContinuousMaker(tmp_path / "load", source=source, hooks=hooks).make(4)
    client = make_client(tmp_path)
    reply = client.get(f"/api/continuous/{id_of(tmp_path / 'load')}")
    assert reply.status == 200
    assert reply.json()["settings"]["source"]["watermark"] == "updated"
    assert b"secret" not in reply.body
    assert b"secret" not in client.get("/api/runs").body


def test_running_tick_is_seen_by_its_lock(tmp_path: Path, make_client: MakeClient) -> None:
    ContinuousMaker(tmp_path / "load").make(4)
    client = make_client(tmp_path)
    assert details(client, tmp_path / "load")["state"] == "waiting"
    with RunLock(tmp_path / "load" / "lock"):
        found = details(client, tmp_path / "load")
        assert (found["state"], found["is_running"]) == ("running", True)
        assert found["sentence"].startswith("A tick is under way.")
    assert details(client, tmp_path / "load")["state"] == "waiting"


def test_reading_it_changes_nothing(root: Path, make_client: MakeClient) -> None:
    before = tree_digest(root / "load")
    client = make_client(root)
    for rest in ("", "/stream"):
        assert client.get(f"/api/continuous/{id_of(root / 'load')}{rest}").status == 200
    assert tree_digest(root / "load") == before


@pytest.mark.parametrize("name", ["continuous.toml", "state.db"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe nonsense", b"name = 3\n", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_files_give_a_message_and_no_error(
    tmp_path: Path, make_client: MakeClient, name: str, content: bytes
) -> None:
    ContinuousMaker(tmp_path / "load").make(4)
    (tmp_path / "load" / name).write_bytes(content)
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert (row["state"], row["kind"]) == ("damaged", "continuous")
    reply = client.get(f"/api/continuous/{row['id']}")
    assert reply.status == 404
    assert row["message"]
    assert row["message"] in reply.json()["detail"]
    assert "nd-dashboard-" not in row["message"]


@pytest.mark.parametrize("table", ["attempts", "looks", "incidents", "values", "decisions"])
@pytest.mark.parametrize("content", ["", "[]", "{", "7", '{"number": "../../x", "state": 1}'])
def test_damaged_rows_give_a_message_and_no_error(
    tmp_path: Path, make_client: MakeClient, table: str, content: str
) -> None:
    ContinuousMaker(tmp_path / "load").make(4)
    column = "evidence" if table == "decisions" else "content"
    with sqlite3.connect(tmp_path / "load" / "state.db") as database:
        database.execute(f'UPDATE "{table}" SET {column} = ?', (content,))
    database.close()
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert row["state"] in ("damaged", "waiting")
    assert client.get(f"/api/continuous/{row['id']}").status in (200, 404)


def test_links_in_and_to_it_are_not_followed(tmp_path: Path, make_client: MakeClient) -> None:
    other = ContinuousMaker(tmp_path / "elsewhere").make(4)
    make_run(tmp_path / "secret-run")
    shown = ContinuousMaker(tmp_path / "shown" / "load").make(4)
    (tmp_path / "shown" / "linked").symlink_to(other.path)
    (tmp_path / "shown" / "settings").mkdir()
    (tmp_path / "shown" / "settings" / "continuous.toml").symlink_to(other.path / "continuous.toml")
    (shown.path / "attempts" / "0002").mkdir(parents=True)
    (shown.path / "attempts" / "0002" / "run").symlink_to(tmp_path / "secret-run")
    client = make_client(tmp_path / "shown")
    assert list(ids(client)) == ["load"]
    assert {item["run_id"] for item in details(client, shown.path)["attempts"]} == {None}
    (shown.path / "state.db").unlink()
    (shown.path / "state.db").symlink_to(other.path / "state.db")
    assert client.get(f"/api/continuous/{id_of(shown.path)}").status == 404


def test_routes_of_others_do_not_answer_for_it(root: Path, make_client: MakeClient) -> None:
    client = make_client(root)
    key = id_of(root / "load")
    for kind in ("runs", "studies", "federations", "pipelines", "registries"):
        assert client.get(f"/api/{kind}/{key}").status == 404
    assert client.get(f"/api/continuous/{id_of(root / 'models')}").status == 404
    assert client.get("/api/continuous/..%2Fload").status == 404


def test_stream_tells_of_every_change(tmp_path: Path) -> None:
    maker = ContinuousMaker(tmp_path / "load").make(4)
    with served(tmp_path) as port:
        stream = Stream(port, f"/api/continuous/{id_of(maker.path)}/stream")
        assert stream.wait_for("changed").data["row"]["step"] == 4
        maker.set(batch=5)
        assert stream.wait_for("changed").data["row"]["step"] == 5
        maker.decide("drift", "Something that the row does not show.")
        assert stream.wait_for("changed").data["row"]["step"] == 5
        stream.close()
