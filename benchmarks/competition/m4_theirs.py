"""NeuralForecast on M4."""

from __future__ import annotations

import logging
import os
import warnings
from typing import TYPE_CHECKING

import neuralforecast.models
from neuralforecast import NeuralForecast
from neuralforecast.losses.pytorch import MAE

if TYPE_CHECKING:
    from competition.cells import Forecasts
    from competition.m4_members import Member
    from competition.m4_series import Series

for _name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric", "lightning.pytorch"):
    logging.getLogger(_name).setLevel(logging.ERROR)


def forecast(member: Member, series: Series, seed: int) -> Forecasts:
    """Train with NeuralForecast and forecast what follows; what the settings do not say is its default."""
    os.environ["NIXTLA_ID_AS_COL"] = "1"
    warnings.simplefilter("ignore")
    assert member.loss == "mae"
    model = getattr(neuralforecast.models, member.model.upper())(
        h=series.horizon,
        input_size=member.input_size,
        loss=MAE(),
        scaler_type=member.scaler,
        max_steps=member.steps,
        windows_batch_size=member.batch_size,
        learning_rate=member.rate,
        random_seed=seed,
        start_padding_enabled=True,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    forecaster = NeuralForecast([model], freq=1)
    forecaster.fit(series.table(member.input_size + member.recent))
    return series.matrix(forecaster.predict(), member.model.upper())
