"""Frames of polars, pandas and Arrow; results have the same kind as the input."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.table import IN_MEMORY, Backend, Table, first_line

_PROBLEMS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)


def backend_of(source: Any) -> Backend:
    """Return the library of a table, so that the result can have the same kind; polars for files."""
    if isinstance(source, (str, os.PathLike, pl.DataFrame, pl.LazyFrame)):
        return "polars"
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(source):
        return "pandas"
    return "pyarrow" if nw.dependencies.is_pyarrow_table(source) else "polars"


def to_native(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Build the frame that a user gets back from polars series or numpy arrays by name.

    Dates become ``datetime64`` in pandas, which has no dates.
    """
    if backend != "pandas":
        frame = pl.DataFrame([_named(name, values) for name, values in columns.items()])
        return frame if backend == "polars" else frame.to_arrow()
    import narwhals as nw

    first, *others = (_to_pandas(nw, name, values) for name, values in columns.items())
    return first.to_frame().with_columns(*others).to_native()


def read_frame(source: Any, wanted: Sequence[str] | None, *, keep_index: bool = False) -> Table:
    """Return the wanted columns, or all of them, of a frame of any library.

    With ``keep_index`` the dates that a pandas frame has as its index become the first column, named ``ds`` where the
    index has no name.
    """
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)):
        try:
            known = source.columns if isinstance(source, pl.DataFrame) else source.collect_schema().names()
            chosen = [name for name in known if wanted is None or name in wanted]
            if isinstance(source, pl.DataFrame) and chosen:
                frame = source[chosen]  # Indexing takes a tenth of the time of a query.
            else:
                frame = source.lazy().select(chosen).collect()
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{IN_MEMORY}: the lazy frame cannot be collected ({first_line(error)})") from None
        return Table(frame, columns=tuple(known))
    import narwhals as nw

    backend = backend_of(source)
    if backend == "polars":
        raise DataError(
            f"{type(source).__name__} is not a table; pass a path, a polars or pandas DataFrame or a pyarrow Table"
        )
    if keep_index and backend == "pandas" and hasattr(source.index, "tz"):
        source = source.rename_axis(index=source.index.name or "ds").reset_index()
    try:
        native = nw.from_native(source, eager_only=True)
        chosen = [name for name in native.columns if wanted is None or name in wanted]
        if backend == "pyarrow":
            frame = pl.DataFrame(pl.from_arrow(native.select(chosen).to_native()))
        else:
            frame = pl.DataFrame([_from_pandas(nw, native[name]).alias(str(name)) for name in chosen])
    except (nw.exceptions.NarwhalsError, *_PROBLEMS) as error:
        raise DataError(f"{IN_MEMORY}: {first_line(error)}") from None
    note = _note_index(source) if backend == "pandas" else ""
    return Table(frame, backend=backend, columns=tuple(str(name) for name in native.columns), note=note)


def _note_index(frame: Any) -> str:
    """Return where names or times may be that are no columns: in the index of a pandas frame, which is not read."""
    names = [str(name) for name in frame.index.names if name is not None]
    if not names and not hasattr(frame.index, "freq"):
        return ""
    what = f"index ({', '.join(names)})" if names else "index"
    reset = "reset_index()" if names else 'reset_index(names="ds")'
    return f" The {what} of the table is not read: pass table.{reset} to make columns of it."


def _from_pandas(nw: Any, column: Any) -> pl.Series:
    """Convert one column without pyarrow, which pandas does not need either."""
    dtype = column.dtype
    if str(column.to_native().dtype).startswith("period["):
        raise DataError(
            f"column {column.name!r} holds periods of pandas; make them times: "
            f"table.assign({column.name}=table[{column.name!r}].dt.to_timestamp())."
        )
    if dtype == nw.Datetime:
        zone = dtype.time_zone
        column = column if zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        numbers = column.to_numpy()
        # Seconds, the unit that pandas gives dates, are unknown to polars.
        times = pl.Series(numbers.astype("datetime64[ms]") if numbers.dtype == "datetime64[s]" else numbers)
        return times if zone is None else times.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    if (dtype.is_numeric() or dtype == nw.Boolean) and not column.is_null().any():
        return pl.Series(column.to_numpy())
    if dtype.is_float():
        return pl.Series(column.to_numpy().astype(np.float64))
    try:
        return pl.Series(column.to_polars())  # Much faster, if pyarrow is there.
    except (ImportError, TypeError, ValueError):
        missing = column.is_null().to_list()
    values = [None if absent else value for value, absent in zip(column.to_list(), missing, strict=True)]
    try:
        return pl.Series(values, strict=True)
    except (TypeError, *_PROBLEMS):
        raise DataError(f"column {column.name!r} holds values of different types; make them one type") from None


def _to_pandas(nw: Any, name: str, values: Any) -> Any:
    if not isinstance(values, pl.Series):
        return nw.new_series(name, values, backend="pandas")
    if not values.dtype.is_temporal():
        plain = values.to_list() if values.dtype.is_nested() or not values.dtype.is_numeric() else values.to_numpy()
        return nw.new_series(name, plain, backend="pandas")
    zone = getattr(values.dtype, "time_zone", None)
    series = nw.new_series(name, values.to_numpy(), backend="pandas")
    return series if zone is None else series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _named(name: str, values: Any) -> pl.Series:
    if not isinstance(values, pl.Series):
        return pl.Series(name, values)
    return values if values.name == name else values.alias(name)
