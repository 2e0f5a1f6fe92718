"""The page of a run that several processes train."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from neuro_divergent.core.storage.lock import RunLock
from tests.browser.accessibility import find_problems
from tests.browser.conftest import SCREENSHOTS, Watch, open_run, wait_until
from tests.browser.runs import Dashboard, dashboard_of
from tests.dashboard.run_maker import line, make_run, processes, row
from tests.integration.distributed.slow_process import train_slowly

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert('host')>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("processes") / "runs"
    make_run(root / "plain")
    return root


@pytest.fixture(scope="module")
def dashboard(runs: Path) -> Iterator[Dashboard]:
    with dashboard_of(runs) as dashboard:
        yield dashboard


@pytest.fixture(scope="module")
def slow(table: Path, runs: Path) -> Path:
    """A run that two processes trained, one of them slowly."""
    train_slowly(table, runs / "two-processes", "step")
    return runs / "two-processes"


def test_a_run_of_two_processes_shows_both_and_names_the_slow_one(watch: Watch, slow: Path) -> None:
    page = open_run(watch, slow.name)
    section = page.locator("#processes")
    expect(section.locator("tbody tr")).to_have_count(2)
    first, second = (item.locator("th, td").all_inner_texts() for item in section.locator("tbody tr").all())
    assert (first[0], first[1], first[2], first[-1]) == ("0", socket.gethostname(), "cpu", "")
    assert second[0] == "1"
    assert second[-1].startswith("slow: ")
    assert first[4].endswith(" ms")
    sentence = section.locator("#stragglers")
    expect(sentence).to_contain_text(f"Slow Process 1 on host {socket.gethostname()} takes")
    wait_until(page, "document.querySelector('#processes .plot').data?.length === 2")
    names = section.locator(".plot").evaluate("plot => plot.data.map((trace) => trace.name)")
    assert names == [f"process {rank} on {socket.gethostname()}" for rank in range(2)]
    assert find_problems(page) == []
    section.scroll_into_view_if_needed()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "processes.png", full_page=True)


def test_a_run_of_one_process_shows_no_processes(watch: Watch) -> None:
    page = open_run(watch, "plain")
    wait_until(page, "document.querySelector('#panel-training .plot').data?.[0].x.length > 0")
    expect(page.locator("#processes")).to_be_hidden()


def test_processes_are_followed_while_they_train_and_a_host_name_is_text(watch: Watch, runs: Path) -> None:
    run = make_run(runs / "together", state="running")
    with RunLock(run / "lock"):
        page = open_run(watch, run.name)
        section = page.locator("#processes")
        expect(section).to_be_hidden()
        append(run, 41, 0.02)
        expect(section.locator("tbody tr")).to_have_count(2)
        expect(section.locator("tbody td").first).to_have_text(HOSTILE)
        expect(section.locator("#stragglers")).to_be_empty()
        for step in range(42, 48):
            append(run, step, 0.036)
        expect(section.locator("#stragglers")).to_contain_text(f"Process 1 on host {HOSTILE} takes 1.8 times as long")
        wait_until(page, "document.querySelector('#processes .plot').data?.[1].x.at(-1) === 47")


def append(run: Path, step: int, busy: float) -> None:
    with (run / "events.jsonl").open("a") as file:
        file.write(line(row(step)) + line(processes(step, 0.02, busy, host=HOSTILE)))
