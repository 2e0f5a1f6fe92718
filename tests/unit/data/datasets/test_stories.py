"""The made-up data sets hold what their descriptions say, because the tutorials build on it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import numpy as np
import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.schema import Schema

SCHEMAS = {
    "shop_sales": Schema(
        target="units", time="date", id="store", past=("visitors",), future=("price", "promotion", "holiday"),
        static=("region",),
    ),
    "electricity_prices": Schema(target="price", time="time", future=("load", "wind")),
    "spare_parts": Schema(target="units", time="month", id="part"),
    "regional_sales": Schema(target="units", time="week", id="shop", static=("region",)),
}  # fmt: skip
MAKERS: list[Callable[..., pl.DataFrame]] = [getattr(nd.datasets, name) for name in SCHEMAS]


@pytest.mark.parametrize("make", MAKERS, ids=list(SCHEMAS))
def test_a_made_up_data_set_is_clean_follows_its_seed_and_survives_a_file(
    make: Callable[..., pl.DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = make()
    assert frame.equals(make())
    assert not frame.equals(make(seed=1))
    path = tmp_path_factory.mktemp("data") / "table.csv"
    frame.write_csv(path)
    panel = load_panel(path, SCHEMAS[make.__name__])  # a warning about the data would be an error
    assert len(panel) == frame.height


def test_sales_rise_with_promotions_and_on_eves_and_fall_on_holidays() -> None:
    sales = nd.datasets.shop_sales()
    relative = sales.with_columns(pl.col("units") / pl.col("units").mean().over("store", pl.col("date").dt.weekday()))
    mean = dict(relative.group_by("holiday").agg(pl.col("units").mean()).rows())
    assert mean["holiday"] < 0.4 < 1.2 < mean["eve"]
    promoted = dict(relative.filter(holiday="none").group_by("promotion").agg(pl.col("units").mean()).rows())
    assert promoted[1] > 1.5 * promoted[0]
    last = sales.filter(pl.col("date") > date(2025, 6, 1))
    assert last.group_by("store").agg(pl.col("promotion").n_unique())["promotion"].max() == 2
    assert last.filter(holiday="holiday")["date"].unique().to_list() == [date(2025, 6, 9)]


def test_prices_follow_load_and_wind_and_vary_twice_as_much_in_the_last_six_weeks() -> None:
    prices = nd.datasets.electricity_prices()
    assert prices["price"].min() < 0  # type: ignore[operator]
    assert prices.select(pl.corr("price", pl.col("load") - pl.col("wind"))).item() > 0.6
    hours = np.column_stack([np.ones(len(prices)), prices["load"], prices["wind"]])
    errors = prices["price"].to_numpy() - hours @ np.linalg.lstsq(hours, prices["price"].to_numpy())[0]
    calm, nervous = errors[: -42 * 24], errors[-42 * 24 :]
    spread = [np.subtract(*np.quantile(part, [0.9, 0.1])) for part in (calm, nervous)]
    assert 1.3 < spread[1] / spread[0] < 3


def test_demand_for_spare_parts_is_mostly_zero() -> None:
    units = nd.datasets.spare_parts()["units"]
    assert 0.5 < (units == 0).mean() < 0.8
    assert units.max() > 10  # type: ignore[operator]


def test_four_shops_are_new_and_all_end_in_the_same_week() -> None:
    weeks = nd.datasets.regional_sales().group_by("shop").agg(pl.len(), pl.col("week").max())
    assert sorted(weeks["len"])[:5] == [34, 36, 44, 60, 156]
    assert weeks["week"].n_unique() == 1
