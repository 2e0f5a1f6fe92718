"""Training of a challenger: from the decision to train to a version in the registry."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.core.errors import DataError, DivergedError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.data.replay import Replay
from neuro_divergent.evaluation.evaluate import evaluate
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.lifecycle.continuous.journal import Attempt, Decision, Journal
from neuro_divergent.lifecycle.continuous.rows import id_of
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
from neuro_divergent.lifecycle.continuous.view import View
from neuro_divergent.lifecycle.promotion.decision import GateDecision
from neuro_divergent.runs.directory import MODEL
from neuro_divergent.runs.tables import BACKTEST
from neuro_divergent.training.optimizers.base import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuro_divergent.lifecycle.registry.registry import Registry

DATA, RUN = "data.parquet", "run"
_MOST_HORIZONS = 16  # that are held out for the gate


@dataclass(frozen=True, eq=False)
class AttemptRunner:
    """Carries out an attempt; each of its steps can be repeated with the same result.

    Attributes:
        directory: Directory of continuous training.
        config: The settings.
        journal: The state.
        registry: The registry.
        view_of: Returns the view of a batch, with a given end.
    """

    directory: Path
    config: ContinuousConfig
    journal: Journal
    registry: Registry
    view_of: Callable[[int, int | None], View]

    def train(self, attempt: Attempt, at: str) -> None:
        """Train, or resume a training that was interrupted."""
        place = self.directory / "attempts" / f"{attempt.number:04d}"
        view = self.view_of(attempt.batch, attempt.end)
        try:
            forecaster = self._train(attempt, view, place)
            self._check_judgeable(attempt)
        except (DivergedError, DataError) as error:
            with self.journal.step(at) as step:
                step.set_attempt(replace(attempt, state="failed"))
                step.decide(
                    Decision("failed", f"Training {attempt.number} failed: {error}", {"attempt": attempt.number})
                )
            return
        trained_on = forecaster.fitted.trained_on
        with self.journal.step(at) as step:
            step.set_attempt(replace(attempt, state="trained"))
            if attempt.mode == "full" and trained_on is not None and self.journal.value("full_steps") is None:
                step.set_value("full_steps", trained_on.steps)

    def _check_judgeable(self, attempt: Attempt) -> None:
        """Raise if no forecast of held-out rows was possible."""
        if not (self._run(attempt) / BACKTEST).exists():
            raise DataError(
                "no forecast fits into the held-out rows, so a model cannot be judged: the series are too short for "
                f"horizon {self.config.run.task.horizon}. Begin with more rows, or with a shorter horizon."
            )

    def judge(self, attempt: Attempt, at: str) -> None:
        """Compare with the champion on the rows that were held out."""
        decision = self._gate(attempt)
        with self.journal.step(at) as step:
            step.set_attempt(replace(attempt, state="judged", gate=decision.to_dict()))

    def register(self, attempt: Attempt) -> int:
        """Register what was trained, and return its version."""
        view = self.view_of(attempt.batch, attempt.end)
        run = self._run(attempt)
        data = {
            "batch": attempt.batch,
            "start": str(view.frame[self.config.run.data.time].min()),
            "end": str(view.end_time),
            "rows": view.frame.height,
            "series": view.frame[id_of(view.schema)].n_unique(),
        }
        version = self.registry.register(
            run,
            self.config.name,
            parent=attempt.parent,
            data=data,
            gate=attempt.gate,
            recipe=self._recipe(),
            tags={"attempt": str(attempt.number), "mode": attempt.mode, "reason": attempt.reason},
        )
        return version.number

    def _train(self, attempt: Attempt, view: View, place: Path) -> Forecaster:
        run = place / RUN
        if (run / MODEL).is_dir() and (run / BACKTEST).exists():
            return Forecaster.load(run)
        if (run / "config.toml").is_file():
            return Forecaster.resume(run)
        self._write_data(view, place)
        config, hold_out = self.config.run, self.hold_out(attempt)
        task, training = config.task, config.training
        initial = None
        if attempt.parent is not None:
            # A fixed number of steps: the rows that are held out choose nothing, so that the gate is honest.
            steps = self.journal.value("full_steps")
            task = task.replace(validation=hold_out, refit=True, test=0)
            training = training.replace(early_stopping=None, max_steps=steps, max_epochs=None)
            if attempt.mode == "incremental":
                updates, is_change = self.config.updates, attempt.changed is not None
                initial = self.registry.get(f"{self.config.name}==v{attempt.parent}").load()
                fraction = updates.replay_after_change if is_change else updates.replay
                task = task.replace(replay=Replay(rows=self._new_rows(attempt), fraction=fraction))
                if not is_change:
                    slower = _slower(training.optimizer, updates.lr_factor)
                    training = training.replace(max_steps=updates.steps, optimizer=slower)
        training = training.replace(seed=training.seed + attempt.number - 1)
        run_config = RunConfig(data=config.data, model=config.model, task=task, training=training).resolve_training()
        forecaster = Forecaster.for_run(run_config)
        return forecaster.fit(str(place / DATA), run=run, initial=initial, **dict(view.schema))

    def _write_data(self, view: View, place: Path) -> None:
        buffer = io.BytesIO()
        view.until(view.end, self.config.updates.max_rows).write_parquet(buffer)
        place.mkdir(parents=True, exist_ok=True)
        write_file(place / DATA, buffer.getvalue())

    def _gate(self, attempt: Attempt) -> GateDecision:
        view = self.view_of(attempt.batch, attempt.end)
        challenger = pl.read_parquet(self._run(attempt) / BACKTEST)
        champion = None
        if attempt.parent is not None:
            model = self.registry.get(f"{self.config.name}==v{attempt.parent}").load()
            rows = self.hold_out(attempt)
            champion = evaluate(model, view.panel, last=rows).forecasts  # type: ignore[arg-type]
        return self.config.gate.evaluate(
            champion,
            challenger,
            horizon=self.config.run.task.horizon,
            groups=self.config.groups or None,
            id=id_of(view.schema),
            time=view.schema.time,
        )

    def hold_out(self, attempt: Attempt) -> int:
        """Return how many of the newest rows are held out for the gate."""
        if self.config.updates.hold_out is not None:
            return self.config.updates.hold_out
        horizon, new = self.config.run.task.horizon, self._new_rows(attempt)
        held_out = new // 2 if attempt.changed is not None else new // 3
        return max(2, min(held_out // horizon, _MOST_HORIZONS)) * horizon

    def _new_rows(self, attempt: Attempt) -> int:
        """Return how many rows are new: those since a change, or those that the parent was not trained on."""
        if attempt.changed is not None:
            return max(1, attempt.end - attempt.changed)
        parent = next((item for item in self.journal.attempts() if item.version == attempt.parent), None)
        begin = self.journal.value(f"begin {attempt.parent}", 0) if parent is None else parent.end
        return max(1, attempt.end - int(begin))

    def _run(self, attempt: Attempt) -> Path:
        return self.directory / "attempts" / f"{attempt.number:04d}" / RUN

    def _recipe(self) -> dict[str, Any]:
        """Return what makes two trainings the same recipe, whatever data they are of."""
        values = self.config.run.to_dict()
        return {name: values[name] for name in ("model", "task", "training") if name in values}


def _slower(optimizer: Optimizer, factor: float) -> Optimizer:
    """Return an optimizer with another learning rate, if it has one."""
    rate = getattr(optimizer, "lr", None)
    return optimizer if rate is None else optimizer.replace(lr=rate * factor)
