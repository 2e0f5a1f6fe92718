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

    Examples:
        >>> import neuro_divergent as nd
        >>> stages = [nd.lifecycle.DataValidation(ranges={"y": (0, 600)}), nd.lifecycle.Preprocessing()]
        >>> try:
        ...     nd.Pipeline(stages, data=nd.datasets.air_passengers(), directory="flights").run()
        ... except nd.lifecycle.StageFailedError as error:
        ...     print(error.result.states)
        {'data_validation': 'failed', 'preprocessing': 'skipped'}
    """

    exit_code: ClassVar[int] = 7

    def __init__(self, result: PipelineResult) -> None:
        failed = [outcome for outcome in result.stages if outcome.state == "failed"]
        skipped = [outcome.name for outcome in result.stages if outcome.state == "skipped"]
        texts = [f"stage {outcome.name!r} failed: {outcome.message}" for outcome in failed]
        rest = f" Skipped, because they depend on it: {', '.join(skipped)}." if skipped else ""
        super().__init__("; ".join(texts) + ("" if texts and texts[-1].endswith(".") else ".") + rest)
        self.result = result
