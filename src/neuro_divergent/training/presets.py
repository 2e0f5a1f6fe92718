"""Named ways to train, each a change of the defaults, and what each family of architectures is best trained with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean

# As far as it was measured (benchmarks/families.py). Empty settings are the defaults (AdamW at 1e-3, a warm-up and a
# cosine, gradients clipped at norm 1): nothing else was better there with the default number of steps. A rate of 3e-3
# gives 1.005 times the error in the family ``mlp``, 1.05 in ``recurrent``, 1.00 in ``convolutional`` and 1.015 in
# ``transformer``.
FAMILY_SETTINGS: dict[str, dict[str, Any]] = {
    # A convex problem allows a higher rate, and ends nearer to its minimum with it.
    "linear": {"optimizer": {"name": "adamw", "lr": 3e-3}},
    "mlp": {},
    "recurrent": {},
    "convolutional": {},
    "transformer": {},
    "graph": {},
}

PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": (
        "What suits the family of the architecture: its learning rate, schedule, clipping and batch size.",
        {"recommended": ["optimizer", "schedule", "clip", "batch_size"]},
    ),
    "quick": (
        "A first look: a fifth of the steps at twice the rate, and little patience.",
        {
            "max_steps": 200,
            "optimizer": {"name": "adamw", "lr": 2e-3},
            "early_stopping": {"patience": 4},
            "validate_every": 25,
        },
    ),
    "best": (
        "Accuracy before time: five times the steps, the family's schedule, averaged weights, more patience.",
        {"max_steps": 5000, "schedule": "auto", "average": "ema", "early_stopping": {"patience": 25}},
    ),
    "low_memory": (
        "Little memory: steps of eight small batches, and intermediate results computed again instead of kept.",
        {"batch_size": 16, "accumulate": 8, "recompute": "auto"},
    ),
}


def find_preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset as plain values."""
    key = name.lower().replace("-", "_")
    if key not in PRESETS:
        raise ConfigError(f"Unknown preset {name!r}.{did_you_mean(key, PRESETS)} Known: {', '.join(PRESETS)}.")
    return dict(PRESETS[key][1])


def apply_preset(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a preset with changes, which may be of single settings of a component it names."""
    settings = find_preset(name)
    for key, value in changes.items():
        known = settings.get(key)
        named = {"name": known} if isinstance(known, str) else known
        if isinstance(named, dict) and isinstance(value, Mapping) and value.get("name") in (None, named.get("name")):
            value = {**named, **value}
        settings[key] = value
    if settings.get("recommended"):  # What is given is not chosen again.
        settings["recommended"] = [name for name in settings["recommended"] if name not in changes] or None
    return settings
