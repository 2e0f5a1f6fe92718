"""What is written reaches the page while it is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.dashboard.run_maker import line, make_run, processes, row, start
from tests.dashboard.server import Stream, served


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "runs"


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    root.mkdir(parents=True)
    with served(root) as port:
        yield port


def append(run: Path, *events: dict[str, Any]) -> None:
    with (run / "events.jsonl").open("a") as file:
        file.write("".join(map(line, events)))


def size(run: Path) -> int:
    return (run / "events.jsonl").stat().st_size


def test_rows_arrive_within_a_second(root: Path, port: int) -> None:
    run = make_run(root / "live", state="running")
    with RunLock(run / "lock"):
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
        state = stream.wait_for("state")
        assert (state.data["name"], state.data["state"]) == ("live", "running")
        delays = []
        for step in range(41, 47):
            append(run, row(step))
            written = time.time()
            arrived = stream.wait_for("rows")
            delays.append(arrived.time - written)
            assert [found["step"] for found in arrived.data["rows"]] == [step]
            assert arrived.data["rows"][0]["train_loss"] == 1 / step
            assert arrived.id == size(run)
            time.sleep(0.1)
        assert min(delays) < 1.0, delays  # all of them, on a machine that is not busy
        stream.close()


def test_half_a_line_waits_for_its_other_half(root: Path, port: int) -> None:
    run = make_run(root / "halves", state="running")
    with RunLock(run / "lock"):
        begin = size(run)
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={begin}")
        text = line(row(41))
        with (run / "events.jsonl").open("a") as file:
            file.write(text[:30])
            file.flush()
            time.sleep(0.6)
            file.write(text[30:])
        arrived = stream.wait_for("rows")
        assert [found["step"] for found in arrived.data["rows"]] == [41]
        stream.close()


def test_a_resumed_run_resets_and_the_end_ends(root: Path, port: int) -> None:
    run = make_run(root / "resumed", state="running")
    with RunLock(run / "lock"):
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
        stream.wait_for("state")
        append(run, row(41), start(20), row(21), {"event": "layers", "step": 21, "time": 1.0}, row(22))
        assert [found["step"] for found in stream.wait_for("rows").data["rows"]] == [41]
        log = stream.wait_for("log")
        assert log.data["events"][0]["event"] == "start"
        assert "layers" not in log.data["events"][0]
        stream.wait_for("reset", 2.0)
        assert [found["step"] for found in stream.wait_for("rows").data["rows"]] == [21, 22]
        append(run, {"event": "rolled_back", "time": 1.0, "step": 21})
        stream.wait_for("reset")
        append(run, row(22), {"event": "end", "time": 1.0, "step": 22, "reason": "done"})
    rest = stream.rest()
    assert [event.name for event in rest if event.name != "state"] == ["rows", "log", "end"]
    assert rest[-1].name == "end"
    assert [event.data["state"] for event in rest if event.name == "state"][-1] == "killed"  # nobody wrote how it ended


def test_reading_from_any_byte_gives_the_rest_once(root: Path, port: int) -> None:
    run = make_run(root / "bytes", steps=30)
    whole = (run / "events.jsonl").read_bytes()
    for offset in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
        events = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={offset}").rest()
        steps = [found["step"] for event in events if event.name == "rows" for found in event.data["rows"]]
        complete = whole[offset:].split(b"\n") if offset == 0 else whole[offset:].split(b"\n")[1:]
        expected = [text for text in complete if text.startswith(b'{"event":"row"')]
        assert len(steps) == len(expected)
        assert events[-1].name == "end"
    # Every id is a place to read on from.
    events = Stream(port, f"/api/runs/{id_of(run)}/stream?offset=0").rest()
    for event in events:
        assert event.id is None or whole[event.id - 1 : event.id] == b"\n"


def test_a_file_that_begins_anew_resets(root: Path, port: int) -> None:
    run = make_run(root / "anew", state="running")
    with RunLock(run / "lock"):
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
        stream.wait_for("state")
        (run / "events.jsonl").write_text(line(row(1)))
        stream.wait_for("reset")
        assert [found["step"] for found in stream.wait_for("rows").data["rows"]] == [1]
        stream.close()


def test_the_list_says_what_comes_changes_and_goes(root: Path, port: int) -> None:
    stream = Stream(port, "/api/stream")
    first = stream.wait_for("runs")
    assert first.data["removed"] == []
    run = make_run(root / "coming")
    came = stream.wait_for("runs")
    while all(item["name"] != "coming" for item in came.data["changed"]):
        came = stream.wait_for("runs")
    assert sum(came.data["counts"].values()) == len(list(root.iterdir()))
    run.rename(root.parent / "gone")
    gone = stream.wait_for("runs")
    assert gone.data["removed"] == [id_of(run)]
    stream.close()


def test_streams_do_not_stay_after_their_readers(root: Path, port: int) -> None:
    run = make_run(root / "left", state="running")
    with RunLock(run / "lock"):
        for _ in range(120):  # more than may be open at a time
            stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
            stream.close()
        time.sleep(0.5)
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
        append(run, row(41))
        stream.wait_for("rows")
        stream.close()


def test_a_page_is_told_when_something_new_is_known_of_processes(root: Path, port: int) -> None:
    run = make_run(root / "together", state="running")
    with RunLock(run / "lock"):
        stream = Stream(port, f"/api/runs/{id_of(run)}/stream?offset={size(run)}")
        stream.wait_for("state")
        append(run, row(41), processes(41, 0.02, 0.02), row(42), processes(42, 0.02, 0.02))
        assert [found["step"] for found in stream.wait_for("rows").data["rows"]] == [41, 42]
        told = stream.wait_for("processes")
        assert (told.data, told.id) == ({}, size(run))
        stream.close()
