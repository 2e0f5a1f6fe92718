"""Forecasts of a panel by this library, by baselines, by NeuralForecast and by statistical methods."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from default_settings.panels import PanelCase, Values

_LONGEST = 1000  # rows that statistical methods are fitted to


def seasonal_naive(case: PanelCase) -> Values:
    """Repeat the last season."""

    def repeat(values: Values) -> Values:
        season = case.season if len(values) >= case.season else 1
        return np.resize(values[len(values) - season :], case.horizon)

    return _each(case, repeat)


def last_value(case: PanelCase) -> Values:
    """Repeat the last value."""
    return _each(case, lambda values: np.full(case.horizon, values[-1]))


def drift(case: PanelCase) -> Values:
    """Go on along the line from the first value to the last."""

    def extend(values: Values) -> Values:
        slope = (values[-1] - values[0]) / max(len(values) - 1, 1)
        return values[-1] + slope * np.arange(1, case.horizon + 1)

    return _each(case, extend)


def overall_mean(case: PanelCase) -> Values:
    """Forecast the mean of all values."""
    return _each(case, lambda values: np.full(case.horizon, values.mean()))


def _each(case: PanelCase, forecast: Callable[[Values], Values]) -> Values:
    return np.stack([np.stack([forecast(values) for values in case.known(at).values()]) for at in range(case.cutoffs)])


def ours(case: PanelCase, model: str) -> Values:
    """Train with nothing set but the horizon, and forecast from every cut-off."""
    import neuro_divergent as nd

    forecaster = nd.Forecaster(model, horizon=case.horizon).fit(case.table(0, dated=True))
    found = [forecaster.predict()]
    found += [forecaster.predict(case.table(cutoff, dated=True)) for cutoff in range(1, case.cutoffs)]
    return np.stack([_matrix(case, table, "forecast") for table in found])


def neuralforecast(case: PanelCase, model: str) -> Values:
    """Train NeuralForecast's model with its defaults, the robust scaler and padding at the start.

    It has no default for the history, so it is given the one that this library chooses.
    """
    import logging

    import neuralforecast.models
    from neuralforecast import NeuralForecast

    for name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.ERROR)
    os.environ["NIXTLA_ID_AS_COL"] = "1"
    network = getattr(neuralforecast.models, model)(
        h=case.horizon,
        input_size=_history(case),
        scaler_type="robust",
        start_padding_enabled=True,
        max_steps=1000,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forecaster = NeuralForecast([network], freq=1)
        forecaster.fit(case.table(0, dated=False))
        found = [forecaster.predict(case.table(cutoff, dated=False)) for cutoff in range(case.cutoffs)]
    return np.stack([_matrix(case, table, model) for table in found])


def statistical(case: PanelCase, model: str) -> Values:
    """Fit a method of statsforecast to each series at every cut-off."""
    import statsforecast.models
    from statsforecast import StatsForecast

    os.environ["NIXTLA_ID_AS_COL"] = "1"
    found = []
    for cutoff in range(case.cutoffs):
        table = case.table(cutoff, dated=False).group_by("unique_id", maintain_order=True).tail(_LONGEST)
        method = getattr(statsforecast.models, model)(season_length=case.season)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fallback = statsforecast.models.Naive()
            forecaster = StatsForecast([method], freq=1, fallback_model=fallback)
            found.append(_matrix(case, forecaster.forecast(df=table, h=case.horizon), model))
    return np.stack(found)


def _history(case: PanelCase) -> int:
    from neuro_divergent.data.load import load_panel
    from neuro_divergent.data.schema import Schema
    from neuro_divergent.forecasting.task import Task

    return Task(horizon=case.horizon).history_for(load_panel(case.table(0, dated=True), Schema()))


def timed(method: Callable[[], Values]) -> tuple[Values, float]:
    """Return forecasts and the seconds of processor time that they took, which other programs change little."""
    began = time.process_time()
    return method(), time.process_time() - began


Method = Callable[[PanelCase], Values]
METHODS: dict[str, Method] = {
    "seasonal naive": seasonal_naive,
    "ours-nhits": partial(ours, model="nhits"),
    "ours-nlinear": partial(ours, model="nlinear"),
    "neuralforecast-nhits": partial(neuralforecast, model="NHITS"),
    "neuralforecast-nlinear": partial(neuralforecast, model="NLinear"),
    "AutoETS": partial(statistical, model="AutoETS"),
    "AutoTheta": partial(statistical, model="AutoTheta"),
}


def _matrix(case: PanelCase, table: pl.DataFrame, column: str) -> Values:
    order = pl.DataFrame({"unique_id": list(case.series), "place": np.arange(len(case.series))})
    ordered = table.join(order, on="unique_id").sort("place", "ds")
    return ordered[column].to_numpy().astype(np.float64).reshape(len(case.series), case.horizon)
