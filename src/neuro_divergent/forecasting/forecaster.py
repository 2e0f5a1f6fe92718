"""The front door: fit, predict, save, load."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from torch import Tensor

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.environment import describe_environment
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import backend_of
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import check_lengths
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.artifact import load_fitted, save_fitted
from neuro_divergent.forecasting.distill import TaughtLoader
from neuro_divergent.forecasting.explain import Explanation, explain
from neuro_divergent.forecasting.fitted import FittedModel, build_network
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.predictor import Predictor, WindowForecasts
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.pretrain import Pretrained, pretrain, settings_for
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.intervals import check_levels, check_quantiles
from neuro_divergent.forecasting.uncertainty.paths import draws_paths, forecast_from
from neuro_divergent.forecasting.uncertainty.residuals import measure
from neuro_divergent.forecasting.uncertainty.simulation import Dependence, as_table, simulate
from neuro_divergent.models.base import Architecture
from neuro_divergent.runs.directory import MODEL, PRETRAINED, RunDirectory
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.state import extends
from neuro_divergent.training.tuning.batch_size import find_batch_size
from neuro_divergent.training.tuning.rate_finder import RateCurve, find_learning_rate

if TYPE_CHECKING:
    from neuro_divergent import Diagnosis

_VALIDATION_ROWS = 1024


class Forecaster:
    """Trains an architecture on a table of series and forecasts with it.

    Args:
        architecture: Shape of the network, or its name.
        training: How to train; ``"auto"`` is what suits the family of the architecture, and any other preset can be
            named as well.
        task: Fields of ``Task``: ``horizon`` (required), ``input_size``, ``loss``, ``scaler``, ``series_scaler``,
            ``validation``, ``test``, ``step``, ``joint``.

    Attributes:
        panel: The data of training; ``None`` before, and in a forecaster that was loaded.
        split: Its windows for training, validation and test.
        run: Directory of the run that trained it, if it has one.
    """

    def __init__(
        self, architecture: Architecture | str, *, training: TrainingConfig | str | None = None, **task: Any
    ) -> None:
        self.architecture = Architecture.from_dict(architecture) if isinstance(architecture, str) else architecture
        training = TrainingConfig.preset(training) if isinstance(training, str) else training or TrainingConfig()
        self.training = training.for_family(self.architecture.traits.family)
        self._task = Task(**task)
        _refuse_changed_targets(self._task, self.training)
        self.panel: Panel | None = None
        self.split: Split | None = None
        self.run: Path | None = None
        self._fitted: FittedModel | None = None
        self._outlook: PredictionContext | None = None

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        teacher: Forecaster | None = None,
        pretrained: Pretrained | str | Path | None = None,
        run: str | Path | None = None,
        checkpoints: Checkpointing | None = None,
        resume: Mapping[str, Any] | str | Path | None = None,
        allow_changes: bool = False,
        **schema: Any,
    ) -> Self:
        """Train on a table.

        Args:
            data: Path or glob of CSV or Parquet files, a polars, pandas or Arrow table in long form, or a ``Panel``.
            callbacks: What else to do at the events of training.
            teacher: Trained forecaster to learn from: ``training.distillation`` is the share of the loss that is
                measured against its forecasts instead of against what happened.
            pretrained: What ``pretrain`` returned, or the directory it was saved to: the weights to start from. With
                ``run`` it is kept there too, so that resuming needs no other place.
            run: Directory for the run: its settings, checkpoints while it trains, and the model in the end. If training
                is interrupted, by a signal or a crash, ``Forecaster.resume(run)`` goes on with it.
            checkpoints: When checkpoints are written there; every minute if nothing is said.
            resume: Checkpoint, or directory of checkpoints, to go on from, as in ``Trainer.fit``.
            allow_changes: Whether settings may differ from those of the checkpoint.
            schema: Fields of ``Schema``: names and roles of the columns (``target``, ``time``, ``id``, ``past``,
                ``future``, ``static``, ``weight``, ``calendar``, ``frequency``), policies (``missing``, ``gaps``,
                ``short``, ``unknown_category``, ``strict``) and how files are written (``encoding``,
                ``date_format``).

        Raises:
            DataError: If the table cannot be used as it is.
            DivergedError: If training produced a number that is not finite.
        """
        job = self._prepare(data, schema)
        if isinstance(pretrained, (str, Path)):
            pretrained = Pretrained.load(pretrained)
        self.run = None
        if run is None:
            self._work(job, callbacks, teacher, resume, pretrained=pretrained, allow_changes=allow_changes)
            return self
        directory = RunDirectory(Path(run))
        directory.check_free()
        config = self._as_run(data, job, checkpoints)
        with directory.opened():
            if pretrained is not None:
                pretrained.save(directory.path / PRETRAINED)
            directory.begin(config, job.panel)
            self._work_in(directory, config, job, callbacks, teacher, resume)
        return self

    def pretrain(
        self,
        data: Any,
        *,
        mask_share: float = 0.4,
        training: TrainingConfig | None = None,
        callbacks: Sequence[CallbackLike] = (),
        resume: Mapping[str, Any] | str | Path | None = None,
        allow_changes: bool = False,
        **schema: Any,
    ) -> Pretrained:
        """Let the network fill in hidden patches of series, and return what it learned.

        It starts anew each time and leaves this forecaster as it is: pass the result to ``fit(pretrained=...)``, of
        this one or of another with the same architecture and ``input_size``. What is minimised is the squared error of
        the hidden values, on the scale that the network sees; weights of rows do not count. Only the training part of
        each series is learned from.

        Args:
            data: As for ``fit``; more series, or others.
            mask_share: Share of the patches of a window that is hidden.
            training: How to train; as for forecasts unless given, without what has a meaning only there (``freeze``,
                ``augment``, ``curriculum``, ``teacher_forcing``).
            callbacks: What else to do at the events of training, such as ``Checkpointing``.
            resume: Checkpoint, or directory of checkpoints, to go on from, with the data and ``mask_share`` of before.
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
            mask_share=mask_share,
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
        """Go on with a run that was interrupted, from its latest checkpoint that is not damaged.

        On the same machine and with as many threads the model becomes, bit for bit, the one of a run that was never
        interrupted. A run that has come to its end is loaded, unless there is more to do now.

        Args:
            run: Its directory: the one given to ``fit``, or one of ``nd train``.
            data: The data, for a run that was begun with a table in memory or whose file has moved.
            callbacks: Those that ``fit`` was given; ones that remember something must come in the same order.
            teacher: The teacher that ``fit`` was given.
            allow_changes: Whether settings and data may differ from those the run was begun with.
            training: Fields of ``TrainingConfig`` to change. How long training lasts (``max_steps``, ``max_epochs``,
                ``max_seconds``), where it runs and what it reports may change; the rest only with ``allow_changes``.

        Raises:
            InputError: If there is no such run, or a process is still working on it.
            ConfigError: If settings differ.
            DataError: If the data differ.
        """
        directory = RunDirectory(Path(run))
        config = RunConfig.from_dict(directory.asked())
        config = config.replace(training=config.training.replace(**training))
        if not allow_changes:
            directory.require_same(config)
        source = config.data.path if data is None else data
        if source is None:
            raise InputError(f"{run}: was begun with a table in memory; pass it as data.")
        before = directory.asked()["training"]
        if directory.is_finished and not extends(before, config.training.to_dict()):
            return cls.load(directory.path / MODEL)
        forecaster = cls.for_run(config)
        job = forecaster._prepare(source, dict(config.data.schema_fields))
        if not allow_changes:
            directory.require_same_data(job.panel)
        with directory.opened():
            directory.begin(config, job.panel)
            state = directory.latest(config.checkpoints)
            forecaster._work_in(directory, config, job, callbacks, teacher, state, allow_changes=allow_changes)
        return forecaster

    @classmethod
    def for_run(cls, config: RunConfig) -> Self:
        """Return the forecaster that a run is to train."""
        task = {name: getattr(config.task, name) for name in type(config.task).model_fields}
        return cls(config.architecture, training=config.training, **task)

    def find_learning_rate(self, data: Any, *, steps: int = 100, **schema: Any) -> RateCurve:
        """Try rising learning rates for a few steps on a table and see where the loss falls fastest.

        Nothing is trained: set the suggestion with ``training=TrainingConfig(optimizer=AdamW(lr=...))``.

        Args:
            data: As for ``fit``.
            steps: Steps to spend.
            schema: Fields of ``Schema``, as for ``fit``.
        """
        job = self._prepare(data, schema)
        gather = job.gather(resolve_device(self.training.device))
        network = self._trainer(job, gather, ()).module
        train, _ = self._loaders(job.split, gather)
        return find_learning_rate(network, job.task.loss, train, self.training, steps=steps, restore=gather.restore)

    def auto_batch_size(self, data: Any, *, memory: int | None = None, **schema: Any) -> int:
        """Return the largest batch size whose training step fits into memory.

        Nothing is trained: set it with ``training=TrainingConfig(batch_size=...)``. A larger batch is not a better one:
        it makes better use of a large machine, and usually wants a higher learning rate.

        Args:
            data: As for ``fit``.
            memory: Bytes that training may take; unset, what is free. A fifth of it is left alone.
            schema: Fields of ``Schema``, as for ``fit``.
        """
        job = self._prepare(data, schema)
        gather = job.gather(resolve_device(self.training.device))
        network = self._trainer(job, gather, ()).module
        train, _ = self._loaders(job.split, gather)
        return find_batch_size(network, job.task.loss, train, self.training, memory=memory, restore=gather.restore)

    def predict(
        self,
        df: Any = None,
        *,
        future: Any = None,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
    ) -> Any:
        """Forecast what comes after the end of each series.

        Args:
            df: Series to forecast, with the columns that training had; unset, those of training.
            future: Table of the covariates known ahead, for the horizon of every series.
            levels: Central intervals to give, in percent: ``[80, 95]``.
            quantiles: Quantiles to give, as shares: ``[0.1, 0.9]``.
            horizon: Steps to forecast; more than trained for are reached by feeding forecasts back as history.

        Returns:
            A table of the kind that came in: id, time, ``forecast``, then ``lo-80`` and ``hi-80`` for each level and
            ``q-0.1`` for each quantile.
        """
        if df is None and future is None and horizon is None:
            if self._outlook is None:
                self._outlook = PredictionContext.of(self.fitted)
            return self._outlook.table(tuple(levels), tuple(quantiles))
        if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1):
            raise InputError(f"horizon: {horizon!r} must be an integer of at least 1.")
        outlook = PredictionContext.of(self.fitted, df, future=future, horizon=horizon)
        return outlook.table(tuple(levels), tuple(quantiles))

    def simulate(
        self,
        num_paths: int = 100,
        *,
        seed: int = 0,
        df: Any = None,
        future: Any = None,
        dependence: Dependence = "auto",
    ) -> Any:
        """Draw paths that may follow the end of each series, as likely as the forecast says.

        A network that forecasts each step from the one before, trained with a loss that has a distribution, draws each
        step given those it drew before. For all others the distribution of a step is that of the forecast (the errors
        on the validation part around it, where the loss forecasts a point), and which of their quantiles belong
        together in a path is learned from windows of the validation part. Series are drawn independently of each other.

        Args:
            num_paths: Paths of each series.
            seed: Of the draw; the same seed gives the same paths.
            df: Series to forecast, as for ``predict``.
            future: Table of the covariates known ahead, as for ``predict``.
            dependence: How steps go together: ``"auto"``, which is as said, by a Gaussian copula; ``"copula"``;
                ``"schaake"``, the Schaake shuffle, by which each path has the ranks of a past window; or
                ``"independent"``, not at all.

        Returns:
            A table of the kind that came in: ``path`` (from 0), id, time, ``value``.
        """
        outlook = PredictionContext.of(self.fitted, df, future=future)
        return as_table(outlook, simulate(outlook, num_paths, seed=seed, dependence=dependence))

    def explain(self, df: Any = None, *, future: Any = None) -> Explanation:
        """Tell which variables and which steps the forecast after the end of each series looked at.

        Only some architectures can tell: TFT.

        Args:
            df: Series to forecast, as for ``predict``.
            future: Table of the covariates known ahead, as for ``predict``.
        """
        return explain(PredictionContext.of(self.fitted, df, future=future), self.architecture.name)

    def diagnose(self) -> Diagnosis:
        """Look for what went wrong in training and in the forecasts of held-out values, and for what to change.

        Runs that have a directory can be examined without the forecaster: ``nd.diagnose("runs/sales")``.

        Returns:
            The findings, the worst first, and what could not be checked.
        """
        from neuro_divergent import diagnose  # the doctor stands below the forecaster, so through the front door

        return diagnose(self)

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel beside what happened, without training anything again.

        Args:
            windows: Windows of a panel.
            levels: Central intervals to give, in percent.
            quantiles: Quantiles to give, as shares.
        """
        check_levels(tuple(levels))
        check_quantiles(tuple(quantiles))
        gather = self.fitted.gather(windows.panel)
        return self.fitted.predictor.windows(gather, windows, tuple(levels), tuple(quantiles))

    def save(self, path: str | Path) -> None:
        """Write the model to a directory: weights, settings and the end of each series, complete or not at all."""
        save_fitted(self.fitted, Path(path), self.architecture, self.training)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that ``save`` wrote. Nothing in the directory is ever executed."""
        architecture, training, fitted = load_fitted(Path(path))
        forecaster = cls(
            architecture, training=training, **{name: getattr(fitted.task, name) for name in Task.model_fields}
        )
        forecaster._fitted = fitted
        return forecaster

    @property
    def task(self) -> Task:
        """The task; after training, with nothing left to be decided."""
        return self._task if self._fitted is None else self._fitted.task

    @property
    def fitted(self) -> FittedModel:
        """What training left behind."""
        if self._fitted is None:
            raise NotFittedError("this forecaster has not been trained: call fit(data) first, or load a saved one.")
        return self._fitted

    @property
    def history(self) -> pl.DataFrame:
        """Losses, rates and speeds of training, row by row."""
        return self.fitted.history

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, machine, device and threads of training."""
        return self.fitted.environment

    @property
    def schema(self) -> Schema:
        """Roles of the columns."""
        return self.fitted.context.schema

    @property
    def num_parameters(self) -> int:
        """Numbers that training adjusts."""
        return sum(parameter.numel() for parameter in self.fitted.predictor.network.parameters())

    def _prepare(self, data: Any, schema: dict[str, Any]) -> PreparedData:
        """Read and check the data, and decide what the task left open."""
        panel = data if isinstance(data, Panel) else load_panel(data, Schema(**schema))
        joint = self.architecture.traits.mixes_channels if self._task.joint is None else self._task.joint
        task = self._task.replace(input_size=self._task.history_for(panel), joint=joint)
        if joint:
            panel.require_aligned()
            _refuse_covariates(panel)
        panel = check_lengths(panel, input_size=task.history, horizon=task.horizon)
        return PreparedData.of(
            task, panel, task.split(panel), "polars" if isinstance(data, Panel) else backend_of(data)
        )

    def _as_run(self, data: Any, job: PreparedData, checkpoints: Checkpointing | None) -> RunConfig:
        """Return everything that this training is made from."""
        schema = {name: getattr(job.panel.schema, name) for name in Schema.model_fields}
        path = str(data) if isinstance(data, (str, Path)) else None
        chosen = {} if checkpoints is None else {"checkpoints": checkpoints}
        return RunConfig(
            data=DataConfig(path=path, **schema),
            model=self.architecture,
            task=self._task,
            training=self.training,
            **chosen,
        )

    def _work_in(
        self,
        directory: RunDirectory,
        config: RunConfig,
        job: PreparedData,
        callbacks: Sequence[CallbackLike],
        teacher: Forecaster | None,
        resume: Mapping[str, Any] | str | Path | None,
        *,
        allow_changes: bool = False,
    ) -> None:
        """Train in a run directory and leave the model there."""
        keepers = directory.callbacks(config.checkpoints)
        self.run = directory.path
        begun_with = directory.path / PRETRAINED
        pretrained = Pretrained.load(begun_with) if begun_with.exists() else None
        self._work(job, [*callbacks, *keepers], teacher, resume, pretrained=pretrained, allow_changes=allow_changes)
        self.save(directory.path / MODEL)

    def _work(
        self,
        job: PreparedData,
        callbacks: Sequence[CallbackLike],
        teacher: Forecaster | None,
        resume: Mapping[str, Any] | str | Path | None,
        *,
        pretrained: Pretrained | None,
        allow_changes: bool,
    ) -> None:
        self.panel, self.split, self._outlook = job.panel, job.split, None
        gather = job.gather(resolve_device(self.training.device))
        trainer = self._trainer(job, gather, callbacks)
        if pretrained is not None:
            pretrained.give_to(trainer.module, self.architecture)
        train, validation = self._loaders(job.split, gather)
        trainer.fit(
            train if teacher is None else TaughtLoader(train, teacher.fitted),
            validation,
            resume=resume,
            allow_changes=allow_changes,
        )
        self._fitted = _after(trainer, job, gather)

    def _trainer(self, job: PreparedData, gather: WindowBatcher, callbacks: Sequence[CallbackLike]) -> Trainer:
        """Build the network and what trains it."""
        with seeded(self.training.seed):
            network = build_network(self.architecture, job.task, job.spec)

        def mean_absolute(output: Tensor, batch: Batch) -> Tensor:
            assert batch.future_y is not None
            if draws_paths(network, job.task.loss):  # the loss is of each step given the true steps before
                output = forecast_from(network, batch)
            point = job.task.loss.forecast(output, (), batch).point
            return (gather.restore(point, batch) - gather.restore(batch.future_y, batch)).abs()

        return Trainer(
            network,
            job.task.loss,
            self.training,
            callbacks=callbacks,
            metrics={"mae": mean_absolute},
            restore=gather.restore,
            name_row=job.name_row,
        )

    def _loaders(self, split: Split, gather: WindowBatcher) -> tuple[WindowLoader, WindowLoader | None]:
        """Return batches of the training and of the validation part."""
        config = self.training
        order = Order(
            batch_size=config.batch_size_for(len(split.train)),
            shuffle=config.shuffle,
            seed=config.seed,
            drop_last=config.drop_last,
        )
        train = WindowLoader(split.train, gather, order, by_time=not config.shuffle, prefetch=config.prefetch)
        if not len(split.validation):
            return train, None
        return train, WindowLoader(
            split.validation, gather, dataclasses.replace(order, batch_size=_VALIDATION_ROWS, shuffle=False)
        )


def _after(trainer: Trainer, job: PreparedData, gather: WindowBatcher) -> FittedModel:
    """Return what training leaves behind, with its errors on the validation part."""
    measured = measure(trainer.module, job.task.loss, gather, job.split.validation)
    return FittedModel(
        task=job.task,
        spec=job.spec,
        context=job.panel.tail(job.task.history).without_weights(),
        predictor=Predictor(trainer.module, job.task.loss, measured.intervals, measured.copula),
        numbers=job.numbers,
        covariates=gather.covariates,
        device=trainer.device,
        backend=job.backend,
        history=trainer.history.frame(),
        environment=describe_environment(threads=trainer.threads, device=str(trainer.device)),
    )


def _refuse_changed_targets(task: Task, training: TrainingConfig) -> None:
    """Refuse augmentation that makes targets which the distribution of the loss cannot have, such as half a count."""
    wrong = [item.name for item in training.augment if item.changes_targets]
    if task.loss.traits.requires_original_scale and wrong:
        raise ConfigError(
            f"augment: {wrong[0]} changes targets, and {task.loss.name} needs them as they are. Leave it out, or "
            "choose a loss for values of any kind, such as normal or student_t."
        )


def _refuse_covariates(panel: Panel) -> None:
    """Refuse covariates that differ between series where a window holds them all; calendar features do not."""
    if panel.schema.covariates:
        names = ", ".join(repr(name) for name in panel.schema.covariates)
        raise ConfigError(
            f"windows that span all series cannot have covariates of each ({names}). Leave them out, or train with "
            "joint=False a model that takes one series at a time."
        )
