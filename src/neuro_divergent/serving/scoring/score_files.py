"""Forecasts many series from files, tables or a database to a directory of Parquet files."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.data.io.source import find_files, read_table
from neuro_divergent.serving.scoring.database import SqlQuery
from neuro_divergent.serving.scoring.future import FutureSource
from neuro_divergent.serving.scoring.job import MODEL_VERSION, ScoringJob
from neuro_divergent.serving.scoring.lazy_source import digest_of
from neuro_divergent.serving.scoring.part import Part, UnsortedError
from neuro_divergent.serving.scoring.plan import Format, Planner, identity_of
from neuro_divergent.serving.scoring.scorer import Request, Scorer, open_scorer

_LOCK = ".lock"
_SNAPSHOT = ".snapshot-"
Observer = Callable[["PartDone"], None]


@dataclass(frozen=True)
class PartDone:
    """Progress of a job.

    Attributes:
        name: File of the part.
        number: Which part it is, from 1.
        total: Number of parts.
        series: Its series.
        was_there: Whether it was finished before.
    """

    name: str
    number: int
    total: int
    series: int
    was_there: bool


@dataclass(frozen=True)
class ScoringSummary:
    """The result of a job.

    Attributes:
        directory: Where the forecasts are.
        made_at: When the job was first started, which the column ``made_at`` repeats.
        model_version: Digest of the model.
        series: Series that were forecast.
        rows: Rows of forecasts.
        parts: Name, series and rows of each file.
        is_new: Whether something was forecast; not so where ``if_newer`` found nothing new.
    """

    directory: Path
    made_at: str
    model_version: str
    series: int
    rows: int
    parts: tuple[Mapping[str, Any], ...]
    is_new: bool = True


def score_files(
    model: Any,
    source: Any,
    output: str | os.PathLike[str],
    *,
    future: Any = None,
    levels: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    horizon: int | None = None,
    changes: Mapping[str, Any] | None = None,
    as_of: Any = None,
    if_newer: bool = False,
    source_format: Format | None = None,
    version: str | None = None,
    made_at: datetime | None = None,
    threads: int = 1,
    observe: Observer | None = None,
) -> ScoringSummary:
    """Forecast what comes after the end of each series of a source, a part at a time.

    A part is a file, some of the series of a large one or of a panel, or some of the series of a source whose files
    have series in common. Only the rows that forecasts need are kept; earlier rows are not checked for missing values
    and gaps. Each part becomes one Parquet file with the columns of ``predict`` and ``made_at`` and ``model_version``,
    complete or absent. A job that was interrupted is resumed by the same call: parts that are finished and whose rows
    did not change are kept.

    Args:
        model: An ``ExportedModel``, any ``ForecastModel``, or the path of an exported file, a model or a run. Without
            an exported file torch is needed.
        source: Path or pattern of Parquet or CSV files, a stored panel, a Delta table, an address that polars scans,
            such as ``"s3://bucket/sales/*.parquet"``, a panel, a table, a lazy frame, or a ``SqlQuery``. A series may
            be spread over several files, but then all files are searched for each part. A panel is divided into parts
            of about a million rows of forecasts.
        output: Directory for the forecasts.
        future: Table of the covariates known ahead, or a path or pattern.
        levels: Central intervals, in percent.
        quantiles: Quantiles, between 0 and 1.
        horizon: Steps to forecast.
        changes: Fields of ``Schema`` that differ from those of training, such as ``missing``; for exported models.
        as_of: Rows after this time are left out, as if they were not known yet; a date means its midnight.
        if_newer: Do nothing if neither the model nor the data changed since the job in this directory was completed.
        source_format: Kind of the source where its name does not tell.
        version: For a ``ForecastModel`` in memory: what tells it from others, the column ``model_version``.
        made_at: Time of the start to record; now by default.
        threads: Processor threads of the graph; polars takes as many as ``POLARS_MAX_THREADS`` says.
        observe: Called after each part.

    Raises:
        DataError: If the source cannot be read or its series cannot be forecast.
        InputError: If the directory holds other tables, or another process writes to it.
        StorageError: If the disk refuses; what was written before is complete.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=3, length=60).frame()
        >>> table.write_parquet("sales.parquet")
        >>> model = nd.Statistical("seasonal_naive", horizon=7).fit(table)
        >>> summary = nd.serving.score_files(model, "sales.parquet", "forecasts", version="v1")
        >>> summary.series, summary.rows
        (3, 21)
        >>> pl.read_parquet("forecasts/*.parquet").columns
        ['unique_id', 'ds', 'forecast', 'made_at', 'model_version']
    """
    request = Request(tuple(levels), tuple(quantiles), horizon, dict(changes or {}))
    scorer = open_scorer(model, request, version=version, threads=threads)
    run = _Run(
        scorer,
        source,
        Path(output),
        _settings(scorer, request, source, future, as_of),
        Planner(scorer, as_of, source_format),
        future,
        observe,
    )
    try:
        run.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(run.directory, "created", error) from error
    with RunLock(run.directory / _LOCK):
        return run.start(if_newer=if_newer, made_at=made_at)


@dataclass(frozen=True)
class _Run:
    """One call of ``score_files`` in its directory."""

    scorer: Scorer
    source: Any
    directory: Path
    settings: Mapping[str, Any]
    planner: Planner
    future: Any
    observe: Observer | None

    def start(self, *, if_newer: bool, made_at: datetime | None) -> ScoringSummary:
        """Start, resume or leave the job."""
        done = ScoringJob.completed(self.directory, self.settings) if if_newer else None
        if done is not None:
            parts = self._plan(done, ())
            if all(self._is_finished(done, part) for part in parts):
                self._remove_snapshots()
                known = [done.finished(part.name, part.fingerprint) for part in parts]
                return _summary(done, [result for result in known if result is not None], is_new=False)
        job = ScoringJob.begin(self.directory, self.settings, made_at=made_at)
        unsorted: set[str] = set()
        while True:
            try:
                results, empty = self._score(job, self._plan(job, unsorted))
                break
            except UnsortedError as error:
                unsorted.add(error.path)  # Its series may also be in other files: all ids are looked at now.
        if not results:
            raise DataError(f"{_label(self.source)}: no series to forecast")
        job.finish(results, empty)
        self._remove_snapshots()
        return _summary(job, results)

    def _plan(self, job: ScoringJob, unsorted: Collection[str]) -> list[Part]:
        if not isinstance(self.source, SqlQuery):
            return self.planner.plan(self.source, unsorted)
        # An interrupted job uses the rows again that it began with.
        place = self.directory / f"{_SNAPSHOT}{job.digest[:16]}"
        if job.is_complete or not place.is_dir():
            self._remove_snapshots()
            self.source.snapshot(place, self.scorer.schema)
        tables = [pl.scan_parquet(file, glob=False) for file in sorted(place.glob("*.parquet"))]
        identity = hashlib.sha256((place / MANIFEST).read_bytes()).hexdigest()
        return self.planner.plan_table(pl.concat(tables, how="vertical_relaxed"), str(self.source), identity)

    def _score(self, job: ScoringJob, parts: Sequence[Part]) -> tuple[list[dict[str, Any]], list[str]]:
        """Return what is known about the files of all parts, and fingerprints of parts without series."""
        results, empty = [], []
        ahead: FutureSource | None = None
        for number, part in enumerate(parts, 1):
            mark = part.fingerprint
            result = job.finished(part.name, mark)
            was_there = result is not None
            if result is None:
                if ahead is None and self.future is not None:
                    ahead = FutureSource(self.future, self.scorer.schema)
                tables = [block.forecast(self.scorer, ahead) for block in part.blocks()]
                rows = sum(table.height for table in tables)
                if not rows:
                    empty.append(mark)
                    continue
                result = job.write(part.name, mark, tables, rows // self.scorer.steps)
            results.append(result)
            if self.observe is not None:
                self.observe(PartDone(result["name"], number, len(parts), result["series"], was_there))
        return results, empty

    def _is_finished(self, job: ScoringJob, part: Part) -> bool:
        mark = part.fingerprint
        return mark in job.empty or job.finished(part.name, mark) is not None

    def _remove_snapshots(self) -> None:
        for place in self.directory.glob(f"{_SNAPSHOT}*"):
            shutil.rmtree(place, ignore_errors=True)


def _settings(scorer: Scorer, request: Request, source: Any, future: Any, as_of: Any) -> dict[str, Any]:
    """Return what identifies a job, as it is after a round trip through JSON."""
    return {
        MODEL_VERSION: scorer.version,
        "source": source.digest if isinstance(source, SqlQuery) else _label(source),
        "future": None if future is None else _identity(future),
        "levels": list(request.levels),
        "quantiles": list(request.quantiles),
        "horizon": request.horizon,
        "changes": {key: str(value) for key, value in request.changes.items()},
        "as_of": None if as_of is None else str(as_of),
    }


def _label(source: Any) -> str:
    return str(source) if isinstance(source, (str, os.PathLike, SqlQuery)) else "data"


def _identity(future: Any) -> str:
    """Return a text that changes when the covariates known ahead do."""
    if isinstance(future, (str, os.PathLike)):
        return identity_of(find_files(os.fspath(future)))
    return digest_of(read_table(future).frame.hash_rows().to_list())


def _summary(job: ScoringJob, parts: Sequence[Mapping[str, Any]], *, is_new: bool = True) -> ScoringSummary:
    series, rows = (sum(part[key] for part in parts) for key in ("series", "rows"))
    version = job.settings[MODEL_VERSION]
    return ScoringSummary(job.directory, job.made_at.isoformat(), version, series, rows, tuple(parts), is_new)
