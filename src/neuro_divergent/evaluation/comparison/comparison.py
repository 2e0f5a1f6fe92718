"""Comparison of models, with significance tests."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.data.io.source import DEFAULT_ID, Backend, read_table
from neuro_divergent.evaluation.baselines import NAMES
from neuro_divergent.evaluation.comparison.significance import (
    Friedman,
    critical_difference,
    diebold_mariano,
    friedman,
    holm,
    nemenyi,
)
from neuro_divergent.evaluation.cross_validation.forecast_values import history_for, id_column, native
from neuro_divergent.evaluation.display import best_of, frame_html, read_frame
from neuro_divergent.evaluation.scoring.formulas import METRICS
from neuro_divergent.evaluation.scoring.requests import split_name
from neuro_divergent.evaluation.scoring.score import score

Test = Literal["auto", "diebold_mariano", "nemenyi", "none"]
REFERENCE = NAMES[1]
_MANY_SERIES = 10
_BACK = "cut-offs back"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several models and tests of their differences; tables are of the same kind as the input.

    Attributes:
        metric: Name of the metric that the models are compared by.
        reference: The model that the others are compared with.
        test: Where ``p_value`` in ``table`` comes from: ``diebold_mariano``, ``nemenyi`` or ``none``.
        alpha: Probability of calling a difference significant that is none.
        table: A row per model, the best first: ``model``, ``score`` (over all values), ``std`` (of the scores of the
            folds, or of the cut-offs where there are no folds), ``skill`` (one minus its ratio to the score of
            the reference), ``rank`` (mean over the series), ``p_value`` (of being as good as the reference, adjusted
            for the number of models) and ``significant``.
        pairs: A row per pair: ``model``, ``other``, ``difference`` of the scores at a cut-off (below 0 where ``model``
            is better), ``statistic`` and ``p_value`` of Diebold and Mariano, ``p_holm`` (adjusted for the number of
            pairs), ``rank_difference`` and ``p_nemenyi``.
        friedman: The test that all models rank alike over the series.
        critical_difference: Difference of mean ranks that is significant by Nemenyi's test; NaN if it is undefined.
        series: Number of series on which every model has a score.
        cutoffs: Number of cut-offs with scores.
        overlap: Number of successive cut-offs whose horizons overlap.
    """

    metric: str
    reference: str
    test: str
    alpha: float
    table: Any
    pairs: Any
    friedman: Friedman
    critical_difference: float
    series: int
    cutoffs: int
    overlap: int

    def __repr__(self) -> str:
        frame = read_frame(self.table).rename({"score": self.metric})
        return f"Comparison({format_count(frame.height, 'model')}, {best_of(frame, self.metric)})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.table}"

    def _repr_html_(self) -> str:
        test = "" if self.test == "none" else f"; p values of {self.test} against {self.reference}"
        summary = f"{self.metric.upper()} of {self.series:,} series at {format_count(self.cutoffs, 'cut-off')}{test}"
        pairs = read_frame(self.pairs)
        shown = html.details(format_count(pairs.height, "pair"), frame_html(pairs)) if pairs.height else html.Html("")
        return html.card("Comparison", summary, frame_html(self.table), shown)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; undefined ones are ``None``."""
        plain = ("metric", "reference", "test", "alpha", "series", "cutoffs", "overlap")
        ranking = {name: value for name, value in dataclasses.asdict(self.friedman).items() if name != "ranks"}
        document: dict[str, Any] = finite_or_none(
            {name: getattr(self, name) for name in plain}
            | {
                "models": read_table(self.table).frame.to_dicts(),
                "pairs": read_table(self.pairs).frame.to_dicts(),
                "friedman": {**ranking, "critical_difference": self.critical_difference},
            }
        )
        return document


def compare(
    forecasts: Any,
    metric: str = "mae",
    *,
    reference: str | None = None,
    test: Test = "auto",
    alpha: float = 0.05,
    models: Sequence[str] | None = None,
    train: Any = None,
    season_length: int | None = None,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
) -> Comparison:
    """Compare models, and the naive baselines, on the same values.

    Diebold and Mariano's test uses the difference of two models at each cut-off, averaged over the series; where
    horizons overlap, it takes the resulting correlation into account. Cut-offs are counted from the last one of each
    series. Nemenyi's test uses the ranks of the models on each series and assumes independent series: for many
    correlated series its p values are too small.

    Args:
        forecasts: What ``cross_validate`` or ``backtest`` returned, or a table of forecasts with the columns id, time,
            ``cutoff``, ``step``, ``actual`` and one per model.
        metric: An error metric; lower must be better.
        reference: The model to compare the others with; unset, the seasonal naive forecast, or the best model where
            there is none.
        test: Where the p values of the table come from; ``"auto"`` is Nemenyi for at least 3 models and 10 series, else
            Diebold and Mariano.
        alpha: Significance level.
        models: Which models to compare; unset, all.
        train: With a table: history of the series, for MASE and RMSSE.
        season_length: With a table: rows in a season of ``train``.
        id: With a table: column of ids; unset, ``unique_id`` if it exists.
        time: With a table: column of times.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> days = list(range(1, 41))
        >>> actual = [float(day % 7) for day in days]
        >>> table = pl.DataFrame({"ds": days, "cutoff": [day - 1 for day in days], "step": 1, "actual": actual})
        >>> table = table.with_columns(good=pl.col("actual") + 0.25, poor=pl.col("actual") + pl.col("ds") % 3 - 1.0)
        >>> comparison = nd.compare(table, "mae", reference="poor")
        >>> comparison.test, comparison.cutoffs
        ('diebold_mariano', 40)
        >>> comparison.table.select("model", "score", "significant").rows()
        [('good', 0.25, True), ('poor', 0.65, None)]
    """
    if test not in get_args(Test):
        raise InputError(f"test: {test!r} must be one of {', '.join(get_args(Test))}.")
    check_error_metric(metric)
    scoring = {"models": None if models is None else list(models), "train": train, "season_length": season_length}
    table = _Table.of(forecasts, metric, id, time, scoring)
    names, scores = table.overall()
    table = dataclasses.replace(table, scoring={**table.scoring, "models": names})
    chosen = reference or (REFERENCE if REFERENCE in names else names[int(scores.argmin())])
    if chosen not in names:
        hint = did_you_mean(chosen, names)
        raise InputError(f"reference: there is no {metric} of {chosen!r}.{hint} Known: {', '.join(names)}.")
    by_series, by_cutoff = table.by_series(), table.by_cutoff()
    ranking = friedman(by_series)
    if test == "auto":
        test = "nemenyi" if len(names) > 2 and ranking.series >= _MANY_SERIES else "diebold_mariano"
    overlap = table.overlap()
    pairs = _pairs(names, by_cutoff, overlap, ranking)
    p_values = _against(names, chosen, test, by_cutoff, overlap, ranking)
    place = names.index(chosen)
    rows = pl.DataFrame(
        {
            "model": names,
            "score": scores,
            "std": table.spread(),
            "skill": 1 - scores / scores[place] if scores[place] > 0 else np.full(len(names), np.nan),
            "rank": ranking.ranks,
            "p_value": p_values,
        }
    ).sort("score")
    return Comparison(
        metric=metric,
        reference=chosen,
        test=test,
        alpha=alpha,
        table=native(_defined(rows).with_columns(significant=pl.col("p_value") < alpha), table.backend),
        pairs=native(_defined(pairs), table.backend),
        friedman=ranking,
        critical_difference=critical_difference(len(names), ranking.series, alpha),
        series=ranking.series,
        cutoffs=len(by_cutoff),
        overlap=overlap,
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """A table of forecasts and how it is scored."""

    frame: pl.DataFrame
    backend: Backend
    metric: str
    named_by: str | None
    time: str
    scoring: dict[str, Any]

    @classmethod
    def of(cls, forecasts: Any, metric: str, named_by: str | None, time: str, scoring: dict[str, Any]) -> _Table:
        panel = getattr(forecasts, "panel", None)
        if panel is not None:
            season = scoring["season_length"] or forecasts.season_length
            train = history_for(read_table(forecasts.forecasts).frame, panel, season)
            scoring |= {"train": train, "season_length": season, "train_target": panel.schema.target}
            named_by, time, forecasts = id_column(panel), panel.schema.time, forecasts.forecasts
        table = read_table(forecasts)
        needed = [name for name in ("cutoff", "step", "actual", time) if name not in table.frame.columns]
        if needed:
            raise InputError(
                f"forecasts: there is no column {needed[0]!r}; pass what cross_validate or backtest returned, or a "
                "table with id, time, cutoff, step, actual and the forecasts of each model."
            )
        named_by = named_by or (DEFAULT_ID if DEFAULT_ID in table.frame.columns else None)
        scoring |= {"metrics": [metric], "id": named_by, "time": time}
        return cls(table.frame, table.backend, metric, named_by, time, scoring)

    def overall(self) -> tuple[list[str], Floats]:
        """Return the models that have a score, and their scores over all values."""
        scores = self._scores(()).drop_nulls(self.metric)
        if not scores.height:
            raise InputError(f"metric: {self.metric!r} is undefined for every model; was nothing observed?")
        return scores["model"].to_list(), _floats(scores[self.metric])

    def by_series(self) -> Floats:
        """Return scores of each series, ``(series, models)``."""
        return self._matrix(() if self.named_by is None else (self.named_by,))

    def by_cutoff(self) -> Floats:
        """Return scores at each cut-off from the last one backwards, averaged over series, ``(cut-offs, models)``."""
        return self._matrix((_BACK,))

    def spread(self) -> Floats:
        """Return the standard deviation of the scores of each model over folds or cut-offs."""
        scores = self._matrix(("fold",)) if "fold" in self.frame.columns else self.by_cutoff()
        scores = scores[np.isfinite(scores).all(1)]
        return scores.std(0, ddof=1) if len(scores) > 1 else np.full(scores.shape[1], np.nan)

    def overlap(self) -> int:
        """Return the number of successive cut-offs whose horizons overlap."""
        names = [] if self.named_by is None else [self.named_by]
        times = self.frame.select(*names, "cutoff").unique().sort(*names, "cutoff")
        following = pl.col("cutoff").shift(-1)
        times = times.with_columns((following.over(names) if names else following).alias(self.time))
        # Horizons overlap if the next cut-off is a time within this horizon.
        met = self.frame.join(times, on=[*names, "cutoff", self.time], how="inner")["step"]
        horizon = int(self.frame["step"].max())  # type: ignore[arg-type]
        return math.ceil(horizon / int(met.min())) if len(met) else 1  # type: ignore[arg-type]

    def _matrix(self, by: tuple[str, ...]) -> Floats:
        scores = self._scores(by)
        return _floats(scores[self.metric]).reshape(-1, scores["model"].n_unique())

    def _scores(self, by: tuple[str, ...]) -> pl.DataFrame:
        frame = self.frame
        if _BACK in by:
            rank = pl.col("cutoff").rank("dense", descending=True)
            frame = frame.with_columns((rank if self.named_by is None else rank.over(self.named_by)).alias(_BACK))
        scores: pl.DataFrame = score(frame, by=by, **self.scoring)
        if scores.columns[-1] != self.metric:
            raise InputError(
                f"metric: {self.metric!r} is several scores here; name one, such as {scores.columns[-1]!r}."
            )
        return scores


def _pairs(names: list[str], by_cutoff: Floats, overlap: int, ranking: Friedman) -> pl.DataFrame:
    """Test every pair of models."""
    places = list(combinations(range(len(names)), 2))
    tests = [diebold_mariano(by_cutoff[:, one] - by_cutoff[:, other], overlap) for one, other in places]
    ranks = nemenyi(ranking.ranks, ranking.series)
    p_values = np.array([test.p_value for test in tests], np.float64)
    return pl.DataFrame(
        {
            "model": pl.Series([names[one] for one, _ in places], dtype=pl.String),
            "other": pl.Series([names[other] for _, other in places], dtype=pl.String),
            "difference": np.array([test.mean for test in tests], np.float64),
            "statistic": np.array([test.statistic for test in tests], np.float64),
            "p_value": p_values,
            "p_holm": holm(p_values),
            "rank_difference": np.array(
                [ranking.ranks[one] - ranking.ranks[other] for one, other in places], np.float64
            ),
            "p_nemenyi": np.array([ranks[pair] for pair in places], np.float64),
        }
    )


def _against(names: list[str], reference: str, test: str, by_cutoff: Floats, overlap: int, ranking: Friedman) -> Floats:
    """Return the p value of each model against the reference, NaN for the reference itself."""
    place = names.index(reference)
    p_values = np.full(len(names), np.nan)
    others = [number for number in range(len(names)) if number != place]
    if test == "nemenyi":
        p_values[others] = nemenyi(ranking.ranks, ranking.series)[place, others]
    elif test == "diebold_mariano":
        tests = [diebold_mariano(by_cutoff[:, number] - by_cutoff[:, place], overlap) for number in others]
        p_values[others] = holm([item.p_value for item in tests])
    return p_values


def check_error_metric(metric: str) -> None:
    """Refuse metrics that are not known, and those for which lower is not better."""
    base, _ = split_name(metric)
    if not METRICS[base].is_error:
        raise InputError(f"metric: lower is not better for {metric!r}; compare by an error, such as 'mae'.")


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(math.nan).to_numpy()


def _defined(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.selectors.float().fill_nan(None))
