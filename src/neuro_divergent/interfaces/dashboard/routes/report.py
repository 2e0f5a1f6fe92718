"""The report of a run as a download: it is never shown as a page of the dashboard."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from starlette.responses import Response

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.interfaces.dashboard.board import TheRun

router = APIRouter()

REPORT = "report.html"
MOST_BYTES = 256 * 1024**2


@router.get("/api/runs/{id}/report")
def download_report(run: TheRun) -> Response:
    """Download the report."""
    try:
        return attachment(read_file(run.summary.path / REPORT, limit=MOST_BYTES))
    except NeuroDivergentError as error:
        raise HTTPException(404, "This run has no report that can be read; 'nd report RUN' writes one.") from error


def attachment(content: bytes) -> Response:
    """Return a report as a download."""
    # The name is fixed: that of a run may hold what a header cannot. No kind of text that a browser would draw.
    headers = {"Content-Disposition": f'attachment; filename="{REPORT}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)
