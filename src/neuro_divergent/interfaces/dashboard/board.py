"""State that all routes of the dashboard use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request

from neuro_divergent.interfaces.dashboard.continuous import ContinuousEntry
from neuro_divergent.interfaces.dashboard.diagnoses import Diagnoses
from neuro_divergent.interfaces.dashboard.federations import FederationEntry
from neuro_divergent.interfaces.dashboard.index import Entry, Other, RunIndex
from neuro_divergent.interfaces.dashboard.live import LiveHistories
from neuro_divergent.interfaces.dashboard.log import Logs
from neuro_divergent.interfaces.dashboard.pipelines import PipelineEntry
from neuro_divergent.interfaces.dashboard.processes import LiveProcesses
from neuro_divergent.interfaces.dashboard.registries import RegistryEntry
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


def _finder(kind: type[Other], name: str) -> Callable[..., Other]:
    """Return what finds something by the id in an address."""

    # As a default value: an annotation of a function inside another one could not use its variables.
    def find(request: Request, key: str = Path(alias="id", description=f"Id of a {name}.")) -> Other:
        entry = _board(request).index.find_other(kind, key)
        if entry is None:
            raise HTTPException(404, f"There is no such {name} here.")
        return entry

    return find


TheBoard = Annotated[Board, Depends(_board)]
TheRun = Annotated[Entry, Depends(_run)]
TheStudy = Annotated[StudyEntry, Depends(_finder(StudyEntry, "study"))]
TheFederation = Annotated[FederationEntry, Depends(_finder(FederationEntry, "federation"))]
ThePipeline = Annotated[PipelineEntry, Depends(_finder(PipelineEntry, "pipeline"))]
TheContinuous = Annotated[ContinuousEntry, Depends(_finder(ContinuousEntry, "continuous training"))]
TheRegistry = Annotated[RegistryEntry, Depends(_finder(RegistryEntry, "registry"))]
