"""Training in a run directory: check, open, resume, train and save the model.

``Forecaster.fit(run=...)``, the members of an ensemble and the command line all train through this class. It imports
torch only where a network is needed, so that mistakes in settings and data are reported at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import InputError
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.runs.directory import MODEL, PRETRAINED, VALIDATED, RunDirectory
from neuro_divergent.training.state import extends
from neuro_divergent.training.strategy import find_strategy, is_main_process

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.prepared_data import PreparedData
    from neuro_divergent.forecasting.warm_start import Initial
    from neuro_divergent.training.callbacks.base import CallbackLike
    from neuro_divergent.training.callbacks.checkpointing import Checkpointing


@dataclass(frozen=True)
class TrainingRun:
    """The directory of a run and the settings to train with.

    Attributes:
        directory: Where the run is.
        config: All of its settings.
        resuming: Whether the run exists and is continued from its latest checkpoint.
        allow_changes: Whether settings and data may differ from the stored ones.
    """

    directory: RunDirectory
    config: RunConfig
    resuming: bool = False
    allow_changes: bool = False

    @classmethod
    def new(cls, directory: RunDirectory, config: RunConfig) -> TrainingRun:
        """Return a run that is to be trained from the start.

        Raises:
            InputError: If something exists at that path.
        """
        if is_main_process(config.training.strategy):
            directory.check_free()
        return cls(directory, config)

    @classmethod
    def of(
        cls,
        forecaster: Forecaster,
        directory: RunDirectory,
        data: Any,
        prepared: PreparedData,
        checkpoints: Checkpointing | None,
    ) -> TrainingRun:
        """Return a run that is to train a forecaster from the start, on data that are prepared for it.

        Its settings name ``data`` if that is a path, or a panel that is stored. Errors are those of ``new``.
        """
        task = forecaster._task
        is_stored = getattr(data, "is_as_stored", False)  # a panel, with all its series
        place = data if isinstance(data, str | Path) else data.directory if is_stored else None
        if prepared.initial is not None:
            # What a warm start takes from the fitted model is written down, because the data alone do not give it.
            task = task.replace(input_size=prepared.task.input_size)
        config = RunConfig(
            data=DataConfig(**{**dict(prepared.panel.schema), "path": None if place is None else str(place)}),
            model=forecaster.architecture,
            task=task,
            training=forecaster.training,
            **({} if checkpoints is None else {"checkpoints": checkpoints}),
        )
        return cls.new(directory, config)

    @classmethod
    def resumed(
        cls, directory: RunDirectory, config: RunConfig | None = None, *, allow_changes: bool = False
    ) -> TrainingRun:
        """Return a run that is to be continued.

        Args:
            directory: Where it is.
            config: Its settings; the stored ones if left out.
            allow_changes: Whether they and the data may differ from the stored ones.

        Raises:
            InputError: If there is no such run.
            ConfigError: If the settings differ.
        """
        config = (RunConfig.from_dict(directory.stored_config()) if config is None else config).resolve_training()
        if not allow_changes:
            directory.require_same(config)
        return cls(directory, config, resuming=True, allow_changes=allow_changes)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to train."""
        return self.resuming and self.directory.is_finished and not self._is_extended

    def source(self, data: Any = None) -> Any:
        """Return the data to train on: those given, or else the file that the settings name.

        Raises:
            InputError: If there is neither.
        """
        if data is not None:
            return data
        if self.config.data.path is None:
            raise InputError(f"{self.directory.path}: was begun with a table in memory; pass it as data.")
        return self.config.data.path

    def prepare(self, forecaster: Forecaster, data: Any = None, initial: Initial | None = None) -> PreparedData:
        """Read and check the data for a forecaster; arguments are those of ``fit``."""
        schema = dict(self.config.data.schema_fields)
        prepared = forecaster._prepare(self.source(data), schema, self.initial() or initial)
        self.check_data(prepared.panel)
        return prepared

    def check_data(self, panel: Panel) -> None:
        """Refuse to resume on other data.

        Raises:
            DataError: If a value, id or time differs.
        """
        if self.resuming and not self.allow_changes:
            self.directory.require_same_data(panel)

    def opened(self) -> AbstractContextManager[None]:
        """Create the directory and hold its lock; record at the end how the run ended.

        Where several processes train together, the first one does that.
        """
        return self.directory.opened() if self.is_main else nullcontext()

    @property
    def is_main(self) -> bool:
        """Whether this process writes the directory: the only one that trains, or the first."""
        return is_main_process(self.config.training.strategy)

    def load_state(self) -> dict[str, Any] | None:
        """Return the latest checkpoint of a run that is resumed, or ``None``.

        Where the first training is over, it is the latest one of the second, on all rows.
        """
        if not self.resuming or not self.is_main:
            return None
        if self._is_refitting:
            return self.directory.latest_refit(self.config.checkpoints)
        return self.directory.latest(self.config.checkpoints)

    @property
    def _is_refitting(self) -> bool:
        """Whether the first training is over, and no more steps of it are wanted."""
        return self.resuming and (self.directory.path / VALIDATED).exists() and not self._is_extended

    @property
    def _is_extended(self) -> bool:
        """Whether training is to end at another step or time than when the run was begun."""
        return extends(self.directory.stored_config()["training"], self.config.training.to_dict())

    def initial(self) -> Initial | None:
        """Return the model that training started from, if a run that is resumed was given one.

        It names the columns and categories of the data, and a run that was killed before its first checkpoint starts
        from it again.
        """
        kept = self.directory.path / PRETRAINED
        if not self.resuming or not kept.exists():
            return None
        from neuro_divergent.forecasting.warm_start import load_initial  # loads torch

        return load_initial(kept)

    def load_model(self) -> Forecaster:
        """Return the forecaster of a finished run, with its state before the second training if there were two."""
        from neuro_divergent.forecasting.forecaster import Forecaster

        forecaster = Forecaster.load(self.directory.path / MODEL)
        if (self.directory.path / VALIDATED).exists():
            forecaster._validated = Forecaster.load(self.directory.path / VALIDATED).fitted
        return forecaster

    def train(
        self,
        forecaster: Forecaster,
        prepared: PreparedData,
        *,
        callbacks: Sequence[CallbackLike] = (),
        teacher: Forecaster | None = None,
        state: Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        """Train a forecaster in the opened directory and save its model there.

        Where several processes train together, all call it, and the first one writes. Its ``state`` counts.

        Args:
            forecaster: The forecaster, changed in place.
            prepared: The data. A model to start from is kept in the directory, see ``initial``.
            callbacks: Further callbacks.
            teacher: Fitted forecaster to learn from.
            state: Checkpoint to continue from.
        """
        from neuro_divergent.forecasting.training_phases import TrainingPhases  # loads torch

        training = self.config.training
        strategy = find_strategy(training.strategy, resolve_device(training.device))
        is_main, validated = self.is_main, self.directory.path / VALIDATED
        is_refitting = strategy.broadcast(is_main and self._is_refitting)
        state = strategy.broadcast(state if is_main else None) if isinstance(state, Mapping | None) else state
        if is_main:
            self.begin(prepared, is_refitting=is_refitting)
        phases = TrainingPhases(forecaster, prepared, teacher)
        if is_refitting:
            trains_again = phases.restore(validated)
        else:
            heard = [*callbacks, *self.directory.callbacks(self.config.checkpoints)]
            trains_again = phases.train(heard, resume=state, allow_changes=self.allow_changes)
        forecaster.run = self.directory.path
        if trains_again:
            if is_main and not is_refitting:
                forecaster.save(validated)
            further = self.directory.refit_callbacks(self.config.checkpoints)
            phases.refit(callbacks, further=further, resume=state if is_refitting else None)
        if is_main:
            forecaster.save(self.directory.path / MODEL)

    def begin(self, prepared: PreparedData, *, is_refitting: bool = False) -> None:
        """Write what the run is begun with, and remove what an earlier end of it left; ``train`` calls it."""
        kept = self.directory.path / PRETRAINED
        if prepared.initial is not None and not kept.exists():
            prepared.initial.save(kept)
        if not is_refitting:
            self.directory.remove_refit(self.config.checkpoints)
        self.directory.begin(self.config, prepared.panel)

    def fit(
        self, data: Any = None, *, callbacks: Sequence[CallbackLike] = (), initial: Initial | None = None
    ) -> Forecaster:
        """Train the forecaster that the settings describe, or load it if nothing is left to train.

        Args:
            data: As for ``Forecaster.fit``; the file that the settings name if left out.
            callbacks: Further callbacks.
            initial: Model to start from; for a run that is resumed, the one it was begun with.
        """
        from neuro_divergent.forecasting.forecaster import Forecaster

        if self.is_complete:
            return self.load_model()
        forecaster = Forecaster.for_run(self.config)
        prepared = self.prepare(forecaster, data, initial)
        with self.opened():
            self.train(forecaster, prepared, callbacks=callbacks, state=self.load_state())
        return forecaster
