"""Pipelines among the runs: what a list shows of them, and what their page shows."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuro_divergent.core.formatting import format_count
from neuro_divergent.interfaces.dashboard.list_row import list_row
from neuro_divergent.interfaces.dashboard.passwords import without_passwords
from neuro_divergent.lifecycle.pipeline.pipeline_directory import CACHE, LOCK, PIPELINE, REPORT, STAGES
from neuro_divergent.lifecycle.pipeline.reading import PipelineSummary, StageSummary, read_pipeline_state
from neuro_divergent.runs.status import is_run

_KEY = re.compile(r"[0-9a-f]{64}")  # of a result; what the files say becomes part of a path only if it is one
_WORK, _RUN = "work", "run"
_FINISHED = ("done", "cached", "failed", "skipped")

Json = dict[str, Any]
Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class PipelineEntry:
    """A pipeline, as it was when it was last read."""

    id: str
    path: Path
    row: Json
    stamp: Stamp
    summary: PipelineSummary

    @property
    def is_held(self) -> bool:
        """Whether a process works on it."""
        return self.summary.state == "running"

    def runs(self) -> list[Path]:
        """Return the directories of its trainings."""
        found = [run_of(self.path, stage) for stage in self.summary.stages]
        return [path for path in found if path is not None]


def describe_pipeline(key: str, path: Path, known: PipelineEntry | None) -> PipelineEntry:
    """Describe the pipeline in a directory, unless its files are unchanged since it was ``known``."""
    stamp = tuple(_stamp_of(path / name) for name in (PIPELINE, STAGES, LOCK, REPORT))
    if known is not None and known.stamp == stamp and not known.is_held:
        return known
    summary = read_pipeline_state(path)
    return PipelineEntry(key, path, _row(key, summary), stamp, summary)


def run_of(pipeline: Path, stage: StageSummary) -> Path | None:
    """Return the directory of the training of a stage; ``None`` if it has none, or a link is on the way."""
    if _KEY.fullmatch(stage.key) is None:
        return None
    place = pipeline
    for name in (CACHE, stage.key, _WORK, _RUN):
        place = place / name
        if not is_directory(place):
            return None
    return place if is_run(place) else None


def is_directory(path: Path) -> bool:
    """Whether a directory is there that is no link."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


class PipelineView:
    """What the page of a pipeline shows.

    Args:
        pipeline: The pipeline, as it was read.
        id_of: Gives the id of a run directory.
    """

    def __init__(self, pipeline: PipelineSummary, id_of: Callable[[Path], str]) -> None:
        self.pipeline, self._id_of = pipeline, id_of

    def details(self) -> Json:
        """Return the stages, how they are connected, and what became of them."""
        found = self.pipeline
        return {
            "path": str(found.path),
            "begun": found.begun,
            "holder": None if found.holder is None else asdict(found.holder),
            "counts": found.counts,
            "sources": without_passwords(found.sources),
            "edges": list(found.edges),
            "stages": [self._stage(stage) for stage in found.stages],
            "has_report": found.has_report,
            "damaged": list(found.damaged),
        }

    def _stage(self, stage: StageSummary) -> Json:
        run = run_of(self.pipeline.path, stage)
        values: Json = without_passwords(asdict(stage))
        return {**values, "run_id": None if run is None else self._id_of(run)}


def _row(key: str, found: PipelineSummary) -> Json:
    done = sum(stage.state in _FINISHED for stage in found.stages)
    running = [stage.name for stage in found.stages if stage.state == "running"]
    model = next((model for stage in found.stages if (model := _model(stage)) is not None), None)
    return list_row(
        "pipeline",
        key,
        found.name,
        found.state,
        message=found.message,
        step=done,
        total_steps=len(found.stages),
        phase=running[0] if running else None,
        time=found.time,
        model=model,
        data=", ".join(found.sources.values()) or format_count(len(found.sources), "source"),
    )


def _model(stage: StageSummary) -> str | None:
    """Return the architecture that a stage trains."""
    model = stage.settings.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    return name if isinstance(name, str) and stage.kind == "training" else None


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
