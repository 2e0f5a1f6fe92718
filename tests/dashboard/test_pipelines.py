"""What the routes answer about pipelines, and that nothing of one is written or followed out of its directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.client import Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.pipeline_maker import PipelineMaker, broken, waiting
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream, served

MakeClient = Callable[..., Client]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a pipeline that finished and one that failed."""
    root = tmp_path_factory.mktemp("pipelines")
    PipelineMaker(root / "good").run()
    PipelineMaker(root / "bad", broken).run()
    return root


def details(client: Client, path: Path) -> dict[str, Any]:
    reply = client.get(f"/api/pipelines/{id_of(path)}")
    assert reply.status == 200
    found: dict[str, Any] = reply.json()
    return found


def give_run(pipeline: Path, stage: str = "clean") -> Path:
    """Put the directory of a run where the training of a stage would be."""
    stages = json.loads((pipeline / "stages.json").read_text())["stages"]
    key = next(item["key"] for item in stages if item["name"] == stage)
    return make_run(pipeline / "cache" / key / "work" / "run")


def test_pipelines_are_listed_with_their_stages(root: Path, make_client: MakeClient) -> None:
    listed = {run["name"]: run for run in make_client(root).get("/api/runs").json()["runs"]}
    good, bad = listed["good"], listed["bad"]
    assert (good["kind"], good["state"], good["step"], good["total_steps"]) == ("pipeline", "finished", 4, 4)
    assert (bad["state"], bad["step"]) == ("failed", 4)
    assert "price" in bad["message"]


def test_details_have_stages_edges_and_artefacts(root: Path, make_client: MakeClient) -> None:
    found = details(make_client(root), root / "good")
    assert [stage["name"] for stage in found["stages"]] == ["clean", "means", "check", "report"]
    assert {(edge["producer"], edge["stage"]) for edge in found["edges"]} == {
        ("data", "clean"), ("clean", "means"), ("clean", "check"), ("clean", "report"), ("means", "report"),
    }  # fmt: skip
    (output,) = found["stages"][0]["outputs"]
    assert (output["name"], output["kind"]) == ("table", "table")
    assert output["bytes"] > 0
    assert found["counts"] == {"done": 4}
    assert found["has_report"]


def test_failed_and_skipped_stages_say_why(root: Path, make_client: MakeClient) -> None:
    stages = {stage["name"]: stage for stage in details(make_client(root), root / "bad")["stages"]}
    assert stages["means"]["state"] == "failed"
    assert "the column 'price' is missing" in stages["means"]["message"]
    assert stages["report"]["state"] == "skipped"
    assert stages["check"]["state"] == "done"


def test_second_start_takes_everything_from_the_cache(tmp_path: Path, make_client: MakeClient) -> None:
    PipelineMaker(tmp_path / "pipe").run().run()
    assert details(make_client(tmp_path), tmp_path / "pipe")["counts"] == {"cached": 4}


def test_report_is_a_download(root: Path, make_client: MakeClient) -> None:
    reply = make_client(root).get(f"/api/pipelines/{id_of(root / 'good')}/report")
    assert reply.status == 200
    assert reply.header("content-type") == "application/octet-stream"
    assert reply.header("content-disposition") == 'attachment; filename="report.html"'
    assert b"<html" in reply.body


def test_training_of_a_stage_leads_to_its_run(tmp_path: Path, make_client: MakeClient) -> None:
    PipelineMaker(tmp_path / "pipe").run()
    run = give_run(tmp_path / "pipe")
    client = make_client(tmp_path)
    stages = details(client, tmp_path / "pipe")["stages"]
    assert [stage["run_id"] for stage in stages] == [id_of(run), None, None, None]
    assert list(ids(client)) == ["pipe"]
    assert client.get(f"/api/runs/{id_of(run)}").json()["path"] == str(run)


@pytest.mark.parametrize("key", ["../../../elsewhere", "..", "", "/", 7, None, "0" * 63 + "/"])
def test_key_that_is_none_never_becomes_a_path(tmp_path: Path, make_client: MakeClient, key: object) -> None:
    PipelineMaker(tmp_path / "shown" / "pipe").run()
    make_run(tmp_path / "elsewhere" / "work" / "run")
    make_run(tmp_path / "shown" / "pipe" / "work" / "run")
    place = tmp_path / "shown" / "pipe" / "stages.json"
    content = json.loads(place.read_text())
    for stage in content["stages"]:
        stage["key"] = key
    place.write_text(json.dumps(content))
    stages = details(make_client(tmp_path / "shown"), place.parent)["stages"]
    assert {stage["run_id"] for stage in stages} == {None}


def test_links_in_and_to_a_pipeline_are_not_followed(tmp_path: Path, make_client: MakeClient) -> None:
    made = PipelineMaker(tmp_path / "shown" / "pipe").run()
    other = PipelineMaker(tmp_path / "elsewhere").run()
    run = give_run(made.path)
    run.rename(tmp_path / "run")
    run.symlink_to(tmp_path / "run")
    (made.path / "report.html").unlink()
    (made.path / "report.html").symlink_to(other.path / "report.html")
    (tmp_path / "shown" / "linked").symlink_to(other.path)
    client = make_client(tmp_path / "shown")
    assert list(ids(client)) == ["pipe"]
    assert {stage["run_id"] for stage in details(client, made.path)["stages"]} == {None}
    assert client.get(f"/api/pipelines/{id_of(made.path)}/report").status == 404


def test_reading_a_pipeline_changes_nothing(root: Path, make_client: MakeClient) -> None:
    before = tree_digest(root)
    client = make_client(root)
    for rest in ("", "/report", "/stream"):
        assert client.get(f"/api/pipelines/{id_of(root / 'good')}{rest}").status == 200
    assert tree_digest(root) == before


@pytest.mark.parametrize("name", ["pipeline.json", "stages.json"])
@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"stages": 3}', b'{"stages": [{"name": []}], "edges": [[1]]}']
)
def test_damaged_pipeline_is_listed_and_shown(
    tmp_path: Path, make_client: MakeClient, name: str, content: bytes
) -> None:
    PipelineMaker(tmp_path / "pipe").run()
    (tmp_path / "pipe" / name).write_bytes(content)
    client = make_client(tmp_path)
    (row,) = client.get("/api/runs").json()["runs"]
    assert row["kind"] == "pipeline"
    assert client.get(f"/api/pipelines/{row['id']}").status == 200


def test_passwords_in_settings_are_not_shown(tmp_path: Path, make_client: MakeClient) -> None:
    made = PipelineMaker(tmp_path / "pipe").run()
    place = made.path / "pipeline.json"
    content = json.loads(place.read_text())
    content["stages"][0]["settings"] = {"location": "postgresql://me:secret@host/data"}
    content["settings"]["sources"] = {"data": "s3://key:secret@bucket/rows"}
    place.write_text(json.dumps(content))
    client = make_client(tmp_path)
    reply = client.get(f"/api/pipelines/{id_of(made.path)}")
    assert reply.json()["stages"][0]["settings"]["location"] == "postgresql://me@host/data"
    assert b"secret" not in client.get("/api/runs").body
    assert b"secret" not in reply.body


def test_stream_follows_the_stages(tmp_path: Path) -> None:
    gate = tmp_path / "go"
    made = PipelineMaker(tmp_path / "shown" / "pipe", waiting, gate=str(gate))
    thread = made.start()
    with served(tmp_path / "shown") as port:
        stream = Stream(port, f"/api/pipelines/{id_of(made.path)}/stream")
        row = stream.wait_for("changed").data["row"]
        while row["phase"] != "means":
            row = stream.wait_for("changed").data["row"]
        assert (row["state"], row["step"]) == ("running", 1)
        gate.touch()
        while row["state"] == "running":
            row = stream.wait_for("changed").data["row"]
        assert (row["state"], row["step"], row["phase"]) == ("finished", 4, None)
        stream.close()
    thread.join(10)
