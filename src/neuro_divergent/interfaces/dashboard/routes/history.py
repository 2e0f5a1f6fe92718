"""The history of a run, downsampled for display."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.live import columns_of, thin
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()

MOST_POINTS = 10_000
Step = Annotated[int | None, Query(ge=0, lt=2**63)]


@router.get("/api/runs/{id}/history")
def show_history(
    board: TheBoard,
    run: TheRun,
    columns: Annotated[str, Query(max_length=1000, description="Names with commas between; empty for all.")] = "",
    points: Annotated[int, Query(ge=5, le=MOST_POINTS, description="How many of a column at most.")] = 1000,
    begin: Step = None,
    end: Step = None,
) -> JsonResponse:
    """Return columns of the history over steps; a column that is not there is left out."""
    frame, offset = board.histories.read(run.summary.path)
    available = columns_of(frame)
    wanted = [name.strip() for name in columns.split(",") if name.strip()] or available
    seconds = frame["seconds"].max() if "seconds" in available else None
    thinned = {name: thin(frame, name, points, begin=begin, end=end) for name in wanted if name in available}
    found = {"rows": frame.height, "columns": thinned, "seconds": seconds, "available": available, "offset": offset}
    return JsonResponse(found)
