"""Data validation: compares a table with expectations, before anything is made from it."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl
from pydantic import Field, field_validator

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError, DataWarning, check_choice
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.pipeline.expectations import TableValidator, Type, Violation
from neuro_divergent.lifecycle.pipeline.series_table import with_id
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

Action = Literal["stop", "warn", "quarantine"]
EXPECTATIONS = (
    "columns", "types", "ranges", "duplicates", "missing", "min_rows", "min_series", "freshness", "unit_jumps",
)  # fmt: skip
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SHOWN = 3


@register("data_validation")
class DataValidation(Stage):
    """Compares a table with expectations, and stops, warns or removes what violates them.

    The columns with a role must be there, times must be readable, the target must hold finite numbers, and no series
    may have a time twice; all else is expected only if it is said here. A violation of the whole table cannot be
    quarantined, and stops instead.

    Takes ``table`` and ``schema``. Gives ``table`` (what is left, with times that are read), ``quarantine`` (rows that
    were removed, with a column ``reason``) and ``findings`` (what was found, one row each).

    Attributes:
        required: Further columns that must be there.
        types: Types of columns: ``number``, ``integer``, ``text``, ``boolean`` or ``time``.
        ranges: Smallest and largest value of columns; ``"none"`` for no limit.
        freshness: How old the last row of each series may be: ``"36h"``, ``"2d"``. Times without a zone are in UTC.
        max_missing: Largest fraction of missing targets in a series, or a fraction for each of several columns.
        unit_jump: Factor by which the values of a series must not become larger or smaller for good from one row to the
            next, such as 100 to find a change of units.
        duplicates: Whether to look for rows with the same series and time.
        min_rows: Smallest number of rows of a series.
        min_series: Smallest number of series.
        on_failure: What happens to a violation: ``stop``, ``warn``, or ``quarantine``, which removes the rows or
            series.
        actions: The same for single expectations: ``columns``, ``types``, ``ranges``, ``duplicates``, ``missing``,
            ``min_rows``, ``min_series``, ``freshness``, ``unit_jumps``.
        quarantine: Whether single rows are removed, or the whole series that they belong to.

    Examples:
        >>> import neuro_divergent as nd
        >>> check = nd.lifecycle.DataValidation(ranges={"y": (0, 600)}, on_failure="quarantine")
        >>> result = nd.Pipeline([check], data=nd.datasets.air_passengers(), directory="flights").run()
        >>> result["data_validation.quarantine"].select("y", "reason").rows()
        [(622.0, 'ranges: y'), (606.0, 'ranges: y')]
        >>> result["data_validation.table"].height
        142
    """

    takes: ClassVar[tuple[Port, ...]] = (Port("table"), Port("schema"))
    gives: ClassVar[tuple[str, ...]] = ("table", "quarantine", "findings")

    required: tuple[str, ...] = ()
    types: dict[str, Type] = Field(default_factory=dict)
    ranges: dict[str, tuple[float | Literal["none"], float | Literal["none"]]] = Field(default_factory=dict)
    freshness: str | None = None
    max_missing: float | dict[str, float] | None = None
    unit_jump: float | None = Field(default=None, gt=1)
    duplicates: bool = True
    min_rows: int = Field(default=1, ge=0)
    min_series: int = Field(default=1, ge=0)
    on_failure: Action = "stop"
    actions: dict[str, Action] = Field(default_factory=dict)
    quarantine: Literal["rows", "series"] = "rows"

    @field_validator("freshness")
    @classmethod
    def _is_duration(cls, value: str | None) -> str | None:
        if value is not None and not _DURATION.fullmatch(value):
            raise ValueError(f"{value!r} is no length of time; write 90min, 36h, 2d or 1w")
        return value

    @field_validator("actions")
    @classmethod
    def _are_known(cls, value: dict[str, Action]) -> dict[str, Action]:
        for name in value:
            check_choice("expectation", name, EXPECTATIONS)
        return value

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        frame = inputs["table"].table()
        schema = with_id(Schema.from_dict(inputs["schema"].load()), frame.columns)
        validator = TableValidator(frame, schema)
        found = [(violation, self._action(violation)) for violation in self._violations(validator)]
        findings = _findings_table(found)
        context.show("Findings", findings)
        self._stop_or_warn(found, context)
        result = self._separate(validator, found)
        if not result["table"].height:
            raise DataError("no row is left after what violates the expectations is removed.")
        if self.freshness is not None:
            self._expire(validator, context)
        if result["quarantine"].height:
            context.note(f"{result['quarantine'].height:,} of {frame.height:,} rows are in quarantine.")
        return {**result, "findings": findings}

    def _violations(self, validator: TableValidator) -> Iterator[Violation]:
        missing = list(validator.check_columns(self.required))
        yield from missing
        if missing:
            return
        yield from validator.check_times()
        yield from validator.check_types(self.types)
        limits = {key: tuple(None if end == "none" else end for end in span) for key, span in self.ranges.items()}
        yield from validator.check_ranges(limits)  # type: ignore[arg-type]
        if self.duplicates:
            yield from validator.check_duplicates()
        if self.max_missing is not None:
            given = self.max_missing
            yield from validator.check_missing(given if isinstance(given, dict) else {validator.schema.target: given})
        yield from validator.check_rows(self.min_rows, self.min_series)
        if self.freshness is not None:
            yield from validator.check_freshness(_seconds(self.freshness))
        if self.unit_jump is not None:
            yield from validator.check_unit_jumps(self.unit_jump)

    def _action(self, violation: Violation) -> Action:
        action = self.actions.get(violation.expectation, self.on_failure)
        return "stop" if action == "quarantine" and violation.scope == "table" else action

    def _stop_or_warn(self, found: list[tuple[Violation, Action]], context: StageContext) -> None:
        stopping = [violation.message for violation, action in found if action == "stop"]
        if stopping:
            more = f"; and {len(stopping) - _SHOWN} more" if len(stopping) > _SHOWN else ""
            raise DataError(f"the table is not as expected: {'; '.join(stopping[:_SHOWN])}{more}.")
        for violation, action in found:
            if action == "warn":
                context.note(violation.message)
                warnings.warn(violation.message, DataWarning, stacklevel=2)

    def _separate(self, validator: TableValidator, found: list[tuple[Violation, Action]]) -> dict[str, pl.DataFrame]:
        """Return the rows that are left, and those that are removed with the reason."""
        frame, schema = validator.frame, validator.schema
        reasons = pl.Series("reason", [""] * frame.height)
        for name, rows in self._removed(validator, found).items():
            longer = pl.when(reasons == "").then(pl.lit(name)).otherwise(reasons + "; " + name)
            reasons = pl.select(pl.when(rows).then(longer).otherwise(reasons)).to_series().alias("reason")
        is_bad = reasons != ""
        left = frame.filter(~is_bad)
        if validator.times is not None and not validator.times.filter(~is_bad).null_count():
            left = left.with_columns(validator.times.filter(~is_bad).alias(schema.time))
        if left.schema[schema.target] == pl.String:  # text was among the numbers of a CSV file, and is removed
            numbers = left[schema.target].str.strip_chars().cast(pl.Float64, strict=False)
            if numbers.null_count() == left[schema.target].null_count():
                left = left.with_columns(numbers.alias(schema.target))
        return {"table": left, "quarantine": frame.with_columns(reasons).filter(is_bad)}

    def _removed(self, validator: TableValidator, found: list[tuple[Violation, Action]]) -> dict[str, pl.Series]:
        """Return which rows are removed, by the reason."""
        frame, name = validator.frame, validator.schema.id
        series: dict[str, list[Any]] = {}
        removed: dict[str, pl.Series] = {}
        for violation, action in found:
            if action != "quarantine":
                continue
            reason = f"{violation.expectation}: {violation.column}".removesuffix(": ")
            if violation.rows is None:
                series.setdefault(reason, []).append(violation.series)
            elif name is not None and self.quarantine == "series":
                series.setdefault(reason, []).extend(frame[name].filter(violation.rows).unique().to_list())
            else:
                removed[reason] = removed[reason] | violation.rows if reason in removed else violation.rows
        for reason, names in series.items():
            if name is None:
                removed[reason] = pl.Series([True]).new_from_index(0, frame.height)
            else:
                removed[reason] = frame[name].is_in(pl.Series(names, dtype=frame[name].dtype).implode())
        return removed

    def _expire(self, validator: TableValidator, context: StageContext) -> None:
        """Let the result be valid until another series is too old."""
        assert self.freshness is not None
        ends = [last + _seconds(self.freshness) for _, last in validator.last_times()]
        context.expires = min((end for end in ends if end >= time.time()), default=None)


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text)
    assert match is not None
    return float(match[1]) * _SECONDS[match[2]]


def _findings_table(found: list[tuple[Violation, Action]]) -> pl.DataFrame:
    schema = {
        "expectation": pl.String, "scope": pl.String, "column": pl.String, "series": pl.String, "rows": pl.Int64,
        "action": pl.String, "message": pl.String,
    }  # fmt: skip
    rows = [
        (
            item.expectation,
            item.scope,
            item.column,
            None if item.series is None else str(item.series),
            item.count,
            action,
            item.message,
        )
        for item, action in found
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")
