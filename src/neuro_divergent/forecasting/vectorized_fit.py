"""Fitting several forecasters that differ in seed, learning rate or data alone, in one step for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neuro_divergent.core.errors import ConfigError, DivergedError
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.forecasting.training_phases import TrainingPhases
from neuro_divergent.forecasting.warm_start import Initial
from neuro_divergent.training.vectorized.speed import WORTHWHILE, speedup
from neuro_divergent.training.vectorized.stacked_batches import CachedLoader
from neuro_divergent.training.vectorized.support import shared_settings, unsupported_setting, why_not
from neuro_divergent.training.vectorized.trainer import Member, VectorizedTrainer

Vectorize = bool | Literal["auto"]
"""Whether forecasters are trained together: ``"auto"`` where that is faster on this machine."""

_NO_OTHER = "there is no other of its kind, with batches of the same size"
_FEW_BATCHES = 4  # of a validation part, which are then kept in memory


def check_vectorize(vectorize: object) -> None:
    """Refuse anything but the three choices."""
    if not (isinstance(vectorize, bool) or vectorize == "auto"):
        raise ConfigError(f"vectorize: {vectorize!r} must be 'auto', True or False.")


def fit_vectorized(
    forecasters: Sequence[Forecaster],
    panels: Sequence[Panel],
    initials: Sequence[Initial | None] = (),
    *,
    vectorize: Vectorize = "auto",
) -> list[Forecaster]:
    """Fit those forecasters that can be trained together, each to its panel, and return which are left to be fitted.

    Forecasters with the same architecture and task are trained together if nothing else differs than what
    ``training.vectorized.support`` allows, and if that is faster.

    Args:
        forecasters: Forecasters, changed in place.
        panels: The data of each.
        initials: What each starts from.
        vectorize: ``True`` to do it even if it is slower, ``False`` for none.

    Raises:
        ConfigError: If ``vectorize=True`` and a forecaster cannot be trained together with another.
        DivergedError: If the loss or the gradients of one became NaN or infinite; the others are then not complete.
    """
    check_vectorize(vectorize)
    if vectorize is False:
        return list(forecasters)
    left: list[Forecaster] = []

    def leave(some: Sequence[Forecaster], reason: str) -> None:
        if vectorize is True:
            raise ConfigError(f"vectorize: {some[0].architecture.name} cannot be trained so: {reason}.")
        left.extend(some)

    for places in _alike(forecasters):
        chosen = [forecasters[place] for place in places]
        if reason := unsupported_setting(chosen[0].training) or (_NO_OTHER if len(chosen) == 1 else None):
            leave(chosen, reason)
            continue
        starts = [initials[place] if initials else None for place in places]
        for group in same_batch_size(_prepared_phases(chosen, [panels[place] for place in places], starts)):
            if reason := group.run(forced=vectorize is True):
                leave([phase.forecaster for phase in group.phases], reason)
    return left


@dataclass(frozen=True, eq=False)
class VectorizedFit:
    """The two trainings of several forecasters of one kind.

    Attributes:
        phases: The trainings of each.
        first: The first training of each.
    """

    phases: list[TrainingPhases]
    first: list[NetworkTraining]

    def run(self, *, forced: bool) -> str | None:
        """Train all of them, or return why not.

        Raises:
            DivergedError: If the loss or the gradients of one became NaN or infinite.
        """
        reason = self.why_not(forced=forced)
        if reason is None:
            for phase in self.phases:
                phase.forecaster.run = None
            for error in self.train():
                if error is not None:
                    raise error
        return reason

    def why_not(self, *, forced: bool) -> str | None:
        """Return why they are not trained together: it is not possible or, unless it is ``forced``, not faster."""
        if len(self.phases) == 1:
            return _NO_OTHER
        members = self._members(self.first)
        reason = why_not(members)
        if reason is not None:
            return reason
        gain = speedup(members)
        if gain == 0:
            return "torch has no batching rule for a layer, or a layer draws random numbers or changes buffers"
        if gain < WORTHWHILE and not forced:
            return f"it is {gain:.2f} times as fast as one after the other"
        return None

    def train(self, states: Sequence[Mapping[str, Any]] = ()) -> list[DivergedError | None]:
        """Train all of them, and return for each the error that ended its training, if one did.

        If there is one, none is trained again on all rows.

        Args:
            states: Checkpoints to go on from, of the same step unless a training was over before.
        """
        members = self._members(self.first)
        for member, state in zip(members, states, strict=bool(states)):
            member.resume = state
        errors = _train(members)
        trained = [
            pair for pair, error in zip(zip(self.phases, self.first, strict=True), errors, strict=True) if not error
        ]
        again = [phase for phase, training in trained if phase.finish_first(training)]
        if again and len(trained) == len(self.phases):
            data = again[0].all_rows() if self._is_shared else None
            second = [phase.second_training(data or phase.all_rows()) for phase in again]
            found = dict(zip(map(id, again), _train(self._members(second)), strict=True))
            for phase, training in zip(again, second, strict=True):
                if found[id(phase)] is None:
                    phase.finish_second(training)
            errors = [found.get(id(phase)) for phase in self.phases]
        return errors

    @property
    def _is_shared(self) -> bool:
        """Whether all are trained on the same data."""
        return all(phase.prepared is self.phases[0].prepared for phase in self.phases)

    def _members(self, trainings: Sequence[NetworkTraining]) -> list[Member]:
        """Return the trainings; those on the same data are validated on the same batches."""
        validation = trainings[0].validation
        kept = None
        if self._is_shared and validation is not None and len(validation) <= _FEW_BATCHES:
            kept = CachedLoader(validation)
        return [Member(training.trainer, training.train, kept or training.validation) for training in trainings]


def _prepared_phases(
    forecasters: Sequence[Forecaster], panels: Sequence[Panel], initials: Sequence[Initial | None]
) -> list[TrainingPhases]:
    """Prepare the data: once, where all have the same."""
    if all(panel is panels[0] for panel in panels) and all(initial is None for initial in initials):
        prepared = [forecasters[0]._prepare(panels[0], {})] * len(forecasters)
    else:
        each = zip(forecasters, panels, initials, strict=True)
        prepared = [forecaster._prepare(panel, {}, initial) for forecaster, panel, initial in each]
    return [TrainingPhases(forecaster, data) for forecaster, data in zip(forecasters, prepared, strict=True)]


def same_batch_size(phases: Sequence[TrainingPhases]) -> list[VectorizedFit]:
    """Divide trainings by the number of windows in their batches."""
    groups: dict[int, VectorizedFit] = {}
    for phase in phases:
        training = phase.first_training()
        size = min(training.train.order.batch_size, len(training.train.windows))
        group = groups.setdefault(size, VectorizedFit([], []))
        group.phases.append(phase)
        group.first.append(training)
    return list(groups.values())


def _train(members: list[Member]) -> list[DivergedError | None]:
    """Train all, or the only one, and return the error of each."""
    if len(members) > 1:
        VectorizedTrainer(members).fit()
        return [member.error for member in members]
    try:
        members[0].trainer.fit(members[0].train, members[0].validation)
    except DivergedError as error:
        return [error]
    return [None]


def _alike(forecasters: Sequence[Forecaster]) -> list[list[int]]:
    """Return the places of forecasters that differ only in what may differ; one that comes twice has one place."""
    kinds: list[tuple[Any, list[int]]] = []
    unique = {id(forecaster): (place, forecaster) for place, forecaster in reversed(list(enumerate(forecasters)))}
    for place, forecaster in sorted(unique.values(), key=lambda item: item[0]):
        training = forecaster.training
        own = training if unsupported_setting(training) else shared_settings(training)
        kind = (forecaster.architecture, forecaster._task, own)
        same = next((places for other, places in kinds if other == kind), None)
        if same is None:
            kinds.append((kind, [place]))
        else:
            same.append(place)
    return [places for _, places in kinds]
