"""``nd train``: from a file to a trained model, forecasts, scores and a report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.interfaces.cli.options import (
    AsJson,
    Calendar,
    Future,
    Gaps,
    Id,
    Levels,
    Missing,
    Past,
    Quiet,
    Short,
    Static,
    Step,
    Target,
    Time,
    option,
    parse_horizon,
    parse_levels,
    parse_numbers,
    split_list,
)

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli import session

EXAMPLES = """\b
Examples:
  nd train sales.csv --horizon 24
  nd train sales.parquet --target units --time date --id store --horizon 28 --test 0.1
  nd train load.csv --horizon 24 --future temperature --calendar hour,day_of_week --model nhits
  nd train sales.csv --horizon 24 --preset best --average ema --find-lr
  nd train run.toml --set model.hidden_size=256 --set training.clip=none
  nd train runs/sales-nhits-20260101-120000 --resume
"""


def train(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file, a quoted glob, a run as TOML ('nd init'), or a run directory with --resume.",
        ),
    ],
    target: Target = None,
    time: Time = None,
    id_: Id = None,
    past: Past = None,
    future: Future = None,
    static: Static = None,
    weight: Annotated[str | None, option("--weight", text="Column of weights of the targets.")] = None,
    categorical: Annotated[
        list[str] | None, option("--categorical", metavar="COLUMNS", text="Numbers that are categories.")
    ] = None,
    calendar: Calendar = None,
    frequency: Step = None,
    missing: Missing = None,
    gaps: Gaps = None,
    short: Short = None,
    unknown_category: Annotated[
        str | None, option("--unknown-category", text="Categories that training never saw: error, unknown.")
    ] = None,
    encoding: Annotated[str | None, option("--encoding", text="Of a CSV file: latin-1, cp1252, ... (utf-8).")] = None,
    date_format: Annotated[
        str | None, option("--date-format", metavar="FORMAT", text="Of times, as in '%d/%m/%Y' (ISO 8601).")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse data that otherwise give a warning.")] = False,
    horizon: Annotated[str | None, option("--horizon", metavar="STEPS", text="Steps to forecast.")] = None,
    input_size: Annotated[int | None, option("--input-size", text="Steps of history (5 horizons).")] = None,
    model: Annotated[str | None, option("--model", "-m", text="Architecture (nhits); see 'nd models'.")] = None,
    loss: Annotated[str | None, option("--loss", text="mae, mse, huber, quantile, smape, ... (mae).")] = None,
    quantiles: Annotated[
        str | None, option("--quantiles", text="Quantiles to train for; sets the loss.", metavar="0.1,0.5,...")
    ] = None,
    scaler: Annotated[str | None, option("--scaler", text="Scaler of each window (standard).")] = None,
    series_scaler: Annotated[
        str | None, option("--series-scaler", text="Scaler of each series: standard, log, ...")
    ] = None,
    validation: Annotated[
        str | None, option("--validation", text="Share or rows held out for validation (0.2).")
    ] = None,
    test: Annotated[str | None, option("--test", text="Share or rows held out for the score (0).")] = None,
    preset: Annotated[
        str | None, option("--preset", "--training", text="auto, quick, best, low_memory; see 'nd presets'.")
    ] = None,
    max_steps: Annotated[int | None, option("--max-steps", text="Optimizer steps at most.")] = None,
    max_epochs: Annotated[int | None, option("--max-epochs", text="Passes at most.")] = None,
    max_seconds: Annotated[float | None, option("--max-seconds", text="Training time at most.")] = None,
    batch_size: Annotated[int | None, option("--batch-size", text="Windows per batch.")] = None,
    accumulate: Annotated[int | None, option("--accumulate", text="Batches per step.")] = None,
    lr: Annotated[float | None, option("--lr", text="Learning rate.")] = None,
    auto_batch_size: Annotated[
        bool, typer.Option("--auto-batch-size", help="Take the largest batch that fits into memory.")
    ] = False,
    find_lr: Annotated[bool, typer.Option("--find-lr", help="Look for a learning rate first.")] = False,
    optimizer: Annotated[str | None, option("--optimizer", text="adamw, adam, sgd, muon, ... (adamw).")] = None,
    schedule: Annotated[str | None, option("--schedule", text="Of the learning rate; see 'nd schedule'.")] = None,
    precision: Annotated[str | None, option("--precision", text="float32, float64, bf16 or fp16.")] = None,
    average: Annotated[str | None, option("--average", text="Average the weights: ema or swa.")] = None,
    teacher: Annotated[str | None, option("--teacher", metavar="MODEL", text="Trained model to learn from.")] = None,
    stop_file: Annotated[str | None, option("--stop-file", text="File that ends training when it appears.")] = None,
    seed: Annotated[int | None, option("--seed", text="Same seed, same model.")] = None,
    threads: Annotated[int | None, option("--threads", text="Threads of torch (by size).")] = None,
    device: Annotated[str | None, option("--device", text="auto, cpu, cuda, cuda:1 or mps.")] = None,
    settings: Annotated[
        list[str] | None,
        option("--set", "-s", metavar="KEY=VALUE", text="Any setting: model.hidden_size=256."),
    ] = None,
    levels: Levels = "80,95",
    divergence: Annotated[
        str | None, option("--divergence", text="If numbers are lost: stop, skip the step, or rollback.")
    ] = None,
    output: Annotated[Path | None, option("--output", "-o", text="Run directory (runs/<file>-<model>-<time>).")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run that was begun, from its last checkpoint.")
    ] = False,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Resume though settings or data have changed.")
    ] = False,
    retries: Annotated[
        int, typer.Option("--retries", min=0, help="Start again this often after a crash, from the last checkpoint.")
    ] = 0,
    stall: Annotated[
        float | None,
        typer.Option(
            "--stall",
            min=10,
            help="Seconds without a sign of life after which a run counts as crashed.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train on a table; write model, forecasts, scores, report."""
    from neuro_divergent.forecasting.run_config import override, parse_setting, parse_value
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.runs.directory import RUN

    values = _read(file, resume=resume)
    if (Path(file) / RUN).is_file():
        output = output or Path(file)
    columns = {"past": past, "future": future, "static": static, "categorical": categorical, "calendar": calendar}
    flags: dict[str, Any] = {
        "data.target": target,
        "data.time": time,
        "data.id": id_,
        **{f"data.{role}": split_list(names) or None for role, names in columns.items()},
        "data.weight": weight,
        "data.frequency": frequency,
        "data.missing": missing,
        "data.gaps": gaps,
        "data.short": short,
        "data.unknown_category": unknown_category,
        "data.encoding": encoding,
        "data.date_format": date_format,
        "data.strict": strict or None,
        "model": model,
        "task.horizon": parse_horizon(horizon),
        "task.input_size": input_size,
        "task.loss": "quantile" if quantiles and loss is None else loss,
        "task.loss.quantiles": parse_numbers(quantiles, "--quantiles") or None,
        "task.scaler": scaler,
        "task.series_scaler": series_scaler,
        "task.validation": None if validation is None else parse_value(validation),
        "task.test": None if test is None else parse_value(test),
        "teacher": teacher,
        "training.preset": preset,
        "training.max_steps": max_steps,
        "training.max_epochs": max_epochs,
        "training.max_seconds": max_seconds,
        "training.batch_size": batch_size,
        "training.accumulate": accumulate,
        "training.optimizer": optimizer,
        "training.optimizer.lr": lr,
        "training.schedule": schedule,
        "training.precision": precision,
        "training.average": average,
        "training.divergence": divergence,
        "training.stop_file": stop_file,
        "training.seed": seed,
        "training.threads": threads,
        "training.device": device,
    }
    for key, value in flags.items():
        if value is not None:
            override(values, key, value)
    for setting in settings or []:
        override(values, *parse_setting(setting))
    options = session.TrainOptions(
        parse_levels(levels),
        output=output,
        quiet=quiet,
        as_json=as_json,
        find_rate=find_lr,
        find_batch_size=auto_batch_size,
        resume=resume,
        allow_changes=allow_changes,
    )
    with naming(file):
        if retries or stall is not None:
            _supervise(values, options, retries, stall)
        session.run(values, options)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Say which document a wrong setting is in, where there is one."""
    try:
        yield
    except ConfigError as error:
        if not file.lower().endswith(".toml") or str(error).startswith(file):
            raise
        raise ConfigError(f"{file}: {error}") from None


def _read(file: str, *, resume: bool) -> dict[str, Any]:
    """Return the sections of a run: those of a TOML file or of a run that was begun, or a table's path alone."""
    from neuro_divergent.core.config import read_toml
    from neuro_divergent.runs.directory import RunDirectory

    directory = RunDirectory(Path(file))
    if directory.has_begun:
        if not resume:
            raise InputError(f"{file}: is a run; go on with it (--resume), or name a table to train on.")
        return directory.stored_config()
    return read_toml(Path(file)) if Path(file).suffix.lower() == ".toml" else {"data": {"path": file}}


def _supervise(values: dict[str, Any], options: session.TrainOptions, retries: int, stall: float | None) -> NoReturn:
    """Train in a process of its own that is started again when it crashes, and exit as it did."""
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.supervisor import supervise

    directory = session.locate(session.check(values, options.levels), options)
    if not options.resume:
        directory.check_free()
    raise typer.Exit(supervise(_other_arguments(sys.argv), run=directory.path, retries=retries, stall=stall))


def _other_arguments(arguments: list[str]) -> list[str]:
    """Return what follows ``train`` on the command line, without the options that are for the supervisor."""
    kept: list[str] = []
    rest = iter(arguments[arguments.index("train") + 1 :])
    for argument in rest:
        if argument in _OWN:
            next(rest, None)
        elif argument.partition("=")[0] not in _OWN and argument != "--resume":
            kept.append(argument)
    return kept


_OWN = ("--retries", "--stall", "--output", "-o")
