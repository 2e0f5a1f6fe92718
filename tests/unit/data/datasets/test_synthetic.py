from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.datasets.synthetic import Synthetic


def test_the_seed_decides_everything() -> None:
    recipe = Synthetic(num_series=3, length=50, covariates=True, missing=0.1, intermittent=0.2, seed=4)
    assert recipe.frame().equals(recipe.frame())
    assert not recipe.frame().equals(recipe.replace(seed=5).frame())
    assert Synthetic.from_dict(recipe.to_dict()).frame().equals(recipe.frame())


def test_more_series_leave_the_first_ones_as_they_are() -> None:
    one, two = (Synthetic(num_series=n, length=30).frame() for n in (1, 2))
    assert two["y"].head(30).equals(one["y"])


def test_shape_and_times() -> None:
    frame = Synthetic(num_series=2, length=3, frequency="1mo", start="2024-01-31").frame()
    assert frame.columns == ["unique_id", "ds", "y"]
    assert frame["ds"].head(3).to_list() == [datetime(2024, 1, 31), datetime(2024, 2, 29), datetime(2024, 3, 31)]
    assert Synthetic(length=3, frequency=2).frame()["ds"].to_list() == [0, 2, 4]


def test_parts_are_what_they_say() -> None:
    quiet = {"noise": 0.0, "seasonalities": (), "length": 400}
    trend = Synthetic(**quiet, trend=0.5).frame()["y"].to_numpy()
    np.testing.assert_allclose(np.diff(trend), np.diff(trend)[0])
    season = Synthetic(**{**quiet, "seasonalities": (7,)}).frame()["y"].to_numpy()
    np.testing.assert_allclose(season[7:], season[:-7], atol=1e-9)
    assert np.ptp(season) > 1
    noise = Synthetic(**{**quiet, "noise": 2.0, "length": 20_000}).frame()["y"].to_numpy()
    assert noise.std() == pytest.approx(2.0, rel=0.05)
    jump = Synthetic(**quiet, regime_change=0.25).frame()["y"].to_numpy()
    assert np.flatnonzero(np.diff(jump)).tolist() == [99]


def test_shares() -> None:
    frame = Synthetic(length=10_000, intermittent=0.7, missing=0.1).frame()
    assert frame["y"].null_count() / 10_000 == pytest.approx(0.1, abs=0.02)
    assert (frame["y"].drop_nulls() == 0).mean() == pytest.approx(0.7, abs=0.02)


def test_covariates_move_the_target() -> None:
    frame = Synthetic(length=5000, seasonalities=(), covariates=True, noise=0.1).frame()
    correlation = frame.select(pl.corr("y", "price")).item()
    assert correlation < -0.5
    assert frame.columns == ["unique_id", "ds", "y", "price", "weather", "visitors", "size", "region"]
    assert frame["size"].n_unique() == 1


@pytest.mark.parametrize(
    "wrong", [{"length": 0}, {"frequency": "1 moon"}, {"start": "03/04/21"}, {"missing": 1.0}, {"seasonalities": (0,)}]
)
def test_wrong_recipes(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Synthetic(**wrong)
