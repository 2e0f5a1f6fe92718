"""The state of a pipeline, read from its directory: its stages, how they are connected, and what became of them.

Nothing here runs a stage or waits for one, and nothing needs torch. Whatever is in the directory, half written, damaged
or foreign, reading it raises no error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast, get_args

from neuro_divergent.core.storage.lock import Holder, holder
from neuro_divergent.lifecycle.pipeline.pipeline_directory import LIMIT, LOCK, PIPELINE, REPORT, STAGES
from neuro_divergent.runs.values import count, number, read_object, rows

State = Literal["waiting", "running", "cached", "done", "failed", "skipped", "interrupted"]
PipelineState = Literal["running", "finished", "failed", "interrupted", "killed", "damaged"]
_LONGEST_NAME, _LONGEST_MESSAGE = 200, 4000


@dataclass(frozen=True)
class StageSummary:
    """What is known of a stage.

    Attributes:
        name: Its name.
        kind: Name of the built-in stage, or module and name of the function.
        state: ``waiting``, ``running``, ``cached`` (the result was there), ``done``, ``failed``, ``skipped`` (something
            that it needs is missing) or ``interrupted`` (its process ended while it ran; the next start goes on).
        message: Why it failed or was skipped.
        seconds: How long its result took to compute; of a stage that runs, ``None``.
        begun: When it was last begun, in seconds since 1970.
        attempts: How many times it was tried.
        key: What its result is kept under.
        inputs: For each input the ``stage.output`` that it comes from.
        outputs: Its outputs: ``name``, ``kind``, ``digest``, ``bytes`` and ``path``.
        notes: What people should know about the result.
        tables: Small tables: ``title``, ``columns``, ``rows`` of text, and ``total``, the number of rows there are.
        settings: Its settings as plain values.
    """

    name: str
    kind: str
    state: State
    message: str
    seconds: float | None
    begun: float | None
    attempts: int
    key: str
    inputs: dict[str, str]
    outputs: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    tables: tuple[dict[str, Any], ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class PipelineSummary:
    """What is known of a pipeline.

    Attributes:
        path: Its directory.
        name: Its name.
        state: ``running`` while a process holds the lock; ``finished``, ``failed`` or ``interrupted`` as it wrote at
            its end; ``killed`` if it wrote nothing; ``damaged`` if its files cannot be read.
        message: Why it failed.
        stages: The stages in the order in which they run.
        edges: Connections: ``producer``, ``output``, ``stage`` and ``input``. A producer that is no stage is a source.
        sources: Where the data come from, by name of the source.
        holder: Who works on it.
        begun: When the last start began, in seconds since 1970.
        time: When it last changed.
        has_report: Whether there is a report.
        damaged: Files that cannot be read.
    """

    path: Path
    name: str
    state: PipelineState
    message: str
    stages: tuple[StageSummary, ...]
    edges: tuple[dict[str, str], ...]
    sources: dict[str, str]
    holder: Holder | None
    begun: float | None
    time: float
    has_report: bool
    damaged: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many stages there are in each state."""
        found = dict.fromkeys(get_args(State), 0)
        for stage in self.stages:
            found[stage.state] += 1
        return {state: total for state, total in found.items() if total}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            **asdict(self),
            "path": str(self.path),
            "counts": self.counts,
            "holder": None if self.holder is None else asdict(self.holder),
        }


def is_pipeline(path: Path) -> bool:
    """Whether a directory holds a pipeline."""
    return _time_of(path / PIPELINE) is not None and _time_of(path / STAGES) is not None


def find_pipelines(root: Path) -> list[Path]:
    """Return the pipelines in a directory, by name; links are not followed."""
    try:
        with os.scandir(root) as found:
            paths = [Path(item.path) for item in found if item.is_dir(follow_symlinks=False)]
    except (OSError, ValueError):
        return []
    return sorted(path for path in paths if not path.name.startswith(".") and is_pipeline(path))


def read_pipeline_state(path: Path) -> PipelineSummary:
    """Return what is known of the pipeline in a directory."""
    who = holder(path / LOCK)
    definition, status = read_object(path / PIPELINE, LIMIT), read_object(path / STAGES, LIMIT)
    damaged = [name for name, content in ((PIPELINE, definition), (STAGES, status)) if content is None]
    definition, status = definition or {}, status or {}
    state = _state(status, is_held=who is not None, is_damaged=bool(damaged))
    known = {_text(row.get("name")): row for row in rows(status.get("stages"))}
    stages = tuple(
        _stage(row, known.get(_text(row.get("name")), {}), path, is_held=who is not None)
        for row in rows(definition.get("stages"))
        if _text(row.get("name"))
    )
    settings = definition.get("settings")
    sources = settings.get("sources") if isinstance(settings, dict) else None
    times = [_time_of(path / name) for name in (STAGES, PIPELINE)]
    return PipelineSummary(
        path=path,
        name=_text(definition.get("name")) or path.resolve().name,
        state=state,
        message=_text(status.get("message"), _LONGEST_MESSAGE),
        stages=stages,
        edges=tuple(_edges(definition.get("edges"))),
        sources=_texts(sources),
        holder=who,
        begun=number(status.get("begun")),
        time=max((moment for moment in times if moment is not None), default=0.0),
        has_report=_time_of(path / REPORT) is not None,
        damaged=tuple(damaged),
    )


def _stage(definition: Mapping[str, Any], record: Mapping[str, Any], place: Path, *, is_held: bool) -> StageSummary:
    said = record.get("state")
    state = cast(State, said) if said in get_args(State) else "waiting"
    if state == "running" and not is_held:
        state = "interrupted"
    outputs = record.get("outputs")
    settings = definition.get("settings")
    return StageSummary(
        name=_text(definition.get("name")),
        kind=_text(definition.get("kind")),
        state=state,
        message=_text(record.get("message"), _LONGEST_MESSAGE),
        seconds=number(record.get("seconds")),
        begun=number(record.get("begun")),
        attempts=count(record.get("attempts")) or 0,
        key=_text(record.get("key")),
        inputs=_texts(record.get("inputs")),
        outputs=tuple(_outputs(outputs, place)) if isinstance(outputs, dict) else (),
        notes=tuple(_text(note, _LONGEST_MESSAGE) for note in _items(record.get("notes"))),
        tables=tuple(_table(item) for item in rows(record.get("tables"))),
        settings=settings if isinstance(settings, dict) else {},
    )


def _outputs(outputs: Mapping[str, Any], place: Path) -> list[dict[str, Any]]:
    return [
        {
            "name": _text(name),
            "kind": _text(item.get("kind")),
            "digest": _text(item.get("digest")),
            "bytes": count(item.get("bytes")),
            "path": _below(place, _text(item.get("path"), _LONGEST_MESSAGE)),
        }
        for name, item in outputs.items()
        if isinstance(item, dict)
    ]


def _below(place: Path, path: str) -> str:
    """Return the path of an output; nothing for one outside of the directory, which no pipeline has written."""
    parts = PurePosixPath(path).parts
    return str(place.joinpath(*parts)) if parts and ".." not in parts and parts[0] != "/" else ""


def _table(item: Mapping[str, Any]) -> dict[str, Any]:
    content = [[_text(cell, _LONGEST_MESSAGE) for cell in _items(row)] for row in _items(item.get("rows"))]
    columns = [_text(name) for name in _items(item.get("columns"))]
    return {
        "title": _text(item.get("title")),
        "columns": columns,
        "rows": [row for row in content if len(row) == len(columns)],
        "total": count(item.get("total")) or len(content),
    }


def _edges(found: object) -> list[dict[str, str]]:
    names = ("producer", "output", "stage", "input")
    edges = [[_text(part) for part in _items(edge)] for edge in _items(found)]
    return [dict(zip(names, edge, strict=True)) for edge in edges if len(edge) == len(names) and all(edge)]


def _state(status: Mapping[str, Any], *, is_held: bool, is_damaged: bool) -> PipelineState:
    said = status.get("state")
    if is_held:
        return "running"
    if is_damaged:
        return "damaged"
    if said in ("finished", "failed", "interrupted"):
        return cast(PipelineState, said)
    return "killed" if said == "running" else "damaged"


def _text(value: object, longest: int = _LONGEST_NAME) -> str:
    """Return a text on one line."""
    if not isinstance(value, str):
        return ""
    return "".join(letter if letter.isprintable() else " " for letter in value[:longest]).strip()


def _texts(values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        return {}
    return {_text(name): _text(item, _LONGEST_MESSAGE) for name, item in values.items() if isinstance(item, str)}


def _items(values: object) -> list[Any]:
    return values if isinstance(values, list) else []


def _time_of(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except (OSError, ValueError):
        return None
