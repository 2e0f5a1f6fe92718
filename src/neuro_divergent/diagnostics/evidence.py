"""Evidence for a diagnosis, from a run directory or from a forecaster in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.runs.events import layers_of, read_events
from neuro_divergent.runs.status import describe_run
from neuro_divergent.runs.tables import RunTables

if TYPE_CHECKING:
    from neuro_divergent.evaluation.evaluate import Evaluation
    from neuro_divergent.forecasting.forecaster import Forecaster


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about a training run; unknown parts are ``None`` or empty.

    Attributes:
        history: Losses, rates and speeds: the columns of ``Forecaster.history``.
        layers: Norms by layer: ``step``, ``layer``, ``gradient``, ``weight``, ``update``.
        processes: What each of several processes did in a step: ``RunTables.processes``.
        network: What ``diagnostics.network`` returns: weights and activations.
        backtest: Forecasts and observed values of the held-out part, as ``Evaluation.forecasts``.
        id: Column of ids in the backtest; ``None`` if there is none.
        time: Its column of times.
        scores: Scores of the model and the baselines, as ``Evaluation.to_dict``.
        data: What ``data.health`` says about the data.
        config: Settings of the run in plain values, as in ``config.toml``.
        state: State of the run: ``finished``, ``running``, ``diverged``...
        message: Its last message.
        rollbacks: Number of rollbacks after the loss or the gradients became NaN or infinite.
        waiting_seconds: Time that training waited for batches, where the history does not record it.
        on_disk: Whether windows were read from disk while it trained; ``None`` if that is not known.
        unread: Files that exist but cannot be read, and why.
    """

    history: pl.DataFrame | None = None
    layers: pl.DataFrame | None = None
    processes: pl.DataFrame | None = None
    network: Mapping[str, Any] | None = None
    backtest: pl.DataFrame | None = None
    id: str | None = None
    time: str = "ds"
    scores: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    config: Mapping[str, Any] | None = None
    state: str | None = None
    message: str = ""
    rollbacks: int = 0
    waiting_seconds: float | None = None
    on_disk: bool | None = None
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_running(self) -> bool:
        """Whether training is still running, so that missing parts may still be written."""
        return self.state in ("running", "stalled")

    def has(self, part: str) -> bool:
        """Whether a part exists and is not empty."""
        found = getattr(self, part)
        return found is not None and (not hasattr(found, "__len__") or len(found) > 0)

    def rows(self, part: str, name: str) -> list[dict[str, Any]]:
        """Return the tables listed in a part, such as the ``activations`` of the ``network``; nothing else."""
        found = (getattr(self, part) or {}).get(name)
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting of the run by its dotted name; ``"none"`` is ``None``."""
        found: Any = self.config
        for part in name.split("."):
            if not isinstance(found, Mapping) or part not in found:
                return default
            found = found[part]
        return None if isinstance(found, str) and found == "none" else found

    def number(self, name: str) -> float | None:
        """Return a setting that is a finite number, or ``None``."""
        found = self.setting(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
            return None
        return found

    def component(self, name: str) -> str | None:
        """Return the name of a component of the run: ``component("training.optimizer")`` is ``adamw``."""
        found = self.setting(name)
        found = found.get("name") if isinstance(found, Mapping) else found
        return found if isinstance(found, str) else None

    @property
    def season_length(self) -> int:
        """Rows in a season; 1 if there is none or it is not known."""
        period = ((self.data or {}).get("seasonality") or {}).get("period")
        for found in ((self.scores or {}).get("season_length"), period):
            if isinstance(found, int) and not isinstance(found, bool) and found >= 1:
                return found
        return 1

    @property
    def horizon(self) -> int:
        """Horizon; 1 if it is not known."""
        found = self.number("task.horizon")
        return int(found) if found is not None and found >= 1 else 1

    @classmethod
    def of_run(cls, path: str | Path) -> Evidence:
        """Read a run directory; files that are missing, incomplete or damaged are left out and are no error."""
        tables, summary = RunTables(path), describe_run(Path(path))
        backtest = tables.backtest
        return cls(
            history=tables.history,
            layers=tables.layers,
            processes=tables.processes,
            network=tables.network,
            backtest=backtest,
            id=tables.id if backtest is not None and tables.id in backtest.columns else None,
            time=tables.time,
            scores=tables.scores,
            data=tables.data,
            config=tables.config,
            state=summary.state,
            message=summary.message,
            rollbacks=sum(event["event"] == "rolled_back" for event in tables.events),
            on_disk=_on_disk(tables.events),
            unread=tables.unread,
        )

    @classmethod
    def of(cls, forecaster: Forecaster) -> Evidence:
        """Collect evidence from a trained forecaster, which includes forecasting its held-out part.

        A loaded forecaster has no data of training, so that only its history and its network are used. For one that
        was trained in a run directory, the norms by layer recorded there are used as well.
        """
        from neuro_divergent.data.profile import describe_data
        from neuro_divergent.diagnostics.network import analyse_network

        panel, split = forecaster.panel, forecaster.split
        evaluation = None
        if split is not None and (len(split.test) or len(split.validation)):
            evaluation = _evaluate(forecaster)
        return cls(
            history=forecaster.history,
            layers=_layers(forecaster),
            network=analyse_network(forecaster),
            backtest=None if evaluation is None else evaluation.forecasts,
            id=None if evaluation is None else evaluation.forecasts.columns[0],
            time=forecaster.schema.time,
            scores=None if evaluation is None else evaluation.to_dict(),
            data=None if panel is None or split is None else describe_data(panel, train_ends=split.train.ends),
            config=_config(forecaster),
            state="finished",
            on_disk=None if panel is None else panel.is_memory_mapped,
        )


def _on_disk(events: Sequence[Mapping[str, Any]]) -> bool | None:
    """Return whether the last start of a run read windows from disk."""
    starts = [event for event in events if event["event"] == "start"]
    return starts[-1].get("on_disk") is True if starts else None


def _evaluate(forecaster: Forecaster) -> Evaluation | None:
    from neuro_divergent.evaluation.evaluate import evaluate

    try:
        return evaluate(forecaster)
    except InputError:  # nothing to score, such as a part whose values are all missing
        return None


def _layers(forecaster: Forecaster) -> pl.DataFrame | None:
    """Return the norms recorded in its run directory, or else the gradients of the trained network."""
    from neuro_divergent.diagnostics.gradients import gradient_snapshot

    if forecaster.run is not None:
        recorded = layers_of(read_events(forecaster.run, "start", "layers", "rolled_back"))
        if len(recorded):
            return recorded
    return None if forecaster.split is None else gradient_snapshot(forecaster)


def _config(forecaster: Forecaster) -> dict[str, Any]:
    """Return the settings as ``config.toml`` would have them."""
    from neuro_divergent.data.schema import Schema

    schema = forecaster.schema
    return {
        "data": Schema(**{name: getattr(schema, name) for name in Schema.model_fields}).to_dict(),
        "model": forecaster.architecture.to_dict(),
        "task": forecaster.task.to_dict(),
        "training": forecaster.training.to_dict(),
    }
