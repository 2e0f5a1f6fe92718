"""Held-out forecasts of two versions as scaled errors on the same values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.data.io.source import DEFAULT_ID

NAIVE = "seasonal naive"
CHAMPION, CHALLENGER = "champion", "challenger"
_BACK, _SCALE = "origins back", "scale"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors of both versions at the same values, each divided by the scale of its series.

    Attributes:
        errors: A row for each value: id, time, ``cutoff``, ``step``, how many origins it lies before the last one of
            its series, and the scaled absolute errors ``champion``, ``challenger`` and ``seasonal naive``, the first
            and the last where they exist.
        forecasts: The challenger's forecasts, as they came.
        id: Column of ids.
        time: Column of times.
        left_out: Number of the challenger's values that are not in ``errors``: without an observed value, a scale or a
            forecast of the champion.
    """

    errors: pl.DataFrame
    forecasts: pl.DataFrame
    id: str
    time: str
    left_out: int

    @classmethod
    def of(
        cls,
        champion: pl.DataFrame | None,
        challenger: pl.DataFrame,
        *,
        scales: Mapping[Any, float] | None,
        id: str,  # noqa: A002 (as in a schema)
        time: str,
    ) -> HeldOut:
        """Join the forecasts of two versions; ``scales`` unset, errors of the seasonal naive forecast are the scale.

        Where that forecast is exact, the scale of a series is its mean absolute value.
        """
        keys = [id, time, "cutoff", "step"]
        for name, table in ((CHAMPION, champion), (CHALLENGER, challenger)):
            if table is not None:
                _require(table, name, [*keys, "actual", "forecast"])
        columns = [*keys, "actual", *([NAIVE] if NAIVE in challenger.columns else [])]
        joined = challenger.select(*columns, pl.col("forecast").alias(CHALLENGER))
        if champion is not None:
            joined = joined.join(champion.select(*keys, pl.col("forecast").alias(CHAMPION)), on=keys, how="inner")
            if not joined.height:
                raise DataError(
                    "champion and challenger have no forecast in common: evaluate both on the same windows, so that "
                    f"{', '.join(keys)} agree."
                )
        joined = joined.filter(pl.col("actual").is_not_null() & pl.col("actual").is_not_nan())
        names = [name for name in (CHAMPION, CHALLENGER, NAIVE) if name in joined.columns]
        scaled = _with_scales(joined, scales, id)
        errors = scaled.select(
            *keys,
            pl.col("cutoff").rank("dense", descending=True).over(id).alias(_BACK),
            *((pl.col(name) - pl.col("actual")).abs().cast(pl.Float64) / pl.col(_SCALE) for name in names),
        )
        if not errors.height:
            raise DataError("there is no held-out value to compare: nothing was observed, or no series has a scale.")
        return cls(errors, challenger, id, time, challenger.height - errors.height)

    @property
    def origins(self) -> int:
        """Number of origins."""
        return int(self.errors[_BACK].n_unique())

    def mean_errors(self, *names: str, of: pl.Expr | None = None) -> tuple[float, ...]:
        """Return the mean error of each name where all have one: of each series first, then over the series."""
        known = self.errors if of is None else self.errors.filter(of)
        known = known.filter(*(pl.col(name).is_not_null() & pl.col(name).is_not_nan() for name in names))
        if not known.height:
            return tuple(math.nan for _ in names)
        means = known.group_by(self.id, maintain_order=True).agg(pl.col(*names).mean()).select(pl.col(*names).mean())
        return means.row(0)

    def differences(self) -> Floats:
        """Return the challenger's error minus the champion's at each origin, in order of time; NaN if undefined.

        A series counts as much as any other: its errors at an origin are averaged first, then the series are.
        """
        series = self.errors.group_by(_BACK, self.id).agg(pl.col(CHAMPION, CHALLENGER).mean())
        origins = (
            series.sort(_BACK, self.id).group_by(_BACK, maintain_order=True).agg(pl.col(CHAMPION, CHALLENGER).mean())
        )
        found = origins.sort(_BACK, descending=True)
        return np.asarray((found[CHALLENGER] - found[CHAMPION]).to_numpy(), np.float64)

    def overlap(self, horizon: int) -> int:
        """Return the number of successive origins whose horizons overlap."""
        origins = self.errors.select(self.id, "cutoff").unique().sort(self.id, "cutoff")
        following = origins.with_columns(pl.col("cutoff").shift(-1).over(self.id).alias(self.time))
        # Horizons overlap if the next cut-off is a time within this horizon.
        met = self.errors.join(following, on=[self.id, "cutoff", self.time], how="inner")["step"]
        return math.ceil(horizon / int(met.min())) if len(met) else 1  # type: ignore[arg-type]


def find_id(table: pl.DataFrame, name: str | None) -> str:
    """Return the column of ids."""
    if name is not None or DEFAULT_ID in table.columns:
        return name or DEFAULT_ID
    raise InputError(f"id: there is no column {DEFAULT_ID!r}; name the column of ids with id=.")


def scale_table(scales: Mapping[Any, float], id: str, dtype: Any) -> pl.DataFrame:  # noqa: A002 (as in a schema)
    """Return the scales that can be divided by as a table of ``id`` and ``scale``."""
    usable = {key: float(scale) for key, scale in scales.items() if scale is not None and 0 < scale < math.inf}
    keys = pl.Series(id, list(usable), dtype=None if usable else dtype, strict=False).cast(dtype)
    return pl.DataFrame([keys, pl.Series(_SCALE, list(usable.values()), dtype=pl.Float64)])


def _with_scales(joined: pl.DataFrame, scales: Mapping[Any, float] | None, id: str) -> pl.DataFrame:  # noqa: A002
    """Add the scale of each series; rows of series without one are left out."""
    if scales is not None:
        return joined.join(scale_table(scales, id, joined.schema[id]), on=id, how="inner", maintain_order="left")
    if NAIVE not in joined.columns:
        raise InputError(f"scales: the forecasts have no column {NAIVE!r} to scale errors by; pass scales=.")
    own = (pl.col(NAIVE) - pl.col("actual")).abs().fill_nan(None).mean().over(id).cast(pl.Float64)
    level = pl.col("actual").abs().mean().over(id).cast(pl.Float64)  # where the naive forecast is exact
    return joined.with_columns(pl.when(own == 0).then(level).otherwise(own).alias(_SCALE)).filter(pl.col(_SCALE) > 0)


def _require(table: pl.DataFrame, name: str, columns: list[str]) -> None:
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise DataError(
            f"{name}: there is no column {missing[0]!r}; pass held-out forecasts with {', '.join(columns)}, as "
            "evaluate(...).forecasts has them."
        )
    keys = columns[:4]
    if table.select(pl.struct(keys).is_duplicated().any()).item():
        raise DataError(f"{name}: some values are forecast twice; {', '.join(keys)} must name each value once.")
