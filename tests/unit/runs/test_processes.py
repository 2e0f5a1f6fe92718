"""Processes that train together: what is read of them, and which of them counts as a straggler."""

from __future__ import annotations

import statistics
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.runs.processes import (
    LEAST_ROWS,
    LEAST_SECONDS,
    ROWS,
    SLOW,
    ProcessTable,
    describe_straggler,
    processes_of,
    stragglers_of,
    summarize_processes,
)


def event(step: int, busy: list[float | None], **columns: list[Any]) -> dict[str, Any]:
    """An event of as many processes as there are times, as it is written."""
    ranks = range(len(busy))
    usual: dict[str, list[Any]] = {
        "host": [f"node-{rank}" for rank in ranks],
        "device": ["cpu" for _ in ranks],
        "samples_per_second": [100.0 + rank for rank in ranks],
        "waiting": [0.25 for _ in ranks],
        "memory_bytes": [10**9 for _ in ranks],
    }
    return {"event": "processes", "time": 1.0, "step": step, "busy_seconds": busy, **usual, **columns}


def training(*busy: list[float | None]) -> pl.DataFrame:
    """A training with a row for each list of times."""
    return processes_of([{"event": "start", "step": 0}, *(event(10 * n, times) for n, times in enumerate(busy, 1))])


def slow_ranks(frame: pl.DataFrame) -> list[int]:
    return [process.rank for process in stragglers_of(summarize_processes(frame))]


def test_each_process_has_a_row_for_each_event() -> None:
    frame = training([0.02, 0.03], [0.04, None])
    assert frame.select("step", "rank", "host", "busy_seconds").rows() == [
        (10, 0, "node-0", 0.02), (10, 1, "node-1", 0.03), (20, 0, "node-0", 0.04), (20, 1, "node-1", None),
    ]  # fmt: skip
    assert frame["samples_per_second"].to_list() == [100.0, 101.0, 100.0, 101.0]


def test_a_process_twice_as_slow_is_a_straggler_and_is_named() -> None:
    processes = summarize_processes(training(*[[0.02, 0.036]] * 5))
    assert [process.is_straggler for process in processes] == [False, True]
    assert processes[1].slowdown == pytest.approx(1.8)
    expected = "Process 1 on host node-1 takes 1.8 times as long per step as the others, which wait for it."
    assert describe_straggler(processes[1]) == expected


def test_of_two_processes_the_fast_one_is_no_straggler_and_equal_ones_are_none() -> None:
    assert slow_ranks(training(*[[0.05, 0.02]] * 5)) == [0]
    assert slow_ranks(training(*[[0.02, 0.02]] * 5)) == []
    assert slow_ranks(training(*[[0.02, 0.02 * (SLOW - 0.05)]] * 5)) == []


def test_a_difference_below_a_millisecond_makes_no_straggler() -> None:
    assert slow_ranks(training(*[[0.0005, 0.0005 + 0.9 * LEAST_SECONDS]] * 5)) == []
    assert slow_ranks(training(*[[0.0005, 0.0005 + 1.1 * LEAST_SECONDS]] * 5)) == [1]


def test_one_slow_row_makes_no_straggler_and_too_few_rows_do_not() -> None:
    rows = [[0.02, 0.02]] * 6
    rows[3] = [0.02, 2.0]
    assert slow_ranks(training(*rows)) == []
    assert slow_ranks(training(*[[0.02, 0.05]] * (LEAST_ROWS - 1))) == []
    assert slow_ranks(training(*[[0.02, 0.05]] * LEAST_ROWS)) == [1]


def test_a_process_that_recovered_is_no_straggler_any_more() -> None:
    assert slow_ranks(training(*[[0.02, 0.05]] * ROWS, *[[0.02, 0.02]] * (ROWS // 2 + 1))) == []


def test_several_stragglers_are_listed_slowest_first() -> None:
    assert slow_ranks(training(*[[0.02, 0.04, 0.02, 0.02, 0.05]] * 5)) == [4, 1]


def test_only_the_last_start_counts_for_the_summary() -> None:
    start = {"event": "start", "step": 30}
    frame = processes_of([*(event(step, [0.02, 0.05, 0.02]) for step in (10, 20, 30)), start])
    assert slow_ranks(frame) == [1]
    table = ProcessTable()
    table.add([*(event(step, [0.02, 0.05, 0.02]) for step in (10, 20, 30)), start])
    table.add([event(step, [0.02, 0.02]) for step in (40, 50, 60)])
    assert [process.rank for process in summarize_processes(table.frame)] == [0, 1]
    assert slow_ranks(table.frame) == []


@pytest.mark.parametrize("kind", ["start", "rolled_back"])
def test_rows_after_the_step_that_training_went_back_to_are_void(kind: str) -> None:
    events = [event(10, [0.1, 0.1]), event(20, [0.2, 0.2]), {"event": kind, "step": 10}, event(20, [0.3, 0.3])]
    assert processes_of(events)["busy_seconds"].to_list() == [0.1, 0.1, 0.3, 0.3]


def test_one_process_is_no_group() -> None:
    assert summarize_processes(training(*[[0.02]] * 5)) == []
    assert summarize_processes(None) == []
    assert summarize_processes(processes_of([])) == []


@pytest.mark.parametrize(
    "damage",
    [{"busy_seconds": None}, {"busy_seconds": [0.1]}, {"host": "node"}, {"waiting": [0.1, 0.2, 0.3]}, {"device": {}}],
)
def test_a_damaged_event_is_left_out(damage: dict[str, Any]) -> None:
    whole = event(10, [0.02, 0.03])
    assert processes_of([whole, {**event(20, [0.02, 0.03]), **damage}]).height == 2


def test_values_of_another_kind_are_missing() -> None:
    hosts: list[Any] = [None, "x" * 5000]
    frame = processes_of([event(10, ["fast", True], host=hosts)])  # type: ignore[list-item]
    assert frame["busy_seconds"].to_list() == [None, None]
    assert frame["host"].str.len_chars().max() == 100
    assert not any(process.is_straggler for process in summarize_processes(frame))


@given(st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=7))
def test_stragglers_are_those_that_a_search_by_hand_finds(busy: list[float]) -> None:
    expected = []
    for rank, own in enumerate(busy):
        usual = statistics.median(busy[:rank] + busy[rank + 1 :])
        if own / usual >= SLOW and own - usual >= LEAST_SECONDS:
            expected.append(rank)
    assert sorted(slow_ranks(training(*[list(busy)] * LEAST_ROWS))) == expected
