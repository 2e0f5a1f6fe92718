"""A federation: its rounds, its clients and its figures."""

from __future__ import annotations

from fastapi import APIRouter

from neuro_divergent.federated.figures import federation_figure, federation_figures
from neuro_divergent.interfaces.dashboard.board import TheFederation
from neuro_divergent.interfaces.dashboard.federations import FederationView
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.reporting.plotly.figure import to_json

router = APIRouter()


@router.get("/api/federations/{id}")
def show_federation(entry: TheFederation) -> JsonResponse:
    """Return how a federation trains, and its rounds."""
    view = FederationView(entry.summary)
    return JsonResponse({**entry.row, **view.details(), "rounds": list(view.rounds.values())})


@router.get("/api/federations/{id}/clients")
def list_clients(entry: TheFederation) -> JsonResponse:
    """List the clients of a federation: what each did in all rounds, and the scores of its models."""
    return JsonResponse(FederationView(entry.summary).clients())


@router.get("/api/federations/{id}/figures")
def list_federation_figures(entry: TheFederation) -> JsonResponse:
    """List the figures that can be drawn of a federation."""
    return JsonResponse({"figures": list(federation_figures(entry.summary))})


@router.get("/api/federations/{id}/figures/{name}")
def show_federation_figure(entry: TheFederation, name: str) -> JsonResponse:
    """Return a figure of a federation: what Plotly draws, its title, a note and an alternative text."""
    figure = federation_figure(entry.summary, name)
    shown = {"title": figure.title, "note": figure.note, "alt_text": figure.alt_text}
    return JsonResponse({**to_json(figure), **shown})
