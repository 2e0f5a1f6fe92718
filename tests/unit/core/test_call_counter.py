"""Counts of calls that another process reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuro_divergent.core.call_counter import COUNTERS, CallCounter, create_counters, read_counters


def test_counts_of_processes_are_read_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls"
    create_counters(path, 3)
    monkeypatch.setenv(COUNTERS, str(path))
    counters = [CallCounter.told(rank) for rank in range(3)]
    for rank, counter in enumerate(counters):
        assert counter is not None
        for _ in range(10 * rank):
            counter.add()
    assert read_counters(path) == [0, 10, 20]


def test_nobody_counts_where_nobody_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(COUNTERS, raising=False)
    assert CallCounter.told(0) is None
    monkeypatch.setenv(COUNTERS, str(tmp_path / "gone"))
    assert CallCounter.told(0) is None
