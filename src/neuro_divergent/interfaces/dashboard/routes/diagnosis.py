"""The diagnosis of a run."""

from __future__ import annotations

from fastapi import APIRouter

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()


@router.get("/api/runs/{id}/diagnosis")
def show_diagnosis(board: TheBoard, run: TheRun) -> JsonResponse:
    """Return the diagnosis of a run: that of its end, or a new one while it trains."""
    return JsonResponse(board.diagnoses.read(run.summary.path, refresh=run.is_held))
