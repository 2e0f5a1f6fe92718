"""Forecasts of a run, series by series."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from neuro_divergent.interfaces.dashboard.board import TheBoard, TheRun
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.series_list import Match
from neuro_divergent.reporting.figures.forecast import forecast_figure
from neuro_divergent.reporting.plotly.figure import to_json

router = APIRouter()


@router.get("/api/runs/{id}/series")
def list_series(
    board: TheBoard,
    run: TheRun,
    search: Annotated[str, Query(max_length=200, description="Text in the name.")] = "",
    match: Annotated[Match, Query(description="Where the text is; an exact one heeds case.")] = "contains",
    around: Annotated[
        str | None, Query(max_length=1000, description="Name: return the page that has it, and its offset or null.")
    ] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> JsonResponse:
    """List the names of the series of a run, page by page, in the order of the panel."""
    series = board.tables.read(run.summary.path).series_list
    found = series.find(search, match)
    if around is None:
        return JsonResponse({"total": len(found), "series": found.slice(offset, limit).to_list()})
    page = series.page_of(around, found, limit)
    names = [] if page is None else found.slice(page, limit).to_list()
    return JsonResponse({"total": len(found), "series": names, "offset": page})


@router.get("/api/runs/{id}/forecast")
def show_forecast(
    board: TheBoard,
    run: TheRun,
    series: Annotated[str | None, Query(max_length=1000, description="Name; unset, the first.")] = None,
) -> JsonResponse:
    """Return the forecast of a series: a figure for Plotly, and the numbers."""
    tables = board.tables.read(run.summary.path)
    names = tables.series_list
    if series is None and len(names.names):
        series = names.names[0]
    if series is None or series not in names:
        raise HTTPException(404, "There is no such series among the forecasts of this run.")
    rows = tables.rows_of(series)
    figure = forecast_figure(
        rows.context,
        rows.forecasts,
        series=None if tables.id is None else series,
        id=tables.id,
        time=tables.time,
        target=tables.target,
        backtest=rows.backtest,
    )
    drawn = {**to_json(figure), "note": figure.note, "alt_text": figure.alt_text}
    return JsonResponse({"series": series, "figure": drawn, "rows": tables.forecast_rows(rows)})
