"""The list of runs, and details of one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.interfaces.dashboard.board import Board, TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.index import Row, counts_of, id_of
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.studies import StudyEntry
from neuro_divergent.runs.directory import CONFIG, EVENTS
from neuro_divergent.runs.events import EventFile
from neuro_divergent.runs.tables import RunTables
from neuro_divergent.search.reading.recorded_study import study_of

router = APIRouter()

_MOST_BYTES = 4 * 1024**2
_BYTES_OF_BEGIN = 512 * 1024
_FILES = {
    "backtest": "backtest.parquet",
    "diagnosis": "diagnosis.json",
    "report": "report.html",
}

Sort = Literal["time", "name", "state", "model", "best", "step"]


@router.get("/api/runs")
def list_runs(
    board: TheBoard,
    search: Annotated[str, Query(max_length=200, description="Words in the name, model, data or message.")] = "",
    state: Annotated[str, Query(max_length=200, description="One or several states, with commas between.")] = "",
    sort: Sort = "time",
    order: Literal["asc", "desc"] = "desc",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JsonResponse:
    """List runs, studies, federations and others: how many there are in each state, and a page of them."""
    rows = [entry.row for entry in board.index.entries().values()]
    counts = counts_of(rows)
    terms, states = search.casefold().split(), {name.strip() for name in state.split(",") if name.strip()}
    found = [row for row in rows if (not states or row["state"] in states) and _has(row, terms)]
    found.sort(key=lambda row: row["name"])
    known = [row for row in found if row[sort] is not None]
    known.sort(key=lambda row: _rank(row[sort]), reverse=order == "desc")
    found = known + [row for row in found if row[sort] is None]  # what is not known comes last, in either order
    return JsonResponse({"total": len(found), "counts": counts, "runs": found[offset : offset + limit]})


@router.get("/api/runs/{id}")
def show_run(board: TheBoard, run: TheRun) -> JsonResponse:
    """Return the details of a run."""
    summary = run.summary
    path = summary.path
    tables = RunTables(path)
    has = {name: _is_file(path / file) for name, file in {**_FILES, "forecasts": tables.forecasts_file}.items()}
    return JsonResponse(
        {
            **run.row,
            "path": str(path),
            "checkpoints": [asdict(item) for item in summary.checkpoints],
            "quarantined": [asdict(item) for item in summary.quarantined],
            "damaged": list(summary.damaged),
            "config": _text(path / CONFIG),
            "environment": tables.environment,
            "data": tables.data,
            "data_path": summary.data,
            "scores": tables.scores,
            "notes": _notes(tables.scores or {}),
            "can_control": run.accepts_requests,
            "study": _study(board, path),
            "has": {**has, "layers": _has_layers(path)},
        }
    )


def _study(board: Board, run: Path) -> dict[str, str] | None:
    """Return id and name of the study that a run belongs to, if that is shown here."""
    place = study_of(run)
    found = None if place is None else board.index.find_other(StudyEntry, id_of(place))
    return None if found is None else {"id": found.id, "name": found.path.name}


def _has(row: Row, terms: list[str]) -> bool:
    text = " ".join(str(row[key]) for key in ("name", "model", "data", "message", "id") if row[key]).casefold()
    return all(term in text for term in terms)


def _rank(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _text(path: Path) -> str:
    try:
        return read_file(path, limit=_MOST_BYTES).decode("utf-8", "replace")
    except NeuroDivergentError:
        return ""


def _notes(scores: dict[str, Any]) -> list[str]:
    others = scores.get("notes")
    found = [scores.get("note"), *(others if isinstance(others, list) else ())]
    return [note for note in found if isinstance(note, str) and note]


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _has_layers(path: Path) -> bool:
    """Whether norms by layer were written; if so, the first start names the layers."""
    events = EventFile(path / EVENTS).read(limit=_BYTES_OF_BEGIN)
    return any(event["event"] == "layers" or (event["event"] == "start" and event.get("layers")) for event in events)
