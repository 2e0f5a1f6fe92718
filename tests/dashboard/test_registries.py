"""What the routes answer about registries, and that nothing of one is written, waited for or followed elsewhere."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.interfaces.dashboard import continuous, registries
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.lifecycle.continuous import continuous as continuous_training
from neuro_divergent.lifecycle.continuous import journal
from neuro_divergent.lifecycle.registry import registry
from neuro_divergent.lifecycle.registry.registry import Registry
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.registry_maker import RegistryMaker
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream, served

MakeClient = Callable[..., Client]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run and a registry, a version of which came from the run."""
    root = tmp_path_factory.mktemp("registries")
    make_run(root / "run")
    maker = RegistryMaker(root / "models").make()
    maker.register("load", run=None, tags={"reason": "by hand"})
    maker.register("load", run=root / "run")
    return root


def place_of(root: Path, name: str = "models") -> str:
    return f"/api/registries/{id_of(root / name)}"


def test_names_of_files_are_those_of_the_lifecycle() -> None:
    assert registries.DATABASE == registry.DATABASE
    assert continuous.DATABASE == journal.DATABASE
    assert (continuous.CONFIG, continuous.LOCK) == (continuous_training.CONFIG, continuous_training.LOCK)


def test_registry_is_listed_with_its_models_and_champions(root: Path, make_client: MakeClient) -> None:
    listed = {run["name"]: run for run in make_client(root).get("/api/runs").json()["runs"]}
    found = listed["models"]
    assert set(found) == set(listed["run"])
    assert (found["kind"], found["state"], found["step"], found["model"]) == ("registry", "ready", 2, "load, sales")
    assert found["data"] == "champion sales v2"
    assert found["time"] > 0


def test_registry_that_is_named_itself_is_shown(root: Path, make_client: MakeClient) -> None:
    (row,) = make_client(root / "models").get("/api/runs").json()["runs"]
    assert (row["name"], row["kind"]) == ("models", "registry")


def test_details_have_the_models_and_where_aliases_point(root: Path, make_client: MakeClient) -> None:
    found = make_client(root).get(place_of(root)).json()
    sales = next(model for model in found["models"] if model["name"] == "sales")
    assert [(item["alias"], item["number"]) for item in sales["aliases"]] == [
        ("champion", 2),
        ("challenger", 4),
        ("previous", 1),
    ]
    assert found["path"] == str(root / "models")


def test_versions_are_the_newest_first_with_score_gate_and_data(root: Path, make_client: MakeClient) -> None:
    found = make_client(root).get(f"{place_of(root)}/models/sales").json()
    versions = found["versions"]
    assert [item["number"] for item in versions] == [4, 3, 2, 1]
    assert [item["archived"] for item in versions] == [False, True, False, False]
    assert [item["gate_passed"] for item in versions] == [True, False, True, True]
    assert versions[2]["aliases"] == ["champion"]
    assert versions[2]["main_score"] == {"metric": "mase", "value": 0.6, "part": "test"}
    assert versions[2]["data_range"]["end"] == "2026-03-03 23:00:00"
    assert [change["after"] for change in found["history"]] == [4, 2, 1]
    assert found["history"][1]["reason"] == "Better on the test part."
    assert found["revision"] == 3


def test_version_has_everything_and_a_command_to_promote_it(root: Path, make_client: MakeClient) -> None:
    found = make_client(root).get(f"{place_of(root)}/models/sales/versions/2").json()
    assert found["scores_table"][0]["mae"] == 1.2
    assert [check["passed"] for check in found["gate"]["checks"]] == [True, True, None]
    assert found["config"]["task"]["horizon"] == 4
    assert found["environment"]
    terminal = found["commands"][0]["text"]
    assert terminal == f"nd registry promote sales==v2 --registry {root / 'models'} --reason ..."


def test_version_leads_to_its_run_only_if_that_is_shown_here(root: Path, make_client: MakeClient) -> None:
    place = f"{place_of(root)}/models/load/versions"
    assert make_client(root).get(f"{place}/1").json()["run_id"] is None
    assert make_client(root).get(f"{place}/2").json()["run_id"] == id_of(root / "run")
    assert make_client(root / "models").get(f"{place}/2").json()["run_id"] is None


def test_diff_has_scores_of_both_and_what_differs(root: Path, make_client: MakeClient) -> None:
    found = make_client(root).get(f"{place_of(root)}/models/sales/diff?a=1&b=2").json()
    assert found["scores"]["mae"] == [1.4, 1.2]
    assert {"rows", "end", "fingerprint"} <= {item["name"] for item in found["differences"]}
    assert found["notes"]


@pytest.mark.parametrize(
    "rest",
    [
        "/models/nothing", "/models/..%2F..%2Fmodels", "/models/sales%00", "/models/sales==v1",
        "/models/sales@champion", "/models/%3Cimg%20src=x%3E", "/models/' OR 1=1 --", "/models/sales/versions/5",
        "/models/nothing/versions/1", "/models/sales/diff?a=1&b=9", "/models/nothing/diff?a=1&b=2",
    ],
)  # fmt: skip
def test_unknown_and_hostile_names_are_not_found(root: Path, make_client: MakeClient, rest: str) -> None:
    assert make_client(root).get(f"{place_of(root)}{rest}").status == 404


@pytest.mark.parametrize("rest", ["/models/sales/versions/0", "/models/sales/versions/x", "/models/sales/diff?a=1"])
def test_numbers_that_are_none_are_refused(root: Path, make_client: MakeClient, rest: str) -> None:
    assert make_client(root).get(f"{place_of(root)}{rest}").status == 422


def test_reading_a_registry_changes_nothing(root: Path, make_client: MakeClient) -> None:
    before = tree_digest(root / "models")
    client = make_client(root)
    for rest in ("", "/models/sales", "/models/sales/versions/1", "/models/sales/diff?a=1&b=2", "/stream"):
        assert client.get(f"{place_of(root)}{rest}").status == 200
    assert tree_digest(root / "models") == before


def test_registry_with_an_open_writer_is_read_without_waiting(tmp_path: Path, make_client: MakeClient) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register()
    client = make_client(tmp_path)
    database = tmp_path / "models" / "registry.db"
    with Registry(maker.path) as opened:
        opened.promote("sales==v1", reason="still in the log")
        writer = sqlite3.connect(database, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE registry_models SET name = 'other'")
        found = client.get(place_of(tmp_path)).json()
        writer.execute("ROLLBACK")
        writer.close()
    assert [model["name"] for model in found["models"]] == ["sales"]
    assert found["models"][0]["aliases"][0]["alias"] == "champion"


def test_new_versions_and_aliases_are_shown_the_next_time(tmp_path: Path, make_client: MakeClient) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register()
    client = make_client(tmp_path)
    assert client.get(place_of(tmp_path)).json()["models"] == [{"name": "sales", "aliases": []}]
    maker.register()
    maker.promote("sales==v2")
    assert client.get(place_of(tmp_path)).json()["models"][0]["aliases"][0]["number"] == 2
    assert len(client.get(f"{place_of(tmp_path)}/models/sales").json()["versions"]) == 2


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_database_is_listed_with_a_message(tmp_path: Path, make_client: MakeClient, content: bytes) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "registry.db").write_bytes(content)
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert (row["state"], row["kind"]) == ("damaged", "registry")
    assert str(tmp_path / "models" / "registry.db") in row["message"]
    for rest in ("", "/models/sales", "/models/sales/versions/1", "/models/sales/diff?a=1&b=2"):
        reply = client.get(f"{place_of(tmp_path)}{rest}")
        assert reply.status == 404
        assert "nd-dashboard-" not in reply.json()["detail"]


@pytest.mark.parametrize(
    "record", ["", "[]", "{", "7", '{"config": 3, "scores": "x", "gate": [], "data": 1, "run": 5}']
)
def test_damaged_rows_give_a_message_and_no_error(tmp_path: Path, make_client: MakeClient, record: str) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register()
    with sqlite3.connect(tmp_path / "models" / "registry.db") as database:
        database.execute("UPDATE registry_versions SET record = ?", (record,))
    database.close()
    client = make_client(tmp_path)
    assert client.get("/api/runs").json()["runs"][0]["state"] == "ready"
    for rest in ("", "/models/sales", "/models/sales/versions/1", "/models/sales/diff?a=1&b=1"):
        assert client.get(f"{place_of(tmp_path)}{rest}").status in (200, 404)


def test_links_in_and_to_a_registry_are_not_followed(tmp_path: Path, make_client: MakeClient) -> None:
    other = RegistryMaker(tmp_path / "elsewhere")
    other.register()
    (tmp_path / "shown" / "linked").mkdir(parents=True)
    (tmp_path / "shown" / "linked" / "registry.db").symlink_to(other.path / "registry.db")
    (tmp_path / "shown" / "other").symlink_to(other.path)
    log = RegistryMaker(tmp_path / "shown" / "models")
    log.register()
    (log.path / "registry.db-wal").symlink_to(other.path / "registry.db")
    client = make_client(tmp_path / "shown")
    assert list(ids(client)) == ["models"]
    assert "is not a regular file" in client.get(place_of(tmp_path / "shown")).json()["detail"]


def test_passwords_in_addresses_are_not_shown(tmp_path: Path, make_client: MakeClient) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register(tags={"source": "postgresql://me:secret@host/data"})
    maker.promote("sales==v1", reason="from postgresql://me:secret@host/data")
    client = make_client(tmp_path)
    for rest in ("/models/sales", "/models/sales/versions/1"):
        reply = client.get(f"{place_of(tmp_path)}{rest}")
        assert reply.status == 200
        assert b"postgresql://me@host/data" in reply.body
        assert b"secret" not in reply.body


def test_listing_needs_neither_torch_nor_sqlalchemy(tmp_path: Path) -> None:
    RegistryMaker(tmp_path / "models").register()
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from pathlib import Path\n"
        "from neuro_divergent.interfaces.dashboard.index import RunIndex\n"
        f"(entry,) = RunIndex(Path({str(tmp_path)!r})).entries().values()\n"
        "print(entry.row['state'], 'torch' in sys.modules, entry.row['message'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("damaged False ")
    assert "neuro-divergent[lifecycle]" in done.stdout


def test_stream_tells_when_an_alias_moves(tmp_path: Path) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register()
    with served(tmp_path) as port:
        stream = Stream(port, f"{place_of(tmp_path)}/stream")
        first: dict[str, Any] = stream.wait_for("changed").data["row"]
        assert first["message"] == "no champion yet"
        maker.promote("sales==v1")
        assert stream.wait_for("changed").data["row"]["message"] == "champions: sales v1"
        stream.close()
