"""Many runs, a very long one, and one of very many series."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.client import Client
from tests.dashboard.large_run import HORIZON, Kind, Look, forecast_of, look_at, make_large_run, name_of
from tests.dashboard.run_maker import line, make_run, row, start

MakeClient = Callable[..., Client]

ROWS = 1_000_000
_STAMPS = ("event", "time", "step")


def copies(root: Path, number: int) -> Path:
    """Make many runs without results."""
    first = make_run(root / "run-0000", results=False, state="interrupted")
    for index in range(1, number):
        # The files are one and the same, which is faster; but a lock that is held is held by one run.
        run = shutil.copytree(first, root / f"run-{index:04d}", copy_function=os.link, ignore=lambda *_: ["lock"])
        (run / "lock").touch()
    return root


def measured(client: Client, target: str) -> float:
    """Return the seconds of the processor that an answer takes; others may use the machine meanwhile."""
    begin = time.process_time()
    assert client.get(target).status == 200
    return time.process_time() - begin


def test_a_thousand_runs_are_listed_quickly(tmp_path: Path, make_client: MakeClient) -> None:
    client = make_client(copies(tmp_path / "runs", 1000))
    client.get("/")  # makes the application ready
    first = measured(client, "/api/runs?limit=100")
    time.sleep(1.05)
    again = min(measured(client, "/api/runs?limit=1000&sort=name"), measured(client, "/api/runs?limit=1000&sort=name"))
    time.sleep(1.05)
    looked = measured(client, "/api/runs?limit=100&search=run-01")
    assert first < 5.0
    assert again < 1.0
    assert looked < 2.0  # every file is looked at, and none is read
    with RunLock(tmp_path / "runs" / "run-0500" / "lock"):
        time.sleep(1.05)
        assert client.get("/api/runs").json()["counts"] == {"interrupted": 999, "running": 1}


def million(path: Path) -> Path:
    run = make_run(path, state="interrupted", results=False)
    whole = line(row(1)).replace('"step":1,', '"step":%d,').replace('"train_loss":1.0', '"train_loss":%.17g')
    with (run / "events.jsonl").open("w") as file:
        file.write(line(start()))
        file.write(
            line(
                {"event": "columns", "time": 1.0, "step": 1, "names": [name for name in row(1) if name not in _STAMPS]}
            )
        )
        for step in range(1, ROWS + 1):
            file.write(whole % (step, 1 / step if step != 765_432 else 99.0))
    return run


@pytest.mark.long
def test_a_run_of_a_million_rows_opens_within_two_seconds(tmp_path: Path, make_client: MakeClient) -> None:
    run = million(tmp_path / "runs" / "long")
    target = f"/api/runs/{id_of(run)}"
    columns = "columns=train_loss,validation_loss,learning_rate,gradient_norm"
    opened = []
    for _ in range(6):  # each time by an application that has never seen it; others may use the machine meanwhile
        client = make_client(tmp_path / "runs")
        client.get("/api/runs")
        opened.append(measured(client, target) + measured(client, f"{target}/history?{columns}"))
        if opened[-1] < 2.0:
            break
    assert min(opened) < 2.0, opened
    assert measured(client, f"{target}/history?{columns}") < 0.5
    assert measured(client, f"{target}/log") < 2.0
    assert measured(client, f"{target}/log") < 0.1
    found = client.get(f"{target}/history?columns=train_loss&points=500").json()
    assert found["rows"] == ROWS
    assert len(found["columns"]["train_loss"]["step"]) <= 500
    assert {1, 765_432, ROWS} <= set(found["columns"]["train_loss"]["step"])
    with (run / "events.jsonl").open("a") as file:
        file.write(line(row(ROWS + 1)))
    assert measured(client, f"{target}/history?columns=train_loss") < 0.5
    assert client.get(f"{target}/history?columns=train_loss").json()["rows"] == ROWS + 1


def look_at_series(root: Path, count: int, kind: Kind) -> Look:
    """Ask for pages of the series of a run, for some of them by name, and for forecasts; check what is answered."""
    far, last = count // 50 // 2 * 50, name_of(count - 1, kind)
    part = last[-5:-1]
    look = look_at(
        root,
        {
            "first look": ("series", {}),
            "page": ("series", {"offset": far, "limit": 50}),
            "search": ("series", {"search": part}),
            "next page": ("series", {"search": part, "offset": 50}),
            "prefix": ("series", {"search": last[:-2].upper(), "match": "prefix"}),
            "exact": ("series", {"search": last, "match": "exact"}),
            "around": ("series", {"around": name_of(far + 7, kind)}),
            "nothing": ("series", {"search": "no such name"}),
            "forecast": ("forecast", {"series": last}),
            "other forecast": ("forecast", {"series": name_of(far, kind)}),
        },
    )
    names = [name_of(number, kind) for number in range(count)]
    found = [name for name in names if part in name]
    assert look.answers["first look"] == {"total": count, "series": names[:50]}
    assert look.answers["page"] == {"total": count, "series": names[far : far + 50]}
    assert look.answers["search"] == {"total": len(found), "series": found[:50]}
    assert look.answers["next page"]["series"] == found[50:100]
    assert look.answers["prefix"]["series"] == [name for name in names if name.startswith(last[:-2])][:50]
    assert look.answers["exact"] == {"total": 1, "series": [last]}
    assert look.answers["around"] == {"total": count, "series": names[far : far + 50], "offset": far}
    assert look.answers["nothing"] == {"total": 0, "series": []}
    for name, number in (("forecast", count - 1), ("other forecast", far)):
        rows = look.answers[name]["rows"]
        assert [row["time"] for row in rows] == [str(100 + step) for step in range(HORIZON)]
        assert [row["forecast"] for row in rows] == [forecast_of(number, step) for step in range(HORIZON)]
    return look


@pytest.mark.parametrize("as_csv", [False, True], ids=["parquet", "csv"])
def test_series_of_a_run_of_fifty_thousand_are_paged_and_searched(tmp_path: Path, as_csv: bool) -> None:
    make_large_run(tmp_path / "runs" / "large", 50_000, "numbers" if as_csv else "text", as_csv=as_csv)
    look = look_at_series(tmp_path / "runs", 50_000, "numbers" if as_csv else "text")
    later = {name: seconds for name, seconds in look.seconds.items() if name != "first look"}
    assert look.seconds["first look"] < 2.0
    assert max(later.values()) < 0.5, later


@pytest.mark.long
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_series_of_a_run_of_a_million_are_paged_and_searched_in_little_memory(tmp_path: Path, kind: Kind) -> None:
    make_large_run(tmp_path / "runs" / "large", 1_000_000, kind)
    look = look_at_series(tmp_path / "runs", 1_000_000, kind)
    later = {name: seconds for name, seconds in look.seconds.items() if name != "first look"}
    assert look.seconds["first look"] < 5.0
    assert max(later.values()) < 0.8, later
    assert look.peak < 400 * 2**20, look.peak  # the forecasts alone need 480 MB and more
