"""Preprocessing: outliers, missing values and missing rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl
from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Policy
from neuro_divergent.lifecycle.pipeline.series_table import SeriesTable
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

_TO_DEVIATION = 1.4826  # standard deviations of a normal distribution in a median absolute deviation


@register("preprocessing")
class Preprocessing(Stage):
    """Makes a table complete: one row for each step of each series, by the policies of ``Schema``.

    Outliers come first, then missing values and rows are filled as ``Forecaster.fit`` would. ``interpolate`` looks at
    the next observed value; all else looks at earlier rows only. Numbers with a role become 32-bit floats; columns
    without a role stay, and are null in rows that are new.

    Takes ``table`` and ``schema``. Gives ``table``, ``schema`` (whose policies say what is left: masked values or none)
    and ``changes``: each target that was changed, with the reason.

    Attributes:
        missing: Policy for missing values: ``error``, ``interpolate``, ``forward``, ``zero`` or ``mask``.
        gaps: Policy for missing rows, with the same values.
        outliers: What happens to targets far from the median of the rows before: ``keep``, ``clip`` them to the limit,
            make them ``missing``, or ``error``.
        outlier_threshold: Limit in robust standard deviations.
        outlier_window: Rows before a value that it is compared with.

    Examples:
        >>> import neuro_divergent as nd
        >>> table = nd.datasets.Synthetic(length=50).frame()
        >>> table = table[:10].vstack(table[14:])
        >>> result = nd.Pipeline([nd.lifecycle.Preprocessing()], data=table, directory="complete").run()
        >>> table.height, result["preprocessing.table"].height
        (46, 50)
        >>> result["preprocessing.changes"]["reason"][0]
        'missing row, interpolate'
    """

    takes: ClassVar[tuple[Port, ...]] = (Port("table"), Port("schema"))
    gives: ClassVar[tuple[str, ...]] = ("table", "schema", "changes")

    missing: Policy = "interpolate"
    gaps: Policy = "interpolate"
    outliers: Literal["keep", "clip", "missing", "error"] = "keep"
    outlier_threshold: float = Field(default=6.0, gt=0)
    outlier_window: int = Field(default=28, ge=4)

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        table = SeriesTable.from_inputs(inputs)
        before = table.frame
        if self.outliers != "keep":
            table = self._treat_outliers(table)
        schema = table.schema.replace(missing=self.missing, gaps=self.gaps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # training gives the same ones
            panel = build_panel(table.frame, schema)
        complete = panel.to_frame()
        others = [name for name in table.frame.columns if name not in complete.columns]
        if others:
            complete = complete.join(table.frame.select(*table.keys, *others), on=table.keys, how="left")
        changes = self._changes(table, before, complete)
        if changes.height:
            counts = changes.group_by("reason").len().sort("reason").rows()
            context.note("; ".join(f"{reason}: {format_count(count, 'target')}" for reason, count in counts) + ".")
        context.show("Changes", changes)
        is_masked = "mask" in (self.missing, self.gaps)
        left = schema.replace(missing="mask" if is_masked else "error", gaps="error", date_format=None)
        return {"table": complete, "schema": left.to_dict(), "changes": changes}

    def _treat_outliers(self, table: SeriesTable) -> SeriesTable:
        """Clip outliers of the target, or make them missing; each is judged by the rows before it."""
        name = table.schema.target
        value = pl.col(name).cast(pl.Float64)

        def median_before(values: pl.Expr) -> pl.Expr:
            least = max(self.outlier_window // 2, 3)
            return table.by_series(values.shift(1).rolling_median(self.outlier_window, min_samples=least))

        frame = table.frame.with_columns(__middle__=median_before(value.fill_nan(None)))
        frame = frame.with_columns(__deviation__=(value.fill_nan(None) - pl.col("__middle__")).abs())
        usual = median_before(pl.col("__deviation__"))
        frame = frame.with_columns(__limit__=usual * _TO_DEVIATION * self.outlier_threshold)
        is_outlier = (pl.col("__deviation__") > pl.col("__limit__")) & (pl.col("__limit__") > 0)
        if self.outliers == "error" and frame.select(is_outlier.any()).item():
            row = int(frame.select(is_outlier.fill_null(False).arg_true()).item(0, 0))
            number = format_number(float(frame[name][row]))
            raise DataError(
                f"{table.label(row)}, {frame[table.schema.time][row]}: {name} is {number}, more than "
                f"{self.outlier_threshold:g} robust standard deviations from the median of the rows before. Set "
                "outliers to 'clip', 'missing' or 'keep'."
            )
        side = pl.col("__middle__") + (value - pl.col("__middle__")).sign() * pl.col("__limit__")
        new = side if self.outliers == "clip" else pl.lit(None, pl.Float64)
        frame = frame.with_columns(pl.when(is_outlier).then(new).otherwise(value).alias(name))
        return table.with_frame(frame.drop("__middle__", "__deviation__", "__limit__"))

    def _changes(self, table: SeriesTable, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
        """Return each target that is new or different."""
        name, keys = table.schema.target, table.keys
        old = before.select(*keys, before=pl.col(name).cast(pl.Float64).fill_nan(None), is_old=True)
        treated = table.frame.select(*keys, treated=pl.col(name).cast(pl.Float64).fill_nan(None))
        new = after.select(*keys, after=pl.col(name).cast(pl.Float64))
        rows = new.join(old, on=keys, how="left").join(treated, on=keys, how="left")
        is_outlier = pl.col("before").is_not_null() & pl.col("treated").ne_missing(pl.col("before"))
        reason = (
            pl.when(pl.col("is_old").is_null())
            .then(pl.lit(f"missing row, {self.gaps}"))
            .when(is_outlier)
            .then(pl.lit(f"outlier, {self.outliers}"))
            .when(pl.col("before").is_null())
            .then(pl.lit(f"missing value, {self.missing}"))
        )
        return rows.with_columns(reason=reason).drop_nulls("reason").select(*keys, "before", "after", "reason")
