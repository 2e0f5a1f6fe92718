"""Blocks of stored forecasts: one horizon of two versions each, once its values are known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.lifecycle.promotion.held_out import NAIVE, find_id, scale_table

_SERVING, _SHADOW, _VERSION = "serving", "shadow", "version"


@dataclass(frozen=True)
class Block:
    """One horizon that both versions forecast before its values were known.

    Losses are absolute errors divided by the scale of the series, averaged over each series and then over the series.

    Attributes:
        index: The origin as an integer (microseconds for times): blocks are ordered by it.
        following: Earliest index that the next block may have, after the horizon and the gap.
        origin: The origin, as text.
        end: Time of the last value, as text.
        serving: Loss of the version that serves; infinite if it gave a number that is not finite.
        shadow: Loss of the version that runs in its shadow, likewise.
        naive: Loss of the seasonal naive forecast; NaN if it was not stored.
        series: Number of series.
    """

    index: int
    following: int
    origin: str
    end: str
    serving: float
    shadow: float
    naive: float
    series: int

    @property
    def difference(self) -> float:
        """Loss of the serving version minus that of the shadow: above 0 if the shadow is better.

        If both failed, nobody is better, and the difference is 0.
        """
        return 0.0 if math.isinf(self.serving) and math.isinf(self.shadow) else self.serving - self.shadow

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON has; what is not finite is ``None``."""
        plain: dict[str, Any] = finite_or_none(asdict(self))
        return plain


def read_blocks(
    forecasts: pl.DataFrame,
    actuals: pl.DataFrame,
    *,
    serving: Any,
    shadow: Any,
    horizon: int,
    scales: Mapping[Any, float],
    gap: int | None = None,
    after: int | None = None,
    closed: Any = None,
    target: str = "y",
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
    origin: str = "cutoff",
) -> list[Block]:
    """Return the complete blocks of two versions, in order of time.

    The first origin that both versions forecast starts the first block; the next block starts at the first origin that
    lies a gap after the last value of the one before. So values never belong to two blocks, and which origins are
    used depends on when forecasts were made, never on what came out. A block whose values are not all there yet ends
    the list: later ones wait for it.

    Args:
        forecasts: Stored forecasts: id, time, ``cutoff``, ``version``, ``forecast`` and perhaps ``seasonal naive`` and
            ``made_at``. If a version forecast a value twice from one origin, the first one counts.
        actuals: Observed values: id, time and ``target``; a null is a value that is known to be missing.
        serving: The version that serves, as in the column ``version``.
        shadow: The version that runs in its shadow.
        horizon: Steps of a forecast; series with fewer are left out of a block.
        scales: What the errors of each series are divided by; they must be known before the first block, and stay the
            same. Series without one are left out.
        gap: Steps between the last value of a block and the next origin; unset, a horizon.
        after: Index from which on origins may be used: ``following`` of the last block that was used.
        closed: Time up to which no more values are expected: blocks that end there do not wait for missing ones.
        target: Column of observed values.
        id: Column of ids; unset, ``unique_id``.
        time: Column of times.
        origin: Column that tells forecasts made together apart.
    """
    if horizon < 1 or (gap is not None and gap < 0):
        raise InputError(f"horizon {horizon!r} must be at least 1 and gap {gap!r} at least 0.")
    name = find_id(forecasts, id)
    pairs = _pair(forecasts, (serving, shadow), horizon, name, time, origin)
    pairs = pairs.join(scale_table(scales, name, pairs.schema[name]), on=name, how="inner", maintain_order="left")
    known = actuals.select(name, time, pl.col(target).cast(pl.Float64).alias("actual"), known=pl.lit(value=True))
    pairs = pairs.join(known.unique([name, time], keep="last"), on=[name, time], how="left", maintain_order="left")
    blocks: list[Block] = []
    for (start,), rows in pairs.sort(origin, maintain_order=True).group_by(origin, maintain_order=True):
        index, end = _integer(start), rows[time].max()
        if after is not None and index < after:
            continue
        is_final = closed is not None and end <= closed
        if not rows["known"].fill_null(value=False).all() and not is_final:
            break
        length = (_integer(end) - index) / horizon
        # Half a step of tolerance: months are not equally long.
        after = math.ceil(_integer(end) + ((horizon if gap is None else gap) - 0.5) * length)
        losses = _losses(rows, name)
        if losses is not None:
            blocks.append(Block(index, after, str(start), str(end), *losses))
    return blocks


def _pair(
    forecasts: pl.DataFrame,
    versions: tuple[Any, Any],
    horizon: int,
    id: str,  # noqa: A002 (as in a schema)
    time: str,
    origin: str,
) -> pl.DataFrame:
    """Return the forecasts of both versions in one row per value, for complete horizons of both."""
    missing = [name for name in (id, time, origin, _VERSION, "forecast") if name not in forecasts.columns]
    if missing:
        raise DataError(
            f"forecasts: there is no column {missing[0]!r}; stored forecasts have {id}, {time}, {origin}, "
            f"{_VERSION} and forecast."
        )
    keys = [id, time, origin]
    if "made_at" in forecasts.columns:
        forecasts = forecasts.sort("made_at", maintain_order=True)
    parts = []
    for role, version in zip((_SERVING, _SHADOW), versions, strict=True):
        extra = [NAIVE] if role == _SERVING and NAIVE in forecasts.columns else []
        own = forecasts.filter(pl.col(_VERSION) == version).unique(keys, keep="first", maintain_order=True)
        own = own.filter(pl.len().over(id, origin) == horizon)
        parts.append(own.select(*keys, *extra, pl.col("forecast").cast(pl.Float64).alias(role)))
    return parts[0].join(parts[1], on=keys, how="inner", maintain_order="left")


def _losses(rows: pl.DataFrame, id: str) -> tuple[float, float, float, int] | None:  # noqa: A002 (as in a schema)
    """Return the losses of both versions and of the naive forecast, and the number of series; ``None`` if none."""
    seen = rows.filter(pl.col("actual").is_not_null() & pl.col("actual").is_finite())
    if not seen.height:
        return None
    names = [_SERVING, _SHADOW, *([NAIVE] if NAIVE in seen.columns else [])]
    errors = ((pl.col(name) - pl.col("actual")).abs() / pl.col("scale") for name in names)
    series = seen.group_by(id, maintain_order=True).agg(error.mean() for error in errors)
    means = series.select(pl.col(names).mean()).row(0, named=True)
    losses = {
        name: means[name] if rows[name].is_finite().fill_null(value=False).all() else math.inf for name in names[:2]
    }
    naive = means.get(NAIVE)
    return losses[_SERVING], losses[_SHADOW], math.nan if naive is None else naive, series.height


def _integer(moment: Any) -> int:
    """Return a time as microseconds, or an integer as it is."""
    series = pl.Series([moment])
    if series.dtype.is_temporal():
        return int(series.cast(pl.Datetime("us")).to_physical()[0])
    if series.dtype.is_integer():
        return int(moment)
    raise DataError(f"the origin {moment!r} is neither a time nor an integer.")
