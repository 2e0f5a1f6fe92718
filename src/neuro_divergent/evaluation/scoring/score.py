"""Scores of the models in a table of forecasts, over all values or by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.io.source import DEFAULT_ID, read_table, to_native
from neuro_divergent.data.io.table import Table
from neuro_divergent.evaluation.scoring.columns import choose_models, find_models, numbers
from neuro_divergent.evaluation.scoring.groups import ratio
from neuro_divergent.evaluation.scoring.history import RowHistory, read_history
from neuro_divergent.evaluation.scoring.requests import Available, Request, resolve
from neuro_divergent.evaluation.scoring.scorer import Scorer

Aggregate = Literal["mean", "series"]
_MODEL, _VALUES, _WEIGHT = "model", "values", "weight"


def score(
    frame: Any,
    *,
    models: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    by: Sequence[str] | str = (),
    aggregate: Aggregate = "mean",
    train: Any = None,
    season_length: int | None = None,
    weight: Any = None,
    reference: str | None = None,
    id: str | None = None,  # noqa: A002 (as everywhere else)
    time: str = "ds",
    target: str = "actual",
    train_target: str = "y",
) -> Any:
    """Score the models in a table of forecasts.

    All models are scored on the same values: those that were observed and that every model forecast. The column
    ``values`` of the result counts them. Of the quantiles, those count that all models with quantiles have in common.

    Args:
        frame: One row for each forecast value: the series, its time, ``actual``, one or more models, and usually
            ``cutoff``, ``step`` and ``fold``. A model is a numeric column, ``<model>-lo-80`` and
            ``<model>-hi-80`` are its intervals, ``<model>-q-0.1`` its quantiles; without a name before them they belong
            to the model ``forecast``.
        models: Which models to score; unset, all numeric columns that have no other meaning.
        metrics: Names of metrics, such as ``"mae"``, ``"coverage"`` (a column for each level), ``"coverage-80"``,
            ``"pinball-0.1"`` or ``"skill-rmse"``; unset, the default ones.
        by: Columns to group by, such as the series, ``"step"``, ``"cutoff"`` or ``"fold"``; unset, all values together.
        aggregate: ``"mean"`` weights each value equally; ``"series"`` scores each series separately and takes the mean
            of the scores that are defined.
        train: History of the series, a long table, for MASE, RMSSE and OWA. Naive errors are computed up to the first
            cut-off of each series. What is known of it already is a ``RowHistory``.
        season_length: Rows in a season of ``train``; unset, it follows from its frequency.
        weight: Weight of each value: a column of ``frame``, or a table with one weight for each series.
        reference: Model to compare with, for ``"skill"`` and ``"owa"``.
        id: Column of ids; unset, ``unique_id`` if it exists, else there is one series.
        time: Column of times, in ``frame`` and ``train``.
        target: Column of observed values in ``frame``; null or NaN where there is none.
        train_target: Column of values in ``train``.

    Returns:
        A frame of the same kind as the input, with a row for each group and model: the columns of ``by``, ``model``,
        ``values`` and one column for each metric, null where it is undefined.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": [1, 2, 3, 4], "actual": [10.0, 12.0, 14.0, 12.0]})
        >>> table = table.with_columns(mean=12.0, last=pl.Series([10.0, 10.0, 12.0, 14.0]))
        >>> nd.score(table, metrics=["mae", "bias"]).rows()
        [('mean', 4, 1.0, 0.0), ('last', 4, 1.5, -0.5)]
        >>> nd.score(table, metrics="skill-mae", reference="mean", models="last")["skill-mae"].to_list()
        [-0.5]
    """
    if aggregate not in ("mean", "series"):
        raise InputError(f"aggregate: {aggregate!r} must be 'mean' or 'series'.")
    table = read_table(frame)
    series = id or (DEFAULT_ID if DEFAULT_ID in table.columns else None)
    by = (by,) if isinstance(by, str) else tuple(by)
    _check_columns(table, series, by)
    known = find_models(table, without=[name for name in (target, time, series, weight, *by) if isinstance(name, str)])
    chosen = choose_models(table, known, models)
    scored = chosen | ({} if reference is None else choose_models(table, known, reference))
    available = Available.of(scored.values(), has_history=train is not None, has_reference=reference is not None)
    requests = resolve(metrics, available)
    history: RowHistory | None = None
    if isinstance(train, RowHistory):
        history = train
    elif train is not None:
        history = read_history(train, table, series=series, time=time, target=train_target, season_length=season_length)
    scorer = Scorer(
        table=table,
        series=series,
        time=time,
        target=target,
        requests=tuple({part.label: part for request in requests for part in request.needed}.values()),
        models=scored,
        quantiles=available.quantiles,
        by=by,
        each_series=aggregate == "series",
        weights=_weights(weight, table, series),
        history=history,
    )
    scores = {name: scorer.scores(model) for name, model in scored.items()}
    found = {
        request.label: [_combined(request, scores[name], scores[reference or name]) for name in chosen]
        for request in requests
    }
    columns: dict[str, Any] = {
        **scorer.groups.repeated(len(chosen)),
        _MODEL: pl.Series(list(chosen) * scorer.groups.count),
        _VALUES: np.repeat(scorer.groups.sizes, len(chosen)),
        **{label: pl.Series(np.stack(values, axis=1).ravel()).fill_nan(None) for label, values in found.items()},
    }
    return to_native(columns, table.backend)


def _check_columns(table: Table, series: str | None, by: tuple[str, ...]) -> None:
    for name in (*([series] if series else []), *by):
        if name not in table.columns:
            raise table.lacks(name)
    for name in by:
        if name in (_MODEL, _VALUES) or by.count(name) > 1:
            raise InputError(f"by: {name!r} would be in the result twice; rename the column or name it once.")


def _combined(request: Request, scores: dict[str, Floats], reference: dict[str, Floats]) -> Floats:
    """Return a score, or for a metric relative to a reference, the mean of the ratios of its parts."""
    if not request.parts:
        return scores[request.label]
    ratios = np.mean([ratio(scores[part.label], reference[part.label]) for part in request.parts], axis=0)
    return np.asarray(1 - ratios if request.metric.saved else ratios)


def _weights(weight: Any, table: Table, series: str | None) -> Floats | None:
    """Return the weight of each row, from a column or from a table of series; ``None`` if all are equal."""
    if weight is None:
        return None
    if isinstance(weight, str):
        return _checked(numbers(table, weight), f"column {weight!r}")
    given = read_table(weight)
    if series is None:
        raise InputError("weight: a table of weights for each series needs a column of ids; pass id='...'.")
    if series not in given.columns:
        raise DataError(f"weight: {given.lacks(series)}")
    others = [name for name in given.columns if name != series]
    column = _WEIGHT if _WEIGHT in others else others[0] if len(others) == 1 else None
    if column is None:
        raise DataError(f"weight: expected the columns {series!r} and {_WEIGHT!r}; found {', '.join(given.columns)}.")
    sizes = pl.DataFrame({series: given.frame[series], column: _checked(numbers(given, column), "weight")})
    if sizes[series].dtype != table.frame[series].dtype:
        sizes = sizes.cast({series: table.frame[series].dtype}, strict=False)
    if twice := sizes[series].filter(sizes[series].is_duplicated()).to_list():
        raise DataError(f"weight: series {show(twice[0])} occurs twice; give each series one weight.")
    found = table.frame.select(series).join(sizes, on=series, how="left", maintain_order="left")
    if found[column].null_count():
        name = found.filter(pl.col(column).is_null())[series][0]
        raise DataError(f"weight: series {show(name)} has none; give each series one weight.")
    return found[column].to_numpy()


def _checked(weights: Floats, place: str) -> Floats:
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(f"{place}, row {wrong[0] + 1}: {weights[wrong[0]]:g} is not a weight; it must be zero or more.")
    return weights
