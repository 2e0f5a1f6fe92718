"""An automatic forecaster: a table and a time budget in, the best forecast out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np

from neuro_divergent.core import html
from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.core.formatting import format_duration, format_number
from neuro_divergent.core.progress import Task as ProgressTask
from neuro_divergent.core.progress import following, track
from neuro_divergent.data.future import read_future
from neuro_divergent.data.io.source import to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Windows
from neuro_divergent.diagnostics.finding import Diagnosis, Finding
from neuro_divergent.evaluation.conformal.request import RequestedLevels
from neuro_divergent.forecasting.history import choose_season
from neuro_divergent.forecasting.prediction_context import read_history
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.prepared_data import backend_for, read_panel
from neuro_divergent.forecasting.run_config import own_settings
from neuro_divergent.forecasting.saving import SavedModel
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.warm_start import InitialLike
from neuro_divergent.search.auto.artifact import AutoParts, pack_auto, unpack_auto
from neuro_divergent.search.auto.budget import Budget
from neuro_divergent.search.auto.config import AutoConfig
from neuro_divergent.search.auto.fitted import FittedAuto
from neuro_divergent.search.auto.leaderboard import Leaderboard
from neuro_divergent.search.auto.plan import Plan
from neuro_divergent.search.auto.record import Progress
from neuro_divergent.search.auto.run import AutoRun
from neuro_divergent.search.auto.store import SearchDirectory
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig


class _Named(Config):
    """What tables call the model."""

    name: str = "auto"


class AutoForecaster(SavedModel):
    """Finds the best combination of models for a table within a time budget.

    Naive forecasts, statistical models (with the extra ``statistical``) and networks are back-tested at several
    cut-offs, the better ones longer; their out-of-fold forecasts decide who counts how much; the chosen ones are
    fitted to all rows. Intervals are conformal, from errors on the back-tests. See docs/guides/auto.md.

    Args:
        horizon: Steps to forecast.
        budget: Time of ``fit``: ``"90s"``, ``"10m"``, ``"1h"`` or seconds; unset, that of the preset.
        preset: ``"fast"`` (a minute), ``"balanced"`` (ten) or ``"best"`` (an hour).
        metric: Error of point forecasts to minimise; ``"mase"`` is scaled by series, so that large ones do not decide.
        settings: The other fields of ``AutoConfig``: ``models``, ``season_length``, ``jobs``, ``seed``.

    Attributes:
        config: The settings.
        plan: What to fit, if it is known already: nothing is searched then; see ``from_plan``.
        directory: Where the search was stored; ``None`` if it was not.

    Examples:
        >>> import neuro_divergent as nd
        >>> auto = nd.AutoForecaster(horizon=12, budget="1m", models=["drift", "seasonal_naive"], jobs=1)
        >>> forecast = auto.fit(nd.datasets.air_passengers()).predict(levels=[80])
        >>> forecast.columns
        ['unique_id', 'ds', 'forecast', 'lo-80', 'hi-80']
        >>> auto.leaderboard().select("candidate", "weight").row(0)
        ('seasonal_naive', 1.0)
    """

    training: ClassVar[TrainingConfig] = TrainingConfig(threads=1)

    def __init__(
        self,
        *,
        horizon: int,
        budget: str | float | None = None,
        preset: str = "balanced",
        metric: str = "mase",
        **settings: Any,
    ) -> None:
        self.config = AutoConfig(horizon=horizon, budget=budget, preset=preset, metric=metric, **settings)
        self.plan: Plan | None = None
        self.directory: Path | None = None
        self._parts: AutoParts | None = None

    @classmethod
    def from_plan(cls, plan: Plan | Mapping[str, Any], **settings: Any) -> Self:
        """Return a forecaster that fits the plan of an earlier search, without a search.

        Args:
            plan: ``plan`` of a fitted forecaster, or the section ``[auto]`` of its TOML.
            settings: Fields of ``AutoConfig``, such as ``jobs``.
        """
        made = plan if isinstance(plan, Plan) else Plan.from_dict(plan)
        setting = made.setting
        usual = {"metric": setting.metric, "season_length": setting.season, "seed": setting.seed}
        forecaster = cls(horizon=setting.horizon, **{**usual, **settings})
        forecaster.plan = made
        return forecaster

    def fit(
        self,
        data: Any,
        *,
        callbacks: Sequence[CallbackLike] = (),
        initial: InitialLike | None = None,
        directory: str | Path | None = None,
        progress: Callable[[Progress], None] | bool | None = None,
        began: float | None = None,
        **schema: Any,
    ) -> Self:
        """Search within the budget, and fit the best combination to all rows.

        Args:
            data: As for ``Forecaster.fit``.
            callbacks: Must be empty: networks are trained in other processes.
            initial: Must be unset: candidates start from random weights.
            directory: Where the search is stored. A search that was interrupted there, by a signal or a kill, goes on
                with what is left of its budget and repeats nothing that was finished; ``nd.load(directory)`` reads the
                best model so far at any time after the first seconds.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``; or a function that is called with
                a ``Progress`` whenever something begins or ends.
            began: When the budget began to run, by ``time.monotonic``; unset, now.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``.

        Raises:
            DataError: If the table cannot be used as it is.
            InputError: If the directory holds another search.
        """
        if initial is not None or callbacks:
            what = "initial" if initial is not None else "callbacks"
            raise ConfigError(f"{what}: an automatic search takes none; train a Forecaster with it.")
        spent = 0.0 if began is None else time.monotonic() - began
        budget = Budget(self.config.seconds, spent=spent)
        panel = read_panel(data, schema).without_weights()
        with ExitStack() as stack:
            self.directory = None if directory is None else Path(directory)
            place = self.directory or Path(stack.enter_context(TemporaryDirectory(prefix="neuro-divergent-auto-")))
            report = stack.enter_context(following(progress))
            shown = stack.enter_context(track("Automatic search", unit="candidate"))
            run = AutoRun(
                config=self.config,
                panel=panel,
                backend=backend_for(data),
                budget=budget,
                directory=SearchDirectory(place),
                season=self._season(panel),
                is_kept=directory is not None,
                progress=partial(_tell, shown, report),
            )
            self._parts = run.replay(self.plan) if self.plan is not None else run.search()
        self.plan = self._parts.fitted.plan if self.plan is None else self.plan
        return self

    def predict(
        self,
        data: Any = None,
        *,
        future: Any = None,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
    ) -> Any:
        """Forecast what comes after the end of each series.

        Args:
            data: Series to forecast, with the columns that training had; unset, those of training.
            future: Table of the covariates known ahead, for the horizon of every series.
            levels: Central intervals to give, in percent: ``[80, 95]``.
            quantiles: Quantiles to give, between 0 and 1.

        Returns:
            A table of the same kind as the input: id, time, ``forecast``, then ``lo-80`` and ``hi-80`` for each level
            and ``q-0.1`` for each quantile.
        """
        requested = RequestedLevels(levels, quantiles)
        fitted = self.fitted
        panel, backend = None, fitted.backend
        if data is not None:
            panel, backend = read_history(data, fitted.context, self.task.replace(input_size=1))
        elif not fitted.has_context:
            raise InputError("this model was saved without context, so it holds no series: pass them as data.")
        source = fitted.context if panel is None else panel
        point, spread = fitted.forecast_ahead(panel, read_future(future, source, fitted.horizon))
        bounds = fitted.intervals.bounds(point, spread, requested.all)
        columns = _index(source, fitted.horizon)
        columns["forecast"] = point.reshape(-1).astype(np.float32)
        for level in requested.levels:
            for end, values in zip(("lo", "hi"), bounds[level], strict=True):
                columns[f"{end}-{level:g}"] = values.reshape(-1).astype(np.float32)
        for quantile in requested.quantiles:
            values = requested.quantile(quantile, point, bounds)
            columns[f"q-{quantile:g}"] = values.reshape(-1).astype(np.float32)
        return to_native(columns, backend)

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values."""
        return self.fitted.forecast_windows(windows, levels, quantiles)

    def leaderboard(self) -> Any:
        """Return all candidates as a table of the same kind as the input, the best first; see ``Leaderboard``."""
        frame = self.results.frame()
        return to_native({name: frame[name] for name in frame.columns}, self.fitted.backend)

    def diagnose(self) -> Diagnosis:
        """Return what is to be said against the forecasts: that nothing beats the seasonal naive forecast."""
        findings = tuple(Finding.from_dict(item) for item in self.results.findings)
        return Diagnosis(findings, checked=("auto_baseline",))

    def to_toml(self, data: Mapping[str, Any] | None = None) -> str:
        """Return the decisions as TOML, which ``nd auto FILE.toml`` fits without a search.

        Args:
            data: The section ``[data]``: path of the table and roles of its columns; unset, the roles of training.
        """
        document = _Document(data=dict(data or self.fitted.context.schema.to_dict()), auto=self.fitted.plan.to_dict())
        return document.to_toml()

    def to_files(self, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
        self.fitted  # noqa: B018 (raises if there is nothing to save)
        assert self._parts is not None
        return pack_auto(self._parts, context=context)

    @classmethod
    def from_files(cls, files: dict[str, bytes], place: str) -> Self:
        parts = unpack_auto(files, place)
        forecaster = cls(**dict(parts.config))
        forecaster._parts, forecaster.plan = parts, parts.fitted.plan
        return forecaster

    def clone(self) -> Self:
        """Return an unfitted copy with the same settings, which searches again."""
        return type(self)(**dict(self.config))

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """Return an unfitted copy with some settings changed.

        Args:
            changes: Values by dotted name: ``auto.budget``, ``auto.preset`` and the other fields of ``AutoConfig``, and
                ``task.horizon``.

        Raises:
            ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
        """
        own, rest = own_settings(changes, "auto", AutoConfig.model_fields)
        task, others = own_settings(rest, "task", ("horizon", "season_length"))
        unknown = [key for key in others if key != "training.threads"]  # which is 1 already
        if unknown:
            raise ConfigError(f"unknown setting {unknown[0]!r}. Settings are auto.* and task.horizon.")
        return type(self)(**dict(self.config.replace(**task, **own)))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings that forecasts depend on, as plain values."""
        return {"auto": self.config.to_dict()}

    def __repr__(self) -> str:
        state = "not fitted"
        if self._parts is not None:
            plan = self._parts.fitted.plan
            state = f"fitted, {', '.join(f'{item.name} {item.weight:.2f}' for item in plan.members)}"
            state += "" if self._parts.fitted.has_context else ", without context"
        config = self.config
        return f"{type(self).__name__}(horizon={config.horizon}, budget={config.seconds:g}, {config.preset}, {state})"

    def _repr_html_(self) -> str:
        config = self.config
        if self._parts is None:
            return html.card(type(self).__name__, "not fitted: call fit(data)", html.facts([("settings", config)]))
        results = self.results
        rows = [
            (row.candidate, row.kind, row.score, row.weight, row.p_value, format_duration(row.seconds), row.note)
            for row in results.rows
        ]
        names = ["candidate", "kind", results.metric.upper(), "weight", "p value", "time", "note"]
        members = ", ".join(f"{item.name} {item.weight:.2f}" for item in self._parts.fitted.plan.members)
        return html.card(
            type(self).__name__,
            f"horizon {config.horizon}, fitted: {members}",
            html.paragraph(results.reason),
            html.table(names, rows),
            *(html.paragraph(note) for note in results.notes),
        )

    @property
    def architecture(self) -> _Named:
        """What tables call the model."""
        return _Named()

    @property
    def task(self) -> Task:
        """Horizon, and once fitted the season and the rows that the spread of a series is measured over."""
        task = Task(horizon=self.config.horizon, season_length=self.config.season_length)
        if self._parts is None:
            return task
        plan = self._parts.fitted.plan
        return task.replace(season_length=plan.setting.season, input_size=plan.history)

    @property
    def is_fitted(self) -> bool:
        """Whether it can forecast."""
        return self._parts is not None

    @property
    def fitted(self) -> FittedAuto:
        """The state of the fitted model.

        Raises:
            NotFittedError: If there is none.
        """
        if self._parts is None:
            raise NotFittedError("this forecaster has not been fitted: call fit(data) first, or load a saved one.")
        return self._parts.fitted

    @property
    def results(self) -> Leaderboard:
        """The leaderboard with everything around it: why the winner won, notes and findings."""
        self.fitted  # noqa: B018 (raises if there is none)
        assert self._parts is not None
        return self._parts.leaderboard

    @property
    def panel(self) -> Panel | None:
        """Always ``None``: what a search keeps of the data is the context of its fitted state."""
        return None

    @property
    def split(self) -> Split | None:
        """Always ``None``: back-tests have cut-offs of their own."""
        return None

    @property
    def validated(self) -> Self:
        """The forecaster itself: its back-tests are not a state that forecasts."""
        return self

    @property
    def holds(self) -> dict[str, str]:
        """What a saved copy contains that comes from the training data, by name; see ``save``."""
        if self._parts is None:
            return {}
        fitted = self._parts.fitted
        found = {
            f"{member.name}.{what}": text
            for member in fitted.members
            if member.network is not None
            for what, text in member.network.holds.items()
        }
        found["errors"] = f"errors of the combination on {len(fitted.intervals.errors):,} windows"
        if fitted.has_context:
            found["series"] = f"ids, times and the last rows of {fitted.context.num_series:,} series"
        return found

    def _season(self, panel: Panel) -> int:
        return choose_season(Task(horizon=self.config.horizon, season_length=self.config.season_length), panel)


def _tell(shown: ProgressTask, report: Callable[[Progress], None] | None, message: Progress) -> None:
    """Pass a message on to the display of progress and to a function of the user."""
    shown.total, shown.seconds_left = message.total, message.left
    best = message.best and f"best {message.best[0]} with {message.metric.upper()} {format_number(message.best[1])}"
    shown.update(message.done, ", ".join(filter(None, (message.phase, *message.running, best))))
    if report is not None:
        report(message)


class _Document(Config):
    """The TOML of a plan."""

    data: dict[str, Any]
    auto: dict[str, Any]


def _index(panel: Panel, horizon: int) -> dict[str, Any]:
    """Return the id and time columns of a forecast."""
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    times = panel.frequency.times_after(ends, horizon).rename(panel.schema.time)
    if panel.schema.id is None:
        return {panel.schema.time: times}
    return {
        panel.schema.id: panel.ids.gather(np.repeat(np.arange(panel.num_series, dtype=np.uint32), horizon)),
        panel.schema.time: times,
    }
