"""What is wrong with a run, and what to change."""

from __future__ import annotations

from fastapi import APIRouter

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()


@router.get("/api/runs/{id}/diagnosis")
def show_diagnosis(board: TheBoard, run: TheRun) -> JsonResponse:
    """Return what the doctor found at the end of a run, or finds now in one that still trains."""
    return JsonResponse(board.diagnoses.read(run.summary.path, anew=run.is_held))
