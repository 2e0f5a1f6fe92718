"""The event log of a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.log import MOST_EVENTS
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()


@router.get("/api/runs/{id}/log")
def show_log(board: TheBoard, run: TheRun, limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 500) -> JsonResponse:
    """Return the last events of a run but rows and norms by layer, the newest last."""
    return JsonResponse({"events": board.logs.read(run.summary.path)[-limit:]})
