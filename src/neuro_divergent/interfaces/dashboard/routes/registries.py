"""A registry: its models, their versions, and how they differ."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query

from neuro_divergent.interfaces.dashboard.board import Board, TheBoard, TheRegistry
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.registries import RegistryEntry, RegistryView
from neuro_divergent.interfaces.dashboard.response import JsonResponse

router = APIRouter()

Name = Annotated[str, Path(description="Name of a model.")]
Number = Annotated[int, Path(ge=1, lt=2**31, description="Number of a version.")]


@router.get("/api/registries/{id}")
def show_registry(board: TheBoard, entry: TheRegistry) -> JsonResponse:
    """Return the models of a registry and their aliases."""
    return JsonResponse({**entry.row, "path": str(entry.path), "models": _view(board, entry).models()})


@router.get("/api/registries/{id}/models/{name}")
def show_model(board: TheBoard, entry: TheRegistry, name: Name) -> JsonResponse:
    """Return the versions of a model and the changes of its aliases, the newest first."""
    found = _view(board, entry).model(name)
    if found is None:
        raise HTTPException(404, "There is no such model in this registry.")
    return JsonResponse(found)


@router.get("/api/registries/{id}/models/{name}/versions/{number}")
def show_version(board: TheBoard, entry: TheRegistry, name: Name, number: Number) -> JsonResponse:
    """Return everything that is recorded of a version."""
    found = _view(board, entry).version(name, number)
    if found is None:
        raise HTTPException(404, "There is no such version in this registry.")
    return JsonResponse(found)


@router.get("/api/registries/{id}/models/{name}/diff")
def show_diff(
    board: TheBoard,
    entry: TheRegistry,
    name: Name,
    a: Annotated[int, Query(ge=1, lt=2**31, description="Number of a version.")],
    b: Annotated[int, Query(ge=1, lt=2**31, description="Number of another one.")],
) -> JsonResponse:
    """Return how two versions of a model differ."""
    found = _view(board, entry).diff(name, a, b)
    if found is None:
        raise HTTPException(404, "There is no such version in this registry.")
    return JsonResponse(found)


def _view(board: Board, entry: RegistryEntry) -> RegistryView:
    def find_run(path: FilePath) -> str | None:
        """Return the id of a run that is shown here, and of no other path that a version names."""
        key = id_of(path)
        return None if board.index.find(key) is None else key

    return RegistryView(entry.path, find_run)
