"""An ensemble: several forecasters whose forecasts are combined."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.core.progress import following
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.ensemble.artifact import EnsembleParts, pack_ensemble, unpack_ensemble
from neuro_divergent.forecasting.ensemble.combination import Combination, Method, check_requested, check_weights
from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.ensemble.member_training import MemberTraining
from neuro_divergent.forecasting.ensemble.plan import EnsemblePlan, MemberPlan, check_members
from neuro_divergent.forecasting.ensemble.prediction import EnsemblePrediction
from neuro_divergent.forecasting.ensemble.run import EnsembleRun
from neuro_divergent.forecasting.ensemble.snapshots import in_cycles
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.predicting import PredictingModel
from neuro_divergent.forecasting.prepared_data import backend_for
from neuro_divergent.forecasting.run_config import own_settings
from neuro_divergent.forecasting.task import Task, describe_task
from neuro_divergent.forecasting.validation import sample_validation
from neuro_divergent.forecasting.vectorized_fit import Vectorize
from neuro_divergent.forecasting.warm_start import Initial, InitialLike, load_initials
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig


class Label(NamedTuple):
    """What tables call a model."""

    name: str


class Ensemble(PredictingModel[FittedEnsemble]):
    """Trains several forecasters on the same table and combines their forecasts.

    Members may differ in everything but the horizon. Where each of them forecasts quantiles, so does the ensemble,
    level by level; where one forecasts points alone, intervals come from the errors of the whole ensemble on its
    validation part.

    Args:
        members: Forecasters to train, or trained ones.
        combine: How forecasts are combined: ``"mean"`` or ``"median"`` of points and of each quantile;
            ``"quantile_average"``, the mean of each quantile, with the median of that as the point; or ``"pool"``, the
            quantiles of the mixture of all members' distributions, and the mean of points.
        weights: How much each member counts, such as ``[2, 1, 1]``; ``"validation"`` for one over the mean squared
            error on the validation part; unset, all count the same.

    Raises:
        ConfigError: If the members cannot be combined that way.

    Examples:
        >>> import neuro_divergent as nd
        >>> one = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> ensemble = nd.Ensemble.seeds(one, 3, combine="median").fit(nd.datasets.air_passengers())
        >>> [member.training.seed for member in ensemble.members]
        [1, 2, 3]
        >>> ensemble.predict(levels=[80]).columns
        ['unique_id', 'ds', 'forecast', 'lo-80', 'hi-80']
    """

    def __init__(
        self,
        members: Sequence[Forecaster],
        *,
        combine: Method = "mean",
        weights: Sequence[float] | Literal["validation"] | None = None,
    ) -> None:
        self.members = tuple(members)
        check_members(self.members)
        self.combine = combine
        self._weights = check_requested(weights)
        self._source: MemberPlan | None = None
        self._count = len(self.members)
        combination = self._combination()
        if combination.by_quantile and self._weights == "validation":
            raise ConfigError(
                "weights: 'validation' compares the points of members, and these forecast different quantiles. Leave "
                "weights out."
            )

    @classmethod
    def seeds(cls, forecaster: Forecaster, count: int = 5, **settings: Any) -> Self:
        """Return an ensemble of one architecture, trained from different weights and in a different order.

        Args:
            forecaster: What to train; it stays as it is.
            count: Members; the first has the seed of the forecaster, the next one more, and so on.
            settings: ``combine`` and ``weights``.
        """
        plan, seed = MemberPlan.of(forecaster), forecaster.training.seed
        _check_count(count)
        return cls([plan.forecaster(training=plan.training.replace(seed=seed + i)) for i in range(count)], **settings)

    @classmethod
    def snapshots(cls, forecaster: Forecaster, count: int = 5, **settings: Any) -> Self:
        """Return an ensemble that costs one training (Huang et al., "Snapshot Ensembles", ICLR 2017).

        The learning rate falls along a cosine and starts again from its full value, ``count`` times, and the weights
        from the end of each cycle are a member. Early stopping and averages of weights are left out, because they would
        choose among cycles or mix them, and so is the second training on all rows. All members are in memory, and in
        each checkpoint.

        Args:
            forecaster: What to train; it stays as it is.
            count: Cycles; the steps of training are divided equally among them.
            settings: ``combine`` and ``weights``.
        """
        _check_count(count)
        plan = MemberPlan.of(forecaster)
        source = plan.forecaster(training=in_cycles(plan.training, count), refit=False)
        ensemble = cls([source] * count, **settings)
        ensemble._source = MemberPlan.of(source)
        return ensemble

    @classmethod
    def quantiles(cls, forecaster: Forecaster, quantiles: Sequence[float] = (0.1, 0.5, 0.9), **settings: Any) -> Self:
        """Return an ensemble with one model for each quantile, trained for it alone.

        Forecast quantiles are sorted, so they never cross. One model with a ``QuantileLoss`` of all quantiles takes a
        fraction of the time.

        Args:
            forecaster: What to train, whatever its loss; it stays as it is.
            quantiles: Between 0 and 1.
            settings: ``combine``.
        """
        plan = MemberPlan.of(forecaster)
        checked = QuantileLoss(quantiles).quantiles
        return cls([plan.forecaster(loss=QuantileLoss([level])) for level in checked], **settings)

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        run: str | Path | None = None,
        checkpoints: Checkpointing | None = None,
        vectorize: Vectorize = "auto",
        progress: bool = False,
        **schema: Any,
    ) -> Self:
        """Train the members, then fit weights and intervals of the whole.

        Args:
            data: As for ``Forecaster.fit``.
            callbacks: Callbacks that receive the events of training, of each member in turn.
            initial: Weights to start from, as for ``Forecaster.fit``: those of an ensemble, member by member, or of one
                network for all members. Snapshots come from one training, which starts from the last of them.
            run: Directory for the settings, a run of each member, and the ensemble in the end. If training is
                interrupted, ``Ensemble.resume(run)`` resumes it.
            checkpoints: When checkpoints are written there; every minute by default.
            vectorize: Whether members that differ in seed or learning rate alone are trained in one step for all of
                them, which gives the same weights up to rounding: ``"auto"`` where a short measurement shows that it is
                faster; ``True`` always, with an error where it is not possible; ``False`` one after the other, as in a
                run directory and with callbacks.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``.

        Raises:
            DataError: If the table cannot be used as it is.
            DivergedError: If the loss or the gradients of a member became NaN or infinite.
        """
        initials: Sequence[Initial | None] = load_initials(initial, self._count) or [None] * self._count
        place = None if run is None else EnsembleRun(Path(run))
        training = self._member_training(
            initials if self._source is None else initials[-1:], place, checkpoints, vectorize
        )
        panel = training.read(data, schema)
        if self._weights == "validation" and not any(member._task.validation for member in self.members):
            raise ConfigError("weights: 'validation' needs a validation part: set validation to a fraction or rows.")
        if place is not None:
            path = str(data) if isinstance(data, (str, Path)) else None
            place.begin(self._plan(path, panel.schema, checkpoints), panel, training.initials)
        with following(progress):
            self._train(training, panel, data, callbacks)
        return self

    @classmethod
    def resume(cls, run: str | Path, data: Any = None, *, callbacks: Sequence[CallbackLike] = ()) -> Self:
        """Resume a run that was interrupted: members that are trained are loaded, the others are trained.

        On the same machine and with as many threads the ensemble becomes, bit for bit, the one of a run that was never
        interrupted. A finished run is loaded.

        Args:
            run: The directory that was given to ``fit``.
            data: The data, for a run that was begun with a table in memory or whose file has moved.
            callbacks: Those that ``fit`` was given.

        Raises:
            InputError: If there is no such run, or a process is still working on it.
            DataError: If the data differ.
        """
        place = EnsembleRun(Path(run))
        plan = place.plan()
        if place.is_finished:
            return cls.load(place.model)
        source = plan.path if data is None else data
        if source is None:
            raise InputError(f"{run}: was begun with a table in memory; pass it as data.")
        ensemble = cls._of(plan)
        training = ensemble._member_training(place.initials(len(plan.members)), place, plan.checkpoints)
        panel = training.read(source, dict(plan.table))
        place.require_same_data(panel)
        ensemble._train(training, panel, source, callbacks)
        return ensemble

    def calibrate(self, data: Any, **schema: Any) -> Self:
        """Fit weights and intervals of members that are trained already, without training them.

        Args:
            data: The data that all members were trained on; weights and intervals are fitted on their validation part.
            schema: Fields of ``Schema``, as for ``fit``.

        Raises:
            NotFittedError: If a member is not trained.
            ConfigError: If a member was trained on all rows and then loaded.
        """
        for place, member in enumerate(self.members, 1):
            trained_on = member.validated.fitted.trained_on
            if trained_on is not None and trained_on.all_rows:
                raise ConfigError(
                    f"member {place} was trained on all rows and loaded, so its validation part cannot be used. Train "
                    "the members in this process, or with refit=False."
                )
        self._measure(self._member_training().read(data, schema), data)
        return self

    def prepare_prediction(
        self, data: Any = None, *, future: Any = None, horizon: int | None = None
    ) -> EnsemblePrediction:
        return EnsemblePrediction.of(self.fitted, data, future=future, horizon=horizon)

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        parts = EnsembleParts(self.members, self.fitted, self._weights, self._source is not None)
        return pack_ensemble(parts, context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        parts = unpack_ensemble(files, place)
        ensemble = cls(parts.members, combine=parts.fitted.combination.method, weights=parts.weights)  # type: ignore[arg-type]
        if parts.is_one_training:
            ensemble._source = MemberPlan.of(parts.members[-1])
        ensemble._fitted = parts.fitted
        return ensemble

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings; fitted to the same data it gets the same weights."""
        return self._of(self._plan())

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed, those of all members that have them.

        Args:
            changes: Values by dotted name, as for ``Forecaster.with_settings``, and ``ensemble.combine`` and
                ``ensemble.weights``. A setting of the architecture changes the members whose architecture has it.

        Raises:
            ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
        """
        own, rest = own_settings(changes, "ensemble", ("combine", "weights"))
        return self._of(self._plan().with_settings(rest), **own)

    def __repr__(self) -> str:
        name, settings = self.architecture.name, f"combine={self.combine}, {describe_task(self.task)}"
        state = self.members[0].fitted.summary(self.num_parameters) if self.is_fitted else "not fitted"
        return f"{type(self).__name__}({name}, {settings}, {state})"

    def _repr_html_(self) -> str:
        from neuro_divergent.forecasting.display import ensemble_html

        return ensemble_html(self)

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return all(member.is_fitted for member in self.members) and (
            self._fitted is not None or self._weights != "validation"
        )

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the training data, by name; each member holds its own."""
        if not self.is_fitted:
            return {}
        found = {name: words for member in self.members for name, words in member.holds.items()}
        found["weights"] = f"{self.num_parameters:,} parameters of {len(self.members)} networks"
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of this ensemble as plain values."""
        return self._plan().to_dict()

    @property
    def fitted(self) -> FittedEnsemble:
        if self._fitted is None:
            if self._weights == "validation":
                raise NotFittedError(
                    "the weights of this ensemble have not been fitted: call fit(data), calibrate(data) if its "
                    "members are trained, or load a saved one."
                )
            fitted = [member.fitted for member in self.members]
            self._fitted = FittedEnsemble.of(fitted, self._combination(), fitted[0].backend)
        return self._fitted

    @property
    def weights(self) -> Array | None:
        """How much each member counts, adding up to 1; ``None`` where all count the same."""
        return self.fitted.combination.weights

    @property
    def task(self) -> Task:
        """The task; after training, that of the whole."""
        if self._fitted is not None:
            return self._fitted.task
        sizes = [member.task.input_size for member in self.members]
        longest = None if None in sizes else max(size for size in sizes if size is not None)
        return self.members[0].task.replace(input_size=longest)

    @property
    def training(self) -> TrainingConfig:
        """How members are trained: of one that stops early, if any does."""
        settings = [member.training for member in self.members]
        return next((training for training in settings if training.early_stopping is not None), settings[0])

    @property
    def architecture(self) -> Label:
        """What tables call this ensemble: its members by name."""
        names = [member.architecture.name for member in self.members]
        kinds = dict.fromkeys(names)
        return Label(f"ensemble of {len(names)} {names[0]}" if len(kinds) == 1 else f"ensemble of {', '.join(kinds)}")

    @property
    def history(self) -> pl.DataFrame:
        """Losses, rates and speeds of training, row by row, with ``member`` counted from 1; one for snapshots."""
        members = self.members if self._source is None else self.members[-1:]
        frames = [
            member.history.select(pl.lit(number).alias("member"), pl.all()) for number, member in enumerate(members, 1)
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def num_parameters(self) -> int:
        """Number of trainable parameters of all members."""
        return sum(member.num_parameters for member in self.members)

    @classmethod
    def _of(cls, plan: EnsemblePlan, **settings: Any) -> Self:
        """Return the ensemble that a plan describes, with some of its own settings changed."""
        members = [member.forecaster() for member in plan.members]
        settings = {"combine": plan.combine, "weights": plan.weights, **settings}
        ensemble = cls(members * (plan.snapshots or 1), **settings)
        if plan.snapshots is not None:
            ensemble._source = plan.members[0]
        return ensemble

    def _plan(
        self, path: str | None = None, schema: Schema | None = None, checkpoints: Checkpointing | None = None
    ) -> EnsemblePlan:
        sources = [MemberPlan.of(member) for member in self.members] if self._source is None else [self._source]
        return EnsemblePlan(
            members=tuple(sources),
            combine=self.combine,
            weights=self._weights,
            snapshots=None if self._source is None else self._count,
            path=path,
            table=schema or Schema(),
            checkpoints=checkpoints,
        )

    def _member_training(
        self,
        initials: Sequence[Initial | None] = (),
        place: EnsembleRun | None = None,
        checkpoints: Checkpointing | None = None,
        vectorize: Vectorize = "auto",
    ) -> MemberTraining:
        trained = self.members if self._source is None else (self._source.forecaster(),)
        starts = initials or [None] * len(trained)
        return MemberTraining(trained, starts, self._source is not None, place, checkpoints, vectorize)

    def _train(self, training: MemberTraining, panel: Panel, data: Any, callbacks: Sequence[CallbackLike]) -> None:
        self._set_fitted(None)
        self.members = training.train(panel, callbacks)
        self._measure(panel, data)
        if training.place is not None:
            self.save(training.place.model)

    def _measure(self, panel: Panel, data: Any) -> None:
        """Combine the fitted members, and fit weights and intervals on windows that none of them was trained on."""
        honest = [member.validated.fitted for member in self.members]
        validated = FittedEnsemble.of(honest, self._combination(), backend_for(data))
        split = validated.split(panel)
        if self._weights == "validation":
            validated = validated.with_accuracy_weights(sample_validation(split.validation))
        validated = validated.with_intervals(split.validation)
        members = tuple(member.fitted for member in self.members)
        self._set_fitted(dataclasses.replace(validated, members=members), validated)
        self.panel, self.split = panel, split

    def _combination(self) -> Combination:
        try:
            weights = None if self._weights in (None, "validation") else check_weights(self._weights, len(self.members))
        except ValueError as error:  # also where training was stopped before all snapshots were there
            raise ConfigError(f"{error}.") from None
        return Combination(tuple(member.task.loss for member in self.members), self.combine, weights)


def _check_count(count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigError(f"count: {count!r} must be an integer of at least 1.")
