"""What each route answers about real run directories."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.live import LiveHistories, thin
from neuro_divergent.interfaces.dashboard.speed import read_speed
from neuro_divergent.runs.history_reader import read_history
from tests.dashboard.client import TOKEN, Client
from tests.dashboard.conftest import ids
from tests.dashboard.run_maker import line, make_run, processes, row, start

MakeClient = Callable[..., Client]

ROW = {
    "kind", "id", "name", "state", "message", "step", "total_steps", "phase", "quiet", "time", "model", "data",
    "horizon", "metric", "best", "score", "seconds_left", "samples_per_second",
}  # fmt: skip


def test_the_list_has_all_runs_the_latest_first(client: Client) -> None:
    listed = client.get("/api/runs").json()
    assert (listed["total"], listed["counts"]) == (3, {"finished": 2, "interrupted": 1})
    assert set(listed["runs"][0]) == ROW
    assert {run["name"] for run in listed["runs"]} == {"first", "second", "third"}
    times = [run["time"] for run in listed["runs"]]
    assert times == sorted(times, reverse=True)
    assert len({run["id"] for run in listed["runs"]}) == 3
    assert all(len(run["id"]) == 16 and int(run["id"], 16) >= 0 for run in listed["runs"])


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("sort=name&order=asc", ["first", "second", "third"]),
        ("sort=name&order=desc", ["third", "second", "first"]),
        ("sort=best&order=asc", ["second", "first", "third"]),
        ("sort=model&order=desc", ["second", "first", "third"]),
        ("sort=state&order=desc&state=interrupted,finished", ["third", "first", "second"]),
        ("search=SEC", ["second"]),
        ("search=patch", ["second"]),
        ("search=sales first", ["first"]),
        ("search=nothing", []),
        ("state=interrupted", ["third"]),
        ("state=running", []),
        ("sort=name&order=asc&offset=1&limit=1", ["second"]),
        ("sort=name&order=asc&offset=3", []),
    ],
)
def test_the_list_is_searched_sorted_and_cut(client: Client, query: str, names: list[str]) -> None:
    listed = client.get("/api/runs?" + quote(query, safe="=&,")).json()
    assert [run["name"] for run in listed["runs"]] == names
    assert listed["total"] == (3 if "offset" in query else len(names))
    assert listed["counts"] == {"finished": 2, "interrupted": 1}


@pytest.mark.parametrize("query", ["sort=size", "order=up", "limit=0", "limit=1001", "offset=-1", "offset=x"])
def test_wrong_query_parameters_are_named(client: Client, query: str) -> None:
    reply = client.get("/api/runs?" + query)
    assert reply.status == 422
    assert reply.json()["detail"].startswith(query.split("=")[0] + ": ")


def test_unknown_values_come_last_in_either_order(runs: Path, client: Client) -> None:
    (runs / "first" / "checkpoints" / "best.json").unlink()
    for order in ("asc", "desc"):
        listed = client.get(f"/api/runs?sort=best&order={order}").json()["runs"]
        assert [run["best"] is None for run in listed] == [False, False, True]


def test_a_single_run_can_be_shown(runs: Path, make_client: MakeClient) -> None:
    listed = make_client(runs / "first").get("/api/runs").json()["runs"]
    assert [run["name"] for run in listed] == ["first"]


def test_a_directory_that_is_not_there_has_no_runs(tmp_path: Path, make_client: MakeClient) -> None:
    client = make_client(tmp_path / "later")
    assert client.get("/api/runs").json() == {"total": 0, "counts": {}, "runs": []}
    make_run(tmp_path / "later" / "first")
    time.sleep(1.05)
    assert client.get("/api/runs").json()["total"] == 1


def test_details_of_a_run_list_its_parts(runs: Path, client: Client) -> None:
    run = ids(client)["first"]
    shown = client.get(f"/api/runs/{run}").json()
    assert set(shown) >= ROW | {
        "path",
        "checkpoints",
        "quarantined",
        "damaged",
        "config",
        "environment",
        "scores",
        "notes",
    }
    assert shown["path"] == str(runs / "first")
    assert shown["config"] == (runs / "first" / "config.toml").read_text()
    assert shown["data"] == {"rows": 100, "series": 2}
    assert shown["data_path"] == "sales.csv"
    assert shown["environment"]["cores"] == 2
    assert shown["scores"]["scores"][0]["mae"] == 1.5
    assert shown["notes"] == ["A note."]
    assert shown["can_control"] is False
    assert [(item["step"], item["is_best"], item["is_complete"]) for item in shown["checkpoints"]] == [(40, True, True)]
    assert shown["has"] == {"forecasts": True, "backtest": True, "diagnosis": False, "layers": True, "report": True}
    bare = client.get(f"/api/runs/{ids(client)['third']}").json()
    assert (bare["scores"], bare["has"]["forecasts"], bare["notes"]) == (None, False, [])


def test_an_unknown_run_is_not_found(client: Client) -> None:
    for target in (
        "",
        "/history",
        "/stream",
        "/series",
        "/forecast",
        "/figures",
        "/diagnosis",
        "/log",
        "/report",
        "/processes",
    ):
        reply = client.get(f"/api/runs/0123456789abcdef{target}")
        assert (reply.status, reply.json()) == (404, {"detail": "There is no such run here."})


def test_run_in_training_has_its_speed(tmp_path: Path, make_client: MakeClient) -> None:
    run = make_run(tmp_path / "runs" / "live", state="running", steps=200)
    client = make_client(tmp_path / "runs")
    with RunLock(run / "lock"):
        (listed,) = client.get("/api/runs").json()["runs"]
        assert (listed["state"], listed["step"], listed["total_steps"]) == ("running", 200, 1000)
        assert listed["samples_per_second"] == 320.0
        assert listed["seconds_left"] == pytest.approx(800 * 0.1)  # rows are 0.1 seconds apart
        assert client.get(f"/api/runs/{listed['id']}").json()["can_control"] is True
    time.sleep(0.45)
    assert client.get(f"/api/runs/{id_of(run)}").json()["state"] == "killed"


def test_speed_is_that_of_the_last_start(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    slow = [row(step) for step in range(1, 20)]
    fast = [row(step, time=1_800_000_000 + step * 0.01) for step in range(11, 30)]
    (run / "events.jsonl").write_text("".join(map(line, [start(), *slow, start(10), *fast])) + '{"event":"row"')
    assert read_speed(run).steps_per_second == pytest.approx(100.0)
    assert read_speed(tmp_path).steps_per_second is None
    (run / "events.jsonl").write_text(line(row(1)) + line(row(2, time=1_700_000_000.1)))
    assert read_speed(run).steps_per_second is None  # no time passed


def test_the_history_is_that_of_the_events(runs: Path, client: Client) -> None:
    run = ids(client)["first"]
    found = client.get(f"/api/runs/{run}/history").json()
    assert (found["rows"], found["seconds"]) == (40, 4.0)
    assert found["offset"] == (runs / "first" / "events.jsonl").stat().st_size
    assert found["columns"]["train_loss"] == {"step": list(range(1, 41)), "value": [1 / step for step in range(1, 41)]}
    assert found["columns"]["validation_loss"] == {"step": [40], "value": [0.25]}
    assert set(found["columns"]) == set(found["available"])
    part = client.get(f"/api/runs/{run}/history?columns=train_loss,nothing&begin=10&end=12").json()["columns"]
    assert part == {"train_loss": {"step": [10, 11, 12], "value": [1 / 10, 1 / 11, 1 / 12]}}


def test_the_history_grows_and_takes_back(runs: Path, client: Client) -> None:
    path, run = runs / "third", ids(client)["third"]
    client.get(f"/api/runs/{run}/history")
    chance = np.random.default_rng(0)
    step = 40
    for _ in range(80):
        kind = chance.integers(4)
        if kind == 0:
            step = int(chance.integers(0, step + 1))
            event = {"event": str(chance.choice(["start", "rolled_back"])), "time": 1.0, "step": step}
            last: list[dict[str, object]] = [{}, {"last_row": max(step - 2, 0)}, {"last_row": None}, {"last_row": "x"}]
            text = line({**event, **last[chance.choice(4, p=[0.5, 0.4, 0.05, 0.05])]})
        elif kind == 1:
            text = '{"event":"row","time":1.0,"step":' + "\n"  # torn
        else:
            step += 1
            text = line(row(step, **({"validation_extra": 1.5} if kind == 2 else {})))
        with (path / "events.jsonl").open("a") as file:
            file.write(text)
        found = client.get(f"/api/runs/{run}/history?points=10000").json()
        expected = read_history(path)
        assert found["rows"] == expected.height
        assert found["columns"]["train_loss"]["step"] == expected["step"].to_list()
        assert found["columns"]["train_loss"]["value"] == expected["train_loss"].to_list()


def test_the_kept_table_is_continued_by_the_events(runs: Path, client: Client) -> None:
    path, run = runs / "first", ids(client)["first"]
    time.sleep(0.01)
    read_history(path).write_parquet(path / "history.parquet")
    found = client.get(f"/api/runs/{run}/history").json()
    assert found["rows"] == 40
    with (path / "events.jsonl").open("a") as file:
        file.write(line(start(30)) + line(row(31)))
    found = client.get(f"/api/runs/{run}/history?columns=train_loss").json()
    assert found["columns"]["train_loss"]["step"] == list(range(1, 32))


def test_a_thinned_column_keeps_ends_and_extremes() -> None:
    chance = np.random.default_rng(1)
    values = chance.normal(size=100_000)
    values[777], values[54_321], values[5] = -50.0, 50.0, math.nan
    frame = pl.DataFrame({"step": np.arange(100_000), "loss": values})
    for points in (5, 100, 1000):
        found = thin(frame, "loss", points)
        assert len(found["step"]) <= points
        assert {0, 777, 54_321, 99_999} <= set(found["step"])
        assert found["step"] == sorted(set(found["step"]))
        assert all(values[step] == value for step, value in zip(found["step"], found["value"], strict=True))


def test_few_large_histories_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.interfaces.dashboard.live._MOST_ROWS", 100)
    histories = LiveHistories()
    for number in range(5):
        histories.read(make_run(tmp_path / str(number), steps=40))
    assert [path.name for path in histories._kept] == ["3", "4"]
    assert histories.read(tmp_path / "0")[0].height == 40


def test_many_may_read_a_history_at_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", steps=2000)
    histories = LiveHistories()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(histories.read(run)[0].height)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2000] * 8


def test_log_leaves_out_rows_and_norms(runs: Path, client: Client) -> None:
    path, run = runs / "first", ids(client)["first"]
    events = client.get(f"/api/runs/{run}/log").json()["events"]
    assert [event["event"] for event in events] == ["start", "checkpoint", "end"]
    assert "layers" not in events[0]
    with (path / "events.jsonl").open("a") as file:
        file.write(line({"event": "failed", "time": 9.0, "step": 40, "message": "disk"}) + line(row(41)))
    assert [event["event"] for event in client.get(f"/api/runs/{run}/log?limit=2").json()["events"]] == [
        "end",
        "failed",
    ]


def test_series_are_found_and_shown(runs: Path, client: Client) -> None:
    make_run(runs / "many", series=tuple(f"Store {number}" for number in range(120)))
    time.sleep(1.05)
    run = ids(client)["many"]
    found = client.get(f"/api/runs/{run}/series").json()
    assert (found["total"], len(found["series"]), found["series"][0]) == (120, 50, "Store 0")
    assert client.get(f"/api/runs/{run}/series?search=sToRe%201&offset=10&limit=2").json() == {
        "total": 31,
        "series": ["Store 19", "Store 100"],
    }
    assert client.get(f"/api/runs/{run}/series?search=.*").json()["total"] == 0
    shown = client.get(f"/api/runs/{run}/forecast?series=Store%2019").json()
    assert shown["series"] == "Store 19"
    assert shown["rows"][0] == {"time": "2024-01-31T00:00:00", "forecast": 0.1, "lo-80": -1.0, "hi-80": 1.0}
    assert len(shown["rows"]) == 6
    assert shown["figure"]["data"]
    assert shown["figure"]["layout"]
    assert client.get(f"/api/runs/{run}/forecast?series=Store").status == 404
    assert client.get(f"/api/runs/{run}/forecast").json()["series"] == "Store 0"
    assert client.get(f"/api/runs/{ids(client)['third']}/forecast").status == 404


def test_a_series_without_a_name_is_shown(tmp_path: Path, make_client: MakeClient) -> None:
    path = make_run(tmp_path / "runs" / "single", series=("A",))
    config = (path / "config.toml").read_text()
    (path / "config.toml").write_text(config.replace('id = "store"\n', ""))
    for file in ("context.parquet", "backtest.parquet"):
        pl.read_parquet(path / file).drop("store").write_parquet(path / file)
    forecasts = [text.partition(",")[2] for text in (path / "forecasts.csv").read_text().splitlines()]
    (path / "forecasts.csv").write_text("\n".join(forecasts))
    client = make_client(tmp_path / "runs")
    run = ids(client)["single"]
    assert client.get(f"/api/runs/{run}/series").json() == {"total": 1, "series": ["y"]}
    assert len(client.get(f"/api/runs/{run}/forecast?series=y").json()["rows"]) == 6
    assert client.get(f"/api/runs/{run}/forecast?series=z").status == 404


def test_figures_that_are_listed_can_be_drawn(runs: Path, client: Client) -> None:
    run = ids(client)["first"]
    listed = client.get(f"/api/runs/{run}/figures").json()["figures"]
    names = {figure["name"] for figure in listed}
    assert {"loss", "rate", "gradient", "speed", "scores", "residuals", "error-by-step", "gradient-flow"} <= names
    assert {figure["group"] for figure in listed} <= {"training", "evaluation", "diagnostics", "model"}
    for name in names:
        drawn = client.get(f"/api/runs/{run}/figures/{name}")
        assert drawn.status == 200
        assert set(drawn.json()) == {"data", "layout", "note", "alt_text"}
    few = {figure["name"] for figure in client.get(f"/api/runs/{ids(client)['third']}/figures").json()["figures"]}
    assert "scores" not in few
    assert "loss" in few
    assert client.get(f"/api/runs/{ids(client)['third']}/figures/scores").status == 404
    assert client.get(f"/api/runs/{run}/figures/nothing").status == 404


def test_figures_follow_the_files(runs: Path, client: Client) -> None:
    run = ids(client)["third"]
    assert client.get(f"/api/runs/{run}/figures/scores").status == 404
    shutil.copy(runs / "first" / "scores.json", runs / "third" / "scores.json")
    assert client.get(f"/api/runs/{run}/figures/scores").status == 200


def test_diagnosis_is_the_file_or_computed_again(runs: Path, client: Client) -> None:
    run = ids(client)["first"]
    made = client.get(f"/api/runs/{run}/diagnosis").json()
    assert set(made) >= {"findings", "checked", "not_checked"}
    (runs / "first" / "diagnosis.json").write_text(json.dumps({"findings": [], "checked": ["kept"], "not_checked": []}))
    assert client.get(f"/api/runs/{run}/diagnosis").json()["checked"] == ["kept"]
    with RunLock(runs / "first" / "lock"):
        time.sleep(0.45)
        assert client.get(f"/api/runs/{run}/diagnosis").json()["checked"] != ["kept"]


def test_runs_are_compared(client: Client) -> None:
    first, second, third = (ids(client)[name] for name in ("first", "second", "third"))
    found = client.get(f"/api/compare?ids={first},{second},{third}&column=train_loss&points=10").json()
    assert [run["id"] for run in found["runs"]] == [first, second, third]
    assert found["differences"] == [
        {"setting": "model.name", "values": ["nhits", "patchtst", "nhits"]},
        {"setting": "training.optimizer.lr", "values": [0.001, 0.01, 0.001]},
    ]
    assert list(found["histories"]) == [first, second, third]
    assert len(found["histories"][first]["step"]) <= 10
    assert [score.get("mae") for score in found["scores"]] == [1.5, 1.0, None]
    assert client.get(f"/api/compare?ids={first},{second}").json()["histories"][first] == {
        "step": [40],
        "value": [0.25],
    }
    empty = client.get(f"/api/compare?ids={first},{second}&column=nothing").json()["histories"]
    assert empty[first] == {"step": [], "value": []}
    for wrong in (first, f"{first},{first}", "", ",".join(f"{number:016x}" for number in range(9))):
        assert client.get(f"/api/compare?ids={wrong}").status == 422
    assert client.get(f"/api/compare?ids={first},0123456789abcdef").status == 404
    assert client.get("/api/compare").status == 422


@pytest.mark.parametrize("control", ["stop", "checkpoint"])
def test_control_requests_reach_runs_in_training(runs: Path, client: Client, control: str) -> None:
    run = ids(client)["third"]
    reply = client.post(f"/api/runs/{run}/{control}", token=TOKEN)
    assert reply.status == 409
    assert "interrupted" in reply.json()["detail"]
    assert not (runs / "third" / "control").exists()
    with RunLock(runs / "third" / "lock"):
        time.sleep(0.45)
        for _ in range(2):
            assert client.post(f"/api/runs/{run}/{control}", token=TOKEN).status == 202
        assert [path.name for path in (runs / "third" / "control").iterdir()] == [control]
    assert client.post(f"/api/runs/0123456789abcdef/{control}", token=TOKEN).status == 404


def test_the_page_and_its_files_are_served(client: Client) -> None:
    page = client.get("/")
    assert page.status == 200
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert page.body.startswith(b"<!doctype html>")
    plotly = client.get("/static/plotly.min.js")
    assert plotly.header("content-type") == "text/javascript; charset=utf-8"
    assert len(plotly.body) > 1_000_000
    tag = plotly.header("etag")
    assert tag is not None
    again = client.get("/static/plotly.min.js", headers=[("if-none-match", tag)])
    assert (again.status, again.body) == (304, b"")
    for name in ("nothing.js", "__init__.py", "..", "index.html/", "INDEX.HTML"):
        assert client.get(f"/static/{name}").status == 404


@pytest.mark.long
def test_a_real_training_is_shown_and_stopped(tmp_path: Path, make_client: MakeClient) -> None:
    days = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 4, 29), "1d", eager=True)
    pl.DataFrame({"ds": days, "y": [float(day % 7) for day in range(120)]}).write_csv(tmp_path / "sales.csv")
    command = [
        sys.executable, "-m", "neuro_divergent.interfaces.cli.main", "train", "sales.csv", "--horizon", "7",
        "--model", "dlinear", "--output", "runs/real", "--max-steps", "1000000", "--quiet",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    client = make_client(tmp_path / "runs", token=TOKEN)
    try:
        end = time.monotonic() + 60
        found: dict[str, object] = {}
        while time.monotonic() < end and process.poll() is None:
            listed = client.get("/api/runs").json()["runs"]
            if listed:
                found = client.get(f"/api/runs/{listed[0]['id']}/history").json()
                if found["rows"]:
                    break
            time.sleep(0.2)
        assert found.get("rows"), process.poll()
        (run,) = listed
        shown = client.get(f"/api/runs/{run['id']}").json()
        assert (shown["state"], shown["model"], shown["can_control"]) == ("running", "dlinear", True)
        assert client.post(f"/api/runs/{run['id']}/checkpoint").status == 202
        assert client.post(f"/api/runs/{run['id']}/stop").status == 202
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    time.sleep(0.45)
    log = [event["event"] for event in client.get(f"/api/runs/{run['id']}/log").json()["events"]]
    assert log[0] == "start"
    assert log.count("control") == 2
    assert log[-1] == "end"
    shown = client.get(f"/api/runs/{run['id']}").json()
    assert (shown["state"], shown["can_control"]) == ("finished", False)
    (name,) = client.get(f"/api/runs/{run['id']}/series").json()["series"]
    assert client.get(f"/api/runs/{run['id']}/forecast?series={quote(name)}").json()["rows"]


def test_processes_of_a_run_and_the_slow_one_among_them(tmp_path: Path, make_client: MakeClient) -> None:
    run = make_run(tmp_path / "runs" / "two")
    client = make_client(tmp_path / "runs")
    path = f"/api/runs/{ids(client)['two']}"
    assert client.get(f"{path}/processes").json() == {"processes": [], "stragglers": []}
    assert client.get(f"{path}/figures/processes").status == 404
    with (run / "events.jsonl").open("a") as file:
        file.write("".join(line(processes(step, 0.02, 0.036, host="<b>")) for step in (41, 42, 43)))
    shown = client.get(f"{path}/processes").json()
    assert [(item["rank"], item["host"], item["is_straggler"]) for item in shown["processes"]] == [
        (0, "<b>", False), (1, "<b>", True),
    ]  # fmt: skip
    assert shown["stragglers"] == [
        "Process 1 on host <b> takes 1.8 times as long per step as the others, which wait for it."
    ]
    assert "process 1 on &lt;b&gt;" in client.get(f"{path}/figures/processes").body.decode()
    assert not any(event["event"] == "processes" for event in client.get(f"{path}/log").json()["events"])
    (run / "events.jsonl").write_text(line(start()))  # begun again
    assert client.get(f"{path}/processes").json()["processes"] == []
