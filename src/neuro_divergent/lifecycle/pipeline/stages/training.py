"""Training: a model from a table."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.artifact import Tree, model_digest
from neuro_divergent.lifecycle.pipeline.run_settings import TrainingStage
from neuro_divergent.lifecycle.pipeline.stage import Port, StageContext
from neuro_divergent.runs.directory import CHECKPOINTS, LOCK, MODEL, REFIT, RunDirectory

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

RUN = "run"


@register("training")
class Training(TrainingStage):
    """Trains a forecaster in a run directory, as ``nd train`` does; a training that was interrupted is resumed exactly.

    Takes ``table`` and ``schema``; ``settings``, what a search has found, if a stage before gives them; ``future``,
    covariates of the rows to come, if a stage before gives them; and ``initial``, a model to start from, if that is
    said. What the stage itself says goes before ``settings``. Gives ``model``, ``run`` (settings, history, scores and
    report of the run) and ``forecasts``.

    Attributes:
        levels: Levels of the intervals to forecast, in percent; none if the model has no such intervals.
        checkpoints: Fields of ``Checkpointing``; a checkpoint every minute by default.

    Examples:
        >>> import neuro_divergent as nd
        >>> training = nd.lifecycle.Training(model="nlinear", task={"horizon": 12}, training={"max_steps": 5})
        >>> pipeline = nd.Pipeline([training], data=nd.datasets.air_passengers(), directory="flights")
        >>> result = pipeline.run()
        >>> result["training.forecasts"].columns
        ['unique_id', 'ds', 'forecast', 'lo-80', 'hi-80', 'lo-95', 'hi-95']
        >>> pipeline.run().states
        {'training': 'cached'}
    """

    takes: ClassVar[tuple[Port, ...]] = (
        Port("table"),
        Port("schema"),
        Port("settings", is_required=False),
        Port("future", is_required=False),
        Port("initial", is_required=False, is_automatic=False),
    )
    gives: ClassVar[tuple[str, ...]] = ("model", "run", "forecasts")
    is_resumable: ClassVar[bool] = True

    levels: tuple[float, ...] = (80.0, 95.0)
    checkpoints: dict[str, Any] = {}  # noqa: RUF012

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        frame = inputs["table"].table()
        schema = Schema.from_dict(inputs["schema"].load())
        forecaster = self._train(frame, schema, inputs, context)
        place = context.directory / RUN
        for name in (CHECKPOINTS, REFIT):  # of no use once the model is there
            shutil.rmtree(place / name, ignore_errors=True)
        digest = model_digest(place / MODEL)
        files = _collect(place, context.directory / "files")
        forecasts = self._forecasts(forecaster, inputs, context)
        return {"model": place / MODEL, "run": Tree(files, digest), "forecasts": forecasts}

    def settings(self) -> dict[str, Any]:
        # How often checkpoints are written does not change the model.
        return {key: value for key, value in super().settings().items() if key != "checkpoints"}

    def _train(
        self, frame: pl.DataFrame, schema: Schema, inputs: Mapping[str, Artifact], context: StageContext
    ) -> Forecaster:
        from neuro_divergent.forecasting.forecaster import Forecaster

        place = context.directory / RUN
        if RunDirectory(place).has_begun:
            return Forecaster.resume(place, frame, callbacks=context.callbacks)
        config = self.run_config(schema, inputs["settings"].load() if "settings" in inputs else None)
        if self.checkpoints:
            config = type(config).from_dict({**config.to_dict(), "checkpoints": self.checkpoints})
        return Forecaster.for_run(config.resolve_training()).fit(
            frame,
            run=place,
            callbacks=context.callbacks,
            checkpoints=config.checkpoints,
            initial=inputs["initial"].file if "initial" in inputs else None,
            **dict(schema),
        )

    def _forecasts(self, forecaster: Forecaster, inputs: Mapping[str, Artifact], context: StageContext) -> pl.DataFrame:
        """Return what comes after the end of each series, with intervals if the model has them."""
        import polars as pl

        from neuro_divergent.data.io.source import read_table

        future = inputs["future"].table() if "future" in inputs else None
        known = None if future is None or not future.height else future
        reasons = []
        for levels in (self.levels, ()):
            try:
                return read_table(forecaster.predict(future=known, levels=levels)).frame
            except InputError as error:
                reasons.append(str(error))
        context.note(f"No forecasts: {reasons[-1]}")
        return pl.DataFrame()


def _collect(run: Path, target: Path) -> Path:
    """Copy the files of a run, without its model and checkpoints, into a directory."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for item in sorted(run.iterdir()):
        if item.is_file() and item.name != LOCK and not item.name.startswith("."):
            shutil.copyfile(item, target / item.name)
    return target
