"""A pipeline: its stages and their connections."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from starlette.responses import Response

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.interfaces.dashboard.board import ThePipeline
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.pipelines import PipelineView
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.routes.report import MOST_BYTES, attachment
from neuro_divergent.lifecycle.pipeline.pipeline_directory import REPORT

router = APIRouter()


@router.get("/api/pipelines/{id}")
def show_pipeline(entry: ThePipeline) -> JsonResponse:
    """Return the stages of a pipeline, how they are connected, and what became of each."""
    return JsonResponse({**entry.row, **PipelineView(entry.summary, id_of).details()})


@router.get("/api/pipelines/{id}/report")
def download_pipeline_report(entry: ThePipeline) -> Response:
    """Download the report of a pipeline."""
    try:
        return attachment(read_file(entry.path / REPORT, limit=MOST_BYTES))
    except NeuroDivergentError as error:
        raise HTTPException(404, "This pipeline has no report that can be read.") from error
