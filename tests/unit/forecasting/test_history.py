"""How the length of the history is chosen, and the season."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.history import choose_history, choose_season
from neuro_divergent.forecasting.task import Task


def panel_of(lengths: list[int], every: str, **schema: str) -> Panel:
    frames = []
    for place, length in enumerate(lengths):
        times = pl.select(pl.datetime(2000, 1, 1).repeat_by(length).explode()).to_series()
        steps = pl.Series([f"{step * int(every[:-1] or 1)}{every[-1]}" for step in range(length)])
        frames.append(
            pl.DataFrame({"unique_id": f"s{place}", "ds": times.dt.offset_by(steps), "y": np.sin(np.arange(length))})
        )
    return load_panel(pl.concat(frames), Schema(**schema))


@pytest.mark.parametrize(
    ("lengths", "every", "horizon", "input_size"),
    [
        ([400] * 3, "1d", 14, 42),  # three horizons
        ([400] * 3, "1d", 2, 9),  # a week and a horizon
        ([160] * 3, "1w", 8, 60),  # a year and a horizon
        ([7, 30, 30, 30, 43], "1y", 4, 12),  # the shortest series does not decide
        ([9, 10, 10, 11], "1y", 4, 10),  # no more than most series have
        ([2000] * 2, "1h", 24, 192),  # a week of hours and a horizon
        ([300] * 2, "1h", 24, 72),  # too little for weeks
    ],
)
def test_history_follows_from_horizon_season_and_most_lengths(
    lengths: list[int], every: str, horizon: int, input_size: int
) -> None:
    assert choose_history(Task(horizon=horizon), panel_of(lengths, every)).input_size == input_size


def test_a_given_history_and_season_count() -> None:
    panel = panel_of([400], "1d")
    assert choose_history(Task(horizon=14, input_size=5), panel) == (5, "as given")
    found = choose_history(Task(horizon=14, season_length=100), panel)
    assert found == (114, "a season of 100 rows and a horizon")


def test_history_leaves_room_for_windows_where_series_are_not_padded() -> None:
    panel = panel_of([40] * 3, "1d", short="error")
    assert choose_history(Task(horizon=10), panel).input_size == 10


def test_season_is_the_one_after_which_values_differ_least() -> None:
    hours = np.arange(24 * 7 * 8)
    times = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 12, 31), "1h", eager=True)[: len(hours)]

    def season(values: np.ndarray) -> int:
        panel = load_panel(pl.DataFrame({"ds": times, "y": values}), Schema())
        return choose_season(Task(horizon=24), panel)

    daily = np.sin(hours / 24 * 2 * np.pi)
    weekend = (hours // 24 % 7 >= 5) * 3.0
    noise = np.random.default_rng(0).normal(size=len(hours)).cumsum() * 0.1
    assert season(daily + noise) == 24
    assert season(daily + weekend) == 168


class TestBaseline:
    def test_an_untrained_correction_of_zero_is_the_seasonal_naive_forecast(self) -> None:
        import torch

        panel = panel_of([200] * 2, "1d")
        model = nd.Forecaster(
            "nlinear", horizon=10, baseline="seasonal_naive", training=nd.TrainingConfig(max_steps=1, threads=1)
        ).fit(panel)
        network = model.fitted.predictor.network
        with torch.no_grad():
            for parameter in network.network.parameters():
                parameter.zero_()
        # NLinear adds the last value to its output; on the scale of the network that is taken away again here.
        made = model.predict()["forecast"].to_numpy().reshape(2, 10)
        last = np.stack([panel.series(place)[-1] for place in range(2)])[:, None]
        naive = np.stack([np.resize(panel.series(place)[-7:], 10) for place in range(2)])
        mean = np.stack([panel.series(place)[-model.task.history :].mean() for place in range(2)])[:, None]
        np.testing.assert_allclose(made, naive + last - mean, rtol=1e-3, atol=1e-3)

    def test_it_learns_a_strong_season_from_little_data_sooner(self) -> None:
        random = np.random.default_rng(1)
        pattern = random.normal(size=50) * 10
        frame = pl.DataFrame({"ds": np.arange(400), "y": np.resize(pattern, 400) + random.normal(size=400)})
        training = nd.TrainingConfig(max_steps=30, threads=1)
        task = {"horizon": 50, "input_size": 100, "season_length": 50, "test": 50, "training": training}
        plain, corrected = (
            nd.evaluate(nd.Forecaster("mlp", baseline=baseline, **task).fit(frame)).table["mae"][0]
            for baseline in (None, "seasonal_naive")
        )
        assert corrected < 0.75 * plain

    def test_missing_values_of_the_last_season_are_taken_from_the_one_before(self) -> None:
        frame = pl.DataFrame({"ds": np.arange(80), "y": [float(step % 4) * 10 for step in range(80)]})
        holes = frame.with_columns(pl.when(pl.col("ds") == 78).then(None).otherwise(pl.col("y")).alias("y"))
        training = nd.TrainingConfig(max_steps=1, threads=1)
        model = nd.Forecaster(
            "mlp", horizon=4, input_size=12, season_length=4, baseline="seasonal_naive", training=training
        ).fit(frame, missing="mask")
        full, with_holes = (
            model.fitted.predictor.network.baseline(model.prepare_prediction(table).batches[0])[0, :, 0]
            for table in (frame, holes)
        )
        assert (full - with_holes).abs().max() < 0.5

    def test_it_is_refused_where_it_cannot_be(self) -> None:
        frame = pl.DataFrame({"ds": np.arange(80), "y": np.arange(80.0)})
        with pytest.raises(ConfigError, match="no baseline can be added"):
            nd.Forecaster("deepar", horizon=4, baseline="seasonal_naive", loss="mae").fit(frame)
        with pytest.raises(ConfigError, match="normal has outputs that are not values of the target"):
            nd.Forecaster("mlp", horizon=4, baseline="seasonal_naive", loss=nd.losses.Normal())
        with pytest.raises(ConfigError, match="needs a season of 9 rows in the history; input_size is 8"):
            nd.Forecaster("mlp", horizon=4, input_size=8, season_length=9, baseline="seasonal_naive")
