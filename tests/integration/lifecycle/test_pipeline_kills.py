"""Pipelines whose process is killed at every boundary of every stage and inside them give the same results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lifecycle.killed_pipeline import STAGES, Job, PipelineServer
from tests.unit.lifecycle.pipeline.tables import daily

SOAK = bool(os.environ.get("ND_SOAK"))
WITHOUT_MODELS = 4
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture(scope="module")
def server() -> Iterator[PipelineServer]:
    with PipelineServer(models=True) as running:
        yield running


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "data.csv"
    daily(40, 2).write_csv(path)
    return str(path)


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of all outputs; that of a registered version has the timings of its training in it."""
    return {name: digest for name, digest in report["digests"].items() if name != "registration.version"}


def kill_in_every_stage(
    server: PipelineServer, place: Path, data: str, stages: tuple[str, ...], moments: tuple[tuple[str, int], ...]
) -> dict[str, Any]:
    """Run one pipeline again and again, each start of which dies a little later; return what the last one says."""
    job = Job(str(place), data, str(place.parent / "report.json"), len(stages))
    for stage in stages:
        for event, count in moments:
            report = server.run(Job(**{**vars(job), "stage": stage, "event": event, "count": count}))
            is_last = stage == stages[-1] and (event, count) != moments[0]
            assert report is None or is_last  # nothing is left to die in
    report = server.run(job)
    assert report is not None
    return report


@pytest.mark.long
def test_kills_in_every_stage_without_models_change_nothing(data: str, tmp_path: Path) -> None:
    stages = STAGES[:WITHOUT_MODELS]
    moments = (("stage_start", 0), ("stage_start", 2), ("stage_computed", 3), ("stage_end", 0))
    with PipelineServer(models=False) as server:
        expected = server.run(Job(str(tmp_path / "whole"), data, str(tmp_path / "whole.json"), WITHOUT_MODELS))
        report = kill_in_every_stage(server, tmp_path / "killed", data, stages, moments)
    assert expected is not None
    assert report["digests"] == expected["digests"]


@pytest.mark.long
def test_kills_at_every_boundary_and_inside_of_all_stages_change_nothing(
    server: PipelineServer, data: str, tmp_path: Path
) -> None:
    expected = server.run(Job(str(tmp_path / "whole"), data, str(tmp_path / "whole.json")))
    assert expected is not None
    # A trial of a search whose process dies three times counts as failed, so it is killed no more often than that.
    inside = [("stage_start", count) for count in (0, 4, 45, 90)]
    writing = [("stage_computed", count) for count in (0, 2, 6)]
    moments = (*inside, *writing, ("stage_end", 0), ("stage_end", 1))
    report = kill_in_every_stage(server, tmp_path / "killed", data, STAGES, moments)
    assert lasting(report) == lasting(expected)
    assert report["versions"] == expected["versions"] == [1]


@pytest.mark.soak
def test_kill_at_any_write_of_a_whole_pipeline_changes_nothing(
    server: PipelineServer, data: str, tmp_path: Path
) -> None:
    expected = server.run(Job(str(tmp_path / "whole"), data, str(tmp_path / "whole.json")))
    assert expected is not None
    total = expected["writes"]
    for count in range(1, total, 1 if SOAK else total // 15):
        job = Job(str(tmp_path / f"killed-{count}"), data, str(tmp_path / "killed.json"))
        assert server.run(Job(**{**vars(job), "count": count})) is None
        report = server.run(job)
        assert report is not None
        assert lasting(report) == lasting(expected), count
        assert report["versions"] == [1], count
