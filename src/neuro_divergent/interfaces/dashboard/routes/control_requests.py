"""What a run may be asked for while it trains. The checks have seen the token and the origin before."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from neuro_divergent.core.errors import StorageError
from neuro_divergent.interfaces.dashboard.answer import Answer
from neuro_divergent.interfaces.dashboard.board import TheRun
from neuro_divergent.interfaces.dashboard.control import Wish, write_wish
from neuro_divergent.interfaces.dashboard.index import Entry

router = APIRouter()


@router.post("/api/runs/{id}/stop", status_code=202)
def stop(run: TheRun) -> Answer:
    """Ask a run to end training, with a model, as if its steps were done."""
    return _ask(run, "stop", "The run was asked to stop; it ends with a model after the step it is in.")


@router.post("/api/runs/{id}/checkpoint", status_code=202)
def checkpoint(run: TheRun) -> Answer:
    """Ask a run for a checkpoint."""
    return _ask(run, "checkpoint", "The run was asked for a checkpoint; it writes one after the step it is in.")


def _ask(run: Entry, wish: Wish, words: str) -> Answer:
    if not run.can_be_asked:
        state = "writes its results" if run.is_held else f"is {run.summary.state}"
        raise HTTPException(409, f"The run does not train: it {state}.")
    try:
        write_wish(run.summary.path, wish)
    except StorageError as error:
        raise HTTPException(409, str(error)) from error
    return Answer({"detail": words}, 202)
