"""Whatever the frame: a clear error, or a finite forecast of the right shape from a network that was really trained."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataWarning, DivergedError, InputError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.models.mlp import MLP
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.training.config import TrainingConfig

SOAK = bool(os.environ.get("ND_SOAK"))
COUNT = 5_000 if SOAK else 60
POLICIES = ("error", "interpolate", "forward", "zero", "mask")
STEPS = ("1ns", "250us", "7ms", "1s", "15m", "1h", "5h", "1d", "bd", "1w", "1mo", "me", "1q", "1y", "2y", "1", "7")
ZONES = (None, None, "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")
WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt32, pl.UInt64)
LENGTHS = st.one_of(st.integers(0, 4), st.integers(5, 30), st.sampled_from([31, 64, 97]))
OUTCOMES: Counter[str] = Counter()


@st.composite
def clocks(draw: st.DrawFn, frequency: Frequency, length: int) -> pl.Series:
    """Times one step apart, in one of the many types that times come in."""
    if frequency.unit == "":
        kind = draw(st.sampled_from(WHOLE))
        numbers = np.arange(length) * frequency.count + draw(st.sampled_from([0, 0, 1, 100, -3, 2**40, 2**60]))
        return pl.Series("ds", numbers.tolist(), dtype=pl.Int64).cast(kind, strict=False)
    unit = "ns" if frequency.unit == "ns" else draw(st.sampled_from(["us", "us", "ns", "ms"]))
    moment = datetime(2019, 1, 1, tzinfo=UTC) + timedelta(minutes=30 * draw(st.integers(0, 100_000)))
    if unit != "ns" and draw(st.integers(0, 9)) == 0:
        moment = moment.replace(year=draw(st.sampled_from([1000, 1677, 1969, 2262, 2999])), day=1)
    start = pl.Series("ds", [moment.replace(tzinfo=None)]).cast(pl.Datetime("us"))
    if frequency.unit in ("me", "mo", "q", "y", "bd"):
        start = start.dt.month_end() if frequency.unit == "me" else start
        start = start.dt.add_business_days(0, roll="forward") if frequency.unit == "bd" else start
    zone = draw(st.sampled_from(ZONES))
    if frequency.size(start.dtype) is None or frequency.unit in ("d", "w"):
        times = frequency.time_at(start.new_from_index(0, length), np.arange(length))
        if draw(st.booleans()):
            return times.cast(pl.Date)
        times = times.cast(pl.Datetime(unit))
        return times if zone is None else times.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    times = frequency.time_at(start.cast(pl.Datetime(unit)).new_from_index(0, length), np.arange(length))
    return times if zone is None else times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


@st.composite
def targets(draw: st.DrawFn, length: int) -> pl.Series:
    """Values as they are in the world, and some that are only in files."""
    kind = draw(
        st.sampled_from(["wave"] * 4 + ["constant", "zero", "tiny", "huge", "edge", "any", "whole", "step", "true"])
    )
    wave = np.sin(np.arange(length)) * 3 + 10
    values: Any = {
        "wave": wave,
        "constant": np.full(length, draw(st.sampled_from([1.0, -7.5, 1e30, 1e-30, 16_777_217.0]))),
        "zero": np.zeros(length),
        "tiny": wave * 1e-40,
        "huge": wave * 1e37,
        "edge": np.where(np.arange(length) % 2, 3.4e38, -3.4e38),
        "any": np.resize(draw(st.lists(st.floats(width=32), min_size=1, max_size=8)), length),
        "whole": np.arange(length) % 7,
        "step": np.where(np.arange(length) < length // 2, 1e-20, 1e20),
        "true": np.arange(length) % 2 == 0,
    }[kind]
    return pl.Series("y", values)


@st.composite
def frames(draw: st.DrawFn) -> tuple[pl.DataFrame, dict[str, Any]]:
    frequency = Frequency.parse(draw(st.sampled_from(STEPS)))
    clock = draw(clocks(frequency, 100))
    parts = []
    for number in range(draw(st.integers(1, 3))):
        length = draw(LENGTHS)
        begin = draw(st.sampled_from([0, 0, 3]))
        times = clock.slice(begin, length)
        parts.append(
            pl.DataFrame(
                {
                    "unique_id": pl.Series([f"s{number}"] * len(times), dtype=pl.String),
                    "ds": times,
                    "y": draw(targets(len(times))).cast(pl.Float64),
                    "x": pl.Series(np.cos(np.arange(len(times))), dtype=pl.Float64),
                    "c": pl.Series([("p", "q", "r")[n % 3] for n in range(len(times))], dtype=pl.String),
                    "s": pl.Series([float(number)] * len(times), dtype=pl.Float64),
                }
            )
        )
    frame = pl.concat(parts)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        frame = draw(soiled(frame))
    frame = draw(retyped(frame))
    roles = draw(st.sampled_from([
        {}, {}, {"past": "x"}, {"future": ("x", "c")}, {"static": "s"}, {"past": "c", "static": "s"}, {"weight": "s"},
        {"calendar": ("month", "day_of_week_sin")}, {"calendar": "hour"}, {"past": "s", "categorical": "s"},
    ]))  # fmt: skip
    schema = {
        **roles,
        "missing": draw(st.sampled_from(POLICIES)),
        "gaps": draw(st.sampled_from(POLICIES)),
        "short": draw(st.sampled_from(["error", "drop", "pad", "pad"])),
        "frequency": draw(st.sampled_from([None, None, str(frequency)])),
    }
    return frame, schema


@st.composite
def soiled(draw: st.DrawFn, frame: pl.DataFrame) -> pl.DataFrame:
    """One thing that goes wrong with a table."""
    if not frame.height:
        return frame
    here = pl.int_range(pl.len()).is_in(draw(st.lists(st.integers(0, frame.height - 1), min_size=1, max_size=4)))
    column = draw(st.sampled_from(["y", "y", "x", "c", "s", "ds", "unique_id"]))
    kind = draw(st.sampled_from(["null", "null", "number", "repeat", "drop", "shuffle", "end", "remove"]))
    if column not in frame.columns:
        return frame
    if kind == "number" and column in ("y", "x", "s"):
        number = draw(st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e39, 1e300, 3.5e38, 0.0, -1.0]))
        return frame.with_columns(pl.when(here).then(number).otherwise(pl.col(column)).alias(column))
    return {
        "null": lambda: frame.with_columns(pl.when(here).then(None).otherwise(pl.col(column)).alias(column)),
        "repeat": lambda: pl.concat([frame, frame.filter(here)]),
        "drop": lambda: frame.filter(~here),
        "shuffle": lambda: frame.sample(fraction=1, shuffle=True, seed=1),
        "end": lambda: frame.head(draw(st.integers(0, frame.height))),
        "remove": lambda: frame.drop(column),
    }.get(kind, lambda: frame)()


@st.composite
def retyped(draw: st.DrawFn, frame: pl.DataFrame) -> Any:
    """The same table as another program would hold it."""
    if "unique_id" in frame.columns:
        how = draw(st.sampled_from(["text", "text", "category", "number", "none"]))
        if how == "category":
            frame = frame.with_columns(pl.col("unique_id").cast(pl.Categorical))
        elif how == "number":
            frame = frame.with_columns(pl.col("unique_id").str.slice(1).cast(pl.Int64, strict=False))
        elif how == "none":
            frame = frame.filter(pl.col("unique_id").eq_missing(pl.col("unique_id").first())).drop("unique_id")
    if "y" in frame.columns:
        kind = draw(st.sampled_from([None] * 6 + [pl.Float32, pl.Int64, pl.String, pl.Decimal(38, 3)]))
        if isinstance(kind, pl.Decimal):  # what has too many digits cannot even be made missing
            frame = frame.with_columns(pl.when(pl.col("y").abs() < 1e15).then(pl.col("y")))
        frame = frame if kind is None else frame.with_columns(pl.col("y").cast(kind, strict=False))
    if "ds" in frame.columns and draw(st.integers(0, 9)) == 0:
        frame = frame.with_columns(pl.col("ds").cast(pl.String))
    backend = draw(st.sampled_from(["polars"] * 6 + ["pandas", "pyarrow"]))
    return frame if backend == "polars" else frame.to_pandas() if backend == "pandas" else frame.to_arrow()


def ahead(panel: Panel, horizon: int) -> pl.DataFrame | None:
    """The covariates known ahead, for each step to come."""
    if not panel.schema.future:
        return None
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    columns = {panel.schema.time: panel.frequency.times_after(ends, horizon)}
    if panel.schema.id is not None:
        columns[panel.schema.id] = panel.ids.gather(np.repeat(np.arange(panel.num_series), horizon))
    return pl.DataFrame(columns).with_columns(x=pl.lit(0.5), c=pl.lit(panel.categories["c"][0]))


def as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    return pl.DataFrame(pl.from_arrow(frame)) if hasattr(frame, "schema") else pl.from_pandas(frame)


def forecast(frame: Any, schema: dict[str, Any], task: dict[str, Any], architecture: Any) -> None:
    """Train and forecast, and check everything about the forecast that can be known."""
    training = TrainingConfig(max_steps=2, threads=1, batch_size=8)
    forecaster = Forecaster(architecture, training=training, **task).fit(frame, **schema)
    panel, horizon = forecaster.panel, task["horizon"]
    assert panel is not None
    levels = [80] if task["validation"] and forecaster.fitted.predictor.intervals is not None else []
    result = as_polars(forecaster.predict(future=ahead(panel, horizon), levels=levels))
    assert result.height == panel.num_series * horizon
    for column in result.select(pl.selectors.float()):
        assert column.is_finite().all(), (column.name, column.to_list()[:10])
    time, name = panel.schema.time, panel.schema.id
    assert result[time].null_count() == 0
    lasts = panel.to_frame().group_by(name, maintain_order=True).agg(pl.col(time).max()) if name else None
    for number in range(panel.num_series):
        times = result[time].slice(number * horizon, horizon)
        before = panel.to_frame()[time].max() if lasts is None else lasts[time][number]
        assert times.is_sorted()
        assert times.n_unique() == horizon
        assert times.dtype == panel.starts.dtype or not isinstance(frame, pl.DataFrame)
        assert (times.cast(panel.starts.dtype) > before).all()


def assert_clear(message: str) -> None:
    assert message
    assert "\n" not in message
    assert not re.search(r"\bNone\b|object at 0x|shape: \(|Traceback|\bdtype\b|np\.|numpy\.", message), message


@settings(
    max_examples=COUNT, deadline=None, derandomize=not SOAK, suppress_health_check=list(HealthCheck), database=None
)
@given(
    frames(),
    st.fixed_dictionaries(
        {
            "horizon": st.sampled_from([1, 2, 3, 5]),
            "input_size": st.sampled_from([None, None, 1, 4, 12]),
            "scaler": st.sampled_from(WindowScaler.registry.names()),
            "series_scaler": st.sampled_from([None, None, *SeriesScaler.registry.names()]),
            "validation": st.sampled_from([0, 0.2, 5]),
        }
    ),
    st.booleans(),
)
def _check_any_frame(table: tuple[Any, dict[str, Any]], task: dict[str, Any], simple: bool) -> None:
    frame, schema = table
    simple = simple and not {"past", "future", "static", "calendar"} & set(schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            forecast(frame, schema, task, NLinear() if simple else MLP(hidden_size=4, num_layers=1))
        except InputError as error:
            OUTCOMES["refused"] += 1
            message = str(error)
        except DivergedError as error:
            OUTCOMES["diverged"] += 1
            message = str(error)
        else:
            OUTCOMES["forecast"] += 1
            return
    assert_clear(message)


def test_any_frame_gives_a_clear_error_or_a_finite_forecast(record_property: Callable[[str, object], None]) -> None:
    OUTCOMES.clear()
    _check_any_frame()
    for outcome, count in OUTCOMES.items():
        record_property(outcome, count)
    assert OUTCOMES["forecast"] > (COUNT / 10 if SOAK else 0)
    assert OUTCOMES["refused"] > COUNT / 10


@pytest.mark.parametrize("series_scaler", [None, *SeriesScaler.registry.names()])
@pytest.mark.parametrize("scaler", WindowScaler.registry.names())
def test_constant_series_have_finite_forecasts(scaler: str, series_scaler: str | None) -> None:
    values = [5.0, 1e-30, 1e17, *([] if series_scaler == "boxcox" else [0.0, -0.5])]
    parts = [pl.DataFrame({"unique_id": str(value), "ds": range(30), "y": [value] * 30}) for value in values]
    task = {"horizon": 3, "input_size": 6, "scaler": scaler, "series_scaler": series_scaler, "validation": 0.2}
    with pytest.warns(DataWarning, match="constant, always .*; [35] series affected"):
        forecast(pl.concat(parts), {}, task, NLinear())
