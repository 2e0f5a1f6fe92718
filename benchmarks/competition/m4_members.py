"""The networks that are trained on M4, ours and NeuralForecast's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

import neuro_divergent as nd
from competition.cells import Forecasts, Result, changed, digest, plain
from competition.m4_loss import OWA
from competition.m4_series import NAIVE2, SEASONS, Series

MODELS = ("nbeats", "nhits")
SEEDS = (1, 2)  # of the comparison
# Rows that trials leave out: what is forecast then ends five days before the test part, at the same hours of the week.
HELD_OUT = {"hourly": 168, "yearly": 6}
_LOOK_BACKS = {"hourly": 240, "yearly": 18, "monthly": 54}  # of the comparison


@dataclass(frozen=True, kw_only=True)
class Member:
    """One training of an ensemble, or one with each of several seeds for the comparison.

    Attributes:
        frequency: ``hourly``, ``yearly`` or ``monthly``.
        role: ``ensemble``; ``trial`` on the end of the training part, before settings are chosen; or ``ours`` and
            ``theirs`` for the comparison, where both have the same settings.
        model: ``nbeats`` or ``nhits``.
        input_size: Rows of history.
        loss: What is minimised: ``mae`` of the scaled values, ``smape`` or ``owa``.
        steps: Steps of training.
        batch_size: Windows per step.
        rate: Highest learning rate.
        seeds: Decide weights and order. The scores are the mean over them.
        recent: Rows at the end of each series that are targets in training.
        scaler: What is taken out of each window.
        hidden_size: Units per hidden layer; unset, those of the ensemble or the comparison.
        decay: How much of the average of the weights a step keeps; unset, the last weights are used.
    """

    frequency: str
    role: Literal["ensemble", "trial", "ours", "theirs"]
    model: str
    input_size: int
    loss: str
    steps: int
    batch_size: int
    rate: float
    seeds: tuple[int, ...]
    recent: int = 1000
    scaler: str = "standard"
    hidden_size: int | None = None
    decay: float | None = None

    def __str__(self) -> str:
        name = f"{self.frequency}/{self.role}/{self.model}"
        if self.role in ("ours", "theirs"):
            return name
        if self.role == "trial":
            return f"{name}-{digest(self.settings)}"
        return f"{name}-{self.input_size}-{self.loss}-{self.seeds[0]}"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on; the network of NeuralForecast is that of its defaults."""
        network = "defaults" if self.role == "theirs" else plain(architecture(self))
        return {**changed(self), "network": network}

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly."""
        by_step = {"hourly": 0.025, "yearly": 0.05, "monthly": 0.03}[self.frequency]
        return self.steps * len(self.seeds) * by_step * (3 if self.role == "theirs" else 1)


def run(member: Member, directory: Path) -> Result:
    """Train one member and score its forecasts."""
    torch.set_num_threads(1)
    series = Series(directory, member.frequency, HELD_OUT[member.frequency] if member.role == "trial" else 0)
    began = time.perf_counter()
    if member.role == "theirs":
        from competition import m4_theirs

        forecasts = [m4_theirs.forecast(member, series, seed) for seed in member.seeds]
    else:
        forecasts = [_forecast(member, series, seed) for seed in member.seeds]
    seconds = (time.perf_counter() - began) / len(member.seeds)
    return Result({**_mean([series.scores(item) for item in forecasts]), "seconds": seconds}, np.concatenate(forecasts))


def _mean(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([item[key] for item in scores])) for key in scores[0]}


def _forecast(member: Member, series: Series, seed: int) -> Forecasts:
    """Train with our library and forecast what follows."""
    forecaster = nd.Forecaster(
        architecture(member),
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
            average=None if member.decay is None else nd.callbacks.EMA(decay=member.decay),
            seed=seed,
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


def architecture(member: Member) -> nd.Architecture:
    """Return the network: in the comparison and for yearly series that of the defaults, which both libraries share."""
    if member.role == "ours" or member.frequency == "yearly":
        size = member.hidden_size or 512
        return nd.NBEATS(hidden_size=size) if member.model == "nbeats" else nd.NHITS(hidden_size=size)
    size = member.hidden_size or 256
    if member.model == "nhits":
        return nd.NHITS(hidden_size=size)
    return nd.NBEATS(hidden_size=size, stacks=("generic",) * 4)


def ensemble(frequency: str) -> list[Member]:
    """Return the ten members: both models in turn, with look-backs that take turns."""
    hourly = frequency == "hourly"
    return [
        Member(
            frequency=frequency,
            role="ensemble",
            model=MODELS[number % 2],
            input_size=((336, 288, 240, 240, 288) if hourly else (18, 24, 12, 30, 18))[number // 2],
            loss="owa" if hourly else "mae",
            steps=9000 if hourly else 500,
            batch_size=128 if hourly else 256,
            rate=2e-3 if hourly else 1e-3,
            seeds=(number + 1,),
        )
        for number in range(10)
    ]


def trials(frequency: str) -> list[Member]:
    """Return trainings that differ from the first in one or two settings each."""
    first = replace(ensemble(frequency)[0], role="trial", steps={"hourly": 3000, "yearly": 500}[frequency])
    if frequency == "hourly":
        changes: list[dict[str, Any]] = [
            {},
            {"decay": 0.999},
            {"steps": 9000},
            {"steps": 9000, "model": "nhits"},
            {"steps": 9000, "input_size": 288},
            {"steps": 9000, "input_size": 240},
            {"loss": "smape"},
            {"input_size": 504},
            {"hidden_size": 512},
        ]
    else:
        changes = [{}, {"decay": 0.999}, {"steps": 2000}, {"steps": 2000, "loss": "smape"}, {"recent": 12}]
    return [replace(first, **change) for change in changes]


def comparison(frequency: str) -> list[Member]:
    """Return the same trainings for both libraries, with the architectures' defaults."""
    return [
        Member(
            frequency=frequency,
            role=role,
            model=model,
            input_size=_LOOK_BACKS[frequency],
            loss="mae",
            steps=300,
            batch_size=256,
            rate=1e-3,
            seeds=SEEDS,
        )
        for model in MODELS
        for role in ("ours", "theirs")
    ]


def all_members() -> list[Member]:
    """Return every cell, in the order in which they are done."""
    ensembles = [member for frequency in ("hourly", "yearly") for member in ensemble(frequency)]
    tried = [member for frequency in HELD_OUT for member in trials(frequency)]
    return [*ensembles, *(member for frequency in NAIVE2 for member in comparison(frequency)), *tried]
