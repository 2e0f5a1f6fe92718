"""Times that are counted from the beginning of 1970, in UTC."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from neuro_divergent.data.schema import EPOCHS

_UNITS: dict[str, Literal["s", "ms", "us", "ns"]] = {
    "epoch-s": "s", "epoch-ms": "ms", "epoch-us": "us", "epoch-ns": "ns",
}  # fmt: skip
_IN_SECOND = {"epoch-s": 1, "epoch-ms": 10**3, "epoch-us": 10**6, "epoch-ns": 10**9}
_FROM, _TO = 631_152_000, 4_102_444_800  # 1990 and 2100, in seconds: smaller numbers may count anything


def parse_epochs(texts: pl.Series, form: str) -> pl.Series:
    """Return datetimes without a zone for integers that are text, missing for other text."""
    numbers = texts.cast(pl.Int64, strict=False)
    return pl.from_epoch(numbers, time_unit=_UNITS[form]).cast(pl.Datetime("ns" if form == "epoch-ns" else "us"))


def find_epoch_format(time: Any) -> str | None:
    """Return the format of an integer that can be a count from 1970."""
    return next((form for form in EPOCHS if _FROM <= time / _IN_SECOND[form] < _TO), None)


def explain_epochs(time: Any, step: int) -> str | None:
    """Return what an integer can mean as a count from 1970, and what to pass for it; nothing where it is none.

    ``step`` is from one row to the next.
    """
    if (form := find_epoch_format(time)) is None:
        return None
    shown = parse_epochs(pl.Series([str(time)]), form).dt.strftime("%Y-%m-%d %H:%M:%S")[0]
    return (
        f"{time} can be {EPOCHS[form]} since 1970 ({shown} UTC), but integers have no calendar and no usual season. "
        f'If they are times, pass date_format="{form}" (--date-format {form}); if they only count, '
        f"frequency={step} (--frequency {step})"
    )
