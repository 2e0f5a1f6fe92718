"""New rows for a stored panel, as a part of its own: nothing that is there is written again.

The rows are laid out by the same code that builds panels, together with the last known row of each series, so that gaps
and missing values between old and new rows are treated as within a table.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, new_directory, read_file, write_file
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.core.storage.manifest import MANIFEST, MANIFEST_LIMIT, Entry
from neuro_divergent.data.cleaning.calendar import check_times, show, show_time
from neuro_divergent.data.cleaning.categories import encode_categories, is_category
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.data.io.table import Table, show_type
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import assemble
from neuro_divergent.data.panel_store.files import PARTS, PARTS_LIST, WITH_PARTS
from neuro_divergent.data.panel_store.reading import read_parts_list, read_settings
from neuro_divergent.data.panel_store.stored import PANEL
from neuro_divergent.data.panel_store.writing import PanelWriter
from neuro_divergent.data.schema import DateFormat, Policy, Schema

_MANY = 50  # parts from which on a warning says to join them


@dataclass(frozen=True)
class Appended:
    """What an append did.

    Attributes:
        rows: Rows that were added, with those that fill gaps.
        series: Series that have them.
        new_series: How many of those series were not known before.
        skipped: Rows of the table that were left out because the panel has their times already.
        part: Name of the part; ``None`` if no row was left to add.
    """

    rows: int
    series: int
    new_series: int
    skipped: int
    part: str | None


def append_rows(
    directory: str | Path,
    data: Any,
    *,
    skip_known: bool = False,
    missing: Policy | None = None,
    gaps: Policy | None = None,
    encoding: str | None = None,
    date_format: DateFormat | None = None,
) -> Appended:
    """Add rows to a stored panel: later ones of known series, and new series.

    The rows become a part of their own, complete or absent. Who has the panel open keeps what was there; who opens it
    next sees all. Rows of a known series must begin one step after its last one; a gap between them follows ``gaps``.
    New categories get the codes after those that are known, so the codes of earlier rows stay what they are.

    Args:
        directory: The panel.
        data: Anything that ``fit`` accepts as a table, with the columns that the panel was built from.
        skip_known: Leave out rows up to the last known time of their series instead of refusing them.
        missing: Policy for missing values instead of the one of the panel.
        gaps: Policy for missing rows instead of the one of the panel.
        encoding: How the text of CSV files is written, instead of what the panel was built with.
        date_format: How times are written, likewise.

    Raises:
        DataError: If the rows do not continue the panel, with the series and the time; nothing is changed then.
        InputError: If another process is appending to the panel.
        UntrustedFileError: If the panel is damaged.
        StorageError: If the disk refuses; the panel is then as it was.
    """
    path = Path(directory)
    read_settings(path)
    with lock_panel(path):
        clear_leftovers(path)
        panel = Panel.open(path)
        given = {"missing": missing, "gaps": gaps, "encoding": encoding, "date_format": date_format}
        schema = panel.schema.replace(**{name: value for name, value in given.items() if value is not None})
        rows, skipped = _read(data, panel, schema, skip_known)
        if rows is None:
            return Appended(0, 0, 0, skipped, None)
        part, series, is_new = _lay_out(rows, panel, schema)
        name = _write(path, panel, part, series, is_new)
    return Appended(len(part), part.num_series, int(is_new.sum()), skipped, name)


def lock_panel(path: Path) -> RunLock:
    """Return the lock that only one writer of a panel can hold; it is beside the panel, which may be replaced."""
    path = path.absolute()
    return RunLock(path.with_name(f".{path.name}.lock"))


@dataclass(frozen=True)
class _Rows:
    """Rows that can be added, in the types of the panel.

    Attributes:
        table: Their table; row numbers in messages are its own.
        known: The series of the panel that have some.
        last: The last known row of each of these.
    """

    table: Table
    known: Ints
    last: pl.DataFrame


def _read(data: Any, panel: Panel, schema: Schema, skip_known: bool) -> tuple[_Rows | None, int]:
    """Return the rows that are new, and how many are not."""
    table = read_table(data, schema)
    frame = table.frame
    id_column = schema.id or DEFAULT_ID
    for name in (*([schema.id] if schema.id else []), schema.time, schema.target, *filter(None, [schema.weight])):
        if name not in frame.columns:
            raise table.lacks(name)
    if schema.id is None:
        if DEFAULT_ID in frame.columns and DEFAULT_ID not in schema.covariates:
            raise table.error(f"column {DEFAULT_ID!r} names series, and the panel has only one without a name")
        names = pl.Series(id_column, [panel.ids[0]]).new_from_index(0, frame.height)
    else:
        names = _names(table, frame[id_column], panel.ids)
    times = _times(table, frame[schema.time], panel.starts)
    if not (panel.ids.is_sorted() and panel.ids.n_unique() == panel.num_series):
        message = "its series are not sorted by name, so rows cannot be added. Build it again."
        raise DataError(f"{panel.directory}: {message}")
    place, is_known = _find(_text(panel.ids), _text(names))
    ends = panel.frequency.time_at(panel.starts, panel.lengths - 1)
    old = np.zeros(frame.height, np.bool_)
    old[is_known] = (times.filter(is_known) <= ends.gather(place[is_known].astype(np.uint32))).to_numpy()
    if old.any() and not skip_known:
        _refuse_known(table, names, times, ends, place, old)
    columns = [times.alias(schema.time)] if schema.id is None else [names, times.alias(schema.time)]
    frame = frame.with_columns(columns)
    _check_order(table, schema, names, times)
    if old.any():
        frame, place, is_known = frame.filter(~old), place[~old], is_known[~old]
    if not frame.height:
        return None, int(old.sum())
    known = np.unique(place[is_known])
    kept = dataclasses.replace(table.with_frame(frame), date_format=None)
    return _Rows(kept, known, _last_rows(panel, schema, known)), int(old.sum())


def _lay_out(rows: _Rows, panel: Panel, schema: Schema) -> tuple[Panel, Ints, Bools]:
    """Return the rows as a panel, which series of the panel with them its series are, and which of them are new."""
    categories = _grown(rows.table, panel)
    frame = rows.table.frame.with_columns(_plain_numbers(rows.table.frame, schema, panel))
    if len(rows.known):
        frame = pl.concat([frame, rows.last.select(frame.columns)], how="vertical_relaxed")
    table = rows.table.with_frame(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the last known rows come last, so that row numbers stay right
        whole = assemble(table, schema.replace(strict=False), frequency=panel.frequency, categories=categories)
    if whole.frequency != panel.frequency:
        raise table.error(f"the frequency is {whole.frequency}, that of the panel {panel.frequency}")
    place, is_known = _find(_text(panel.ids), _text(whole.ids))
    cut = is_known.astype(np.int64)
    part = whole.pieces(np.arange(whole.num_series), whole.offsets[:-1] + cut, whole.offsets[1:])
    is_new = ~is_known
    mask = None if part.mask is None or part.mask.all() else part.mask
    changes: dict[str, Any] = {"mask": mask, "schema": panel.schema}
    if part.ids.dtype != panel.ids.dtype:
        changes["ids"] = part.ids.cast(pl.String)
    part = dataclasses.replace(part, **changes)
    return part, place + np.cumsum(is_new) - is_new, is_new


def _write(path: Path, panel: Panel, part: Panel, series: Ints, is_new: Bools) -> str:
    """Write a part and then list it; from that moment it belongs to the panel."""
    settings = read_settings(path)
    has_parts = settings["format"] == WITH_PARTS
    listed = read_parts_list(path) if has_parts else {}
    name = f"{len(listed) + 1:04d}"
    places = path / PARTS
    for place in places.iterdir() if places.is_dir() else ():
        if place.name not in listed:  # of a process that was killed before it listed it
            shutil.rmtree(place, ignore_errors=True)
    known: dict[str, Entry] = {}
    with new_directory(places / name, known) as work, PanelWriter(work) as writer:
        writer.append(part)
        known.update(writer.finish(series=series, is_new=is_new))
    manifest = hashlib.sha256(read_file(places / name / MANIFEST, limit=MANIFEST_LIMIT)).hexdigest()
    parts = [{"name": item, "manifest": digest} for item, digest in (*listed.items(), (name, manifest))]
    write_file(path / PARTS_LIST, strict_json.dumps({"parts": parts}, indent=2))
    if not has_parts:
        write_file(path / PANEL, strict_json.dumps({**settings, "format": WITH_PARTS}, indent=2))
    if len(parts) % _MANY == 0:
        warnings.warn(f"{path}: {len(parts)} parts; join them with: nd panel compact {path}", DataWarning, stacklevel=3)
    return name


def _names(table: Table, names: pl.Series, known: pl.Series) -> pl.Series:
    """Return the names of series in the type of the panel."""
    if missing := names.null_count():
        row = int(names.is_null().arg_true()[0]) + 1
        raise table.error(f"column {names.name!r}: {missing} missing, first row {row}; every row needs a series")
    if not (names.dtype.is_integer() or is_category(names.dtype)) or (
        names.dtype.is_integer() != known.dtype.is_integer()
    ):
        found, wanted = show_type(names.dtype), show_type(known.dtype)
        raise table.error(f"column {names.name!r} is {found}; in the panel it is {wanted}")
    if not names.dtype.is_integer():
        return names.cast(pl.String)
    with suppress(pl.exceptions.InvalidOperationError):
        return names.cast(known.dtype)
    low, high = int(names.min()), int(names.max())  # type: ignore[arg-type]
    raise table.error(f"column {names.name!r}: {low} to {high} do not fit {known.dtype}, the type it has in the panel")


def _times(table: Table, times: pl.Series, starts: pl.Series) -> pl.Series:
    """Return the times in the type of the panel."""
    name = times.name
    found = check_times(times, table.error, table.date_format)
    kind = pl.Int64 if found.dtype.is_integer() else found.dtype.base_type()
    zone = getattr(found.dtype, "time_zone", None)
    wanted = pl.Int64 if starts.dtype.is_integer() else starts.dtype.base_type()
    if kind != wanted or zone != getattr(starts.dtype, "time_zone", None):
        raise table.error(f"column {name!r} is {found.dtype}; in the panel it is {starts.dtype}")
    with suppress(pl.exceptions.InvalidOperationError):
        cast = found.cast(starts.dtype)
        if cast.cast(found.dtype).equals(found):
            return cast
    raise table.error(f"column {name!r} is {found.dtype}; in the panel it is {starts.dtype}, which is coarser")


def _text(names: pl.Series) -> pl.Series:
    return names if names.dtype.is_integer() else names.cast(pl.String)


def _find(known: pl.Series, names: pl.Series) -> tuple[Ints, Bools]:
    """Return where names are or would be among sorted known ones, and whether they are."""
    place = known.search_sorted(names, side="left").to_numpy().astype(np.int64)
    inside = np.minimum(place, len(known) - 1)
    is_known = (known.gather(inside.astype(np.uint32)) == names.rename(known.name)).to_numpy() & (place < len(known))
    return place, is_known


def _refuse_known(table: Table, names: pl.Series, times: pl.Series, ends: pl.Series, place: Ints, old: Bools) -> None:
    first = int(np.flatnonzero(old)[0])
    last = show_time(ends, int(place[first]))
    count = int(old.sum())
    total = f"; {count:,} such rows in all" if count > 1 else ""
    raise table.error(
        f"series {show(names[first])}: row {first + 1}, {show_time(times, first)} is not after the last known time, "
        f"{last}{total}. Rows that are there are not changed; skip_known=True (--skip-known) leaves such rows out"
    )


def _check_order(table: Table, schema: Schema, names: pl.Series, times: pl.Series) -> None:
    """Warn about rows that are not in time order within their series, or refuse them where the schema is strict."""
    frame = pl.DataFrame([names.alias("id"), times.to_physical().alias("time")])
    back = frame.select((pl.col("time").diff().over("id") < 0).fill_null(value=False)).to_series()
    if not back.any():
        return
    first = names.filter(back)[0]
    count = names.filter(back).n_unique()
    place = f"series {show(first)}: " if schema.id else ""
    message = f"{place}rows are out of time order" + (f"; {count} series affected" if schema.id else "")
    if schema.strict:
        raise table.error(f"{message}; strict=True (--strict) allows none")
    warnings.warn(table.describe(f"{message}; they are sorted"), DataWarning, stacklevel=5)


def _last_rows(panel: Panel, schema: Schema, known: Ints) -> pl.DataFrame:
    """Return the last known row of some series; where its target was not observed, with the last one that was."""
    if not len(known):
        return pl.DataFrame()
    last = panel.take(known).tail(1)
    y = np.array(last.y)
    if panel.mask is not None:
        for place in np.flatnonzero(~np.asarray(panel.mask[panel.offsets[known + 1] - 1])):
            y[place] = _last_observed(panel, int(known[place]))
    frame = dataclasses.replace(last, y=y, mask=None).to_frame()
    if schema.missing == "error":  # an unknown category among the known rows is not missing in the new ones
        frame = frame.with_columns(
            pl.col(name).fill_null(pl.lit(values[0])) for name, values in panel.categories.items() if values
        )
    return frame if frame[schema.time].dtype == panel.starts.dtype else frame.cast({schema.time: panel.starts.dtype})


def _last_observed(panel: Panel, series: int) -> float:
    assert panel.mask is not None
    begin, end = int(panel.offsets[series]), int(panel.offsets[series + 1])
    while end > begin:
        first = max(begin, end - 4096)
        found = np.flatnonzero(panel.mask[first:end])
        if len(found):
            return float(panel.y[first + int(found[-1])])
        end = first
    return 0.0


def _grown(table: Table, panel: Panel) -> dict[str, list[Any]]:
    """Return the categories of the panel, followed by those that are new in a table."""
    grown = {}
    for name, known in panel.categories.items():
        if name not in table.frame.columns:
            raise table.lacks(name)
        column = table.frame[name].unique().drop_nulls()
        _, unknown = encode_categories(column, known)
        values = column.gather(unknown).sort()
        if is_category(values.dtype):
            values = values.cast(pl.String)
        added = values.to_list()
        if known and isinstance(known[0], str):
            added = [str(value) for value in added]
        grown[name] = [*known, *sorted(added)]
    return grown


def _plain_numbers(frame: pl.DataFrame, schema: Schema, panel: Panel) -> list[pl.Series]:
    """Return the columns whose types must change so that the last known rows, in 32-bit floats, can stand below them.

    Integers are rounded once, as they are when a table is read.
    """
    changed = []
    for name in (schema.target, *filter(None, [schema.weight]), *schema.covariates):
        if name not in frame.columns:
            continue
        column = frame[name]
        if name in panel.categories:
            if is_category(column.dtype):
                changed.append(column.cast(pl.String))
        elif column.dtype.is_integer() or column.dtype == pl.Boolean:
            changed.append(column.cast(pl.Float32))
        elif column.dtype == pl.Decimal:
            changed.append(column.cast(pl.Float64))
    return changed
