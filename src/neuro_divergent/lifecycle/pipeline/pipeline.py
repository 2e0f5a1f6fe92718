"""A pipeline: stages that are run in the order of what they need, and whose results are kept."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from neuro_divergent.core import html
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.data_source import FileDigests, source_artifacts
from neuro_divergent.lifecycle.pipeline.error_policy import ErrorPolicy
from neuro_divergent.lifecycle.pipeline.function_reference import modules_from
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.graph import Graph
from neuro_divergent.lifecycle.pipeline.pipeline_directory import (
    CACHE,
    FILES,
    Journal,
    PipelineDirectory,
    write_quietly,
)
from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult
from neuro_divergent.lifecycle.pipeline.result_cache import ResultCache
from neuro_divergent.lifecycle.pipeline.runner import Observer, StageRunner
from neuro_divergent.lifecycle.pipeline.stage import Stage
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError
from neuro_divergent.lifecycle.pipeline.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuro_divergent.lifecycle.pipeline.artifact import Artifact
    from neuro_divergent.training.callbacks.base import CallbackLike

DATA = "data"
_BLANK: dict[str, Any] = {
    "state": "waiting", "message": "", "begun": None, "ended": None, "seconds": None, "attempts": 0, "key": None,
    "outputs": {}, "notes": [], "tables": [], "expires": None,
}  # fmt: skip


class Pipeline:
    """Runs stages, and keeps their results in a directory.

    A stage runs when its code, its settings or the content of its inputs have changed, or when its result is not there:
    a pipeline that was interrupted, killed or has failed goes on where it was.

    Args:
        stages: Built-in stages, their names, functions, or what ``stage(...)`` returns.
        data: Table for the first stages: a path or pattern of CSV or Parquet files, or a table. It is called ``data``.
        directory: Directory of the pipeline, which is made.
        sources: Further tables by name.
        on_error: What happens if a stage fails: ``"stop"``, ``"continue"`` with what does not depend on it, or
            ``retry(times, backoff)``.
        name: Name for people; that of the directory if left out.
        schema: Fields of ``Schema``: names and roles of the columns of ``data``, as for ``Forecaster.fit``.

    Raises:
        ConfigError: If stages do not fit together, with the closest name.

    Examples:
        >>> import neuro_divergent as nd
        >>> def largest(table):
        ...     return table["y"].max()
        >>> check = nd.lifecycle.DataValidation(ranges={"y": (0, 1000)})
        >>> stages = [check, nd.lifecycle.stage(largest, outputs="value")]
        >>> pipeline = nd.Pipeline(stages, data=nd.datasets.air_passengers(), directory="flights")
        >>> pipeline.run()["largest.value"]
        622.0
        >>> pipeline.run().states
        {'data_validation': 'cached', 'largest': 'cached'}
    """

    def __init__(
        self,
        stages: Sequence[Step | Stage | str | Callable[..., Any]],
        *,
        data: Any = None,
        directory: str | Path = "pipeline",
        sources: Mapping[str, Any] | None = None,
        on_error: ErrorPolicy | str | Mapping[str, Any] = "stop",
        name: str | None = None,
        **schema: Any,
    ) -> None:
        self.steps = [item if isinstance(item, Step) else stage(item) for item in stages]
        if not self.steps:
            raise ConfigError("a pipeline needs at least one stage.")
        self.directory = PipelineDirectory(Path(directory))
        self.data, self.sources = data, dict(sources or {})
        self.schema = Schema(**schema)
        self.on_error = ErrorPolicy.of(on_error)
        self.name = name or self.directory.path.resolve().name
        given = {DATA: ("table", "schema") if data is not None else ("schema",)}
        if DATA in self.sources:
            raise ConfigError(f"sources: {DATA!r} is the table that is given as data; choose another name.")
        self.graph = Graph(self.steps, {**given, **dict.fromkeys(self.sources, ("table",))})
        self._modules: Path | None = None  # where modules of the pipeline file are

    @classmethod
    def from_toml(cls, path: str | Path, *, directory: str | Path | None = None) -> Self:
        """Read a pipeline from a TOML file; paths in it are seen from the directory of the file.

        The functions that it names are imported, so the file must be one that you trust.

        Args:
            path: The file.
            directory: Another directory for the pipeline than the file says.

        Raises:
            ConfigError: If something in the file is not right.
        """
        from neuro_divergent.lifecycle.pipeline.pipeline_file import read_pipeline

        pipeline = cls(**read_pipeline(Path(path), directory))
        pipeline._modules = Path(path).resolve().parent
        return pipeline

    def run(
        self,
        *,
        stage: str | None = None,
        only: bool = False,
        force: str | Sequence[str] = (),
        wait: float = 0.0,
        observe: Observer | None = None,
        callbacks: Sequence[CallbackLike] = (),
    ) -> PipelineResult:
        """Run the stages whose results are not there.

        Args:
            stage: Run this stage and what it needs; unset, all of them.
            only: With ``stage``: refuse if the result of another stage would have to be computed.
            force: Stages to run even if nothing has changed.
            wait: Seconds to wait for another process that works on the same directory.
            observe: Called with every event: a dict with ``event`` and ``stage``.
            callbacks: Callbacks for training.

        Returns:
            What was done; ``result["stage.output"]`` is an output.

        Raises:
            StageFailedError: If a stage failed, after those that do not depend on it, if ``on_error`` says so.
            InputError: If another process works on the directory, or an input of ``only`` is absent.
            DataError: If a file of the data is not there.
        """
        if only and stage is None:
            raise InputError("only: says that one stage is run; name it with stage=.")
        wanted = [self.graph.require(stage)] if stage is not None else list(self.graph.order)
        forced = [self.graph.require(name) for name in ([force] if isinstance(force, str) else force)]
        names = self.graph.ancestors(wanted)
        importing = nullcontext() if self._modules is None else modules_from(self._modules)
        with self.directory.opened(wait=wait), importing:
            return self._run(names, forced, wanted if only else None, observe=observe, callbacks=callbacks)

    def _run(
        self,
        names: Sequence[str],
        forced: Sequence[str],
        only: Sequence[str] | None,
        *,
        observe: Observer | None,
        callbacks: Sequence[CallbackLike],
    ) -> PipelineResult:
        began, path = time.monotonic(), self.directory.path
        journal = self._open_journal(names)
        try:
            sources = self._open_sources(names)
            runner = StageRunner(
                self.graph, ResultCache(path / CACHE), journal, sources, self.on_error, observe, callbacks
            )
            runner.run(names, force=forced, only=only)
            outcomes = tuple(runner.outcomes[name] for name in names)
            result = PipelineResult(path, outcomes, time.monotonic() - began)
            error = None if result.is_complete else StageFailedError(result)
            journal.write("finished" if error is None else "failed", "" if error is None else str(error))
            journal.event("end", state="finished" if error is None else "failed")
        except BaseException as interruption:
            is_error = isinstance(interruption, Exception)
            write_quietly(journal, "failed" if is_error else "interrupted", str(interruption))
            journal.event("failed" if is_error else "interrupted", message=str(interruption))
            raise
        self._write_report()
        if error is not None:
            raise error from next((outcome.error for outcome in outcomes if outcome.error is not None), None)
        return result

    def _open_journal(self, names: Sequence[str]) -> Journal:
        """Write which stages there are, and that some of them are waiting."""
        before, records = self.directory.records(), {}
        for name in self.graph.order:
            step = self.graph.steps[name]
            known = before.get(name, {})
            is_kept = name not in names and known.get("kind") == step.kind
            inputs = {port: str(reference) for port, reference in self.graph.inputs[name].items()}
            records[name] = {**_BLANK, **(known if is_kept else {}), "name": name, "kind": step.kind, "inputs": inputs}
        self.directory.write_definition(self.name, self.graph, self._settings())
        journal = Journal(self.directory, records)
        journal.write("running")
        journal.event("start", name=self.name, stages=list(names))
        return journal

    def _open_sources(self, names: Sequence[str]) -> dict[str, dict[str, Artifact]]:
        """Return what the sources of some stages give."""
        digests = FileDigests(self.directory.path / FILES)
        used = {reference.producer for name in names for reference in self.graph.inputs[name].values()}
        found = {name: source_artifacts(data, None, digests) for name, data in self.sources.items() if name in used}
        if DATA in used:
            found[DATA] = source_artifacts(self.data, self.schema, digests)
        digests.save()
        return found

    def _settings(self) -> dict[str, Any]:
        """Return what is given besides stages, for the record."""
        given = {DATA: self.data, **self.sources}
        places = {
            name: str(item) if isinstance(item, (str, Path)) else "table in memory"
            for name, item in given.items()
            if item is not None
        }
        return {"sources": places, "schema": self.schema.to_dict(), "on_error": self.on_error.to_dict()}

    def _write_report(self) -> None:
        from neuro_divergent.lifecycle.pipeline.report import write_pipeline_report

        write_pipeline_report(self.directory.path)

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(self.graph.order)}; {self.directory.path})"

    def _repr_html_(self) -> str:
        rows = [
            (name, self.graph.steps[name].kind, ", ".join(str(item) for item in self.graph.inputs[name].values()))
            for name in self.graph.order
        ]
        place = html.paragraph(self.directory.path)
        return html.card("Pipeline", self.name, html.table(["stage", "kind", "inputs"], rows), place)
