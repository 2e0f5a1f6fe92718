"""Hyperparameter tuning: settings of a model from a search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.run_settings import TrainingStage
from neuro_divergent.lifecycle.pipeline.stage import Port, StageContext
from neuro_divergent.search.dependency import load_optuna

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact
    from neuro_divergent.search.study import Study

_MEASURED = ("seconds", "latency", "wall_seconds", "attempts")  # what differs from one search to the next


@register("hyperparameter_tuning")
class HyperparameterTuning(TrainingStage):
    """Searches settings with a ``Study``; a search that was interrupted goes on.

    Takes ``table`` and ``schema``. Gives ``settings`` (model, task and training of the best trial, which the stage
    ``training`` takes) and ``trials``.

    Attributes:
        space: What to try, by dotted name: a table with ``low``, ``high`` and ``log``, or a list; the default space of
            the model if empty.
        trials: Number of trials.
        seconds: Time for the search; a search that ends by time is not the same the next time.
        jobs: Processes that run trials.
        study: Further fields of ``StudyConfig``: ``objectives``, ``constraints``, ``splitter``, ``seeds``, ``method``,
            ``pruner``, ``seed`` and ``keep``.

    Examples:
        >>> import neuro_divergent as nd
        >>> recipe = {"model": "nlinear", "task": {"horizon": 12}, "training": {"max_steps": 5}}
        >>> tuning = nd.lifecycle.HyperparameterTuning(**recipe, space={"task.input_size": [12, 24]}, trials=2)
        >>> result = nd.Pipeline([tuning], data=nd.datasets.air_passengers(), directory="flights").run()
        >>> result["hyperparameter_tuning.trials"].height
        2
        >>> sorted(result["hyperparameter_tuning.settings"])
        ['model', 'task', 'training']
    """

    takes: ClassVar[tuple[Port, ...]] = (Port("table"), Port("schema"))
    gives: ClassVar[tuple[str, ...]] = ("settings", "trials")
    is_resumable: ClassVar[bool] = True

    space: dict[str, Any] = Field(default_factory=dict)
    trials: int = Field(default=20, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    jobs: int = Field(default=1, ge=-1)
    study: dict[str, Any] = Field(default_factory=dict)

    def check(self, inputs: Collection[str]) -> None:
        super().check(inputs)
        load_optuna()

    def settings(self) -> dict[str, Any]:
        # How many processes search does not belong to the question.
        return {key: value for key, value in super().settings().items() if key != "jobs"}

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        from neuro_divergent.search.space import Space
        from neuro_divergent.search.study import STUDY, Study

        frame, schema = inputs["table"].table(), Schema.from_dict(inputs["schema"].load())
        place = context.directory / "study"
        if (place / STUDY).is_file():
            study = Study.load(place)
        else:
            space = Space.from_dict(self.space) if self.space else None
            study = Study(self.run_config(schema), place, space, **{"keep": 1, **self.study})
        try:
            study.run(frame, trials=self.trials, seconds=self.seconds, jobs=self.jobs, vectorize=False)
            return self._results(study, context)
        finally:
            study.close()

    def _results(self, study: Study, context: StageContext) -> dict[str, Any]:
        best = study.best
        if best is None:
            raise InputError(study.why_no_best())
        found = study.settings_of(best).resolve_model().to_dict()
        context.note(
            f"Best of {len(study.trials)} trials: {', '.join(f'{k} = {v}' for k, v in best.settings.items())}."
        )
        trials = study.table.drop(_MEASURED, strict=False)
        context.show("Trials", trials)
        return {"settings": {name: found[name] for name in self.sections}, "trials": trials}
