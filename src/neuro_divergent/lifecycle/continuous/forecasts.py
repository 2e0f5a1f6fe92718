"""Forecasts as they were made, so that versions are judged by what they said at the time."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.continuous.rows import id_of
from neuro_divergent.lifecycle.continuous.view import View
from neuro_divergent.lifecycle.promotion.held_out import NAIVE

LEVEL = 80
_ROWS = "forecasts.parquet"


class ForecastStore:
    """Forecasts of versions by their cut-off, each written once.

    Args:
        directory: Where they are.
    """

    def __init__(self, directory: Path) -> None:
        self._store = LocalStore(directory)

    def write(self, version: int, origin: int, rows: pl.DataFrame) -> None:
        """Write the forecasts of a version from a cut-off."""
        buffer = io.BytesIO()
        rows.write_parquet(buffer)
        self._store.write(_name(version, origin), [(_ROWS, buffer.getvalue())])

    def read(self, version: int, origins: Iterable[int]) -> pl.DataFrame:
        """Return forecasts of a version, in order of cut-offs.

        Raises:
            InputError: If there is none.
        """
        parts = [
            pl.read_parquet(io.BytesIO(self._store.read(_name(version, origin))[_ROWS])) for origin in sorted(origins)
        ]
        if not parts:
            raise InputError(f"version {version} has made no forecast.")
        return pl.concat(parts, how="diagonal_relaxed")


def make_forecasts(
    model: ForecastModel, view: View, origin: int, *, version: int, history: int, season_length: int
) -> pl.DataFrame | None:
    """Forecast from a cut-off, with the rows up to it.

    Args:
        model: The model.
        view: What is known.
        origin: The cut-off, in rows since the beginning.
        version: Version of the model.
        history: Rows that a forecast is made from.
        season_length: Rows in a season, for the seasonal naive forecast.

    Returns:
        Id, time, ``cutoff``, ``step``, ``version``, ``forecast``, its interval where there is one, and the seasonal
        naive forecast. Series that end before the cut-off are left out. ``None`` where there is no series left, or
        where covariates that should be known ahead are not there yet.
    """
    name, time = id_of(view.schema), view.schema.time
    horizon, cutoff = model.task.horizon, view.timeline.time(origin)
    rows = view.until(origin, max(history, season_length) + 1)
    alive = rows.filter((pl.col(time) == cutoff) & pl.col(view.schema.target).is_not_null())[name]
    rows = rows.filter(pl.col(name).is_in(alive.implode()))
    if rows.is_empty():
        return None
    future = view.after(origin, horizon) if view.schema.future else None
    if future is not None:
        future = future.filter(pl.col(name).is_in(alive.implode()))
        if future.drop_nulls().height < horizon * len(alive):
            return None
    try:
        made = model.predict(rows, future=future, levels=[LEVEL])
    except InputError:  # it has no intervals
        made = model.predict(rows, future=future)
    made = made if isinstance(made, pl.DataFrame) else pl.from_arrow(made)
    assert isinstance(made, pl.DataFrame)
    naive = _seasonal_naive(rows, view, season_length, horizon)
    made = made.with_columns(pl.int_range(1, pl.len() + 1).over(name).alias("step")).join(
        naive, on=[name, "step"], how="left"
    )
    return made.with_columns(
        pl.lit(cutoff, view.rows.schema[time]).alias("cutoff"), pl.lit(version, pl.Int64).alias("version")
    )


def with_actuals(forecasts: pl.DataFrame, view: View) -> pl.DataFrame:
    """Return forecasts with the values that were observed, as far as they are final."""
    keys = [id_of(view.schema), view.schema.time]
    actuals = view.actuals().rename({view.schema.target: "actual"})
    return forecasts.drop("actual", strict=False).join(actuals, on=keys, how="left", maintain_order="left")


def _seasonal_naive(rows: pl.DataFrame, view: View, season_length: int, horizon: int) -> pl.DataFrame:
    """Return the values of the last season, repeated over the horizon; of shorter series the last value."""
    name, time, target = id_of(view.schema), view.schema.time, view.schema.target
    last = rows.sort(name, time).group_by(name, maintain_order=True).agg(pl.col(target).tail(season_length))
    steps = pl.DataFrame({"step": pl.int_range(1, horizon + 1, dtype=pl.Int64, eager=True)})
    values, place = pl.col(target).list, (pl.col("step") - 1) % season_length
    naive = pl.when(values.len() == season_length).then(values.get(place, null_on_oob=True)).otherwise(values.last())
    return last.join(steps, how="cross").select(name, "step", naive.alias(NAIVE))


def _name(version: int, origin: int) -> str:
    return f"v{version:06d}-{origin:09d}"
