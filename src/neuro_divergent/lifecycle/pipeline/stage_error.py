"""The error of a pipeline of which a stage failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.errors import NeuroDivergentError

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult


class StageFailedError(NeuroDivergentError):
    """A stage of a pipeline failed; what depends on it was not run.

    Attributes:
        result: What was done, and what was not.
    """

    exit_code: ClassVar[int] = 7

    def __init__(self, result: PipelineResult) -> None:
        failed = [outcome for outcome in result.stages if outcome.state == "failed"]
        skipped = [outcome.name for outcome in result.stages if outcome.state == "skipped"]
        texts = [f"stage {outcome.name!r} failed: {outcome.message}" for outcome in failed]
        rest = f" Skipped, because they depend on it: {', '.join(skipped)}." if skipped else ""
        super().__init__("; ".join(texts) + ("" if texts and texts[-1].endswith(".") else ".") + rest)
        self.result = result
