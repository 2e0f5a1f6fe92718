"""The networks that forecast electricity prices."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

import neuro_divergent as nd
from competition.cells import Forecasts, Result
from competition.epf_market import HORIZON, MARKETS, TEST, VALIDATION, AsinhSeriesScaler, read
from neuro_divergent.evaluation import metrics

COVARIATES = ("exog_1", "exog_2")
CALENDAR = ("hour_sin", "hour_cos", "day_of_week_sin", "day_of_week_cos", "is_weekend")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained, the same for all markets.

    Attributes:
        architecture: The network.
        steps: Steps of each training.
        batch_size: Windows per step.
        rate: Highest learning rate.
        trainings: How many times the model is trained over the test part, each time from scratch on all that came
            before.
        seconds: What one training takes, roughly.
    """

    architecture: nd.Architecture
    steps: int
    batch_size: int
    rate: float
    trainings: int
    seconds: float


INPUT_SIZE = 168
RECIPES = {
    "nbeatsx": Recipe(
        architecture=nd.NBEATSx(hidden_size=256, stacks=("generic",) * 2, num_layers=2, dropout=0.3),
        steps=3000,
        batch_size=128,
        rate=1e-3,
        trainings=2,
        seconds=60,
    ),
    "tide": Recipe(
        architecture=nd.TiDE(hidden_size=128), steps=1500, batch_size=64, rate=1e-3, trainings=2, seconds=40
    ),
    "bitcn": Recipe(
        architecture=nd.BiTCN(hidden_size=16, dropout=0.1), steps=800, batch_size=64, rate=3e-3, trainings=1, seconds=80
    ),
    "tft": Recipe(architecture=nd.TFT(hidden_size=32), steps=800, batch_size=32, rate=3e-3, trainings=1, seconds=90),
}
SEEDS = (1, 2)


@dataclass(frozen=True, kw_only=True)
class Member:
    """One model on one market."""

    market: str
    model: str
    seed: int

    def __str__(self) -> str:
        return f"{self.market}/{self.model}/{self.seed}"

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly."""
        recipe = RECIPES[self.model]
        return recipe.seconds * recipe.trainings


def run(member: Member, directory: Path) -> Result:
    """Forecast each day of the test part at midnight."""
    torch.set_num_threads(1)
    recipe = RECIPES[member.model]
    began = time.perf_counter()
    size = TEST // recipe.trainings
    parts = [
        _forecast(member, recipe, directory, held_out=TEST - (number + 1) * size, size=size)
        for number in range(recipe.trainings)
    ]
    forecast, actual = (np.concatenate(part) for part in zip(*parts, strict=True))
    settings = {**vars(recipe), "architecture": recipe.architecture.to_dict()}
    facts = {"mae": metrics.mae(actual, forecast), "seconds": time.perf_counter() - began}
    return Result({**facts, "member": asdict(member), "settings": settings}, forecast)


def validate(member: Member, recipe: Recipe, directory: Path) -> float:
    """Return the MAE on the 42 weeks before the test part, with which settings were chosen."""
    torch.set_num_threads(1)
    forecast, actual = _forecast(member, recipe, directory, held_out=TEST, size=VALIDATION)
    return metrics.mae(actual, forecast)


def _forecast(
    member: Member, recipe: Recipe, directory: Path, *, held_out: int, size: int
) -> tuple[Forecasts, Forecasts]:
    """Train on all but the last rows, forecast ``size`` of them day by day, and return the prices beside."""
    forecaster = nd.Forecaster(
        recipe.architecture,
        horizon=HORIZON,
        input_size=INPUT_SIZE,
        loss=nd.losses.MAE(),
        scaler="standard",
        series_scaler=AsinhSeriesScaler(),
        validation=0,
        test=size,
        training=nd.TrainingConfig(
            max_steps=recipe.steps,
            batch_size=recipe.batch_size,
            optimizer=nd.AdamW(lr=recipe.rate),
            early_stopping=None,
            seed=member.seed,
            threads=1,
            device="cpu",
        ),
    )
    table = read(directory, member.market, held_out=held_out)
    forecaster.fit(table, future=COVARIATES, calendar=CALENDAR)
    days = nd.evaluate(forecaster, part="test", levels=()).forecasts
    forecast, actual = (
        days[name].to_numpy().astype(np.float64).reshape(-1, HORIZON) for name in ("forecast", "actual")
    )
    assert len(forecast) * HORIZON == size
    return forecast, actual


def all_members() -> list[Member]:
    """Return every cell, in the order in which they are done."""
    return [Member(market=market, model=model, seed=seed) for seed in SEEDS for model in RECIPES for market in MARKETS]
