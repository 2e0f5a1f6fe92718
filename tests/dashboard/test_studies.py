"""What the routes answer about studies, and that nothing of a study is written or followed out of its directory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream, served
from tests.dashboard.study_maker import RATE, WIDTH, StudyMaker, error_of

MakeClient = Callable[..., Client]


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run, a study with one objective and one with two."""
    root = tmp_path_factory.mktemp("studies")
    make_run(root / "run")
    StudyMaker(root / "one", limit=12, with_runs=True).run(12)
    StudyMaker(root / "front", limit=4, objectives=["mae", "parameters"]).run(4)
    return root


def test_studies_are_listed_among_runs_with_trials_and_best_value(studies: Path, make_client: MakeClient) -> None:
    listed = {run["name"]: run for run in make_client(studies).get("/api/runs").json()["runs"]}
    assert {name: run["kind"] for name, run in listed.items()} == {"run": "run", "one": "study", "front": "study"}
    one = listed["one"]
    assert set(one) == set(listed["run"])
    assert (one["state"], one["step"], one["total_steps"]) == ("finished", 12, 12)
    assert (one["model"], one["metric"], one["data"], one["horizon"]) == ("mlp", "mae", "sales.csv", 7)
    values = [trial["values"]["mae"] for trial in details(make_client(studies), "one")["trials"]]
    assert one["best"] == min(values)


def details(client: Client, name: str) -> dict:
    reply = client.get(f"/api/studies/{ids(client)[name]}")
    assert reply.status == 200
    return reply.json()


def test_study_that_is_named_itself_is_shown(studies: Path, make_client: MakeClient) -> None:
    listed = make_client(studies / "one").get("/api/runs").json()["runs"]
    assert [(run["name"], run["kind"]) for run in listed] == [("one", "study")]


def test_details_have_trials_space_limits_and_how_is_searched(studies: Path, make_client: MakeClient) -> None:
    shown = details(make_client(studies), "one")
    assert [trial["number"] for trial in shown["trials"]] == list(range(12))
    assert shown["trials"][0]["origin"] == "defaults"
    assert shown["trials"][0]["values"] == error_of(shown["trials"][0]["settings"])
    assert shown["limits"] == {"trials": 12}
    assert (shown["method"], shown["pruner"], shown["storage"], shown["note"]) == ("random", "median", "journal", "")
    assert {"setting": RATE, "values": "1e-05 to 0.1 (logarithmic)", "only": []} in shown["space"]
    assert shown["course"][-1] == shown["best"]
    assert shown["counts"] == {"complete": 12}
    front = details(make_client(studies), "front")
    assert front["best_trial"] in front["front"]


def test_runs_of_trials_are_found_by_their_ids_and_name_their_study(studies: Path, make_client: MakeClient) -> None:
    client = make_client(studies)
    (run,) = details(client, "one")["trials"][5]["runs"]
    shown = client.get(f"/api/runs/{run['id']}").json()
    assert shown["name"] == run["name"] == "00005"
    assert shown["study"] == {"id": ids(client)["one"], "name": "one"}
    assert client.get(f"/api/runs/{run['id']}/history").status == 200
    assert client.get(f"/api/runs/{ids(client)['run']}").json()["study"] is None
    assert "00005" not in ids(client)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("convergence", 200),
        ("importances", 200),
        ("parallel-coordinates", 200),
        (f"slice-{RATE}", 200),
        (f"partial-dependence-{RATE}", 200),
        (f"contour-{RATE},{WIDTH}", 200),
        ("contour-a,b", 404),
        ("pareto-front", 404),
        ("..%2F..%2Fstudy.json", 404),
    ],
)
def test_figures_are_drawn_or_refused(studies: Path, make_client: MakeClient, name: str, status: int) -> None:
    client = make_client(studies)
    reply = client.get(f"/api/studies/{ids(client)['one']}/figures/{name}")
    assert reply.status == status
    if status == 200:
        assert reply.json()["data"]
        assert reply.json()["alt_text"]


def test_best_settings_are_toml_of_a_run(studies: Path, make_client: MakeClient) -> None:
    from neuro_divergent.forecasting.run_config import RunConfig

    client = make_client(studies)
    shown, key = details(client, "one"), ids(client)["one"]
    best = client.get(f"/api/studies/{key}/settings").json()
    assert best["trial"] == shown["best_trial"]
    config = RunConfig.from_toml(best["toml"])
    assert config.training.optimizer.lr == shown["trials"][best["trial"]]["settings"][RATE]
    assert client.get(f"/api/studies/{key}/settings?trial=3").json()["trial"] == 3
    assert client.get(f"/api/studies/{key}/settings?trial=99").status == 404


def test_reading_a_study_changes_nothing(studies: Path, make_client: MakeClient) -> None:
    before = tree_digest(studies)
    client = make_client(studies)
    key = ids(client)["one"]
    for part in ("", "/figures", "/figures/importances", "/settings", "/stream"):
        assert client.get(f"/api/studies/{key}{part}").status == 200
    assert tree_digest(studies) == before


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"format": 99}', b'{"format": 1}', b'{"format": 1, "name": "x", "config": {"run": 1}}'],
)
def test_damaged_study_is_listed_and_says_that_it_cannot_be_read(
    tmp_path: Path, make_client: MakeClient, content: bytes
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.json").write_bytes(content)
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert (row["state"], row["kind"]) == ("damaged", "study")
    assert row["message"]
    reply = client.get(f"/api/studies/{row['id']}")
    assert reply.status == 404
    assert "cannot be read" in reply.json()["detail"]


def test_links_in_a_study_are_not_followed(tmp_path: Path, make_client: MakeClient) -> None:
    other = StudyMaker(tmp_path / "elsewhere" / "other", with_runs=True).run(2)
    made = StudyMaker(tmp_path / "shown" / "study").run(1)
    (made.directory / "journal.log").unlink()
    (made.directory / "journal.log").symlink_to(other.directory / "journal.log")
    (made.directory / "trials").symlink_to(other.directory / "trials")
    (tmp_path / "shown" / "linked").symlink_to(other.directory)
    (tmp_path / "shown" / "half").mkdir()
    (tmp_path / "shown" / "half" / "study.json").symlink_to(other.directory / "study.json")
    client = make_client(tmp_path / "shown")
    assert "linked" not in ids(client)
    assert details(client, "study")["trials"] == []
    assert client.get(f"/api/studies/{ids(client)['half']}").status == 404
    assert client.get(f"/api/runs/{id_of(made.directory / 'trials' / '00000')}").status == 404


def test_study_in_a_database_elsewhere_says_so_and_shows_its_runs(tmp_path: Path, make_client: MakeClient) -> None:
    made = StudyMaker(tmp_path / "study", with_runs=True).run(2)
    document = json.loads((made.directory / "study.json").read_text())
    document["config"]["storage"] = "postgresql://somebody@database.example/studies"
    (made.directory / "study.json").write_text(json.dumps(document))
    shown = details(make_client(tmp_path), "study")
    assert "postgresql://somebody@database.example/studies" in shown["note"]
    assert [trial["number"] for trial in shown["trials"]] == [0, 1]


def test_stream_of_a_study_sends_trials_as_they_end_and_ends_with_the_study(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study", limit=3)
    number = made.begin()
    lock = RunLock(made.directory / "locks" / f"{number:05d}")
    lock.path.parent.mkdir(exist_ok=True)
    with served(tmp_path) as port:
        with lock:
            stream = Stream(port, f"/api/studies/{id_of(made.directory)}/stream")
            first = stream.wait_for("trials").data
            assert [(trial["number"], trial["state"]) for trial in first["trials"]] == [(0, "running")]
            assert first["row"]["state"] == "running"
            made.study.store.complete(0, error_of(first["trials"][0]["settings"]))
            then = stream.wait_for("trials").data
            assert [(trial["number"], trial["state"]) for trial in then["trials"]] == [(0, "complete")]
            assert then["best_trial"] == 0
            begun = time.time()
            made.run(3)
        rest = stream.rest()
        assert {trial["number"] for event in rest if event.name == "trials" for trial in event.data["trials"]} == {1, 2}
        assert rest[-1].name == "end"
        assert rest[-1].time > begun
