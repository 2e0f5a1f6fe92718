"""Batch sizes of trainings that several processes share."""

from __future__ import annotations

import pytest

import neuro_divergent as nd


@pytest.mark.parametrize(("scope", "strategy", "expected"), [
    ("global", None, 30), ("process", None, 90), ("process", "zero", 90), ("process", "single", 30)
])  # fmt: skip
def test_batch_size_of_three_processes_is_global_unless_it_is_that_of_each(
    scope: str, strategy: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    config = nd.TrainingConfig(batch_size=30, batch_size_scope=scope, strategy=strategy)
    assert config.batch_size_for(1000) == expected


def test_batch_size_of_each_process_is_the_batch_size_where_there_is_one_process() -> None:
    assert nd.TrainingConfig(batch_size=30, batch_size_scope="process").batch_size_for(1000) == 30
