"""A forecaster: an architecture, a task and how to train, with fit, predict, save and load."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from neuro_divergent.core.errors import ConfigError, NotFittedError
from neuro_divergent.core.progress import following
from neuro_divergent.forecasting.artifact import pack_model, unpack_model
from neuro_divergent.forecasting.explain import Explanation, explain
from neuro_divergent.forecasting.fitted import FittedModel, num_parameters
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.forecasting.predicting import PredictingModel
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.prepared_data import PreparedData, prepare
from neuro_divergent.forecasting.pretrain import Pretrained, pretrain, settings_for
from neuro_divergent.forecasting.run_config import RunConfig, change_settings
from neuro_divergent.forecasting.task import Task, describe_task, refuse_settings_of
from neuro_divergent.forecasting.training_phases import TrainingPhases
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.forecasting.uncertainty.simulation import Dependence, paths_table, simulate
from neuro_divergent.forecasting.warm_start import InitialLike, check_initial, fitted_before, load_initial
from neuro_divergent.models.base import Architecture
from neuro_divergent.runs.directory import MODEL, RunDirectory
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.tuning.batch_size import find_batch_size
from neuro_divergent.training.tuning.rate_finder import RateCurve, find_learning_rate

if TYPE_CHECKING:
    from neuro_divergent.diagnostics.finding import Diagnosis
    from neuro_divergent.forecasting.warm_start import Initial

T = TypeVar("T")


class Forecaster(PredictingModel[FittedModel]):
    """Trains an architecture on a table of series and forecasts with it.

    Args:
        architecture: Shape of the network, or its name.
        training: How to train: settings, or the name of a preset; ``"auto"`` is recommended for the family of the
            architecture.
        task: Fields of ``Task``: ``horizon`` (required), ``input_size``, ``loss``, ``weighting``, ``scaler``,
            ``series_scaler``, ``validation``, ``refit``, ``test``, ``stride``, ``balance``, ``replay``, ``joint``,
            ``baseline``, ``season_length``.

    Attributes:
        panel: The data of training; ``None`` before, and in a forecaster that was loaded.
        split: Its windows for training, validation and test.
        run: Directory of the run that trained it, if it has one.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> forecast = forecaster.fit(nd.datasets.air_passengers()).predict(levels=[80])
        >>> forecast.columns
        ['unique_id', 'ds', 'forecast', 'lo-80', 'hi-80']
        >>> forecast.height, str(forecast["ds"][0])
        (12, '1961-01-01')
        >>> forecaster
        Forecaster(nlinear, horizon=12, input_size=36, loss=mae, fitted on 1 series, 444 parameters)
    """

    def __init__(
        self, architecture: Architecture | str, *, training: TrainingConfig | str | None = None, **task: Any
    ) -> None:
        self.architecture = Architecture.from_dict(architecture) if isinstance(architecture, str) else architecture
        training = TrainingConfig.preset(training) if isinstance(training, str) else training or TrainingConfig()
        _refuse_types(self.architecture, training)
        self.training = training.for_family(self.architecture.traits.family)
        refuse_settings_of(self.training, "training", task)
        refuse_settings_of(self.architecture, "the first argument", task)
        self._task = Task(**task)
        _refuse_changed_targets(self._task, self.training)
        self.run: Path | None = None

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        teacher: Forecaster | None = None,
        initial: InitialLike | None = None,
        run: str | Path | None = None,
        checkpoints: Checkpointing | None = None,
        resume: Mapping[str, Any] | str | Path | None = None,
        allow_changes: bool = False,
        progress: bool = False,
        **schema: Any,
    ) -> Self:
        """Train on a table.

        The validation part decides how many steps to train, and gives the widths of intervals. Then the network is
        trained again on all rows but the test part, for as many steps (``task.refit``).

        Args:
            data: Path or glob of files (CSV, Excel, JSON lines, Parquet, Arrow), address of a database (with
                ``query=``), a polars, pandas or Arrow table, or a ``Panel``. Tables are long unless ``wide=True``.
            callbacks: Callbacks that receive the events of training.
            teacher: Fitted forecaster to learn from: ``training.distillation`` is the fraction of the loss that is
                computed against its forecasts instead of the observed values.
            initial: Weights to start from: a fitted model (warm start on new data), what ``pretrain`` returned, or
                the directory that either was saved to. A warm start needs the same architecture, covariates and
                horizon; ``input_size`` and the names of the columns are those of the fitted model unless given.
                Optimizer, schedule and series scalers start from scratch.
            run: Directory for the run. Settings, checkpoints and events are written while it trains; model, scores,
                forecasts, diagnosis and report at the end, as by ``nd train``. If training is interrupted, by a signal
                or a crash, ``Forecaster.resume(run)`` continues it.
            checkpoints: When checkpoints are written there; every minute by default.
            resume: Checkpoint, or directory of checkpoints, to continue from, as in ``Trainer.fit``.
            allow_changes: Whether settings may differ from those of the checkpoint.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``.
            schema: Fields of ``Schema``: names and roles of the columns (``target``, ``time``, ``id``, ``past``,
                ``future``, ``static``, ``weight``, ``calendar``, ``frequency``), policies (``missing``, ``gaps``,
                ``short``, ``unknown_category``, ``strict``) and how files are written (``encoding``,
                ``date_format``).

        Raises:
            DataError: If the table cannot be used as it is.
            DivergedError: If the loss, the gradients or the weights became NaN or infinite.
        """
        prepared = self._prepare(data, schema, load_initial(initial))
        self.run = None
        if run is None:
            phases = TrainingPhases(self, prepared, teacher)
            with following(progress):
                if phases.train(callbacks, resume=resume, allow_changes=allow_changes):
                    phases.refit(callbacks)
            return self
        from neuro_divergent.workflow.train_run import train_opened  # scores and reports are made above this room

        training_run = TrainingRun.of(self, RunDirectory(Path(run)), data, prepared, checkpoints)
        with following(progress), training_run.opened():
            train_opened(training_run, self, prepared, callbacks=callbacks, teacher=teacher, state=resume)
        return self

    def pretrain(
        self,
        data: Any,
        *,
        mask_fraction: float = 0.4,
        training: TrainingConfig | None = None,
        callbacks: Sequence[CallbackLike] = (),
        resume: Mapping[str, Any] | str | Path | None = None,
        allow_changes: bool = False,
        **schema: Any,
    ) -> Pretrained:
        """Train the network to fill in hidden patches of series, and return the weights.

        It starts from random weights each time and leaves this forecaster as it is: pass the result to
        ``fit(initial=...)``, of this one or of another with the same architecture and ``input_size``. The loss is
        the squared error of the hidden values, on the scale that the network sees, without weights of rows. Only the
        training part of each series is used.

        Args:
            data: As for ``fit``; more series, or others.
            mask_fraction: Fraction of the patches of a window that is hidden.
            training: How to train; as for forecasts unless given, without what has a meaning only there (``freeze``,
                ``augment``, ``curriculum``, ``teacher_forcing``).
            callbacks: What else to do at the events of training, such as ``Checkpointing``.
            resume: Checkpoint, or directory of checkpoints, to resume from, with the same data and ``mask_fraction``.
            allow_changes: Whether settings of training may differ from those of the checkpoint.
            schema: Fields of ``Schema``, as for ``fit``.

        Raises:
            ConfigError: If the architecture cannot be pre-trained.
            DataError: If the table cannot be used as it is.
        """
        return pretrain(
            self.architecture,
            self._prepare(data, schema),
            settings_for(self.training) if training is None else training,
            mask_fraction=mask_fraction,
            callbacks=callbacks,
            resume=resume,
            allow_changes=allow_changes,
        )

    @classmethod
    def resume(
        cls,
        run: str | Path,
        data: Any = None,
        *,
        callbacks: Sequence[CallbackLike] = (),
        teacher: Forecaster | None = None,
        allow_changes: bool = False,
        **training: Any,
    ) -> Self:
        """Resume a run that was interrupted, from its latest checkpoint that is not damaged.

        On the same machine and with as many threads the model becomes, bit for bit, the one of a run that was never
        interrupted. A finished run is loaded, unless there is more to do now.

        Args:
            run: Its directory: the one given to ``fit``, or one of ``nd train``.
            data: The data, for a run that was begun with a table in memory or whose file has moved.
            callbacks: Those that ``fit`` was given; ones with a state must come in the same order.
            teacher: The teacher that ``fit`` was given.
            allow_changes: Whether settings and data may differ from those the run was begun with.
            training: Fields of ``TrainingConfig`` to change. How long training lasts (``max_steps``, ``max_epochs``,
                ``max_seconds``), where it runs and what it reports may change; the rest only with ``allow_changes``.

        Raises:
            InputError: If there is no such run, or a process is still working on it.
            ConfigError: If settings differ.
            DataError: If the data differ.
        """
        from neuro_divergent.workflow.train_run import train_opened  # scores and reports are made above this room

        directory = RunDirectory(Path(run))
        config = RunConfig.from_dict(directory.stored_config())
        config = config.replace(training=config.training.replace(**training))
        training_run = TrainingRun.resumed(directory, config, allow_changes=allow_changes)
        source = training_run.source(data)
        if training_run.is_complete:
            return cls.load(directory.path / MODEL)
        forecaster = cls.for_run(config)
        prepared = training_run.prepare(forecaster, source)
        with training_run.opened():
            state = training_run.load_state()
            train_opened(training_run, forecaster, prepared, callbacks=callbacks, teacher=teacher, state=state)
        return forecaster

    @classmethod
    def for_run(cls, config: RunConfig) -> Self:
        """Return the forecaster that a run is to train."""
        return cls(config.architecture, training=config.training, **dict(config.task))

    def find_learning_rate(self, data: Any, *, steps: int = 100, **schema: Any) -> RateCurve:
        """Find a learning rate: increase it step by step on a table and see where the loss falls fastest.

        This forecaster stays as it is: set the suggestion with ``training=TrainingConfig(optimizer=AdamW(lr=...))``.

        Args:
            data: As for ``fit``.
            steps: Steps to spend.
            schema: Fields of ``Schema``, as for ``fit``.
        """
        return self._search(find_learning_rate, data, schema, steps=steps)

    def auto_batch_size(self, data: Any, *, memory: int | None = None, **schema: Any) -> int:
        """Return the largest batch size whose training step fits into memory.

        This forecaster stays as it is: set it with ``training=TrainingConfig(batch_size=...)``. A larger batch makes
        better use of a large machine, and usually needs a higher learning rate.

        Args:
            data: As for ``fit``.
            memory: Bytes that training may take; unset, what is free. A fifth of it is not used.
            schema: Fields of ``Schema``, as for ``fit``.
        """
        return self._search(find_batch_size, data, schema, memory=memory)

    def prepare_prediction(
        self, data: Any = None, *, future: Any = None, horizon: int | None = None
    ) -> PredictionContext:
        return PredictionContext.of(self.fitted, data, future=future, horizon=horizon)

    def simulate(
        self,
        num_paths: int = 100,
        *,
        seed: int = 0,
        data: Any = None,
        future: Any = None,
        dependence: Dependence = "auto",
    ) -> Any:
        """Draw sample paths after the end of each series from the forecast distribution.

        An autoregressive network, trained with a loss that has a distribution, draws each step given those before. For
        all others the distribution of a step is that of the forecast (the errors on the validation part around it,
        where the loss forecasts a point), and the dependence between steps is estimated on windows of the validation
        part. Series are drawn independently of each other.

        Args:
            num_paths: Paths of each series.
            seed: Of the draw; the same seed gives the same paths.
            data: Series to forecast, as for ``predict``.
            future: Table of the covariates known ahead, as for ``predict``.
            dependence: Between steps: ``"auto"``, as described, by a Gaussian copula; ``"copula"``; ``"schaake"``, the
                Schaake shuffle, by which each path has the ranks of a past window; or ``"independent"``.

        Returns:
            A table of the same kind as the input: ``path`` (from 0), id, time, ``value``.
        """
        prediction = PredictionContext.of(self.fitted, data, future=future)
        paths = simulate(prediction, num_paths, seed=seed, dependence=dependence)
        return paths_table(prediction.index, paths, prediction.backend)

    def explain(self, data: Any = None, *, future: Any = None) -> Explanation:
        """Return the weights of variables and steps in the forecast after the end of each series.

        Only some architectures have them: TFT.

        Args:
            data: Series to forecast, as for ``predict``.
            future: Table of the covariates known ahead, as for ``predict``.
        """
        return explain(PredictionContext.of(self.fitted, data, future=future), self.architecture.name)

    def diagnose(self) -> Diagnosis:
        """Look for problems in training and in the forecasts of held-out values, and for settings to change.

        Runs that have a directory can be examined without the forecaster: ``nd.diagnose("runs/sales")``.

        Returns:
            The findings, the worst first, and what could not be checked.
        """
        from neuro_divergent.diagnostics.doctor import diagnose  # above this room, and looked for here

        return diagnose(self)

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        return pack_model(self.fitted, self.architecture, self.training, context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        architecture, training, fitted = unpack_model(files, place)
        forecaster = cls(architecture, training=training, **dict(fitted.task))
        forecaster._fitted = fitted
        return forecaster

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings; fitted to the same data it gets the same weights."""
        return type(self)(self.architecture, training=self.training, **dict(self._task))

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed.

        Args:
            changes: Values by dotted name, such as ``{"training.optimizer.lr": 3e-4, "model.hidden_size": 64,
                "task.input_size": 48}``. Naming a component, as in ``{"training.optimizer": "sgd"}``, replaces it and
                its settings.

        Raises:
            ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
        """
        architecture, task, training = change_settings(self.architecture, self._task, self.training, changes)
        return type(self)(architecture, training=training, **dict(task))

    def __repr__(self) -> str:
        state = "not fitted" if self._fitted is None else self._fitted.summary(self.num_parameters)
        return f"{type(self).__name__}({self.architecture.name}, {describe_task(self.task)}, {state})"

    def _repr_html_(self) -> str:
        from neuro_divergent.forecasting.display import forecaster_html

        return forecaster_html(self)

    @property
    def task(self) -> Task:
        """The task; after training, with nothing left open."""
        return self._task if self._fitted is None else self._fitted.task

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._fitted is not None

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the training data, by name; see ``save``."""
        return {} if self._fitted is None else self._fitted.holds

    @property
    def fitted(self) -> FittedModel:
        if self._fitted is None:
            raise NotFittedError("this forecaster has not been trained: call fit(data) first, or load a saved one.")
        return self._fitted

    @property
    def history(self) -> pl.DataFrame:
        """Losses, rates and speeds of training, row by row; of the first training where there were two."""
        return self.fitted.history

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, machine, device and threads of training."""
        return self.fitted.environment

    @property
    def num_parameters(self) -> int:
        """Number of trainable parameters."""
        return num_parameters(self.fitted.predictor.network)

    def _prepare(self, data: Any, schema: Mapping[str, Any], initial: Initial | None = None) -> PreparedData:
        """Read and check the data, and resolve what the task left open."""
        prepared = prepare(self.architecture, self._task, data, schema, fitted_before(initial))
        check_initial(initial, prepared)
        return dataclasses.replace(prepared, initial=initial)

    def _search(self, search: Callable[..., T], data: Any, schema: Mapping[str, Any], **options: Any) -> T:
        """Return what a search for a setting of training finds on a table."""
        training = NetworkTraining(self.architecture, self.training, self._prepare(data, schema))
        network, train, restore = training.network, training.train, training.batcher.restore
        return search(network, self._task.loss, train, self.training, restore=restore, **options)


def _refuse_types(architecture: object, training: object) -> None:
    if isinstance(architecture, type):
        name = architecture.__name__
        raise ConfigError(f"{name} is a class; pass one of its objects, such as {name}(), or a name, such as 'nhits'.")
    if not isinstance(architecture, Architecture):
        kind = type(architecture).__name__
        raise ConfigError(f"{kind} is not an architecture; pass one, such as NHITS(), or its name, such as 'nhits'.")
    if not isinstance(training, TrainingConfig):
        kind = type(training).__name__
        raise ConfigError(
            f"training: {kind} is not a TrainingConfig; pass TrainingConfig(max_steps=500), or the name of a preset."
        )


def _refuse_changed_targets(task: Task, training: TrainingConfig) -> None:
    """Refuse augmentation that makes targets which the distribution of the loss does not have, such as half a count."""
    wrong = [item.name for item in training.augment if item.changes_targets]
    if task.loss.traits.requires_original_scale and wrong:
        raise ConfigError(
            f"augment: {wrong[0]} changes targets, and {task.loss.name} needs them as they are. Leave it out, or "
            "choose a loss for values of any kind, such as normal or student_t."
        )
