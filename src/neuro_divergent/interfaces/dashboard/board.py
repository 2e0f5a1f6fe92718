"""State that all routes of the dashboard use."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request

from neuro_divergent.interfaces.dashboard.diagnoses import Diagnoses
from neuro_divergent.interfaces.dashboard.federations import FederationEntry
from neuro_divergent.interfaces.dashboard.index import Entry, RunIndex
from neuro_divergent.interfaces.dashboard.live import LiveHistories
from neuro_divergent.interfaces.dashboard.log import Logs
from neuro_divergent.interfaces.dashboard.processes import LiveProcesses
from neuro_divergent.interfaces.dashboard.settings import Settings
from neuro_divergent.interfaces.dashboard.stream import Streams
from neuro_divergent.interfaces.dashboard.studies import FiguresOfStudies, StudyEntry
from neuro_divergent.interfaces.dashboard.tables import TablesOfRuns


class Board:
    """The runs that are shown, and caches of what was read of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.index = RunIndex(settings.root)
        self.histories = LiveHistories()
        self.logs = Logs()
        self.processes = LiveProcesses()
        self.tables = TablesOfRuns(self.histories, self.processes)
        self.diagnoses = Diagnoses()
        self.study_figures = FiguresOfStudies()
        self.streams = Streams(self.index)


def _board(request: Request) -> Board:
    board: Board = request.app.state.board
    return board


def _run(request: Request, key: Annotated[str, Path(alias="id", description="Id of a run.")]) -> Entry:
    entry = _board(request).index.find(key)
    if entry is None:
        raise HTTPException(404, "There is no such run here.")
    return entry


def _study(request: Request, key: Annotated[str, Path(alias="id", description="Id of a study.")]) -> StudyEntry:
    entry = _board(request).index.find_study(key)
    if entry is None:
        raise HTTPException(404, "There is no such study here.")
    return entry


def _federation(
    request: Request, key: Annotated[str, Path(alias="id", description="Id of a federation.")]
) -> FederationEntry:
    entry = _board(request).index.find_federation(key)
    if entry is None:
        raise HTTPException(404, "There is no such federation here.")
    return entry


TheBoard = Annotated[Board, Depends(_board)]
TheRun = Annotated[Entry, Depends(_run)]
TheStudy = Annotated[StudyEntry, Depends(_study)]
TheFederation = Annotated[FederationEntry, Depends(_federation)]
