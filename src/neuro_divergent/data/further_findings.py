"""What else is wrong in a table that cannot be used, so that it can be put right at once."""

from __future__ import annotations

import os
import re
import shlex
import time
import warnings
from collections.abc import Iterator
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, NeuroDivergentError
from neuro_divergent.data.cleaning.calendar import NO_HEADER, is_like_time
from neuro_divergent.data.cleaning.categories import is_category
from neuro_divergent.data.cleaning.epochs import find_epoch_format
from neuro_divergent.data.io.source import DEFAULT_ID, find_files, read_table
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

_MOST_FINDINGS = 8
_SECONDS = 10.0  # after which no further look is begun
_LARGEST_FILES = 50 * 2**20
_MOST_ROWS = 1_000_000
_SAMPLE = 200
_LIKE_NUMBER = re.compile(r"[^\w]*\d[\d.,' ]*[^\w]*")  # perhaps with a sign, a currency or a percent sign


def add_further_findings(error: DataError, source: Any, schema: Schema) -> None:
    """Add to an error, as its notes, what is wrong in a table besides.

    The table is read again as the error offers, and so on until it can be used, or until something is wrong about which
    only the user can decide. Large tables are left alone.
    """
    if not _is_small(source):
        return
    deadline = time.monotonic() + _SECONDS
    found = dict(error.changes)
    if not found:
        found, is_complete = ({}, False) if NO_HEADER in str(error) else _guess_roles(source, schema)
        if found and "Did you mean" not in str(error):
            flags = {role: f"--{role.replace('_', '-')}" for role in found}
            shown = ", ".join(f'{role}="{name}" ({flags[role]} {shlex.quote(name)})' for role, name in found.items())
            error.add_note(f"perhaps: {shown}")
        if not is_complete:
            return
    for _ in range(_MOST_FINDINGS):
        if not found or time.monotonic() > deadline:
            return
        try:
            schema = schema.replace(**found)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                build_panel(source, schema)
            return
        except DataError as other:
            name = f"{os.fspath(source)}: " if isinstance(source, (str, os.PathLike)) else ""
            error.add_note(f"then: {str(other).removeprefix(name)}")
            found = dict(other.changes)
        except NeuroDivergentError:  # Two offers do not go together: the user decides.
            return


def _is_small(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        try:
            return sum(os.path.getsize(path) for path in find_files(os.fspath(source))) <= _LARGEST_FILES  # noqa: PTH202
        except (OSError, NeuroDivergentError):
            return False
    return not hasattr(source, "__len__") or len(source) <= _MOST_ROWS


def _guess_roles(source: Any, schema: Schema) -> tuple[dict[str, str], bool]:
    """Return the columns that can be meant where columns of the schema are missing, and whether that is all of them."""
    if schema.wide:
        return {}, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = read_table(source, schema).columns
            lost = [role for role in ("time", "target") if getattr(schema, role) not in names]
            taken = {*schema.covariates, schema.weight, *(getattr(schema, role) for role in ("time", "target", "id"))}
            if not lost:
                return {}, False
            table = read_table(source, schema, only=names)
    except NeuroDivergentError:
        return {}, False
    free = [column for column in table.frame if column.name not in taken]
    extra = ("date_format",) if "time" in lost and schema.date_format is None else ()
    found = dict(_guesses(free, needs_id=schema.id is None and DEFAULT_ID not in names))
    return {role: found[role] for role in (*lost, "id", *extra) if role in found}, {*lost} <= {*found}


def _guesses(columns: list[pl.Series], *, needs_id: bool) -> Iterator[tuple[str, str]]:
    """Yield roles with the only columns that can have them."""
    times = [column.name for column in columns if column.dtype.is_temporal() or _holds_times(column)]
    counts = [] if times else [column for column in columns if _format_of_counts(column)]
    times += [column.name for column in counts]
    others = [column for column in columns if column.name not in times]
    texts = [column for column in others if is_category(column.dtype) and not _holds_numbers(column)]
    names = [column.name for column in texts if 2 * column.n_unique() <= len(column)]
    numbers = [column.name for column in others if column.dtype.is_numeric() or _holds_numbers(column)]
    if len(times) == 1:
        yield "time", times[0]
        if counts and (form := _format_of_counts(counts[0])):
            yield "date_format", form
    if len(names) == 1 and needs_id:
        yield "id", names[0]
    if len(numbers) == 1:
        yield "target", numbers[0]


def _holds_times(column: pl.Series) -> bool:
    if column.dtype != pl.String:
        return False
    texts = column.drop_nulls().head(_SAMPLE).to_list()
    return bool(texts) and sum(map(is_like_time, texts)) > len(texts) / 2


def _format_of_counts(column: pl.Series) -> str | None:
    """Return the format of integers that can be counts from 1970."""
    if not column.dtype.is_integer():
        return None
    found = {find_epoch_format(value) for value in column.drop_nulls().head(_SAMPLE)}
    return found.pop() if len(found) == 1 else None


def _holds_numbers(column: pl.Series) -> bool:
    texts = column.drop_nulls().head(_SAMPLE).cast(pl.String).to_list()
    return bool(texts) and sum(bool(_LIKE_NUMBER.fullmatch(text)) for text in texts) > len(texts) / 2
