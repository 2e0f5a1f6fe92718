"""Figures of a run, for Plotly."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.reporting.plotly.figure import to_json
from neuro_divergent.reporting.run_figures import FIGURES

router = APIRouter()


@router.get("/api/runs/{id}/figures")
def list_figures(board: TheBoard, run: TheRun) -> JsonResponse:
    """List the figures that can be drawn of a run."""
    found = board.tables.read(run.summary.path).figures
    return JsonResponse({"figures": [{"name": name, "title": title, "group": group} for name, group, title in found]})


@router.get("/api/runs/{id}/figures/{name}")
def show_figure(board: TheBoard, run: TheRun, name: str) -> JsonResponse:
    """Return a figure of a run: what Plotly draws, a note and an alternative text."""
    if name not in FIGURES:
        raise HTTPException(404, f"There is no such figure; there are {', '.join(FIGURES)}.")
    figure, note = board.tables.read(run.summary.path).figure(name)
    return JsonResponse({**to_json(figure), "note": note, "alt_text": figure.alt_text})
