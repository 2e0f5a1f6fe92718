"""Runs the stages of a pipeline whose results are not there yet."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, InputError, MissingDependencyError, NeuroDivergentError
from neuro_divergent.core.progress import track
from neuro_divergent.lifecycle.pipeline.artifact import Artifact
from neuro_divergent.lifecycle.pipeline.error_policy import ErrorPolicy
from neuro_divergent.lifecycle.pipeline.graph import Graph
from neuro_divergent.lifecycle.pipeline.pipeline_directory import Journal
from neuro_divergent.lifecycle.pipeline.pipeline_result import StageOutcome
from neuro_divergent.lifecycle.pipeline.result_cache import KeptResult, ResultCache
from neuro_divergent.lifecycle.pipeline.stage import StageContext
from neuro_divergent.lifecycle.pipeline.step import Step

if TYPE_CHECKING:
    from neuro_divergent.training.callbacks.base import CallbackLike

Observer = Callable[[dict[str, Any]], object]
_LONGEST_MESSAGE = 2000


@dataclass
class StageRunner:
    """Runs stages one after the other, each in its turn.

    Attributes:
        graph: The stages and their connections.
        cache: Results that are there.
        journal: Where is written what happens.
        sources: What the sources of data give, by source and output.
        on_error: What happens if a stage fails that does not say so itself.
        observe: Called with every event.
        callbacks: Callbacks for training.
        outcomes: What became of the stages so far.
    """

    graph: Graph
    cache: ResultCache
    journal: Journal
    sources: Mapping[str, Mapping[str, Artifact]]
    on_error: ErrorPolicy
    observe: Observer | None = None
    callbacks: Sequence[CallbackLike] = ()
    outcomes: dict[str, StageOutcome] = field(default_factory=dict)
    _is_stopped: bool = False
    _is_checked: bool = False
    _ahead: Sequence[str] = ()

    def run(self, names: Sequence[str], *, force: Collection[str] = (), only: Collection[str] | None = None) -> None:
        """Run stages in their order.

        Args:
            names: The stages; all that they need is among them.
            force: Stages to run even if their result is there.
            only: Stages that may be run; of all others the results must be there.

        Raises:
            InputError: If a result that must be there is not.
            ConfigError: If the settings of a stage cannot work.
        """
        with track("Pipeline", len(names), "stage") as shown:
            for position, name in enumerate(names):
                shown.update(position, name)
                step = self.graph.steps[name]
                self._ahead = names[position:]
                missing = [need for need in self.graph.needs(name) if self.outcomes[need].outputs is None]
                if missing:
                    what = self.outcomes[missing[0]].state
                    reason = {"failed": "failed", "skipped": "was skipped"}.get(what, "was not run")
                    if self._is_stopped and what == "waiting":
                        self._finish(StageOutcome(name, "waiting", "not reached"))
                    else:
                        self._finish(StageOutcome(name, "skipped", f"it needs {missing[0]!r}, which {reason}"))
                elif self._is_stopped:
                    self._finish(StageOutcome(name, "waiting", "not reached"))
                else:
                    self._take(step, is_forced=name in force, may_run=only is None or name in only)
            shown.update(len(names), "")

    def _take(self, step: Step, *, is_forced: bool, may_run: bool) -> None:
        """Take the result of a stage from the cache, or run it."""
        inputs = {port: self._artifact(ref.producer, ref.output) for port, ref in self.graph.inputs[step.name].items()}
        try:
            key = step.key(inputs)
            kept = None if is_forced or (may_run and not step.cache) else self._find(step, key)
        except Exception as error:  # noqa: BLE001 - a stage may fail in any way
            self._fail(step, error, 0.0, 1)
            return
        if kept is not None:
            self._record(step, key, kept)
            self._finish(StageOutcome(step.name, "cached", outputs=kept.outputs))
        elif not may_run:
            raise InputError(
                f"the result of stage {step.name!r} is not there, or something that it depends on has changed; run "
                "that stage first, or leave --only out."
            )
        else:
            self._attempt(step, key, inputs, is_forced=is_forced)

    def _check_settings(self) -> None:
        """Refuse mistakes in settings of all stages to come before the first one is run."""
        if self._is_checked:
            return
        self._is_checked = True
        for name in self._ahead:
            try:
                self.graph.steps[name].work.check(self.graph.inputs[name])
            except InputError as error:
                raise ConfigError(f"stage {name!r}: {error}") from error

    def _find(self, step: Step, key: str) -> KeptResult | None:
        kept = self.cache.find(key)
        if kept is None or set(kept.outputs) != set(step.work.outputs):
            return None
        return kept if self.cache.is_valid(kept) and step.work.is_current(kept.outputs) else None

    def _attempt(self, step: Step, key: str, inputs: Mapping[str, Artifact], *, is_forced: bool) -> None:
        """Run a stage as often as its policy says."""
        self._check_settings()
        policy = step.on_error or self.on_error
        began, attempt = time.monotonic(), 1
        while True:
            try:
                if is_forced and attempt == 1:
                    self.cache.remove(key)
                kept = self._execute(step, key, inputs, attempt)
            except Exception as error:  # noqa: BLE001 - a stage may fail in any way
                wait = policy.wait(attempt, error)
                if wait is None:
                    self._fail(step, error, time.monotonic() - began, attempt)
                    return
                self._tell("stage_retry", stage=step.name, attempt=attempt, wait=wait, message=_message(error))
                time.sleep(wait)
                attempt += 1
                continue
            self._record(step, key, kept)
            seconds = time.monotonic() - began
            self._finish(StageOutcome(step.name, "done", "", seconds, attempt, kept.outputs))
            return

    def _execute(self, step: Step, key: str, inputs: Mapping[str, Artifact], attempt: int) -> KeptResult:
        self.journal.records[step.name] |= {
            "state": "running", "message": "", "begun": time.time(), "attempts": attempt, "key": key,
            "seconds": None, "outputs": {}, "notes": [], "tables": [],
        }  # fmt: skip
        self.journal.write("running")
        self._tell("stage_start", stage=step.name, key=key, attempt=attempt)
        directory = self.cache.begin(key, is_resumable=step.work.is_resumable)
        context = StageContext(step.name, directory, self.callbacks)
        began = time.monotonic()
        try:
            values = step.work.run(inputs, context)
        except Exception:
            self.journal.records[step.name] |= {"notes": context.notes, "tables": context.tables}
            raise
        self._tell("stage_computed", stage=step.name)
        return self.cache.finish(key, step, values, context, time.monotonic() - began)

    def _fail(self, step: Step, error: Exception, seconds: float, attempts: int) -> None:
        policy = step.on_error or self.on_error
        self._is_stopped = policy.then == "stop"
        trace = "" if isinstance(error, NeuroDivergentError) else "".join(traceback.format_exception(error))
        self._finish(StageOutcome(step.name, "failed", _message(error), seconds, attempts, error=error), trace)

    def _record(self, step: Step, key: str, kept: KeptResult) -> None:
        """Put a result into the record of its stage."""
        self.journal.records[step.name] |= {
            "key": key,
            "notes": list(kept.notes),
            "tables": list(kept.tables),
            "seconds": kept.seconds,
            "expires": kept.expires,
            "outputs": {name: {**item.describe(), "path": self._place(item)} for name, item in kept.outputs.items()},
        }

    def _place(self, item: Artifact) -> str:
        """Return where an output is, seen from the directory of the pipeline, which may be moved."""
        return item.file.relative_to(self.cache.path.parent).as_posix()

    def _finish(self, outcome: StageOutcome, trace: str = "") -> None:
        """Write what became of a stage."""
        self.outcomes[outcome.name] = outcome
        record = self.journal.records[outcome.name]
        record |= {"state": outcome.state, "message": outcome.message, "ended": time.time()}
        if outcome.state in ("done", "failed"):
            record |= {"seconds": outcome.seconds, "attempts": outcome.attempts}
        elif outcome.outputs is None:
            record |= {"outputs": {}, "seconds": None, "notes": [], "tables": []}
        self.journal.write("running")
        kinds = {"done": "stage_end", "cached": "stage_cached", "failed": "stage_failed", "skipped": "stage_skipped"}
        if outcome.state in kinds:
            values = {"message": outcome.message} if outcome.message else {}
            values |= {"traceback": trace} if trace else {}
            self._tell(kinds[outcome.state], stage=outcome.name, seconds=outcome.seconds, **values)

    def _artifact(self, producer: str, output: str) -> Artifact:
        if producer in self.sources:
            return self.sources[producer][output]
        outputs = self.outcomes[producer].outputs
        assert outputs is not None
        return outputs[output]

    def _tell(self, kind: str, **values: Any) -> None:
        event = self.journal.event(kind, **values)
        if self.observe is not None:
            self.observe(event)


def _message(error: Exception) -> str:
    """Return the message of an error, with its kind where it is none of ours."""
    text = " ".join(str(error).split())
    is_ours = isinstance(error, (NeuroDivergentError, MissingDependencyError))
    return (text if is_ours and text else f"{type(error).__name__}: {text}")[:_LONGEST_MESSAGE]
