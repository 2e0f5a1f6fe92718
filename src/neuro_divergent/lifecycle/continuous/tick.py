"""One tick: reads what is new and does what follows from it, step by step.

Every step ends with one transaction, and can be repeated after a kill: files and versions that it makes before are the
same the second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.continuous.clock import SHADOW, clock_is_due
from neuro_divergent.lifecycle.continuous.comparison import Comparison, attempt_of, begin_comparison
from neuro_divergent.lifecycle.continuous.forecasts import ForecastStore, make_forecasts
from neuro_divergent.lifecycle.continuous.ingestion import Ingestion
from neuro_divergent.lifecycle.continuous.journal import Attempt, Decision, Journal
from neuro_divergent.lifecycle.continuous.observations import Observations
from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig
from neuro_divergent.lifecycle.continuous.sources.base import Delivery
from neuro_divergent.lifecycle.continuous.timeline import Timeline
from neuro_divergent.lifecycle.continuous.training import AttemptRunner
from neuro_divergent.lifecycle.continuous.triggers import TriggerCheck
from neuro_divergent.lifecycle.continuous.view import View
from neuro_divergent.lifecycle.registry.registry import Registry

OBSERVATIONS, FORECASTS = "observations", "forecasts"


class Tick:
    """What one tick does; the caller holds the lock of the directory.

    Args:
        directory: Directory of continuous training.
        config: The settings.
        journal: The state.
        now: Time of the tick, in UTC.
        boundary: Called with the name of each step when it has ended.
    """

    def __init__(
        self,
        directory: Path,
        config: ContinuousConfig,
        journal: Journal,
        *,
        now: datetime,
        boundary: Callable[[str], None],
    ) -> None:
        self.directory, self.config, self.journal, self.now, self.boundary = directory, config, journal, now, boundary
        self.at = now.isoformat(timespec="seconds")
        self.schema = working_schema(config)
        self.observations = Observations(directory / OBSERVATIONS, self.schema)
        self.forecasts = ForecastStore(directory / FORECASTS)
        self._views: dict[tuple[int, int | None], View] = {}
        self._models: dict[int, ForecastModel] = {}

    @cached_property
    def registry(self) -> Registry:
        """The registry."""
        return Registry(self.config.registry, blobs=self.config.blobs)

    def run(self, delivery: Delivery | None) -> None:
        """Finish what an earlier tick has begun, then take in what is new and act on it.

        Args:
            delivery: What the source has given.
        """
        self._finish_attempt()
        self._act()
        if delivery is not None and self._ingestion.take(delivery, self.at):
            self.boundary("rows taken in")
        self._act()

    def accept(self, incident: int) -> None:
        """Take the rows of a quarantine in, and act on them."""
        self._ingestion.accept(incident, self.at)
        self._act()

    def view(self, batch: int | None = None, end: int | None = None) -> View:
        """Return the table as of a batch, the latest by default, up to ``end`` or to the last row that is final."""
        batch = int(self.journal.value("batch", 0)) if batch is None else batch
        key = (batch, end)
        if key not in self._views:
            rows = self.observations.view(batch)
            assert rows is not None
            timeline = self._timeline(rows)
            newest = rows.filter(pl.col(self.schema.target).is_not_null())[self.schema.time].max()
            final = timeline.index(newest) - self.config.arrivals.lateness if end is None else end
            self._views[key] = View(rows, self.schema, timeline, batch, final)
        return self._views[key]

    @property
    def _ingestion(self) -> Ingestion:
        stored = self.journal.value("timeline")
        season = self.config.run.task.season_length
        if season is None and stored is not None:
            season = Timeline.from_dict(stored).frequency.season_length
        return Ingestion(self.journal, self.observations, self.schema, season if stored is not None else None)

    def _timeline(self, rows: pl.DataFrame) -> Timeline:
        stored = self.journal.value("timeline")
        if stored is not None:
            return Timeline.from_dict(stored)
        observed = rows.filter(pl.col(self.schema.target).is_not_null())
        panel = build_panel(observed.select(name for name in observed.columns if not name.startswith("_")), self.schema)
        timeline = Timeline(observed[self.schema.time].max(), panel.frequency)
        with self.journal.step(self.at) as step:
            step.set_value("timeline", timeline.to_dict())
        return timeline

    def _act(self) -> None:
        """Forecast, compare, and train where that is called for, once for each batch."""
        batch = int(self.journal.value("batch", 0))
        if not batch:
            return
        is_new = int(self.journal.value("processed", 0)) < batch
        requested = self.journal.value("requested")
        if not is_new and requested is None and not clock_is_due(self.config, self.journal, self.now):
            return
        view = self.view()
        if is_new:
            self._forecast(view)
            self._comparison.advance(view, self.at, self.boundary)
            self.boundary("versions compared")
            self._forecast(view)  # a version that has just become champion or previous
        self._plan(view, requested)
        self._finish_attempt()

    @property
    def _comparison(self) -> Comparison:
        return Comparison(self.config, self.journal, self.registry, self.forecasts)

    def _forecast(self, view: View) -> None:
        """Store the forecasts of all versions in use, from every cut-off of the grid that has become known."""
        horizon = self.config.run.task.horizon
        season = self.config.run.task.season_length or view.season_length
        for version in self._versions_in_use():
            origins = self.journal.origins(version)
            first = origins[-1] + horizon if origins else self._first_origin(version, view)
            for origin in range(first, view.end + 1, horizon):
                model = self._model(version)
                history = model.task.input_size or horizon
                rows = make_forecasts(model, view, origin, version=version, history=history, season_length=season)
                if rows is None:
                    break
                self.forecasts.write(version, origin, rows)
                with self.journal.step(self.at) as step:
                    step.set_forecast(version, origin)
                self.boundary("forecast stored")

    def _first_origin(self, version: int, view: View) -> int:
        """Return the first cut-off of the grid that a version is to forecast from: where its data end, or now."""
        attempt, horizon = attempt_of(self.journal, version), self.config.run.task.horizon
        if attempt is not None:
            begin = attempt.end
        else:
            begin = int(self.journal.value(f"begin {version}", view.end))
            with self.journal.step(self.at) as step:
                step.set_value(f"begin {version}", begin)
        return -(-begin // horizon) * horizon

    def _versions_in_use(self) -> list[int]:
        aliases = self.registry.aliases(self.config.name) if self.config.name in self.registry.names() else {}
        stored = self.journal.value(SHADOW) or {}
        found = [aliases.get("champion"), stored.get("serving"), stored.get("shadow")]
        return list(dict.fromkeys(version for version in found if version is not None))

    def _model(self, version: int) -> ForecastModel:
        if version not in self._models:
            self._models[version] = self.registry.get(f"{self.config.name}==v{version}").load()
        return self._models[version]

    def _plan(self, view: View, requested: Any) -> None:
        """Plan a training if a trigger calls for one."""
        champion = self._champion()
        check = TriggerCheck(self.config, self.journal, self.forecasts, self.now)
        found = check.run(view, champion, requested, registry=self.registry)
        attempts = self.journal.attempts()
        number = len(attempts) + 1
        with self.journal.step(self.at) as step:
            found.record(step)
            step.set_value("processed", view.batch)
            step.set_value("end", str(view.end_time))
            step.set_value("requested", None)
            if found.reason is not None:
                full = self._is_full(attempts, champion, found.changed)
                attempt = Attempt(
                    number=number,
                    state="planned",
                    mode="full" if full else "incremental",
                    reason=found.reason,
                    batch=view.batch,
                    end=view.end,
                    parent=champion,
                    changed=found.changed,
                )
                step.set_attempt(attempt)
                step.set_value("last_training", {"batch": view.batch, "end": view.end, "at": self.at})
                step.decide(
                    Decision(
                        "training",
                        f"Training {number} begins ({attempt.mode}), with rows up to {view.end_time}: {found.reason}",
                        {"attempt": number, "mode": attempt.mode, "end": str(view.end_time)},
                    )
                )
        self.boundary("triggers checked")

    def _is_full(self, attempts: list[Attempt], champion: int | None, changed: int | None) -> bool:
        """Whether the next training starts from random weights.

        One after a change does not: on all rows, most of which are from before it, it would learn what was.
        """
        if champion is None or not self.config.updates.incremental:
            return True
        regular = sum(attempt.changed is None for attempt in attempts)
        return changed is None and regular % self.config.updates.full_every == 0

    def _champion(self) -> int | None:
        if self.config.name not in self.registry.names():
            return None
        return self.registry.aliases(self.config.name).get("champion")

    def _finish_attempt(self) -> None:
        """Carry out the training that is planned or under way, up to its end."""
        while (attempt := self._unfinished()) is not None:
            runner = AttemptRunner(self.directory, self.config, self.journal, self.registry, self.view)
            if attempt.state == "planned":
                runner.train(attempt, self.at)
                self.boundary("trained")
            elif attempt.state == "trained":
                runner.judge(attempt, self.at)
                self.boundary("judged")
            elif attempt.state == "judged":
                version = runner.register(attempt)
                self.boundary("registered")
                with self.journal.step(self.at) as step:
                    step.set_attempt(replace(attempt, state="registered", version=version))
            else:
                self._introduce(attempt)
                self.boundary("introduced")

    def _introduce(self, attempt: Attempt) -> None:
        """Make a registered version champion if it is the first, else challenger if the gate lets it pass."""
        name, version, gate = self.config.name, attempt.version, attempt.gate or {}
        assert version is not None
        address, champion = f"{name}==v{version}", self._champion()
        view = self.view(attempt.batch, attempt.end)
        evidence = {"attempt": attempt.number, "version": version, "gate": gate}
        if champion is None or champion == version:
            if champion is None:
                self.registry.promote(address, reason=str(gate.get("sentence", "")), evidence=evidence)
            with self.journal.step(self.at) as step:
                step.set_attempt(replace(attempt, state="champion"))
                step.decide(Decision("promoted", f"Version {version} is the first champion.", evidence))
            return
        if not gate.get("passed"):
            with self.journal.step(self.at) as step:
                step.set_attempt(replace(attempt, state="rejected"))
                step.decide(Decision("rejected", f"Version {version} was rejected. {gate.get('sentence')}", evidence))
            return
        if self.registry.aliases(name).get("challenger") != version:
            self.registry.promote(address, "challenger", reason=str(gate.get("sentence", "")), evidence=evidence)
            self.boundary("alias moved")
        before = self.journal.value(SHADOW)
        with self.journal.step(self.at) as step:
            if before is not None and before["state"]["purpose"] == "promotion":
                replaced = attempt_of(self.journal, before["shadow"])
                if replaced is not None:
                    step.set_attempt(replace(replaced, state="replaced"))
            step.set_attempt(replace(attempt, state="shadow"))
            begin_comparison(step, self.config, view, serving=champion, shadow=version, purpose="promotion")
            step.decide(
                Decision(
                    "challenger",
                    f"Version {version} runs in the shadow of {champion}. {gate.get('sentence')}",
                    evidence,
                )
            )

    def _unfinished(self) -> Attempt | None:
        return next((item for item in self.journal.attempts() if item.is_unfinished), None)


def working_schema(config: ContinuousConfig) -> Schema:
    """Return the schema with which rows are used: what is missing is masked where that would be refused.

    Rows in quarantine leave gaps, which must not stop everything else.
    """
    schema = config.run.data.schema_fields
    return schema.replace(
        missing="mask" if schema.missing == "error" else schema.missing,
        gaps="mask" if schema.gaps == "error" else schema.gaps,
    )
