"""What happened in a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from neuro_divergent.interfaces.dashboard.answer import Answer
from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.log import MOST_EVENTS

router = APIRouter()


@router.get("/api/runs/{id}/log")
def show_log(board: TheBoard, run: TheRun, limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 500) -> Answer:
    """Return the last events of a run but rows and norms by layer, the newest last."""
    return Answer({"events": board.logs.read(run.summary.path)[-limit:]})
