"""A continuous training: where it stands, its decisions and what they rest on."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.interfaces.dashboard.board import Board, TheBoard, TheContinuous
from neuro_divergent.interfaces.dashboard.continuous import ContinuousEntry, ContinuousView, registry_places
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.registries import RegistryEntry, RegistryView
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()


@router.get("/api/continuous/{id}")
def show_continuous(board: TheBoard, entry: TheContinuous) -> JsonResponse:
    """Return where a continuous training stands, with its tests for drift, trainings, incidents and decisions."""
    if entry.status is None:
        raise HTTPException(404, f"It cannot be read: {entry.row['message']}")
    registry = _registry(board, entry)
    view = ContinuousView(
        entry,
        id_of,
        None if registry is None else registry.id,
        [] if registry is None else _aliases(registry, entry.status.name),
    )
    return JsonResponse({**entry.row, **view.details(), "model_name": entry.status.name, "name": entry.row["name"]})


def _registry(board: Board, entry: ContinuousEntry) -> RegistryEntry | None:
    """Return the registry that the settings name, if it is shown here."""
    found = (board.index.find_other(RegistryEntry, id_of(place)) for place in registry_places(entry))
    return next((item for item in found if item is not None), None)


def _aliases(registry: RegistryEntry, name: str) -> list[dict[str, object]]:
    try:
        return RegistryView(registry.path, lambda path: None).aliases(name)
    except NeuroDivergentError:
        return []  # its own page says why it cannot be read
