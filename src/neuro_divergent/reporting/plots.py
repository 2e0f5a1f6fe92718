"""Figures for a notebook: each function returns a plotly figure.

Without plotly it returns the description of the figure, which a notebook shows as a static picture.

Where a function takes a *source*, that is what is at hand: a trained ``Forecaster``, the directory of a run, or a table
of polars, pandas or Arrow. What the directory of a run does not hold cannot be drawn, and the error says what that is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.runs.tables import RunTables

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure

    from neuro_divergent.evaluation.comparison.comparison import Comparison
    from neuro_divergent.evaluation.splitters.base import Splitter
    from neuro_divergent.forecasting.explain import Explanation
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.training.schedules.base import Schedule

HistoryKind = Literal["loss", "rate", "gradient", "speed"]
ResidualKind = Literal["time", "histogram", "autocorrelation", "step"]
CalibrationKind = Literal["levels", "pit"]
ImportanceKind = Literal["variables", "attention"]
LayerKind = Literal["gradient", "update", "weights"]

_USUAL_LEVELS = (80.0, 95.0)
_UNFINISHED = "there is no {} that can be read; 'nd train' writes one when training has ended."


def plot_forecast(
    source: Any,
    forecasts: Any = None,
    *,
    series: Any = None,
    levels: Sequence[float] | None = None,
    backtest: Any = None,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str | None = None,
    target: str | None = None,
) -> PlotlyFigure:
    """Show the end of a series and what comes next, with its intervals.

    Args:
        source: A trained forecaster, the directory of a run, or a table with the past of the series.
        forecasts: What ``predict`` returned; unset, a forecaster is asked, and a run has its own.
        series: Which series; unset, the first.
        levels: Intervals to show, in percent; unset, 80 and 95 where a forecaster can give them, else all there are.
        backtest: Forecasts of what was held out, as in ``Evaluation.forecasts``; unset, a run has its own.
        id: With a table: column that names the series; unset, ``unique_id`` if there is one.
        time: With a table: column of times; unset, ``ds``.
        target: With a table: column of the past; unset, ``y``.

    Examples:
        >>> import neuro_divergent as nd
        >>> model = nd.Statistical("seasonal_naive", horizon=12).fit(nd.datasets.air_passengers())
        >>> figure = nd.plots.plot_forecast(nd.datasets.air_passengers(), model.predict(levels=[80]))
        >>> [trace.name for trace in figure.data]
        ['80 %', '80 %', 'observed', 'forecast']
    """
    from neuro_divergent.reporting.figures.forecast import forecast_figure
    from neuro_divergent.reporting.report.series import is_of_many

    if (tables := _run_of(source)) is not None:
        id, time, target = tables.id, tables.time, tables.target  # noqa: A001
        if is_of_many(tables) and len(tables.series):
            # Only the rows of the series that is shown are read.
            series = tables.series[0] if series is None else series
            source, ahead, checked = tables.rows_of(str(series))
        else:
            source, ahead, checked = tables.context, tables.forecasts, tables.backtest
        forecasts = ahead if forecasts is None else forecasts
        backtest = checked if backtest is None else backtest
        if source is None and forecasts is None and backtest is None:
            raise InputError(f"{tables.path}: {_UNFINISHED.format('forecasts.csv')}")
    elif _is_forecaster(source):
        schema = source.fitted.context.schema
        id, time, target = schema.id, schema.time, schema.target  # noqa: A001
        forecasts = _predict(source, levels) if forecasts is None else forecasts
        source = _context_of(source)
    figure = forecast_figure(
        source,
        forecasts,
        series=series,
        id=id,
        time=time or "ds",
        target=target or "y",
        backtest=backtest,
        levels=levels,
    )
    return _draw(figure)


def plot_history(source: Any, kind: HistoryKind = "loss", *, column: str = "validation_loss") -> PlotlyFigure:
    """Show how training went.

    Args:
        source: A forecaster, a trainer, its history, the directory of a run, a table, or several of them by name, which
            are shown together.
        kind: ``"loss"``, ``"rate"`` of learning, norm of the ``"gradient"`` or ``"speed"``.
        column: With several: the column to compare.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=20))
        >>> figure = nd.plots.plot_history(forecaster.fit(nd.datasets.air_passengers()))
        >>> [trace.name for trace in figure.data]
        ['training', 'validation']
    """
    from neuro_divergent.reporting.figures import history

    _check(kind, HistoryKind)
    if isinstance(source, Mapping):
        return _draw(history.losses_figure({str(name): _history_of(item) for name, item in source.items()}, column))
    if (tables := _run_of(source)) is not None:
        return _of_run(tables, kind)
    return _draw(getattr(history, f"{kind}_figure")(_history_of(source)))


def plot_residuals(
    source: Any,
    kind: ResidualKind = "time",
    *,
    model: str = "forecast",
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str | None = None,
) -> PlotlyFigure:
    """Show the residuals.

    Args:
        source: What ``evaluate``, ``backtest`` or ``cross_validate`` returned, its table of forecasts, a forecaster,
            which is evaluated, or the directory of a run.
        kind: Over ``"time"``, as ``"histogram"``, their ``"autocorrelation"``, or the error by ``"step"`` of the
            horizon compared with the baselines.
        model: Column of forecasts.
        id: With a table: column that names the series; unset, ``unique_id`` if there is one.
        time: With a table: column of times; unset, ``ds``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": [1, 2, 3], "actual": [5.0, 6.0, 7.0], "forecast": [5.5, 6.0, 6.5]})
        >>> list(nd.plots.plot_residuals(table).data[0].y)
        [-0.5, 0.0, 0.5]
        >>> nd.plots.plot_residuals(table, "histogram").layout.title.text
        'Distribution of residuals'
    """
    from neuro_divergent.reporting.figures import residuals

    _check(kind, ResidualKind)
    table, named, time = _backtest_of(source, id, time)
    if kind == "time":
        return _draw(residuals.residuals_over_time_figure(table, time=time, model=model))
    if kind == "histogram":
        return _draw(residuals.residual_histogram_figure(table, model=model))
    if kind == "step":
        return _draw(residuals.error_by_step_figure(table, model=model))
    return _draw(residuals.residual_autocorrelation_figure(table, id=named, time=time, model=model))


def plot_calibration(source: Any, kind: CalibrationKind = "levels") -> PlotlyFigure:
    """Show the calibration of the intervals.

    Args:
        source: What ``check_calibration`` or ``evaluate`` returned, a forecaster, which is evaluated, or the directory
            of a run.
        kind: Values inside by ``"levels"`` of the intervals, or where values fell in their distributions, ``"pit"``.

    Examples:
        >>> import neuro_divergent as nd
        >>> levels = [{"level": 50.0, "coverage": 46.0, "width": 3.0}, {"level": 80.0, "coverage": 78.0, "width": 6.0}]
        >>> figure = nd.plots.plot_calibration({"levels": levels})
        >>> [trace.name for trace in figure.data if trace.name]
        ['as it should be', 'observed']
        >>> list(figure.data[-1].x), list(figure.data[-1].y)
        ([50.0, 80.0], [46.0, 78.0])
    """
    from neuro_divergent.reporting.figures.calibration import calibration_figure, pit_figure

    _check(kind, CalibrationKind)
    if (tables := _run_of(source)) is not None:
        return _of_run(tables, "pit" if kind == "pit" else "calibration")
    source = getattr(_evaluated(source), "coverage", source)
    if kind == "pit":
        if not isinstance(source, Mapping):
            raise InputError("source: the PIT needs what check_calibration returned.")
        return _draw(pit_figure(source))
    return _draw(calibration_figure(source))


def plot_ranking(
    source: Any,
    *,
    most: int = 10,
    model: str = "forecast",
    id: str | None = None,  # noqa: A002 (as in a schema)
) -> PlotlyFigure:
    """Show the series that are forecast best and worst, relative to the seasonal naive forecast.

    Args:
        source: As for ``plot_residuals``.
        most: How many of the best, and of the worst.
        model: Column of forecasts.
        id: With a table: column that names the series; unset, ``unique_id`` if there is one.

    Examples:
        >>> import neuro_divergent as nd
        >>> table = nd.datasets.Synthetic(num_series=4, length=60).frame()
        >>> model = nd.Statistical("drift", horizon=7, season_length=7).fit(table)
        >>> figure = nd.plots.plot_ranking(nd.evaluate(model), most=1)
        >>> len(figure.data[0].x), figure.layout.xaxis.title.text
        (2, 'mean absolute error / that of seasonal naive')
    """
    from neuro_divergent.reporting.figures.ranking import ranking_figure

    table, named, _ = _backtest_of(source, id, None)
    return _draw(ranking_figure(table, id=named, most=most, model=model))


def plot_scores(source: Any, metric: str = "mae") -> PlotlyFigure:
    """Show an error of the model compared with those of the baselines.

    Args:
        source: What ``evaluate`` returned, a forecaster, which is evaluated, or the directory of a run.
        metric: Which error.

    Examples:
        >>> import neuro_divergent as nd
        >>> model = nd.Statistical("drift", horizon=12).fit(nd.datasets.air_passengers())
        >>> figure = nd.plots.plot_scores(nd.evaluate(model), "mase")
        >>> figure.layout.title.text, figure.layout.xaxis.title.text
        ('Scores compared with the baselines', 'mean absolute scaled error')
    """
    from neuro_divergent.reporting.figures.scores import scores_figure

    if (tables := _run_of(source)) is not None:
        source = tables.scores or {}
    source = _evaluated(source)
    return _draw(scores_figure(source if isinstance(source, Mapping) else source.to_dict(), metric))


def plot_folds(splitter: Splitter, data: Any, **schema: Any) -> PlotlyFigure:
    """Show the training and test parts of each fold of a panel, or of a table or file with the fields of ``Schema``.

    Examples:
        >>> import neuro_divergent as nd
        >>> splitter = nd.splitters.TimeSeriesSplit(n_splits=3, test_size=12)
        >>> figure = nd.plots.plot_folds(splitter, nd.datasets.air_passengers())
        >>> [trace.name for trace in figure.data]
        ['train', 'test']
    """
    from neuro_divergent.reporting.figures.folds import folds_figure

    return _draw(folds_figure(splitter, data, **schema))


def plot_schedule(
    schedule: Schedule | str | Sequence[Schedule | str],
    total_steps: int = 1_000,
    *,
    steps_per_epoch: int = 50,
    lr: float = 1e-3,
) -> PlotlyFigure:
    """Show the learning rate over training under a schedule, which may be given by its name, or under several.

    Examples:
        >>> import neuro_divergent as nd
        >>> figure = nd.plots.plot_schedule(["warmup_cosine", nd.schedules.StepDecay()], total_steps=200, lr=0.01)
        >>> [trace.name for trace in figure.data]
        ['warmup_cosine', 'step']
        >>> round(max(figure.data[0].y), 3)
        0.01
    """
    from neuro_divergent.reporting.figures.schedule import schedule_figure

    return _draw(schedule_figure(schedule, total_steps, steps_per_epoch=steps_per_epoch, lr=lr))


def plot_comparison(comparison: Comparison) -> PlotlyFigure:
    """Show what ``compare`` returned: the scores of models, with their spread over folds or cut-offs.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, training=nd.TrainingConfig(max_steps=10))
        >>> result = nd.cross_validate(forecaster, nd.datasets.air_passengers(), refit=False)
        >>> figure = nd.plots.plot_comparison(nd.compare(result, "mae"))
        >>> figure.layout.title.text, figure.layout.xaxis.title.text
        ('Comparison of models', 'mae')
    """
    from neuro_divergent.reporting.figures.comparison import comparison_figure

    return _draw(comparison_figure(comparison))


def plot_importance(source: Explanation | Any, kind: ImportanceKind = "variables", *, most: int = 30) -> PlotlyFigure:
    """Show what a forecast depends on.

    Args:
        source: What ``Forecaster.explain`` returned, or a table of attributions: ``importance`` by ``variable``,
            ``position`` or both.
        kind: With an explanation: the weights of the ``"variables"``, or the ``"attention"`` to steps of the window.
        most: How many variables to show.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"variable": ["weather", "price"], "importance": [0.4, 2.5]})
        >>> figure = nd.plots.plot_importance(table)
        >>> list(figure.layout.yaxis.ticktext), list(figure.data[0].x)
        (['price', 'weather'], [2.5, 0.4])
    """
    from neuro_divergent.reporting.figures import importance

    _check(kind, ImportanceKind)
    if not hasattr(source, "attention") or not hasattr(source, "variables"):
        return _draw(importance.attribution_figure(source, most=most))
    if kind == "attention":
        return _draw(importance.attention_figure(source.attention))
    return _draw(importance.importance_figure(source.variables, most=most))


def plot_architecture(source: Forecaster | str | os.PathLike[str] | Mapping[str, Any]) -> PlotlyFigure:
    """Show the blocks of a network with their shapes and parameters.

    The source is a trained forecaster, the directory of a run, or what ``analyse_network`` returned.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, training=nd.TrainingConfig(max_steps=5))
        >>> figure = nd.plots.plot_architecture(forecaster.fit(nd.datasets.air_passengers()))
        >>> figure.layout.title.text, figure.layout.xaxis.title.text
        ('Architecture', '% of the parameters')
        >>> list(figure.data[0].x)
        [0.0, 100.0]
    """
    from neuro_divergent.reporting.figures.architecture import architecture_figure

    return _draw(architecture_figure(_network_of(source)))


def plot_layers(source: Any, kind: LayerKind = "gradient") -> PlotlyFigure:
    """Show gradients, updates or weights of each layer.

    Args:
        source: The directory of a run; for ``"weights"`` also a trained forecaster or what ``analyse_network``
            returned; for the others also a table: ``step``, ``layer``, ``gradient``, ``weight`` and ``update``.
        kind: Norm of the ``"gradient"`` over training, ``"update"`` of a step relative to the weights, or the
            distribution of the ``"weights"``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> layers = pl.DataFrame({"step": [1, 1, 2, 2], "layer": ["encoder", "head"] * 2})
        >>> layers = layers.with_columns(gradient=pl.Series([0.5, 0.8, 0.4, 0.7]), weight=1.0, update=0.01)
        >>> nd.plots.plot_layers(layers).layout.title.text
        'Gradient by layer'
        >>> nd.plots.plot_layers(layers, "update").layout.title.text
        'Change of each layer in a step'
    """
    from neuro_divergent.reporting.figures import layers

    _check(kind, LayerKind)
    if kind == "weights":
        return _draw(layers.weight_figure(_network_of(source)))
    tables = _run_of(source)
    table = source if tables is None else tables.layers
    return _draw(layers.gradient_flow_figure(table) if kind == "gradient" else layers.update_ratio_figure(table))


def plot_learning_curve(curve: Any) -> PlotlyFigure:
    """Show the error over growing training sizes, from what ``learning_curve`` returned or its table.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, input_size=12, training=nd.TrainingConfig(max_steps=10))
        >>> curve = nd.learning_curve(forecaster, nd.datasets.air_passengers(), sizes=(0.5, 1.0), folds=2)
        >>> figure = nd.plots.plot_learning_curve(curve)
        >>> [trace.name for trace in figure.data if trace.name]
        ['training', 'validation']
    """
    from neuro_divergent.reporting.figures.learning_curve import learning_curve_figure

    return _draw(learning_curve_figure(curve))


def _draw(figure: Figure) -> PlotlyFigure:
    from neuro_divergent.reporting.plotly.notebook_figure import draw

    return draw(figure)


def _of_run(tables: RunTables, name: str) -> PlotlyFigure:
    from neuro_divergent.reporting.run_figures import figure_of

    return _draw(figure_of(tables, name))


def _check(kind: str, kinds: Any) -> None:
    if kind not in get_args(kinds):
        raise InputError(f"kind: {kind!r} must be one of {', '.join(get_args(kinds))}.")


def _run_of(source: Any) -> RunTables | None:
    """Return the tables of a run, if a directory was given; a path of something else may be that of a table."""
    if not isinstance(source, (str, os.PathLike)) or not Path(source).is_dir():
        return None
    return RunTables(source)


def _is_forecaster(source: Any) -> bool:
    return hasattr(source, "fitted") and hasattr(source, "predict")


def _history_of(source: Any) -> Any:
    if (tables := _run_of(source)) is not None:
        return tables.history
    source = getattr(source, "history", source)  # of a forecaster or a trainer
    return source.frame() if hasattr(source, "frame") else source


def _network_of(source: Any) -> Mapping[str, Any]:
    if (tables := _run_of(source)) is not None:
        if tables.network is None:
            raise InputError(f"{source}: {_UNFINISHED.format('network.json')}")
        return tables.network
    if _is_forecaster(source):
        from neuro_divergent.diagnostics.network import analyse_network

        return analyse_network(source)
    if not isinstance(source, Mapping):
        raise InputError(f"source: {type(source).__name__} is no forecaster and no directory of a run.")
    return source


def _evaluated(source: Any) -> Any:
    if not _is_forecaster(source):
        return source
    from neuro_divergent.evaluation.evaluate import evaluate

    return evaluate(source)


def _backtest_of(source: Any, named: str | None, time: str | None) -> tuple[Any, str | None, str]:
    """Return a table of forecasts, its id column or ``None`` for the usual one, and its column of times."""
    if (tables := _run_of(source)) is not None:
        if tables.backtest is None:
            raise InputError(f"{source}: {_UNFINISHED.format('backtest.parquet')}")
        return tables.backtest, tables.id, tables.time
    source = _evaluated(source)
    panel, table = getattr(source, "panel", None), getattr(source, "forecasts", source)
    if panel is not None:
        return table, panel.schema.id, panel.schema.time
    if hasattr(source, "per_series"):  # an evaluation: its tables begin with the id, and this one goes on with the time
        return table, table.columns[0], table.columns[1]
    return table, named, time or "ds"


def _context_of(forecaster: ForecastModel) -> Any:
    from neuro_divergent.runs.context import context_of

    task = forecaster.task
    panel = forecaster.fitted.context if forecaster.panel is None else forecaster.panel
    return context_of(panel, horizon=task.horizon, history=task.history)


def _predict(forecaster: ForecastModel, levels: Sequence[float] | None) -> Any:
    """Ask for forecasts, with the usual intervals where they can be given and none were named."""
    needed = () if forecaster.panel is None else forecaster.panel.schema.future
    if needed:
        raise InputError(
            f"future covariates {', '.join(needed)} are needed to forecast. Pass the forecasts: "
            "plot(forecaster.predict(future=..., levels=[80, 95]))."
        )
    if levels is not None:
        return forecaster.predict(levels=levels)
    with suppress(InputError):  # it cannot give all of them
        return forecaster.predict(levels=_USUAL_LEVELS)
    if forecaster.split is None:  # a loaded one has no window to try on
        return forecaster.predict()
    from neuro_divergent.evaluation.levels import supported_levels

    return forecaster.predict(levels=supported_levels(forecaster, forecaster.split.train, _USUAL_LEVELS)[0])
