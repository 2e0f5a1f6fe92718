"""A study: its trials, its figures and its best settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.interfaces.dashboard.board import TheBoard, TheStudy
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.studies import StudyEntry, StudyView
from neuro_divergent.reporting.plotly.figure import to_json
from neuro_divergent.search.reading.recorded_study import RecordedStudy

router = APIRouter()


@router.get("/api/studies/{id}")
def show_study(entry: TheStudy) -> JsonResponse:
    """Return how a study searches, and its trials."""
    view = StudyView(_readable(entry), id_of)
    return JsonResponse({**entry.row, **view.details(), "trials": list(view.rows.values())})


@router.get("/api/studies/{id}/figures")
def list_study_figures(board: TheBoard, entry: TheStudy) -> JsonResponse:
    """List the figures of a study, and the settings of which there are more, the most important first."""
    figures = board.study_figures.read(_readable(entry))
    return JsonResponse({"figures": figures.names, "settings": figures.settings})


@router.get("/api/studies/{id}/figures/{name}")
def show_study_figure(board: TheBoard, entry: TheStudy, name: str) -> JsonResponse:
    """Return a figure of a study: what Plotly draws, its title, a note and an alternative text.

    Besides the listed ones there are ``slice-SETTING``, ``partial-dependence-SETTING`` and
    ``contour-SETTING,SETTING``.
    """
    figure = board.study_figures.read(_readable(entry)).figure(name)
    shown = {"title": figure.title, "note": figure.note, "alt_text": figure.alt_text}
    return JsonResponse({**to_json(figure), **shown})


@router.get("/api/studies/{id}/settings")
def show_trial_settings(
    entry: TheStudy,
    trial: Annotated[int | None, Query(ge=0, lt=2**31, description="Number of a trial; unset, the best.")] = None,
) -> JsonResponse:
    """Return all settings of a trial as a run in TOML, for 'nd train'."""
    study = _readable(entry)
    chosen = study.best if trial is None else next((item for item in study.trials if item.number == trial), None)
    if chosen is None or not chosen.settings:
        what = "No trial is complete and meets the constraints." if trial is None else "There is no such trial."
        raise HTTPException(404, what)
    try:
        toml = study.settings_of(chosen).to_toml()
    except NeuroDivergentError as error:
        raise HTTPException(404, f"The settings of trial {chosen.number} do not fit together: {error}") from error
    return JsonResponse({"trial": chosen.number, "toml": toml})


def _readable(entry: StudyEntry) -> RecordedStudy:
    if entry.study is None:
        raise HTTPException(404, f"The study cannot be read: {entry.row['message']}")
    return entry.study
