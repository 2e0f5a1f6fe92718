"""What is said about data, against what they were made of."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataWarning
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.profile import describe_data
from neuro_divergent.data.schema import Schema


def panel_of(values: dict[str, Any], frequency: str = "1d", **schema: Any) -> Panel:
    """One or more series, from lists of equal length by name, with covariates under ``x:name``."""
    series = {name: item for name, item in values.items() if not name.startswith("x:")}
    rows = len(next(iter(series.values())))
    times = pl.datetime_range(
        pl.datetime(2020, 1, 1), pl.datetime(2020, 1, 1) + pl.duration(days=rows - 1), "1d", eager=True
    )
    frame = pl.concat(
        [
            pl.DataFrame(
                {"unique_id": [name] * rows, "ds": times, "y": pl.Series(item, dtype=pl.Float64, strict=False)}
            )
            for name, item in series.items()
        ]
    )
    extra = {name[2:]: np.tile(item, len(series)) for name, item in values.items() if name.startswith("x:")}
    return build_panel(frame.with_columns(**extra), Schema(frequency=frequency, **schema))


def covariate(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in found["covariates"] if item["name"] == name)


def test_profile_counts_and_fractions_match_the_table() -> None:
    a, b = [0.0, -1.0, 2.0, None, 4.0, 0.0], [1.0, 1.0, -3.0, 5.0, None, 7.0]
    found = describe_data(panel_of({"a": a, "b": b}, missing="mask"))
    assert (found["rows"], found["series"], found["frequency"]) == (12, 2, "1d")
    assert (found["begin"], found["end"]) == ("2020-01-01", "2020-01-06")
    assert found["lengths"] == {"min": 6, "median": 6.0, "max": 6}
    assert found["missing_share"] == pytest.approx(2 / 12, rel=1e-5)
    assert found["zero_share"] == pytest.approx(2 / 10)
    assert found["negative_share"] == pytest.approx(2 / 10)
    assert found["size"]["min"] == pytest.approx(7 / 5)
    assert found["scale_ratio"] == pytest.approx((17 / 5) / (7 / 5), rel=1e-5)
    json.dumps(found, allow_nan=False)


def test_constant_series_are_counted_and_named() -> None:
    with pytest.warns(DataWarning):
        panel = panel_of({"flat": [3.0] * 8, "moving": list(range(8)), "zero": [0.0] * 8})
    found = describe_data(panel)
    assert found["constant_series"] == 2
    assert found["short_names"] == ["flat", "zero"]
    assert found["scale_ratio"] == 1.0


def test_nothing_but_constants_and_a_single_row_are_described_too() -> None:
    with pytest.warns(DataWarning):
        found = describe_data(panel_of({"flat": [3.0] * 40}))
    assert found["scale_ratio"] is None
    assert found["seasonality"] is None
    assert found["outlier_share"] == 0
    json.dumps(describe_data(panel_of({"one": [3.0]})), allow_nan=False)


def test_profile_ignores_values_after_training() -> None:
    values = np.random.default_rng(0).standard_normal(60)
    changed = values.copy()
    changed[40:] = 1e9
    price = np.arange(60.0) % 11
    first, second = (
        describe_data(panel_of({"a": target, "x:price": covariate}, past=("price",)), train_ends=[40])
        for target, covariate in ((values, price), (changed, np.where(np.arange(60) < 40, price, -1e9)))
    )
    assert first["looked_at"] == {"rows": 40, "series": 1}
    assert first == second


def test_no_training_row_at_all_is_no_error() -> None:
    panel = panel_of({"a": list(range(10)), "x:price": list(range(10))}, future=("price",))
    found = describe_data(panel, train_ends=[0])
    assert found["looked_at"]["rows"] == 0
    json.dumps(found, allow_nan=False)


def test_an_absurd_value_is_an_outlier_and_normal_noise_has_none() -> None:
    values = np.random.default_rng(1).standard_normal(500)
    assert describe_data(panel_of({"a": values}))["outlier_share"] == 0
    values[100] = 1e4
    found = describe_data(panel_of({"a": values}))
    assert found["outlier_share"] == pytest.approx(1 / 500)
    spread = 1.4826 * np.median(np.abs(values - np.median(values)))
    assert found["largest_outlier"] == pytest.approx((1e4 - np.median(values)) / spread, rel=1e-4)


@pytest.mark.parametrize("trend", [0.0, 5.0])
def test_profile_finds_seasonality_under_a_trend(trend: float) -> None:
    steps = np.arange(210)
    noise = np.random.default_rng(2).standard_normal(210)
    wave = 10 * np.sin(2 * np.pi * steps / 7)
    strong = describe_data(panel_of({"a": 100 + trend * steps + wave + noise}))["seasonality"]
    weak = describe_data(panel_of({"a": 100 + trend * steps + noise}))["seasonality"]
    assert strong["period"] == weak["period"] == 7
    assert strong["strength"] > 0.9
    assert weak["strength"] < 0.2


def test_a_random_walk_has_no_season() -> None:
    walk = np.random.default_rng(3).standard_normal(700).cumsum()
    assert describe_data(panel_of({"a": walk}))["seasonality"]["strength"] < 0.2


class TestCovariates:
    y = np.random.default_rng(4).standard_normal(200).cumsum() + 50

    def found(self, x: np.ndarray, role: str = "future") -> dict[str, Any]:
        return covariate(describe_data(panel_of({"a": self.y, "b": -self.y, "x:x": x}, **{role: ("x",)})), "x")

    def test_profile_finds_a_copy_of_the_target_at_its_lead(self) -> None:
        for lead in (-3, 0, 2):
            panel = panel_of({"a": self.y, "x:x": np.roll(self.y, -lead)}, past=("x",))
            found = covariate(describe_data(panel), "x")
            assert found["equal_lead"] == found["lead"] == lead
            assert found["equal_share"] > 0.97
            assert found["lead_correlation"] > 0.9

    def test_profile_finds_a_rescaled_copy_by_correlation(self) -> None:
        found = covariate(describe_data(panel_of({"a": self.y, "x:x": 3 * self.y - 7}, future=("x",))), "x")
        assert found["correlation"] == pytest.approx(1)
        assert found["difference_correlation"] == pytest.approx(1)
        assert found["equal_share"] < 0.1

    def test_correlation_is_within_series(self) -> None:
        # The two series mirror each other, so that what goes with one goes against the other.
        assert abs(self.found(self.y)["correlation"]) < 1e-6

    def test_profile_does_not_report_a_common_trend_as_a_copy(self) -> None:
        line = np.arange(200.0)
        noise = np.random.default_rng(5).standard_normal(200)
        found = covariate(describe_data(panel_of({"a": 10 * line + noise, "x:x": line}, future=("x",))), "x")
        assert found["correlation"] > 0.999
        assert found["difference_correlation"] is None

    def test_zeros_that_coincide_are_not_equal_rows(self) -> None:
        random = np.random.default_rng(6)
        demand = np.where(random.random(300) < 0.05, 9.0, 0.0)
        event = np.where(random.random(300) < 0.05, 1.0, 0.0)
        found = covariate(describe_data(panel_of({"a": demand, "x:x": event}, future=("x",))), "x")
        assert found["equal_share"] < 0.1

    def test_profile_lists_types_and_roles_of_covariates(self) -> None:
        frame = Synthetic(num_series=6, length=60, covariates=True).frame()
        schema = Schema(
            past=("visitors",), future=("price", "weather"), static=("size", "region"), calendar=("day_of_week",)
        )
        found = {item["name"]: item for item in describe_data(build_panel(frame, schema))["covariates"]}
        assert {name: (item["role"], item["kind"]) for name, item in found.items()} == {
            "visitors": ("past", "number"),
            "price": ("future", "number"),
            "weather": ("future", "category"),
            "day_of_week": ("future", "calendar"),
            "size": ("static", "number"),
            "region": ("static", "category"),
        }
        assert not any(item["constant"] for item in found.values())
        # A visitor is seen in the target one row later, by construction.
        assert found["visitors"]["lead"] == 1

    def test_profile_marks_a_constant_covariate(self) -> None:
        found = self.found(np.full(200, 2.5))
        assert found["constant"]
        assert found["correlation"] is None


@given(
    values=st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6, width=32)), min_size=3, max_size=40).filter(any),
    end=st.integers(0, 40),
)
@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DataWarning")
def test_profile_of_any_values_is_json_with_fractions_between_0_and_1(values: list[float | None], end: int) -> None:
    panel = panel_of({"a": values, "x:x": [value or 0.0 for value in values]}, past=("x",), missing="mask")
    found = describe_data(panel, train_ends=[min(end, len(values))])
    json.dumps(found, allow_nan=False)
    for name in ("missing_share", "zero_share", "negative_share", "outlier_share"):
        assert 0 <= found[name] <= 1
    assert found == describe_data(panel, train_ends=[min(end, len(values))])


def test_profile_of_a_large_panel_is_sampled_deterministically() -> None:
    rows, series = 2_000, 1_000
    random = np.random.default_rng(7)
    small = panel_of({"a": list(range(10)), "x:x": list(range(10))}, past=("x",))
    panel = Panel(
        schema=small.schema,
        ids=pl.Series("unique_id", [f"{place:04d}" for place in range(series)]),
        starts=small.starts.new_from_index(0, series),
        frequency=small.frequency,
        offsets=np.arange(series + 1) * rows,
        y=random.standard_normal(series * rows).astype(np.float32),
        past_x=random.standard_normal((series * rows, 1)).astype(np.float32),
        past=small.past,
    )
    began = time.process_time()
    found = describe_data(panel)
    assert time.process_time() - began < 1.0  # about 0.1 on a usual machine
    assert found["rows"] == 2_000_000
    assert 900_000 <= found["looked_at"]["rows"] <= 1_000_000
    assert found == describe_data(panel)


def test_profile_of_a_lengthened_panel_without_its_masked_rows_equals_that_of_a_trimmed_copy() -> None:
    random = np.random.default_rng(0)
    frame = pl.concat(
        pl.DataFrame(
            {
                "unique_id": [f"s{place}"] * length,
                "ds": range(place, place + length),
                "y": random.normal(size=length),
                "price": random.normal(size=length),
            }
        )
        for place, length in enumerate((30, 7, 50))
    )
    panel = build_panel(frame, Schema(past=("price",), frequency=1)).lengthened(40)
    found = describe_data(panel, trimmed=True)
    assert found == describe_data(panel.trimmed())
    assert found["rows"] == 87
    assert describe_data(panel)["rows"] == 130
