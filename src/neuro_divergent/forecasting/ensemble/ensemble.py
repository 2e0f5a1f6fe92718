"""Several forecasters that forecast together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl

from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.data.io.source import Backend, backend_of
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import check_lengths
from neuro_divergent.data.scaling.base import Array
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.ensemble.artifact import (
    EnsembleParts,
    check_weights,
    load_ensemble,
    save_ensemble,
)
from neuro_divergent.forecasting.ensemble.combination import Combination, Method, check_method
from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.ensemble.prediction import EnsemblePrediction
from neuro_divergent.forecasting.ensemble.run import EnsemblePlan, EnsembleRun, MemberPlan
from neuro_divergent.forecasting.ensemble.snapshots import Snapshots, in_cycles, with_weights
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.task import Task
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.schedules.chain import Chain


@dataclass(frozen=True)
class Label:
    """What tables call a model."""

    name: str


class Ensemble:
    """Trains several forecasters on the same table and combines what they forecast.

    Members may differ in everything but the horizon. Where each of them forecasts quantiles, so does the ensemble,
    level by level; where one forecasts points alone, intervals are measured on the errors that the ensemble as a whole
    had in its validation part.

    Args:
        members: Forecasters to train, or trained ones.
        combine: How forecasts become one: ``"mean"`` or ``"median"`` of points and of each quantile;
            ``"quantile_average"``, the mean of each quantile, with the median of that as the point; or ``"pool"``, the
            quantiles of the mixture of all members' distributions, and the mean of points.
        weights: How much each member counts, such as ``[2, 1, 1]``; ``"validation"`` for one over the mean squared
            error on the validation part; unset, all count the same.

    Raises:
        ConfigError: If the members cannot be combined that way.
    """

    def __init__(
        self,
        members: Sequence[Forecaster],
        *,
        combine: Method = "mean",
        weights: Sequence[float] | Literal["validation"] | None = None,
    ) -> None:
        self.members = tuple(members)
        _check_members(self.members)
        check_method(combine)
        self.combine = combine
        self._asked = _asked(weights)
        self._source: MemberPlan | None = None
        self._count = len(self.members)
        self.panel: Panel | None = None
        self.split: Split | None = None
        self._committee: FittedEnsemble | None = None
        self._outlooks: EnsemblePrediction | None = None
        combination = self._combination()
        if combination.shares_work and self._asked == "validation":
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
        choose among cycles or mix them. All members are in memory, and in each checkpoint.

        Args:
            forecaster: What to train; it stays as it is.
            count: Cycles, which share the steps of training equally.
            settings: ``combine`` and ``weights``.
        """
        _check_count(count)
        plan = MemberPlan.of(forecaster)
        source = plan.forecaster(training=in_cycles(plan.training, count))
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
            quantiles: Shares between 0 and 1.
            settings: ``combine``.
        """
        plan = MemberPlan.of(forecaster)
        shares = QuantileLoss(quantiles).quantiles
        return cls([plan.forecaster(loss=QuantileLoss([share])) for share in shares], **settings)

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        run: str | Path | None = None,
        checkpoints: Checkpointing | None = None,
        **schema: Any,
    ) -> Self:
        """Train one member after the other, and measure what is to be measured of the whole.

        Args:
            data: As for ``Forecaster.fit``.
            callbacks: What else to do at the events of training, of each member in turn.
            run: Directory for what was asked for, a run of each member, and the ensemble in the end. If training is
                interrupted, ``Ensemble.resume(run)`` goes on with it.
            checkpoints: When checkpoints are written there; every minute if nothing is said.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``.

        Raises:
            DataError: If the table cannot be used as it is.
            DivergedError: If training of a member produced a number that is not finite.
        """
        panel = self._read(data, schema)
        if self._asked == "validation" and not any(member._task.validation for member in self.members):
            raise ConfigError("weights: 'validation' needs a validation part: set validation to a share or rows.")
        place = None if run is None else EnsembleRun(Path(run))
        if place is not None:
            path = str(data) if isinstance(data, (str, Path)) else None
            place.begin(self._plan(path, panel.schema, checkpoints), panel)
        self._train(panel, _backend(data), callbacks, place, checkpoints)
        return self

    @classmethod
    def resume(cls, run: str | Path, data: Any = None, *, callbacks: Sequence[CallbackLike] = ()) -> Self:
        """Go on with a run that was interrupted: members that are trained are loaded, the others go on or begin.

        On the same machine and with as many threads the ensemble becomes, bit for bit, the one of a run that was never
        interrupted. A run that has come to its end is loaded.

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
        panel = ensemble._read(source, {name: getattr(plan.table, name) for name in Schema.model_fields})
        place.require_same_data(panel)
        ensemble._train(panel, _backend(source), callbacks, place, plan.checkpoints)
        return ensemble

    def calibrate(self, data: Any, **schema: Any) -> Self:
        """Measure weights and intervals of members that are trained already, without training them.

        Args:
            data: The data that all members were trained on; their validation part is what is measured on.
            schema: Fields of ``Schema``, as for ``fit``.

        Raises:
            NotFittedError: If a member is not trained.
        """
        self._measure(self._read(data, schema), _backend(data))
        return self

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
            horizon: Steps to forecast; more than trained for are reached by each member on its own, feeding its
                forecasts back as history.

        Returns:
            A table like that of ``Forecaster.predict``.
        """
        if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 1):
            raise InputError(f"horizon: {horizon!r} must be an integer of at least 1.")
        if df is None and future is None and horizon is None:
            if self._outlooks is None:
                self._outlooks = EnsemblePrediction.of(self.fitted)
            return self._outlooks.table(tuple(levels), tuple(quantiles))
        return EnsemblePrediction.of(self.fitted, df, future=future, horizon=horizon).table(
            tuple(levels), tuple(quantiles)
        )

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel beside what happened, without training anything again.

        Args:
            windows: Windows of a panel.
            levels: Central intervals to give, in percent.
            quantiles: Quantiles to give, as shares.
        """
        return self.fitted.forecast_windows(windows, tuple(levels), tuple(quantiles))

    def save(self, path: str | Path) -> None:
        """Write all members and what was measured to a directory, complete or not at all."""
        save_ensemble(Path(path), EnsembleParts(self.members, self.fitted, self._asked, self._source is not None))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
        """
        parts = load_ensemble(Path(path))
        ensemble = cls(parts.members, combine=parts.committee.combination.method, weights=parts.weights)  # type: ignore[arg-type]
        if parts.is_one_training:
            ensemble._source = MemberPlan.of(parts.members[-1])
        ensemble._committee = parts.committee
        return ensemble

    def fresh(self) -> Self:
        """Return the same ensemble with nothing trained."""
        return self._of(self._plan(None, Schema(), None))

    def to_dict(self) -> dict[str, Any]:
        """Return what this ensemble is made from, as plain values."""
        return self._plan(None, Schema(), None).to_dict()

    @property
    def fitted(self) -> FittedEnsemble:
        """What training left behind."""
        if self._committee is None:
            if self._asked == "validation":
                raise NotFittedError(
                    "the weights of this ensemble have not been measured: call fit(data), calibrate(data) if its "
                    "members are trained, or load a saved one."
                )
            self._committee = self._together(self.members[0].fitted.backend)
        return self._committee

    @property
    def weights(self) -> Array | None:
        """How much each member counts, adding up to 1; ``None`` where all count the same."""
        return self.fitted.combination.weights

    @property
    def task(self) -> Task:
        """The task; after training, that of the whole."""
        if self._committee is not None:
            return self._committee.task
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
    def schema(self) -> Schema:
        """Roles of the columns."""
        return self.fitted.context.schema

    @property
    def num_parameters(self) -> int:
        """Numbers that training adjusts, of all members."""
        return sum(member.num_parameters for member in self.members)

    @classmethod
    def _of(cls, plan: EnsemblePlan) -> Self:
        """Return the ensemble that a plan describes."""
        members = [member.forecaster() for member in plan.members]
        ensemble = cls(members * (plan.snapshots or 1), combine=plan.combine, weights=plan.weights)  # type: ignore[arg-type]
        if plan.snapshots is not None:
            ensemble._source = plan.members[0]
        return ensemble

    def _plan(self, path: str | None, schema: Schema, checkpoints: Checkpointing | None) -> EnsemblePlan:
        sources = [MemberPlan.of(member) for member in self.members] if self._source is None else [self._source]
        return EnsemblePlan(
            members=tuple(sources),
            combine=self.combine,
            weights=self._asked,
            snapshots=None if self._source is None else self._count,
            path=path,
            table=schema,
            checkpoints=checkpoints,
        )

    def _read(self, data: Any, schema: dict[str, Any]) -> Panel:
        """Read the data, and decide once for all members about series that are too short for one of them."""
        panel = data if isinstance(data, Panel) else load_panel(data, Schema(**schema))
        while True:
            longest = max(member._task.history_for(panel) for member in self.members)
            checked = check_lengths(panel, input_size=longest, horizon=self.members[0]._task.horizon)
            if checked is panel:
                return panel
            panel = checked  # of other lengths, from which a member may choose another history

    def _train(
        self,
        panel: Panel,
        backend: Backend,
        callbacks: Sequence[CallbackLike],
        place: EnsembleRun | None,
        checkpoints: Checkpointing | None,
    ) -> None:
        self._committee = self._outlooks = None
        if self._source is None:
            self.members = tuple(
                _trained(member, number, panel, callbacks, place, checkpoints)
                for number, member in enumerate(self.members)
            )
        else:
            source = self._source.forecaster()
            schedule = source.training.schedule
            assert isinstance(schedule, Chain)
            snapshots = Snapshots(schedule, None if place is None else place.snapshots)
            last = _trained(source, 0, panel, [snapshots, *callbacks], place, checkpoints)
            self.members = (*self._others(last, snapshots, panel), last)
        self._measure(panel, backend)
        if place is not None:
            self.save(place.model)

    def _others(self, last: Forecaster, snapshots: Snapshots, panel: Panel) -> list[Forecaster]:
        """Return the members from the ends of the cycles before the last."""
        validation = FittedEnsemble.of([last.fitted], Combination((last.task.loss,)), "polars").split(panel).validation
        members = []
        for weights in snapshots.weights():
            member = MemberPlan.of(last).forecaster()
            member._fitted = with_weights(last.fitted, last.architecture, weights, validation)
            members.append(member)
        return members

    def _measure(self, panel: Panel, backend: Backend) -> None:
        """Take up what the members learnt, and measure the whole on what none of them saw."""
        committee = self._together(backend)
        split = committee.split(panel)
        if self._asked == "validation":
            if not len(split.validation):
                raise ConfigError(
                    "weights: 'validation' needs windows that no member has learnt from, and there are none. Hold out "
                    "more, or leave weights out."
                )
            committee = committee.with_accuracy_weights(split.validation)
        self._committee = committee.with_intervals(split.validation)
        self._outlooks = None
        self.panel, self.split = panel, split

    def _together(self, backend: Backend) -> FittedEnsemble:
        return FittedEnsemble.of([member.fitted for member in self.members], self._combination(), backend)

    def _combination(self) -> Combination:
        try:
            weights = None if self._asked in (None, "validation") else check_weights(self._asked, len(self.members))
        except ValueError as error:  # also where training was stopped before all snapshots were there
            raise ConfigError(f"{error}.") from None
        return Combination(tuple(member.task.loss for member in self.members), self.combine, weights)


def _trained(
    member: Forecaster,
    number: int,
    panel: Panel,
    callbacks: Sequence[CallbackLike],
    place: EnsembleRun | None,
    checkpoints: Checkpointing | None,
) -> Forecaster:
    """Train a member, or go on with its run, or load it if that has come to its end."""
    if place is None:
        return member.fit(panel, callbacks=callbacks)
    directory = place.member(number)
    if directory.has_begun:
        return Forecaster.resume(directory.path, panel, callbacks=callbacks)
    return member.fit(panel, callbacks=callbacks, run=directory.path, checkpoints=checkpoints)


def _check_members(members: tuple[Forecaster, ...]) -> None:
    if not members:
        raise ConfigError("an ensemble has at least one member.")
    for place, member in enumerate(members, 1):
        if not isinstance(member, Forecaster):
            raise ConfigError(f"member {place} is {type(member).__name__}; members are forecasters.")
        if member.task.horizon != members[0].task.horizon:
            raise ConfigError(
                f"member {place} forecasts {member.task.horizon} steps, the first one {members[0].task.horizon}; they "
                "must agree."
            )


def _check_count(count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigError(f"count: {count!r} must be a whole number of at least 1.")


def _asked(weights: Any) -> Literal["validation"] | tuple[float, ...] | None:
    if weights is None or (isinstance(weights, str) and weights == "validation"):
        return weights  # type: ignore[return-value]
    try:
        if isinstance(weights, str):
            raise TypeError
        return tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise ConfigError(f"weights: {weights!r} must be 'validation' or a number for each member.") from None


def _backend(data: Any) -> Backend:
    return "polars" if isinstance(data, Panel) else backend_of(data)
