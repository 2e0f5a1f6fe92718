"""Members of a combination: fitted candidates that forecast any windows of a panel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import DataWarning
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.search.auto.candidate import Candidate, Setting, build_statistical, visible
from neuro_divergent.search.auto.naive import naive_forecast


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate that can forecast.

    Attributes:
        candidate: Its name and settings.
        setting: What all candidates share.
        network: The fitted network; ``None`` for other kinds, which are estimated from the history of each window.
    """

    candidate: Candidate
    setting: Setting
    network: Forecaster | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.candidate.name

    @property
    def history(self) -> int:
        """Rows that a forecast is made from; 0 where it is all there are."""
        return 0 if self.network is None else self.network.task.history

    def forecast(self, panel: Panel, series: Ints, targets: Ints) -> Floats:
        """Forecast windows of a panel from the rows before them, ``(windows, horizon)``.

        What a member cannot forecast is the seasonal naive forecast.

        Args:
            panel: The series, with covariates for the targets too.
            series: Index of each window's series.
            targets: First target row of each window.
        """
        setting, candidate = self.setting, self.candidate
        if candidate.kind == "naive":
            return naive_forecast(candidate.model, panel, series, targets, setting.horizon, setting.season)
        if candidate.kind == "network":
            assert self.network is not None
            made = network_forecast(self.network, visible(candidate, panel), series, targets)
        else:
            model = build_statistical(candidate, setting)
            made = statistical_forecast(model, visible(candidate, panel), series, targets, setting.horizon)
        if np.isfinite(made).all():
            return made
        simple = naive_forecast("seasonal_naive", panel, series, targets, setting.horizon, setting.season)
        return np.where(np.isfinite(made), made, simple)


def network_forecast(network: Forecaster, panel: Panel, series: Ints, targets: Ints) -> Floats:
    """Forecast windows with a fitted network; histories that are too short begin with masked rows."""
    history, horizon = network.task.history, network.task.horizon
    if not len(series):
        return np.zeros((0, horizon))
    some, places, rows = _only(panel, series, targets)
    needed = np.zeros(some.num_series, np.int64)
    np.maximum.at(needed, places, np.maximum(history - (rows - some.offsets[:-1][places]), 0))
    padded = some if not needed.any() else some.lengthened(some.lengths + needed)
    rows = rows + np.cumsum(needed)[places]
    windows = WindowList(
        panel=padded,
        input_size=history,
        horizon=horizon,
        begins=_first_rows(padded, places, rows),
        ends=padded.offsets[1:],
        series=places,
        targets=rows,
    )
    point = network.forecast_windows(windows).point
    return np.asarray(point, np.float64)


def statistical_forecast(model: ForecastModel, panel: Panel, series: Ints, targets: Ints, horizon: int) -> Floats:
    """Forecast windows with a statistical model, which is estimated from the rows of a series before each."""
    some, places, rows = _only(panel, series, targets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # series that it cannot be fitted to are naive, here as anywhere
        return _estimated(model, some, places, rows, horizon)


def _estimated(model: ForecastModel, some: Panel, places: Ints, rows: Ints, horizon: int) -> Floats:
    if not model.is_fitted:
        model.fit(some)
    windows = WindowList(
        panel=some,
        input_size=1,
        horizon=horizon,
        begins=_first_rows(some, places, rows),
        ends=some.offsets[1:],
        series=places,
        targets=rows,
    )
    return np.asarray(model.forecast_windows(windows).point, np.float64)


def _only(panel: Panel, series: Ints, targets: Ints) -> tuple[Panel, Ints, Ints]:
    """Return a panel of the series that are forecast, and the places of the windows' series and targets in it."""
    chosen, places = np.unique(series, return_inverse=True)
    some = panel.take(chosen)
    return some, places.astype(np.int64), targets - panel.offsets[:-1][series] + some.offsets[:-1][places]


def _first_rows(panel: Panel, series: Ints, rows: Ints) -> Ints:
    """Return the first target row of each series of a panel; its end where it is not forecast."""
    first = panel.offsets[1:].copy()
    np.minimum.at(first, series, rows)
    return first
