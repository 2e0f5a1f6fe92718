"""Live updates as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response, StreamingResponse

from neuro_divergent.interfaces.dashboard.board import (
    Board,
    TheBoard,
    TheContinuous,
    TheFederation,
    ThePipeline,
    TheRegistry,
    TheRun,
    TheStudy,
)
from neuro_divergent.interfaces.dashboard.stream import MOST_STREAMS

router = APIRouter()


@router.get("/api/runs/{id}/stream")
async def follow_run(
    request: Request,
    board: TheBoard,
    run: TheRun,
    offset: Annotated[int, Query(ge=0, lt=2**63, description="Byte of the events to begin at.")] = 0,
) -> Response:
    """Send what is added to the events of a run until it is over."""
    return _response(request, board, board.streams.run(run.id, run.summary.path, offset))


@router.get("/api/studies/{id}/stream")
async def follow_study(request: Request, board: TheBoard, study: TheStudy) -> Response:
    """Send which trials of a study changed until nobody works on it."""
    return _response(request, board, board.streams.study(study.id))


@router.get("/api/federations/{id}/stream")
async def follow_federation(request: Request, board: TheBoard, federation: TheFederation) -> Response:
    """Send which rounds of a federation are new until nobody works on it."""
    return _response(request, board, board.streams.federation(federation.id))


@router.get("/api/pipelines/{id}/stream")
async def follow_pipeline(request: Request, board: TheBoard, pipeline: ThePipeline) -> Response:
    """Send the row of a pipeline whenever something changed."""
    return _response(request, board, board.streams.changes(pipeline.id))


@router.get("/api/continuous/{id}/stream")
async def follow_continuous(request: Request, board: TheBoard, continuous: TheContinuous) -> Response:
    """Send the row of a continuous training whenever something changed."""
    return _response(request, board, board.streams.changes(continuous.id))


@router.get("/api/registries/{id}/stream")
async def follow_registry(request: Request, board: TheBoard, registry: TheRegistry) -> Response:
    """Send the row of a registry whenever something changed."""
    return _response(request, board, board.streams.changes(registry.id))


@router.get("/api/stream")
async def follow_runs(request: Request, board: TheBoard) -> Response:
    """Send which runs, studies, federations and others changed, came and went."""
    return _response(request, board, board.streams.list())


def _response(request: Request, board: Board, parts: AsyncIterator[bytes]) -> Response:
    kind = "text/event-stream"
    if request.scope.get("is_head"):
        return Response(media_type=kind)
    if board.streams.number >= MOST_STREAMS:
        raise HTTPException(429, f"{MOST_STREAMS} streams are open already; close some pages of the dashboard.")
    return StreamingResponse(parts, media_type=kind, headers={"X-Accel-Buffering": "no"})
