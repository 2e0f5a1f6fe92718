"""Presets of an automatic search: how thorough it is, and its usual time budget."""

from __future__ import annotations

from dataclasses import dataclass

from neuro_divergent.core.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class Preset:
    """How thorough a search is.

    Attributes:
        seconds: Usual time budget.
        cutoffs: Cut-offs of the back-tests.
        series: Series at most that candidates are judged on.
        networks: Which networks may be tried, the cheapest first.
        statistical: Which statistical models may be tried.
        steps: Steps of training of a network at most.
        seeds: Seeds with which the best networks may be trained in addition.
    """

    seconds: float
    cutoffs: int
    series: int
    networks: tuple[str, ...]
    statistical: tuple[str, ...]
    steps: int
    seeds: int


PRESETS: dict[str, Preset] = {
    "fast": Preset(
        seconds=60.0,
        cutoffs=2,
        series=200,
        networks=("nlinear", "dlinear", "nhits"),
        statistical=("auto_theta", "auto_ets"),
        steps=500,
        seeds=0,
    ),
    "balanced": Preset(
        seconds=600.0,
        cutoffs=3,
        series=400,
        networks=("nlinear", "dlinear", "mlp", "tide", "nhits", "nbeats", "gru", "tft", "patchtst"),
        statistical=("auto_theta", "auto_ets", "auto_ces", "auto_arima"),
        steps=1000,
        seeds=1,
    ),
    "best": Preset(
        seconds=3600.0,
        cutoffs=4,
        series=1000,
        networks=("nlinear", "dlinear", "mlp", "tide", "nhits", "nbeats", "gru", "lstm", "tft", "patchtst", "bitcn"),
        statistical=("auto_theta", "auto_ets", "auto_ces", "auto_arima"),
        steps=2000,
        seeds=3,
    ),
}


def find_preset(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        ConfigError: If there is none of that name.
    """
    if name not in PRESETS:
        raise ConfigError(f"preset: {name!r} is not known.{did_you_mean(name, PRESETS)} Known: {', '.join(PRESETS)}.")
    return PRESETS[name]
