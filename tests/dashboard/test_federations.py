"""What the routes answer about federations, and that nothing of one is written or followed out of its directory."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.federation_maker import PRIVACY, FederationMaker
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream, served
from tests.unit.federated.tables import federation as small_federation

MakeClient = Callable[..., Client]


@pytest.fixture(scope="module")
def federations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run, a federation that trained, one with absent clients and one with privacy."""
    root = tmp_path_factory.mktemp("federations")
    make_run(root / "run")
    small_federation(3).fit(run=root / "trained")
    FederationMaker(
        root / "shops", dropped={3: ["west"]}, refused={5: {"east": "an update with norm 12"}}
    ).make().score()
    FederationMaker(root / "private", privacy=PRIVACY).make(6)
    return root


def details(client: Client, name: str) -> dict[str, Any]:
    reply = client.get(f"/api/federations/{ids(client)[name]}")
    assert reply.status == 200
    found: dict[str, Any] = reply.json()
    return found


def test_federations_are_listed_among_runs_with_rounds_and_loss(federations: Path, make_client: MakeClient) -> None:
    listed = {run["name"]: run for run in make_client(federations).get("/api/runs").json()["runs"]}
    kinds = {name: run["kind"] for name, run in listed.items()}
    assert kinds == {"run": "run", "trained": "federation", "shops": "federation", "private": "federation"}
    trained = listed["trained"]
    assert set(trained) == set(listed["run"])
    assert (trained["state"], trained["step"], trained["total_steps"]) == ("finished", 3, 3)
    assert (trained["model"], trained["data"], trained["horizon"]) == ("nlinear", "3 clients", 4)
    assert trained["best"] == details(make_client(federations), "trained")["rounds"][-1]["loss"]
    private = listed["private"]
    assert (private["state"], private["step"], private["best"], private["metric"]) == ("interrupted", 6, None, None)


def test_list_is_sorted_filtered_and_searched_with_federations_in_it(
    federations: Path, make_client: MakeClient
) -> None:
    client = make_client(federations)
    for query in ("sort=best", "sort=step", "sort=time", "sort=model", "sort=state", "sort=name"):
        assert client.get(f"/api/runs?{query}").json()["total"] == 4
    found = client.get("/api/runs?search=clients&sort=name&order=asc").json()["runs"]
    assert [run["name"] for run in found] == ["private", "shops", "trained"]
    assert [run["name"] for run in client.get("/api/runs?state=interrupted").json()["runs"]] == ["private"]


def test_federation_that_is_named_itself_is_shown(federations: Path, make_client: MakeClient) -> None:
    listed = make_client(federations / "shops").get("/api/runs").json()["runs"]
    assert [(run["name"], run["kind"]) for run in listed] == [("shops", "federation")]


def test_details_have_rounds_settings_and_how_far_it_is(federations: Path, make_client: MakeClient) -> None:
    shown = details(make_client(federations), "shops")
    assert [item["round"] for item in shown["rounds"]] == list(range(1, 13))
    third, fifth = shown["rounds"][2], shown["rounds"][4]
    assert (third["participants"], third["dropped"]) == (3, {"number": 1, "names": ["west"]})
    assert fifth["refused"] == {"number": 1, "reasons": [["east", "an update with norm 12"]]}
    assert shown["settings"]["federation"]["rounds"] == 12
    assert "[federation]" in shown["config"]
    assert (shown["aggregation"], shown["num_clients"], shown["privacy"]) == ("fedavg", 4, None)
    assert (shown["bytes_down"], shown["has_scores"], shown["damaged"]) == (12 * 6000, True, [])
    private = details(make_client(federations), "private")["privacy"]
    assert (private["budget"], private["charges"], private["noise_multiplier"]) == (8.0, 6, 2.0)


def test_names_of_many_clients_are_not_sent_with_every_round(tmp_path: Path, make_client: MakeClient) -> None:
    names = [f"client-{place:04d}" for place in range(500)]
    FederationMaker(tmp_path / "many", clients=names, dropped={1: names[:400]}).make(2)
    first = details(make_client(tmp_path), "many")["rounds"][0]
    assert first["dropped"]["number"] == 400
    assert first["dropped"]["names"] == names[:20]
    assert first["participants"] == 100


def test_clients_are_listed_with_what_they_did_and_their_scores(federations: Path, make_client: MakeClient) -> None:
    client = make_client(federations)
    found = client.get(f"/api/federations/{ids(client)['shops']}/clients").json()
    west = next(item for item in found["clients"] if item["name"] == "west")
    assert (west["participated"], west["dropped"], west["last_round"]) == (11, 1, 12)
    assert len(found["scores"]) == 12
    trained = client.get(f"/api/federations/{ids(client)['trained']}/clients").json()
    assert [item["participated"] for item in trained["clients"]] == [3, 3, 3]


@pytest.mark.parametrize(
    ("federation", "names"),
    [("shops", ["loss", "participation", "norms"]), ("private", ["participation", "norms", "budget"])],
)
def test_figures_are_listed_and_drawn(
    federations: Path, make_client: MakeClient, federation: str, names: list[str]
) -> None:
    client = make_client(federations)
    place = f"/api/federations/{ids(client)[federation]}/figures"
    assert client.get(place).json() == {"figures": names}
    for name in names:
        reply = client.get(f"{place}/{name}")
        assert reply.status == 200
        assert reply.json()["data"]
        assert reply.json()["alt_text"]
    for name in ("nothing", "..%2F..%2Ffederation.json"):
        assert client.get(f"{place}/{name}").status == 404


def test_routes_of_runs_and_studies_do_not_answer_for_federations(federations: Path, make_client: MakeClient) -> None:
    client = make_client(federations)
    found = ids(client)
    for place in ("runs", "studies"):
        assert client.get(f"/api/{place}/{found['shops']}").status == 404
    assert client.get(f"/api/federations/{found['run']}").status == 404
    assert client.get("/api/federations/0123456789abcdef").status == 404


def test_reading_a_federation_changes_nothing(federations: Path, make_client: MakeClient) -> None:
    before = tree_digest(federations)
    client = make_client(federations)
    key = ids(client)["shops"]
    for part in ("", "/clients", "/figures", "/figures/loss", "/stream"):
        assert client.get(f"/api/federations/{key}{part}").status == 200
    assert tree_digest(federations) == before


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 99}', b'{"format": 1, "config": {"model": 3}}'])
def test_damaged_federation_is_listed_and_its_rounds_are_shown(
    tmp_path: Path, make_client: MakeClient, content: bytes
) -> None:
    made = FederationMaker(tmp_path / "run").make(2)
    (made.path / "federation.json").write_bytes(content)
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert (row["state"], row["kind"], row["step"]) == ("damaged", "federation", 2)
    assert row["message"]
    shown = details(client, "run")
    assert len(shown["rounds"]) == 2
    assert shown["damaged"] == ["federation.json"]
    for part in ("/clients", "/figures", "/figures/loss"):
        assert client.get(f"/api/federations/{row['id']}{part}").status == 200


def test_links_in_and_to_a_federation_are_not_followed(tmp_path: Path, make_client: MakeClient) -> None:
    other = FederationMaker(tmp_path / "elsewhere").make(4)
    made = FederationMaker(tmp_path / "shown" / "run").make(1)
    (made.path / "rounds.jsonl").unlink()
    (made.path / "rounds.jsonl").symlink_to(other.path / "rounds.jsonl")
    (made.path / "scores.json").symlink_to(other.path / "federation.json")
    (tmp_path / "shown" / "linked").symlink_to(other.path)
    client = make_client(tmp_path / "shown")
    assert list(ids(client)) == ["run"]
    assert details(client, "run")["rounds"] == []


def test_new_rounds_are_shown_the_next_time(tmp_path: Path, make_client: MakeClient) -> None:
    made = FederationMaker(tmp_path / "run")
    client = make_client(tmp_path)
    with made.opened("finished"):
        made.run(1)
        assert details(client, "run")["state"] == "running"
        made.run(3)
        assert len(details(client, "run")["rounds"]) == 3
        made.run(12)
    shown = details(client, "run")
    assert (shown["state"], shown["step"], len(shown["rounds"])) == ("finished", 12, 12)


def test_stream_sends_rounds_as_they_end_and_ends_with_the_federation(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", rounds=3)
    with served(tmp_path) as port:
        with made.opened("finished"):
            made.run(1)
            stream = Stream(port, f"/api/federations/{id_of(made.path)}/stream")
            first = stream.wait_for("rounds").data
            assert [item["round"] for item in first["rounds"]] == [1]
            assert (first["row"]["state"], first["row"]["step"]) == ("running", 1)
            made.run(2)
            then = stream.wait_for("rounds").data
            assert [item["round"] for item in then["rounds"]] == [2]
            assert then["num_clients"] == 4
            begun = time.time()
            made.run(3)
        rest = stream.rest()
        assert {item["round"] for event in rest if event.name == "rounds" for item in event.data["rounds"]} == {3}
        assert rest[-2].data["row"]["state"] == "finished"
        assert rest[-1].name == "end"
        assert rest[-1].time > begun
