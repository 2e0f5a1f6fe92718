"""The trainings that the members of an ensemble come from: one of each, or one whose snapshots they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.progress import track
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.ensemble.run import EnsembleRun
from neuro_divergent.forecasting.ensemble.snapshots import Snapshots, with_weights
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.prepared_data import read_panel
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.forecasting.vectorized_fit import Vectorize, check_vectorize, fit_vectorized
from neuro_divergent.forecasting.warm_start import Initial, fitted_before
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.schedules.chain import Chain


@dataclass(frozen=True, eq=False)
class MemberTraining:
    """Trains the members of an ensemble on the same data.

    Attributes:
        forecasters: What is trained: each member, or the one whose snapshots are the members.
        initials: What each of them starts from.
        takes_snapshots: Whether the members are snapshots of one training.
        place: Directory with a run for each training; one that has begun is resumed, or loaded if it is finished.
        checkpoints: When checkpoints are written there.
        vectorize: Whether members that are alike are trained in one step for all of them. Those in a directory are not:
            a member that is resumed must get the weights it would have had.
    """

    forecasters: Sequence[Forecaster]
    initials: Sequence[Initial | None]
    takes_snapshots: bool
    place: EnsembleRun | None = None
    checkpoints: Checkpointing | None = None
    vectorize: Vectorize = "auto"

    def read(self, data: Any, schema: Mapping[str, Any]) -> Panel:
        """Read the data, and treat series that are too short for one member alike for all."""
        before = [fitted_before(initial) for initial in self.initials]
        panel = read_panel(data, schema, before[0])
        own = [forecaster._task for forecaster in self.forecasters]
        tasks = [
            task if model is None or task.input_size else model.task for task, model in zip(own, before, strict=True)
        ]
        while True:
            longest = max(task.history_for(panel) for task in tasks)
            checked = check_lengths(panel, input_size=longest, horizon=own[0].horizon)
            if checked is panel:
                return panel
            panel = checked  # of other lengths, from which a member may choose another history

    def train(self, panel: Panel, callbacks: Sequence[CallbackLike]) -> tuple[Forecaster, ...]:
        """Return the trained members; the callbacks receive the events of each training."""
        left = self._fit_vectorized(panel, callbacks)
        if not self.takes_snapshots:
            members = []
            with track("Ensemble", len(self.forecasters), "member") as shown:
                for number, forecaster in enumerate(self.forecasters):
                    is_left = any(forecaster is other for other in left)
                    members.append(self._train(number, panel, callbacks) if is_left else forecaster)
                    shown.update(number + 1)
            return tuple(members)
        schedule = self.forecasters[0].training.schedule
        assert isinstance(schedule, Chain)
        snapshots = Snapshots(schedule, None if self.place is None else self.place.snapshots)
        last = self._train(0, panel, [snapshots, *callbacks])
        validation = last.task.split(panel).validation
        others = []
        for weights in snapshots.weights():
            others.append(last.clone())
            others[-1]._set_fitted(with_weights(last.fitted, last.architecture, weights, validation))
        return (*others, last)

    def _fit_vectorized(self, panel: Panel, callbacks: Sequence[CallbackLike]) -> Sequence[Forecaster]:
        """Train members that are alike together where that is possible and faster; return those that are left."""
        check_vectorize(self.vectorize)
        reasons = {
            "in a run directory, where each is resumed by itself": self.place is not None,
            "with callbacks, which receive the events of one training after the other": bool(callbacks),
            "where they are snapshots of one training": self.takes_snapshots,
        }
        found = [reason for reason, holds in reasons.items() if holds]
        if not found:
            panels = [panel] * len(self.forecasters)
            return fit_vectorized(self.forecasters, panels, self.initials, vectorize=self.vectorize)
        if self.vectorize is True:
            raise ConfigError(f"vectorize: members are not trained together {found[0]}. Leave vectorize out.")
        return self.forecasters

    def _train(self, number: int, panel: Panel, callbacks: Sequence[CallbackLike]) -> Forecaster:
        """Train a forecaster, or resume its run, or load it if that is finished."""
        forecaster, initial = self.forecasters[number], self.initials[number]
        if self.place is None:
            return forecaster.fit(panel, callbacks=callbacks, initial=initial)
        directory = self.place.member(number)
        if directory.has_begun:
            return TrainingRun.resumed(directory).fit(panel, callbacks=callbacks)
        prepared = forecaster._prepare(panel, {}, initial)
        run = TrainingRun.of(forecaster, directory, panel, prepared, self.checkpoints)
        return run.fit(panel, callbacks=callbacks, initial=initial)
