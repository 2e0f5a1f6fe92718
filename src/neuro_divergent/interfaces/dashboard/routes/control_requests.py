"""Control requests to a run that trains; token and origin were checked before."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from neuro_divergent.core.errors import StorageError
from neuro_divergent.interfaces.dashboard.board import TheRun
from neuro_divergent.interfaces.dashboard.control import ControlRequest, write_request
from neuro_divergent.interfaces.dashboard.index import Entry
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()


@router.post("/api/runs/{id}/stop", status_code=202)
def stop(run: TheRun) -> JsonResponse:
    """Ask a run to end training and write its model, as if all steps were done."""
    return _send(run, "stop", "Stop requested: training ends with a model after the current step.")


@router.post("/api/runs/{id}/checkpoint", status_code=202)
def checkpoint(run: TheRun) -> JsonResponse:
    """Ask a run for a checkpoint."""
    return _send(run, "checkpoint", "Checkpoint requested: it is written after the current step.")


def _send(run: Entry, request: ControlRequest, detail: str) -> JsonResponse:
    if not run.accepts_requests:
        state = "writes its results" if run.is_held else f"is {run.summary.state}"
        raise HTTPException(409, f"The run is not training: it {state}.")
    try:
        write_request(run.summary.path, request)
    except StorageError as error:
        raise HTTPException(409, str(error)) from error
    return JsonResponse({"detail": detail}, 202)
