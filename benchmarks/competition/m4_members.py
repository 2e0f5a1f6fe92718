"""The networks that are trained on M4, ours and NeuralForecast's."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

import neuro_divergent as nd
from competition.cells import Result
from competition.m4_loss import OWA
from competition.m4_series import NAIVE2, SEASONS, Series

MODELS = ("nbeats", "nhits")


@dataclass(frozen=True, kw_only=True)
class Member:
    """One training.

    Attributes:
        frequency: ``hourly`` or ``yearly``.
        role: ``ensemble``, or ``ours`` and ``theirs`` for the comparison, where both have the same settings.
        model: ``nbeats`` or ``nhits``.
        input_size: Rows of history.
        recent: Rows at the end of each series that are targets in training.
        loss: What is minimised: ``mae`` of the scaled values, ``smape`` or ``owa``.
        scaler: What is taken out of each window.
        steps: Steps of training.
        batch_size: Windows per step.
        rate: Highest learning rate.
        seed: Decides weights and order.
    """

    frequency: str
    role: Literal["ensemble", "ours", "theirs"]
    model: str
    input_size: int
    recent: int
    loss: str
    scaler: str
    steps: int
    batch_size: int
    rate: float
    seed: int

    def __str__(self) -> str:
        return f"{self.frequency}/{self.role}/{self.model}-{self.input_size}-{self.loss}-{self.seed}"

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly."""
        by_step = 0.035 if self.frequency == "hourly" else 0.02
        return self.steps * by_step * {"ensemble": 1, "ours": 1.5, "theirs": 4}[self.role]


def run(member: Member, directory: Path, held_out: int = 0) -> Result:
    """Train one member and score its forecasts."""
    torch.set_num_threads(1)
    series = Series(directory, member.frequency, held_out)
    began = time.perf_counter()
    if member.role == "theirs":
        from competition import m4_theirs

        forecast = m4_theirs.forecast(member, series)
    else:
        forecast = _forecast(member, series)
    seconds = time.perf_counter() - began
    return Result({**series.scores(forecast), "seconds": seconds, "settings": asdict(member)}, forecast)


def _forecast(member: Member, series: Series) -> Any:
    """Train with our library and forecast what follows."""
    forecaster = nd.Forecaster(
        _architecture(member),
        horizon=series.horizon,
        input_size=member.input_size,
        loss=_loss(member),
        scaler=member.scaler,
        validation=0,
        training=nd.TrainingConfig(
            max_steps=member.steps,
            batch_size=member.batch_size,
            drop_last=True,
            optimizer=nd.AdamW(lr=member.rate),
            early_stopping=None,
            seed=member.seed,
            threads=1,
            device="cpu",
        ),
    )
    forecaster.fit(series.table(member.input_size + member.recent), short="pad")
    return series.matrix(forecaster.predict(), "forecast")


def _loss(member: Member) -> nd.losses.Loss:
    if member.loss == "owa":
        smape, mase = NAIVE2[member.frequency]
        return OWA(SEASONS[member.frequency], naive_smape=smape, naive_mase=mase)
    return nd.losses.Loss.from_dict(member.loss)


def _architecture(member: Member) -> nd.Architecture:
    """Return the network: in the comparison and for yearly series that of the defaults, which both libraries share."""
    if member.role == "ours" or member.frequency == "yearly":
        return nd.NBEATS() if member.model == "nbeats" else nd.NHITS()
    if member.model == "nhits":
        return nd.NHITS(hidden_size=256)
    return nd.NBEATS(hidden_size=256, stacks=("generic",) * 4)


def ensemble(frequency: str) -> list[Member]:
    """Return the ten members: both models in turn, with look-backs that take turns."""
    hourly = frequency == "hourly"
    return [
        Member(
            frequency=frequency,
            role="ensemble",
            model=MODELS[number % 2],
            input_size=((336, 288, 384, 336, 336) if hourly else (18, 24, 12, 30, 18))[number // 2],
            recent=1000,
            loss="owa" if hourly else "mae",
            scaler="standard",
            steps=3000 if hourly else 500,
            batch_size=128 if hourly else 256,
            rate=2e-3 if hourly else 1e-3,
            seed=number + 1,
        )
        for number in range(10)
    ]


def comparison(frequency: str) -> list[Member]:
    """Return the same trainings for both libraries, with the architectures' defaults."""
    hourly = frequency == "hourly"
    return [
        Member(
            frequency=frequency,
            role=role,
            model=model,
            input_size=240 if hourly else 18,
            recent=1000,
            loss="mae",
            scaler="standard",
            steps=300,
            batch_size=256,
            rate=1e-3,
            seed=seed,
        )
        for seed in (1, 2)
        for model in MODELS
        for role in ("ours", "theirs")
    ]


def all_members() -> list[Member]:
    """Return every cell, in the order in which they are done."""
    return [member for frequency in ("hourly", "yearly") for member in (*ensemble(frequency), *comparison(frequency))]
