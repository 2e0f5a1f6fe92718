"""The candidates of a search, from cheap to dear, by what the series are like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.auto.candidate import Candidate
from neuro_divergent.search.auto.groups import SeriesTraits
from neuro_divergent.search.auto.naive import NAIVE, ZERO
from neuro_divergent.search.auto.preset import Preset

INTERMITTENT = ("croston_sba", "tsb", "adida", "imapa")
_FEW_SERIES = 5
_MANY_SERIES = 1000
_FEW_ROWS = 300  # of all series together: a large network has nothing to learn from
_SMALL_NETWORKS = (
    "nlinear", "dlinear", "mlp", "tide", "nhits", "nbeats", "nhits_small", "nbeats_small", "nhits_long", "nhits_robust",
    "patchtst_small",
)  # fmt: skip
_LONG = "nhits_long"  # twice the usual history
_VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    _LONG: ("nhits", {"model.hidden_size": 128}),
    "nhits_robust": ("nhits", {"model.hidden_size": 128, "task.scaler": "robust"}),
    "nhits_small": ("nhits", {"model.hidden_size": 128}),
    "nbeats_small": ("nbeats", {"model.hidden_size": 128}),
    "patchtst_small": (
        "patchtst",
        {"model.hidden_size": 32, "model.num_heads": 4, "model.num_layers": 2, "model.feedforward_size": 64},
    ),
    "tft_small": ("tft", {"model.hidden_size": 32}),
}
_NARROWER = {"mlp": 512, "tide": 256}  # hidden sizes below the default: as good on most panels, and faster
_SECONDS_PER_STEP = {
    "nlinear": 0.001, "dlinear": 0.001, "nhits_small": 0.005, "nhits_long": 0.005,
    "nhits_robust": 0.005, "nbeats_small": 0.005, "mlp": 0.005, "tide": 0.01,
    "patchtst_small": 0.01, "nhits": 0.03, "nbeats": 0.03, "gru": 0.1, "lstm": 0.1, "tft_small": 0.1, "tft": 0.3,
    "patchtst": 0.15, "bitcn": 0.05,
}  # fmt: skip
_SECONDS_PER_ROW = {"auto_arima": 2e-2, "auto_ets": 5e-4, "auto_theta": 1e-3, "auto_ces": 2e-3}


@dataclass(frozen=True)
class Portfolio:
    """The candidates of a search.

    Attributes:
        candidates: From cheap to dear.
        reasons: Why the portfolio is as it is, in sentences.
        guesses: Seconds of a unit of work before it is measured: a step of a network, a row of a statistical model.
    """

    candidates: tuple[Candidate, ...]
    reasons: tuple[str, ...]
    guesses: dict[str, float]


def choose_portfolio(panel: Panel, traits: SeriesTraits, preset: Preset, *, statistical: bool) -> Portfolio:
    """Choose candidates: other ones for intermittent, short, few and many series, and for tables with covariates.

    Args:
        panel: The series.
        traits: What a sample of them is like.
        preset: How thorough the search is.
        statistical: Whether statistical models can be used.
    """
    reasons = []
    mostly_intermittent = bool(traits.is_intermittent.mean() > 0.5)
    classical = list(preset.statistical)
    if mostly_intermittent:
        reasons.append("Most series are intermittent (Syntetos-Boylan): models for such demand come first.")
        classical = [*INTERMITTENT, *(name for name in classical if name in ("auto_ets", "auto_theta"))]
    networks = list(preset.networks)
    if len(panel) < _FEW_ROWS or float(np.median(traits.length)) < 3 * traits.horizon:
        reasons.append("The series are short: no large networks.")
        networks = [name for name in networks if name in _SMALL_NETWORKS]
    if panel.num_series <= _FEW_SERIES and len(panel) < 20 * _FEW_ROWS:
        reasons.append("There are few series: no large networks, and statistical models of each first.")
        networks = [name for name in networks if name in _SMALL_NETWORKS]
    if panel.num_series >= _MANY_SERIES:
        reasons.append("There are many series: networks for all of them first, statistical models on a sample.")
    if panel.past or panel.schema.future or panel.static:
        reasons.append("The table has covariates: networks that use them first.")
        networks.sort(key=lambda name: not _takes_covariates(name))
    naive = [name for name in NAIVE if mostly_intermittent or name != ZERO]
    found = [Candidate(name=name, kind="naive", model=name) for name in naive]
    some = [Candidate(name=name, kind="statistical", model=name) for name in classical if statistical]
    nets = [_network(name) for name in networks]
    usual = Task(horizon=traits.horizon, season_length=traits.season).history_for(panel)
    nets = [_lengthened(item, 2 * usual) if item.name == _LONG else item for item in nets]
    found += [*nets, *some] if panel.num_series >= _MANY_SERIES else [*some, *nets]
    guesses = {item.name: _SECONDS_PER_STEP.get(item.name, 0.05) for item in nets}
    guesses |= {item.name: _SECONDS_PER_ROW.get(item.model, 5e-5) for item in some}
    return Portfolio(tuple(found), tuple(reasons), guesses)


def find_candidate(name: str) -> Candidate:
    """Return the candidate of a statistical model or an architecture by its name.

    Raises:
        InputError: If there is none of that name, or it takes all series at once.
    """
    statistical, networks = StatisticalMethod.registry.names(), Architecture.registry.names()
    if name in statistical:
        return Candidate(name=name, kind="statistical", model=name)
    if name in _VARIANTS:
        return _network(name)
    if name not in networks:
        hint = did_you_mean(name, [*statistical, *networks, *_VARIANTS])
        raise InputError(f"models: {name!r} is not known.{hint} 'nd models' lists all.")
    if Architecture.registry.get(name).traits.mixes_channels:
        raise InputError(
            f"models: {name!r} takes all series at once, which an automatic search does not; leave it out."
        )
    return _network(name)


def _network(name: str) -> Candidate:
    """Return the candidate of an architecture, or of a variant of one."""
    model, changes = _VARIANTS.get(name, (name, {}))
    return Candidate(name=name, kind="network", model=model, settings={**_good_settings(name), **changes})


def _lengthened(candidate: Candidate, history: int) -> Candidate:
    """Return a network that forecasts from so many rows of history."""
    return candidate.replace(settings={**candidate.settings, "task.input_size": history})


def _takes_covariates(name: str) -> bool:
    return bool(Architecture.registry.get(_VARIANTS.get(name, (name,))[0]).traits.future_x)


def _good_settings(name: str) -> dict[str, object]:
    """Return settings that differ from the defaults of a network; a convex problem allows a higher rate."""
    if name in _NARROWER:
        return {"model.hidden_size": _NARROWER[name]}
    if name not in _VARIANTS and Architecture.registry.get(name).traits.family == "linear":
        return {"training.optimizer.lr": 3e-3}
    return {}
