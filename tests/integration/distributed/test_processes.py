"""Two real processes train, one of them is slow: the run directory tells which, and everything that shows it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.doctor import diagnose
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.processes import stragglers_of, summarize_processes
from neuro_divergent.runs.tables import RunTables
from tests.integration.distributed.slow_process import SECONDS, train_slowly

pytestmark = pytest.mark.long

ND = [sys.executable, "-m", "neuro_divergent"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "series.csv"
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(path)
    return path


@pytest.fixture(scope="module")
def slow_run(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "slow"
    train_slowly(table, run, "step")
    return run


def test_the_slow_process_is_recorded_with_its_time_and_its_machine(slow_run: Path) -> None:
    rows = [json.loads(line) for line in (slow_run / "events.jsonl").read_text().splitlines()]
    recorded = [row for row in rows if row["event"] == "processes"]
    history = [row for row in rows if row["event"] == "row"]
    assert [row["step"] for row in recorded] == [row["step"] for row in history]
    for row, shared in zip(recorded, history, strict=True):
        assert row["host"] == [socket.gethostname()] * 2
        assert row["device"] == ["cpu", "cpu"]
        assert sum(row["samples_per_second"]) == pytest.approx(shared["samples_per_second"])
        first, second = row["busy_seconds"]
        assert second >= SECONDS
        assert first > 0
        assert all(0 <= fraction <= 1 for fraction in row["waiting"])
        assert all(size > 10**7 for size in row["memory_bytes"])
    processes = summarize_processes(RunTables(slow_run).processes)
    assert [process.is_straggler for process in processes] == [False, True]
    assert (processes[0].waiting or 0) > (processes[1].waiting or 1)


def test_the_slow_process_is_named_by_the_command_line_the_doctor_and_the_report(slow_run: Path) -> None:
    sentence = f"Process 1 on host {socket.gethostname()} takes "
    finding = next(item for item in diagnose(slow_run).findings if item.rule == "straggler")
    assert finding.evidence.startswith(sentence)
    page = render_run(slow_run)
    assert 'id="processes"' in page
    assert sentence in page
    assert "Time of a step in each process" in page
    settings = {**os.environ, "COLUMNS": "200"}
    shown = subprocess.run(
        [*ND, "runs", str(slow_run)], env=settings, capture_output=True, text=True, check=True
    ).stdout
    assert sentence in shown
    assert "times the others" in shown
    told = subprocess.run([*ND, "runs", str(slow_run), "--json"], capture_output=True, text=True, check=True).stdout
    assert [item["is_straggler"] for item in json.loads(told)["processes"]] == [False, True]


@pytest.mark.parametrize(
    ("part", "strategy"),
    [
        *((part, "data_parallel") for part in ("forward", "backward")),
        *(("step", strategy) for strategy in ("zero", "sharded", "local_sgd")),
        ("backward", "sharded"),
    ],
)
def test_the_slow_process_is_named_whatever_is_slow_in_it(
    table: Path, tmp_path: Path, part: str, strategy: str
) -> None:
    frame = train_slowly(table, tmp_path / "run", part, strategy)
    assert [process.rank for process in stragglers_of(summarize_processes(frame))] == [1]
    assert frame.filter(rank=1)["busy_seconds"].min() >= SECONDS  # type: ignore[operator]


def test_processes_that_are_equally_slow_are_not_named_and_one_process_records_nothing(
    table: Path, tmp_path: Path
) -> None:
    frame = train_slowly(table, tmp_path / "two", "all")  # slow, so that other programs make no difference
    assert frame["rank"].unique().sort().to_list() == [0, 1]
    assert "straggler" not in {item.rule for item in diagnose(tmp_path / "two").findings}
    settings = ("--horizon", "4", "--model", "mlp", "--max-steps", "10", "--quiet")
    subprocess.run([*ND, "train", str(table), *settings, "-o", str(tmp_path / "one")], check=True)
    assert not read_events(tmp_path / "one", "processes")
    assert 'id="processes"' not in render_run(tmp_path / "one")
