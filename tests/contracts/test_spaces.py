"""Every architecture's default space: any of its points builds and trains, or is refused before it costs anything."""

from __future__ import annotations

import os
import random

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.models.base import Architecture
from neuro_divergent.search.settings import require_buildable
from neuro_divergent.search.space import Space
from tests.language_models import needed_by

NAMES = Architecture.registry.names()
PANEL = load_panel(Synthetic(num_series=2, length=24).frame(), Schema())


def base_of(name: str) -> RunConfig:
    architecture = Architecture.registry.get(name)
    training = {"max_steps": 1, "early_stopping": "none", "threads": 1}
    task = {"horizon": 4, "validation": 0, "refit": False}
    return RunConfig.from_dict(
        {"data": {}, "model": architecture(**needed_by(architecture)), "task": task, "training": training}
    )


def train_random_points(name: str, count: int, seed: int, *, small: bool = False) -> None:
    """Train a step at random points, with the smallest sizes if that is asked for."""
    base, generator, refused = base_of(name), random.Random(seed), 0
    space = Space.of(base=base).around(base)
    trained = 0
    while trained < count:
        point = space.walk(
            lambda item: item.dimension.at(0.0 if small and item.setting.endswith("size") else generator.random())
        )
        try:
            config = require_buildable(base, point, PANEL)
        except InputError:
            refused += 1
            assert refused <= count, "most points of the space cannot be built"
            continue
        assert Forecaster.for_run(config).fit(PANEL).is_fitted, point
        trained += 1


@pytest.mark.parametrize("name", NAMES)
def test_random_point_of_the_default_space_trains_a_step(name: str) -> None:
    train_random_points(name, 1, seed=1, small=True)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_random_points_of_the_default_space_train_a_step(name: str) -> None:
    train_random_points(name, 20 if os.environ.get("ND_SOAK") else 6, seed=2)
