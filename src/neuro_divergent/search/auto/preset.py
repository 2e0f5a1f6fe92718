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
        networks: Which networks may be tried, the one to train first at the beginning.
        statistical: Which statistical models may be tried.
        steps: Steps of training of a network at most.
        judged_seeds: Seeds at most with which the best networks are back-tested, if there is time.
        seeds: Seeds at most with which the chosen networks are fitted to all rows, if there is time.
    """

    seconds: float
    cutoffs: int
    series: int
    networks: tuple[str, ...]
    statistical: tuple[str, ...]
    steps: int
    judged_seeds: int
    seeds: int


_CHEAP = (
    "nlinear", "nhits_small", "nbeats_small", "tide", "mlp", "nhits_long", "nhits_robust", "patchtst_small", "dlinear"
)  # fmt: skip
PRESETS: dict[str, Preset] = {
    "fast": Preset(
        seconds=60.0,
        cutoffs=2,
        series=200,
        networks=("nlinear", "dlinear", "nhits_small", "nbeats_small", "mlp"),
        statistical=("auto_theta", "auto_ets"),
        steps=500,
        judged_seeds=1,
        seeds=2,
    ),
    "balanced": Preset(
        seconds=600.0,
        cutoffs=3,
        series=400,
        networks=(*_CHEAP, "nhits", "nbeats", "tft_small", "gru"),
        statistical=("auto_theta", "auto_ets", "auto_ces", "auto_arima"),
        steps=500,
        judged_seeds=3,
        seeds=8,
    ),
    "best": Preset(
        seconds=3600.0,
        cutoffs=4,
        series=1000,
        networks=(*_CHEAP, "nhits", "nbeats", "tft_small", "patchtst", "gru", "tft", "bitcn", "lstm"),
        statistical=("auto_theta", "auto_ets", "auto_ces", "auto_arima"),
        steps=1000,
        judged_seeds=3,
        seeds=8,
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
