"""Blocks of stored forecasts: which origins are used, when they are complete, and what their losses are."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.lifecycle.promotion.block import Block, read_blocks

H = 3
START = datetime(2026, 1, 1)


def stored(origins: list[int], *, ids: tuple[str, ...] = ("a", "b"), seed: int = 0) -> pl.DataFrame:
    """Return forecasts of versions 1 and 2 from the given days."""
    generator = np.random.default_rng(seed)
    rows = [
        {"unique_id": name, "ds": origin + step, "cutoff": origin, "version": version, "forecast": generator.normal()}
        for origin in origins
        for version in (1, 2)
        for name in ids
        for step in range(1, H + 1)
    ]
    frame = pl.DataFrame(rows).with_columns(pl.lit(0.0).alias("seasonal naive"))
    return frame.with_columns((START + pl.duration(days=pl.col(name))).alias(name) for name in ("ds", "cutoff"))


def observed(days: int, *, ids: tuple[str, ...] = ("a", "b"), seed: int = 1) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [
        {"unique_id": name, "ds": START + timedelta(days=day), "y": generator.normal()}
        for day in range(days)
        for name in ids
    ]
    return pl.DataFrame(rows)


def read(forecasts: pl.DataFrame, actuals: pl.DataFrame, **changes: Any) -> list[Block]:
    settings = {"serving": 1, "shadow": 2, "horizon": H, "scales": {"a": 2.0, "b": 0.5}, **changes}
    return read_blocks(forecasts, actuals, **settings)


def days(blocks: list[Block]) -> list[int]:
    return [(datetime.fromisoformat(block.origin) - START).days for block in blocks]


def test_losses_are_scaled_errors_averaged_over_steps_and_then_over_series() -> None:
    forecasts, actuals = stored([0]), observed(10)
    (block,) = read(forecasts, actuals)
    truth = {(row["unique_id"], row["ds"]): row["y"] for row in actuals.to_dicts()}
    expected = {}
    for version in (1, 2):
        rows = forecasts.filter(pl.col("version") == version).to_dicts()
        errors = {
            name: np.mean([abs(row["forecast"] - truth[name, row["ds"]]) for row in rows if row["unique_id"] == name])
            for name in "ab"
        }
        expected[version] = np.mean([errors["a"] / 2.0, errors["b"] / 0.5])
    naive = {name: np.mean([abs(truth[name, START + timedelta(days=day)]) for day in (1, 2, 3)]) for name in "ab"}
    assert block.serving == pytest.approx(expected[1])
    assert block.shadow == pytest.approx(expected[2])
    assert block.difference == pytest.approx(expected[1] - expected[2])
    assert block.naive == pytest.approx((naive["a"] / 2 + naive["b"] / 0.5) / 2)
    assert (block.series, block.origin, block.end) == (2, "2026-01-01 00:00:00", "2026-01-04 00:00:00")


@pytest.mark.parametrize(
    ("gap", "expected"), [(None, [0, 6, 12, 18]), (0, [0, 3, 6, 9, 12, 15, 18]), (1, [0, 4, 8, 12, 16])]
)
def test_blocks_of_daily_forecasts_are_a_horizon_long_with_a_gap_between(gap: int | None, expected: list[int]) -> None:
    assert days(read(stored(list(range(20))), observed(30), gap=gap)) == expected


def test_irregular_origins_start_a_block_as_soon_as_the_gap_is_over() -> None:
    assert days(read(stored([0, 2, 7, 8, 11, 13, 40]), observed(60))) == [0, 7, 13, 40]


def test_month_ends_are_a_horizon_apart_although_months_differ_in_length() -> None:
    months = pl.date_range(date(2020, 1, 31), date(2026, 1, 31), "1mo", eager=True).dt.month_end().to_list()
    rows = [
        {"unique_id": "a", "ds": months[place + step], "cutoff": months[place], "version": version, "forecast": 0.0}
        for place in range(60)
        for step in (1, 2, 3)
        for version in (1, 2)
    ]
    actuals = pl.DataFrame({"unique_id": ["a"] * len(months), "ds": months, "y": [1.0] * len(months)})
    blocks = read(pl.DataFrame(rows), actuals)
    assert [block.origin for block in blocks] == [str(months[place]) for place in range(0, 60, 6)]


def test_integer_times_are_used_as_they_are() -> None:
    forecasts = stored(list(range(20))).with_columns(
        (pl.col(name) - START).dt.total_days() for name in ("ds", "cutoff")
    )
    actuals = observed(30).with_columns((pl.col("ds") - START).dt.total_days())
    assert [block.index for block in read(forecasts, actuals)] == [0, 6, 12, 18]


def test_block_waits_until_every_value_of_every_series_is_there_and_later_ones_wait_for_it() -> None:
    forecasts, actuals = stored([0, 6, 12]), observed(20)
    late = actuals.filter(~((pl.col("unique_id") == "b") & (pl.col("ds") == START + timedelta(days=8))))
    assert days(read(forecasts, late)) == [0]
    assert days(read(forecasts, actuals.filter(pl.col("ds") < START + timedelta(days=9)))) == [0]


def test_block_does_not_wait_for_values_that_are_no_longer_expected() -> None:
    forecasts, actuals = stored([0, 6, 12]), observed(20)
    late = actuals.filter(~((pl.col("unique_id") == "b") & (pl.col("ds") >= START + timedelta(days=8))))
    blocks = read(forecasts, late, closed=START + timedelta(days=9))
    assert days(blocks) == [0, 6]
    empty = actuals.filter(pl.col("ds") < START + timedelta(days=6))
    assert days(read(forecasts, empty, closed=START + timedelta(days=9))) == [0]


def test_values_known_to_be_missing_are_left_out() -> None:
    actuals = observed(20).with_columns(y=pl.when(pl.col("unique_id") == "a").then(pl.col("y")))
    (block,) = read(stored([0]), actuals)
    assert block.series == 1


def test_reading_on_after_a_block_gives_the_rest() -> None:
    forecasts, actuals = stored(list(range(20))), observed(30)
    blocks = read(forecasts, actuals)
    assert read(forecasts, actuals, after=blocks[1].following) == blocks[2:]


def test_forecast_that_was_stored_late_does_not_move_later_blocks() -> None:
    forecasts, actuals = stored([3, 9, 15]), observed(30)
    first = read(forecasts, actuals)[0]
    late = pl.concat([forecasts, stored([0, 6], seed=5)])
    assert read(late, actuals, after=first.following) == read(forecasts, actuals)[1:]


def test_first_of_two_forecasts_of_the_same_value_counts() -> None:
    forecasts, actuals = stored([0]), observed(10)
    again = pl.concat([forecasts, forecasts.with_columns(pl.col("forecast") + 100)])
    assert read(again, actuals) == read(forecasts, actuals)
    dated = pl.concat(
        [
            forecasts.with_columns(pl.col("forecast") + 100, made_at=pl.lit(START + timedelta(days=1))),
            forecasts.with_columns(made_at=pl.lit(START)),
        ]
    )
    assert read(dated, actuals) == read(forecasts, actuals)


def test_only_series_and_origins_that_both_versions_forecast_are_compared() -> None:
    forecasts, actuals = stored([0, 6, 12]), observed(20)
    partly = forecasts.filter(
        ~((pl.col("version") == 2) & (pl.col("cutoff") == START))
        & ~((pl.col("version") == 1) & (pl.col("unique_id") == "b") & (pl.col("ds") == START + timedelta(days=15)))
    )
    blocks = read(partly, actuals)
    assert days(blocks) == [6, 12]
    assert [block.series for block in blocks] == [2, 1]


@pytest.mark.parametrize("broken", [math.nan, math.inf, None])
def test_forecast_that_is_not_finite_makes_the_loss_infinite(broken: float | None) -> None:
    forecasts = stored([0]).with_columns(
        forecast=pl.when((pl.col("version") == 2) & (pl.col("ds") == START + timedelta(days=2)))
        .then(broken)
        .otherwise(pl.col("forecast"))
    )
    (block,) = read(forecasts, observed(10))
    assert math.isinf(block.shadow)
    assert math.isfinite(block.serving)
    assert block.difference == -math.inf
    assert block.to_dict()["shadow"] is None


def test_block_in_which_both_fail_is_no_evidence() -> None:
    forecasts = stored([0]).with_columns(forecast=pl.lit(math.nan))
    (block,) = read(forecasts, observed(10))
    assert block.difference == 0.0


def test_series_without_a_usable_scale_are_left_out() -> None:
    (block,) = read(stored([0]), observed(10), scales={"a": 2.0, "b": 0.0})
    assert block.series == 1
    assert read(stored([0]), observed(10), scales={}) == []


def test_mistakes_are_named() -> None:
    with pytest.raises(DataError, match="no column 'version'"):
        read(stored([0]).drop("version"), observed(10))
    with pytest.raises(InputError, match="gap"):
        read(stored([0]), observed(10), gap=-1)
