"""Comparison of several runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from neuro_divergent.interfaces.dashboard.board import TheBoard
from neuro_divergent.interfaces.dashboard.live import columns_of, thin
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.routes.history import MOST_POINTS
from neuro_divergent.runs.diff import config_differences, read_config

router = APIRouter()

_FEWEST, _MOST = 2, 8


@router.get("/api/compare")
def compare_runs(
    board: TheBoard,
    ids: Annotated[str, Query(max_length=500, description="2 to 8 ids with commas between.")],
    column: Annotated[str, Query(max_length=200, description="Of the history.")] = "validation_loss",
    points: Annotated[int, Query(ge=5, le=MOST_POINTS)] = 600,
) -> JsonResponse:
    """Return runs with one column of their histories, the settings in which they differ, and their scores."""
    keys = list(dict.fromkeys(key.strip() for key in ids.split(",") if key.strip()))
    if not _FEWEST <= len(keys) <= _MOST:
        raise HTTPException(422, f"ids: {len(keys)} different runs were given; {_FEWEST} to {_MOST} can be compared.")
    found = [board.index.find(key) for key in keys]
    runs = [run for run in found if run is not None]
    if len(runs) < len(keys):
        raise HTTPException(404, "There is no such run here.")
    histories = {}
    for run in runs:
        frame, _ = board.histories.read(run.summary.path)
        known = column in columns_of(frame)
        histories[run.id] = thin(frame, column, points) if known else {"step": [], "value": []}
    differences = config_differences({run.id: read_config(run.summary.path) for run in runs})
    scores = [{"id": run.id, "name": run.row["name"], **(run.summary.score or {})} for run in runs]
    rows = [run.row for run in runs]
    return JsonResponse({"runs": rows, "histories": histories, "differences": differences, "scores": scores})
