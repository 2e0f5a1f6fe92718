"""The networks that forecast electricity prices."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch

import neuro_divergent as nd
from competition.cells import Forecasts, Result, changed, plain
from competition.epf_market import HORIZON, MARKETS, TEST, VALIDATION, AsinhSeriesScaler, add_lags, read
from neuro_divergent.evaluation import metrics


@dataclass(frozen=True, kw_only=True)
class Update:
    """How a network is trained further on new days, from the weights it has.

    Attributes:
        steps: Steps of each update.
        rate: Learning rate, at first; it falls to zero by the cosine, because the optimizer has to begin again.
    """

    steps: int
    rate: float


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained, the same for all markets.

    Attributes:
        architecture: The network.
        steps: Steps of a training from scratch.
        batch_size: Windows per step.
        rate: Highest learning rate.
        every: Days after which the model is recalibrated.
        update: How it is; ``None`` for a training from scratch.
        days: Days before a recalibration that are trained on; ``None`` for all.
        inputs: ``week`` for the last 168 hours; ``day`` for the last 24 and lags as columns, as in the published
            networks.
        stride: Hours between training windows: 24 for those from midnight to midnight only.
        scaler: What is taken out of each window, after asinh.
        calendar: Features of the time.
        seconds: What a training takes, roughly, and then the updates over the test part.
    """

    architecture: nd.Architecture
    steps: int
    batch_size: int
    rate: float
    every: int
    update: Update | None = None
    days: int | None = None
    inputs: Literal["week", "day"] = "week"
    stride: int = 1
    scaler: str = "standard"
    calendar: tuple[str, ...] = ("hour_sin", "hour_cos", "day_of_week_sin", "day_of_week_cos", "is_weekend")
    seconds: float

    @property
    def settings(self) -> dict[str, Any]:
        """All that a forecast depends on, as plain values."""
        update = None if self.update is None else asdict(self.update)
        return {**changed(self), "architecture": plain(self.architecture), "update": update, "seconds": None}


_DAY: dict[str, Any] = {
    "inputs": "day",
    "stride": HORIZON,
    "scaler": "identity",
    "calendar": ("day_of_week_sin", "day_of_week_cos", "is_weekend"),
}
RECIPES = {
    "nbeatsx": Recipe(
        architecture=nd.NBEATSx(hidden_size=256, stacks=("generic",) * 2, num_layers=2, dropout=0.3),
        steps=3000,
        batch_size=128,
        rate=1e-3,
        every=364,
        seconds=60,
    ),
    "tide": Recipe(architecture=nd.TiDE(hidden_size=128), steps=1500, batch_size=64, rate=1e-3, every=364, seconds=40),
    "bitcn": Recipe(
        architecture=nd.BiTCN(hidden_size=16, dropout=0.1), steps=800, batch_size=64, rate=3e-3, every=728, seconds=80
    ),
    "tft": Recipe(architecture=nd.TFT(hidden_size=32), steps=800, batch_size=32, rate=3e-3, every=728, seconds=90),
    "mlp": Recipe(
        architecture=nd.MLP(hidden_size=256, dropout=0.25),
        steps=1500,
        batch_size=64,
        rate=1e-3,
        every=7,
        update=Update(steps=70, rate=3e-4),
        **_DAY,
        seconds=30,
    ),
    "linear": Recipe(
        architecture=nd.MLP(hidden_size=64, num_layers=1, activation="Identity"),
        steps=1500,
        batch_size=64,
        rate=1e-3,
        every=7,
        update=Update(steps=70, rate=3e-4),
        **_DAY,
        seconds=20,
    ),
}
# Which models are trained with which seed for the test part.
SEEDS = {1: ("mlp", "linear", "nbeatsx", "tide", "bitcn", "tft"), 2: ("mlp", "linear")}
# Those that are joined, and can be tried before the test part. TFT takes most of the time and is the worst there.
ENSEMBLE = ("mlp", "linear", "nbeatsx", "tide", "bitcn")


@dataclass(frozen=True, kw_only=True)
class Member:
    """One model on one market.

    Attributes:
        market: Name of the market.
        model: Name of the recipe.
        seed: Decides weights and order.
        part: What is forecast: the test part, or the 42 weeks before it, on which settings are chosen.
    """

    market: str
    model: str
    seed: int
    part: Literal["test", "validation"] = "test"

    def __str__(self) -> str:
        name = f"{self.market}/{self.model}/{self.seed}"
        return name if self.part == "test" else f"{self.part}/{name}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on."""
        return {**changed(self), "recipe": RECIPES[self.model].settings}

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly."""
        recipe = RECIPES[self.model]
        return recipe.seconds * (1 if recipe.update is not None else TEST // HORIZON // recipe.every)


def run(member: Member, directory: Path) -> Result:
    """Forecast each day of a part at midnight."""
    torch.set_num_threads(1)
    held_out, size = (0, TEST) if member.part == "test" else (TEST, VALIDATION)
    table = read(directory, member.market, held_out=held_out)
    began = time.perf_counter()
    forecast, actual = forecast_days(RECIPES[member.model], table, size, member.seed)
    facts = {"mae": metrics.mae(actual, forecast), "seconds": time.perf_counter() - began}
    return Result(facts, forecast)


def forecast_days(recipe: Recipe, table: pl.DataFrame, size: int, seed: int) -> tuple[Forecasts, Forecasts]:
    """Forecast the last ``size`` rows day by day, and return the prices as well.

    A model is trained on days before the first one that it forecasts, and is recalibrated as its recipe says.
    """
    if recipe.inputs == "day":
        table = add_lags(table, len(table) - size)
    end, parts, model = len(table), [], None
    for number, first in enumerate(range(end - size, end, recipe.every * HORIZON)):
        last = min(first + recipe.every * HORIZON, end)
        begin = 0 if recipe.days is None else max(0, first - recipe.days * HORIZON)
        # Each update draws its windows in another order.
        order = seed if recipe.update is None else seed + 1000 * number
        model = _fit(recipe, table.slice(begin, last - begin), last - first, order, model)
        days = nd.evaluate(model, part="test", levels=()).forecasts
        parts.append(days.select("forecast", "actual").to_numpy().astype(np.float64).reshape(-1, HORIZON, 2))
    both = np.concatenate(parts)
    assert len(both) * HORIZON == size
    return both[..., 0], both[..., 1]


def _fit(recipe: Recipe, table: pl.DataFrame, test: int, seed: int, before: nd.Forecaster | None) -> nd.Forecaster:
    """Train on all but the last rows, from the weights of the model before if the recipe says so."""
    update = None if before is None else recipe.update
    forecaster = nd.Forecaster(
        recipe.architecture,
        horizon=HORIZON,
        input_size=168 if recipe.inputs == "week" else HORIZON,
        loss=nd.losses.MAE(),
        scaler=recipe.scaler,
        series_scaler=AsinhSeriesScaler(),
        validation=0,
        test=test,
        stride=recipe.stride,
        training=nd.TrainingConfig(
            max_steps=recipe.steps if update is None else update.steps,
            batch_size=recipe.batch_size,
            optimizer=nd.AdamW(lr=recipe.rate if update is None else update.rate),
            early_stopping=None,
            seed=seed,
            threads=1,
            device="cpu",
        ),
    )
    future = [name for name in table.columns if name not in ("ds", "y")]
    return forecaster.fit(table, future=future, calendar=recipe.calendar, initial=None if update is None else before)


def all_members() -> list[Member]:
    """Return every cell of the test part, in the order in which they are done."""
    return [
        Member(market=market, model=model, seed=seed)
        for seed, models in SEEDS.items()
        for model in models
        for market in MARKETS
    ]


def trials() -> list[Member]:
    """Return the cells on which settings are chosen."""
    return [Member(market=market, model=model, seed=1, part="validation") for model in ENSEMBLE for market in MARKETS]
