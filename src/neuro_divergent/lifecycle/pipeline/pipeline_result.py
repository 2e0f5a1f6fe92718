"""What came out of a run of a pipeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.core.formatting import format_duration

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

StageState = Literal["waiting", "running", "cached", "done", "failed", "skipped"]


@dataclass(frozen=True)
class StageOutcome:
    """What became of a stage.

    Attributes:
        name: Name of the stage.
        state: ``done`` if it was run, ``cached`` if its result was there, ``failed``, ``skipped`` because something
            that it needs is missing, or ``waiting`` if it was not reached or not asked for.
        message: Why it failed or was skipped.
        seconds: How long it took, all attempts together.
        attempts: How many times it was tried.
        outputs: Its results by name.
        error: The error with which it failed.
    """

    name: str
    state: StageState
    message: str = ""
    seconds: float = 0.0
    attempts: int = 0
    outputs: Mapping[str, Artifact] | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class PipelineResult:
    """What a run of a pipeline did.

    Attributes:
        directory: Directory of the pipeline.
        stages: What became of each stage, in the order in which they were run.
        seconds: How long all of it took.
    """

    directory: Path
    stages: tuple[StageOutcome, ...]
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether no stage failed or was skipped."""
        return not any(outcome.state in ("failed", "skipped") for outcome in self.stages)

    @property
    def states(self) -> dict[str, StageState]:
        """The state of each stage by name."""
        return {outcome.name: outcome.state for outcome in self.stages}

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each output, by ``stage.output``."""
        found: dict[str, str] = {}
        for outcome in self.stages:
            found |= {f"{outcome.name}.{name}": item.digest for name, item in (outcome.outputs or {}).items()}
        return found

    def artifact(self, reference: str) -> Artifact:
        """Return an output by ``stage.output``, or by the name of a stage that has one output.

        Raises:
            InputError: If there is none, with the closest name.
        """
        known = {
            f"{outcome.name}.{name}": item for outcome in self.stages for name, item in (outcome.outputs or {}).items()
        }
        own = [key for key in known if key.rpartition(".")[0] == reference]
        key = own[0] if len(own) == 1 else reference
        if key not in known:
            raise InputError(
                f"there is no output {reference!r}.{did_you_mean(reference, known)} "
                f"There are: {', '.join(known) or 'none'}."
            )
        return known[key]

    def __repr__(self) -> str:
        return f"PipelineResult({self._summary()})"

    def _repr_html_(self) -> str:
        rows = [
            (stage.name, stage.state, stage.seconds, ", ".join(stage.outputs or ()), stage.message)
            for stage in self.stages
        ]
        table = html.table(["stage", "state", "seconds", "outputs", "message"], rows)
        return html.card("PipelineResult", self._summary(), table, html.paragraph(self.directory))

    def _summary(self) -> str:
        counts = Counter(self.states.values())
        return f"{', '.join(f'{count} {state}' for state, count in counts.items())} in {format_duration(self.seconds)}"

    def __getitem__(self, reference: str) -> Any:
        """Return an output by ``stage.output``: a table, a value, a loaded model or a path."""
        return self.artifact(reference).load()
