"""The processes that train a run together."""

from __future__ import annotations

from fastapi import APIRouter

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.runs.processes import describe_straggler, stragglers_of, summarize_processes

router = APIRouter()


@router.get("/api/runs/{id}/processes")
def show_processes(board: TheBoard, run: TheRun) -> JsonResponse:
    """Return the processes of a run, none if it has but one, and sentences about those that the others wait for."""
    found = summarize_processes(board.processes.read(run.summary.path))
    sentences = [describe_straggler(process) for process in stragglers_of(found)]
    return JsonResponse({"processes": [process.to_dict() for process in found], "stragglers": sentences})
