"""Feature engineering: lags, rolling statistics, calendar, holidays and functions of the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config, register
from neuro_divergent.core.errors import ConfigError, DataError, DataWarning, MissingDependencyError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.function import UserFunction, label_of
from neuro_divergent.data.cleaning.calendar import check_calendar
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.lifecycle.pipeline.causality import compute_causally
from neuro_divergent.lifecycle.pipeline.function_reference import resolve_function
from neuro_divergent.lifecycle.pipeline.series_table import SeriesTable, require_column
from neuro_divergent.lifecycle.pipeline.source_code import code_digest
from neuro_divergent.lifecycle.pipeline.stage import Port, Stage, StageContext

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

Statistic = Literal["mean", "median", "std", "min", "max", "sum"]
HOLIDAY = "is_holiday"


class Rolling(Config):
    """Statistics of the rows before each row.

    Attributes:
        windows: Numbers of rows, each of which ends with the row before.
        statistics: ``mean``, ``median``, ``std``, ``min``, ``max`` or ``sum``.
    """

    windows: tuple[int, ...]
    statistics: tuple[Statistic, ...] = ("mean",)

    @field_validator("windows")
    @classmethod
    def _are_positive(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(window < 1 for window in value):
            raise ValueError(f"{list(value)} must be numbers of rows of at least 1")
        return value


class FeatureFunction(Config):
    """A function that computes columns of a table.

    Attributes:
        function: Takes a polars table, sorted by series and time, and returns a table or series with as many rows; or
            ``"package.module:name"`` of it.
        role: ``past`` for values that are known up to a row, ``future`` for values that are known ahead.
    """

    function: UserFunction
    role: Literal["past", "future"] = "past"

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, values: Any) -> Any:
        return {"function": values} if isinstance(values, str) or callable(values) else values

    def to_dict(self) -> dict[str, Any]:
        """Return name and role as plain values."""
        return {"function": label_of(self.function), "role": self.role}

    def resolve(self) -> Callable[..., Any]:
        """Return the function, imported if it is a name."""
        return resolve_function(self.function) if isinstance(self.function, str) else self.function


@register("feature_engineering")
class FeatureEngineering(Stage):
    """Adds covariates to a table, none of which looks at later rows.

    Lags and rolling statistics of a row are computed from the rows before it, and are past covariates. Calendar
    features are computed where a model needs them, also for rows to come. Functions of the user are called again on
    tables that are cut off at several times, and refused if a value changes.

    Takes ``table`` and ``schema``. Gives ``table``, ``schema`` with the new roles, and ``future``: the holidays of the
    next ``horizon`` rows of each series, which forecasts need.

    Attributes:
        lags: For each column, how many rows back; a list of numbers is for the target.
        rolling: For each column, windows and statistics; one of them alone is for the target.
        calendar: Calendar features such as ``hour`` or ``day_of_week_sin``, as ``Schema`` has them.
        holidays: Country, as in ``"DE"`` or ``"DE-BY"``, whose holidays become the column ``is_holiday``.
        functions: Functions, their names, or tables with ``function`` and ``role``.
        cutoffs: How many times each function is checked at.
        horizon: Rows of each series to give holidays for beyond its end.
        warmup: What happens to first rows of a series that have no lag or window yet: ``drop``, ``keep`` them missing,
            or put ``zero``.

    Examples:
        >>> import neuro_divergent as nd
        >>> features = nd.lifecycle.FeatureEngineering(lags={"y": (12,)}, rolling={"y": {"windows": (3,)}})
        >>> result = nd.Pipeline([features], data=nd.datasets.air_passengers(), directory="features").run()
        >>> result["feature_engineering.table"].columns
        ['unique_id', 'ds', 'y', 'y_lag_12', 'y_mean_3']
        >>> result["feature_engineering.table"].height
        132
        >>> result["feature_engineering.schema"]["past"]
        ['y_lag_12', 'y_mean_3']
    """

    takes: ClassVar[tuple[Port, ...]] = (Port("table"), Port("schema"))
    gives: ClassVar[tuple[str, ...]] = ("table", "schema", "future")

    lags: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    rolling: dict[str, Rolling] = Field(default_factory=dict)
    calendar: tuple[str, ...] = ()
    holidays: str | None = None
    functions: tuple[FeatureFunction, ...] = ()
    cutoffs: int = Field(default=6, ge=1)
    horizon: int = Field(default=0, ge=0)
    warmup: Literal["drop", "keep", "zero"] = "drop"

    @model_validator(mode="before")
    @classmethod
    def _of_target(cls, values: Any) -> Any:
        """Accept lags and windows without a column, which are those of the target."""
        if not isinstance(values, Mapping):
            return values
        made = dict(values)
        if isinstance(made.get("lags"), (list, tuple)):
            made["lags"] = {"": tuple(made["lags"])}
        rolling = made.get("rolling")
        if isinstance(rolling, Rolling) or (isinstance(rolling, Mapping) and "windows" in rolling):
            made["rolling"] = {"": rolling}
        return made

    @field_validator("lags")
    @classmethod
    def _look_back(cls, value: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        wrong = [lag for lags in value.values() for lag in lags if lag < 1]
        if wrong:
            raise ValueError(f"{wrong[0]} would look at the row itself or ahead; lags are at least 1")
        return value

    def check(self, inputs: Collection[str]) -> None:
        if self.holidays is not None:
            _holiday_dates(self.holidays, 2000, 2000)

    def code(self) -> str:
        return " ".join([super().code(), *(code_digest(item.resolve()) for item in self.functions)])

    def run(self, inputs: Mapping[str, Artifact], context: StageContext) -> dict[str, Any]:
        table = SeriesTable.from_inputs(inputs)
        schema = table.schema
        check_calendar(self.calendar, table.frame.schema[schema.time], schema.time)
        past, future = self._own_features(table), list[pl.Series]()
        for item in self.functions:
            label, is_future = label_of(item.function), item.role == "future"
            made = compute_causally(item.resolve(), label, table, cutoffs=self.cutoffs, is_future=is_future)
            _refuse_known(label, made.columns, [column.name for column in (*past, *future)])
            (future if is_future else past).extend(made.get_columns())
        if self.holidays is not None:
            future.append(self._holidays(table.frame[schema.time]))
        names = [column.name for column in (*past, *future)]
        frame = self._warm_up(table, table.frame.with_columns(*past, *future), names, context)
        added = schema.replace(
            past=(*schema.past, *(column.name for column in past)),
            future=(*schema.future, *(column.name for column in future)),
            calendar=tuple(dict.fromkeys((*schema.calendar, *self.calendar))),
            missing="mask" if self.warmup == "keep" and schema.missing == "error" else schema.missing,
            date_format=None,
        )
        context.note(
            f"{format_count(len(names) + len(self.calendar), 'feature')}: {', '.join([*names, *self.calendar])}."
        )
        return {"table": frame, "schema": added.to_dict(), "future": self._ahead(table)}

    def _own_features(self, table: SeriesTable) -> list[pl.Series]:
        """Return lags and rolling statistics, which end with the row before."""
        made: dict[str, pl.Expr] = {}
        for given, lags in self.lags.items():
            name = given or table.schema.target
            require_column(table.frame, name)
            made |= {f"{name}_lag_{lag}": table.by_series(pl.col(name).shift(lag)) for lag in lags}
        for given, rolling in self.rolling.items():
            name = given or table.schema.target
            require_column(table.frame, name)
            before = pl.col(name).cast(pl.Float64).shift(1)
            for window in rolling.windows:
                for statistic in rolling.statistics:
                    feature = getattr(before, f"rolling_{statistic}")(window, min_samples=window)
                    made[f"{name}_{statistic}_{window}"] = table.by_series(feature)
        for name in made:
            if name in table.frame.columns:
                raise ConfigError(f"the table has a column {name!r} already; rename it, or leave the feature out.")
        return table.frame.select(**made).get_columns()

    def _warm_up(
        self, table: SeriesTable, frame: pl.DataFrame, names: list[str], context: StageContext
    ) -> pl.DataFrame:
        """Treat the first rows of each series that have no feature yet."""
        if not names or self.warmup == "keep":
            return frame
        begun = {name: table.by_series(pl.col(name).is_not_null().cum_max()) for name in names}
        if self.warmup == "zero":
            numeric = [name for name in names if frame.schema[name].is_numeric()]
            return frame.with_columns(
                pl.when(begun[name]).then(pl.col(name)).otherwise(pl.lit(0, frame.schema[name])).alias(name)
                for name in numeric
            )
        left = frame.filter(pl.all_horizontal(*begun.values()))
        if not left.height:
            raise DataError(
                "no row is left: every series is shorter than the longest lag or window. Set warmup='zero'."
            )
        if dropped := frame.height - left.height:
            context.note(f"{format_count(dropped, 'first row')} without all lags and windows dropped.")
        return left

    def _holidays(self, times: pl.Series) -> pl.Series:
        """Return which times are holidays."""
        if not times.dtype.is_temporal():
            raise ConfigError(f"holidays: column {times.name!r} holds integers, which are no dates.")
        years = times.dt.year()
        first, last = int(years.min()), int(years.max())  # type: ignore[arg-type]
        dates = pl.Series(sorted(_holiday_dates(str(self.holidays), first, last)), dtype=pl.Date)
        is_holiday = times.dt.date().is_in(dates.implode()) if times.dtype != pl.Date else times.is_in(dates.implode())
        return is_holiday.cast(pl.Float64).alias(HOLIDAY)

    def _ahead(self, table: SeriesTable) -> pl.DataFrame:
        """Return series, times and holidays of the rows to come."""
        schema = table.schema
        if not self.horizon or self.holidays is None:
            return table.frame.select(table.keys).clear()
        bare = schema.replace(
            past=(), future=(), static=(), categorical=(), calendar=(), weight=None, missing="mask", gaps="mask"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            panel = build_panel(table.frame, bare)
        last = panel.frequency.time_at(panel.starts, panel.lengths - 1)
        times = panel.frequency.times_after(last, self.horizon).alias(schema.time)
        columns = [times, self._holidays(times)]
        if schema.id:
            rows = np.repeat(np.arange(panel.num_series), self.horizon)
            columns.insert(0, panel.ids.gather(rows).alias(schema.id))
        return pl.DataFrame(columns)


def _holiday_dates(place: str, first: int, last: int) -> set[Any]:
    """Return the holidays of a country, or of a part of it, in some years."""
    try:
        import holidays
    except ImportError:
        raise MissingDependencyError(
            'holidays need the package holidays, which is not installed. Run: pip install "neuro-divergent[holidays]"'
        ) from None
    country, _, part = place.partition("-")
    try:
        return set(holidays.country_holidays(country, subdiv=part or None, years=range(first, last + 1)))
    except NotImplementedError as error:
        raise ConfigError(f"holidays: {place!r} is not known: {error}. Write a country such as DE, or DE-BY.") from None


def _refuse_known(label: str, made: Sequence[str], known: Sequence[str]) -> None:
    for name in made:
        if name in known:
            raise ConfigError(f"feature function {label}: column {name!r} is there already; give it another name.")
