"""``nd compare``: several models on one file, by cross-validation or as they were trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.config_options import COMPARE_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import (
    AsJson,
    Jobs,
    Kept,
    Output,
    RayAddress,
    SeasonLength,
    check_ray,
    option,
    parse_amount,
)

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.distributed.ray_executor import RayExecutor
    from neuro_divergent.evaluation.comparison.comparison import Comparison

EXAMPLES = """\b
Examples:
  nd compare sales.csv nlinear nhits lstm --horizon 24
  nd compare load.parquet nhits tft --horizon 24 --splits 8 --refit 4 --jobs 2 --store cv/ --output comparison/
  nd compare new.csv runs/sales-nhits-20260101-120000 runs/sales-lstm-20260101-130000 --last 48
"""


@with_config_options(COMPARE_OPTIONS)
def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Table (CSV, Excel, Parquet, ...), or a quoted glob.")],
    models: Annotated[
        list[str], typer.Argument(metavar="MODELS...", help="Architectures to train, or directories of trained models.")
    ],
    fields: dict[str, Any],
    preset: Annotated[
        str,
        typer.Option(
            "--preset", metavar="NAME", help="Settings to start from ('nd presets').", rich_help_panel="Training"
        ),
    ] = "auto",
    splits: Annotated[int, typer.Option("--splits", help="Folds, one horizon each, at the end.", min=1)] = 5,
    gap: Annotated[int, typer.Option("--gap", help="Rows left out between training and test.", min=0)] = 0,
    refit: Annotated[str, typer.Option("--refit", help="Train for 'every' fold, 'once', or every K folds.")] = "every",
    last: Annotated[
        str, typer.Option("--last", help="Trained models: fraction or rows at the end of each series to forecast.")
    ] = "0.2",
    metric: Annotated[str, typer.Option("--metric", help="Metric to rank by: mae, rmse, smape, mase, ...")] = "mae",
    reference: Annotated[
        str | None, option("--reference", text="Model to compare the others with (seasonal naive).")
    ] = None,
    season_length: SeasonLength = None,
    jobs: Jobs = 1,
    ray: RayAddress = None,
    store: Kept = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Compare models on one table. There are naive baselines and significance tests."""
    from neuro_divergent.data.io.source import check_source
    from neuro_divergent.evaluation.comparison.comparison import check_error_metric
    from neuro_divergent.interfaces.cli.comparing import check_place, kept_folds, show_comparison, write_comparison
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.session import suggest_horizon

    if ray is not None:
        check_ray(ray)
    check_source(data)  # refuses what cannot be read before anything heavy is loaded
    check_place(output)
    check_error_metric(metric)
    screen = Screen(as_json=as_json)
    models = [name for item in models for name in ([item] if Path(item).exists() else item.split(",")) if name]
    trained = [model for model in models if Path(model).is_dir()]
    if trained and len(trained) < len(models):
        other = next(model for model in models if model not in trained)
        raise InputError(f"{other}: is no directory of a trained model, and {trained[0]} is; name only one kind.")
    with ends_with(kept_folds(store)), shown_progress(screen.messages):
        if trained:
            result = _trained(data, trained, last, metric, reference, season_length)
        else:
            task = _section(fields, "task")
            if "horizon" not in task:
                raise InputError(
                    f"how many steps to forecast? {suggest_horizon({'path': data, **_section(fields, 'data')})}"
                )
            folds = {"n_splits": splits, "test_size": task["horizon"], "gap": gap}
            run = {"refit": _refit(refit), "jobs": jobs, "store": store, "season_length": season_length}
            how = {**run, "executor": _executor(ray), **_section(fields, "data")}
            training = {"preset": preset, **_section(fields, "training")}
            result = _cross_validated(data, models, training, task, folds, how, metric, reference)
    comparison, forecasts, scores = result
    show_comparison(screen, comparison, scores)
    if output is not None:
        write_comparison(output, comparison, title=f"Models for {Path(data).name}", forecasts=forecasts, scores=scores)
        screen.say(f"Written to {output}")
    screen.result({"data": data, **comparison.to_dict(), "scores": scores.to_dicts()})


def _section(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the settings of one section of a run."""
    return {key.partition(".")[2]: value for key, value in fields.items() if key.startswith(f"{name}.")}


def _executor(ray: str | None) -> RayExecutor | None:
    """Return what runs the folds, if not this machine."""
    from neuro_divergent.distributed.ray_executor import RayExecutor

    return None if ray is None else RayExecutor(ray)


def _refit(text: str) -> bool | int:
    """Read how often to train."""
    if text in ("every", "once"):
        return text == "every"
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--refit: {text!r} must be 'every', 'once' or a number of folds.")
    return int(text)


def _cross_validated(
    data: str,
    models: list[str],
    training: dict[str, Any],
    task: dict[str, Any],
    folds: dict[str, Any],
    run: dict[str, Any],
    metric: str,
    reference: str | None,
) -> tuple[Comparison, pl.DataFrame, pl.DataFrame]:
    """Train the models fold by fold."""
    from neuro_divergent.models.base import Architecture

    names = [Architecture.registry.check(model) for model in models]

    from neuro_divergent.evaluation.comparison.comparison import compare as compare_forecasts
    from neuro_divergent.evaluation.cross_validation.cross_validation import cross_validate
    from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.training.config import TrainingConfig

    config = TrainingConfig.from_dict(training)
    forecasters = {name: Forecaster(name, training=config, **task) for name in names}
    result = cross_validate(forecasters, data, TimeSeriesSplit(**folds), **run)
    return compare_forecasts(result, metric, reference=reference), result.forecasts, result.scores


def _trained(
    data: str, models: list[str], last: str, metric: str, reference: str | None, season_length: int | None
) -> tuple[Comparison, pl.DataFrame, pl.DataFrame]:
    """Forecast the end of the file with trained models."""
    from neuro_divergent.interfaces.cli.run_directory import model_directory

    amount = parse_amount(last)
    paths = {Path(model).name: model_directory(Path(model)) for model in models}
    if len(paths) < len(models):
        raise InputError("two of the models have the same name; move one to a directory of another name.")

    from neuro_divergent.evaluation.comparison.comparison import compare as compare_forecasts
    from neuro_divergent.evaluation.comparison.joined_backtests import join_backtests
    from neuro_divergent.evaluation.cross_validation.backtest import backtest
    from neuro_divergent.evaluation.cross_validation.forecast_values import history_of
    from neuro_divergent.evaluation.scoring.score import score
    from neuro_divergent.forecasting.forecaster import Forecaster

    found = {
        name: backtest(Forecaster.load(path), data, last=amount, season_length=season_length)
        for name, path in paths.items()
    }
    frame = join_backtests(found)
    first = next(iter(found.values()))
    names = first.panel.schema
    train = history_of(first.panel).rename({names.target: "y"})
    history: dict[str, Any] = {"train": train, "season_length": first.season_length, "id": names.id, "time": names.time}
    comparison = compare_forecasts(frame, metric, reference=reference, **history)
    return comparison, frame, score(frame, metrics=["mae", "rmse", "smape", "mase"], **history)
