"""What is wrong with a run, and what to change."""

from __future__ import annotations

from fastapi import APIRouter

from neuro_divergent.interfaces.dashboard.answer import Answer
from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun

router = APIRouter()


@router.get("/api/runs/{id}/diagnosis")
def show_diagnosis(board: TheBoard, run: TheRun) -> Answer:
    """Return what the doctor found at the end of a run, or finds now in one that still trains."""
    return Answer(board.diagnoses.read(run.summary.path, anew=run.is_held))
