"""``nd train``: from a file to a trained model, forecasts, scores and a report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.launched import launched
from neuro_divergent.interfaces.cli.config_options import TRAIN_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import (
    AsJson,
    Levels,
    Quiet,
    RayAddress,
    check_ray,
    option,
    parse_levels,
    parse_numbers,
)

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli import session

EXAMPLES = """\b
Examples:
  nd train sales.csv --horizon 24
  nd train sales.parquet --target units --time date --id store --horizon 28 --test 0.1
  nd train load.csv --horizon 24 --future temperature --calendar hour,day_of_week --model nhits
  nd train sales.csv --horizon 24 --preset best --average ema --find-lr
  nd train sales.xlsx --sheet 2024 --wide --horizon 12
  nd train sqlite:///shop.db --query "SELECT day AS ds, units AS y FROM sales" --horizon 24
  nd train run.toml --set model.hidden_size=256 --set training.clip=none
  nd train runs/sales-nhits-20260101-120000 --resume
  nd train sales.parquet --horizon 24 --processes 4 --retries 3
  nd train sales.parquet --horizon 24 --processes 4 --retries 3 --ray auto
"""


@with_config_options(TRAIN_OPTIONS)
def train(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Table (.csv, .xlsx, .jsonl, .parquet, .arrow), a quoted glob, a database (sqlite:///shop.db), a run "
            "as TOML ('nd init'), or a run directory with --resume.",
        ),
    ],
    fields: dict[str, Any],
    quantiles: Annotated[
        str | None,
        option("--quantiles", text="Quantiles to train for; sets the loss.", metavar="0.1,0.5,...", panel="Task"),
    ] = None,
    preset: Annotated[
        str | None,
        option(
            "--preset",
            "--training",
            metavar="NAME",
            text="Settings to start from; 'nd presets' lists them.",
            panel="Training",
        ),
    ] = None,
    find_lr: Annotated[bool, option("--find-lr", text="Search for a learning rate first.", panel="Training")] = False,
    auto_batch_size: Annotated[
        bool, option("--auto-batch-size", text="Use the largest batch that fits into memory.", panel="Training")
    ] = False,
    settings: Annotated[
        list[str] | None,
        option("--set", "-s", metavar="KEY=VALUE", text="Any other setting, such as model.hidden_size=256."),
    ] = None,
    levels: Levels = "80,95",
    output: Annotated[
        Path | None, option("--output", "-o", metavar="DIRECTORY", text="Run directory (runs/<file>-<model>-<time>).")
    ] = None,
    resume: Annotated[bool, option("--resume", text="Resume a run from its last checkpoint.")] = False,
    allow_changes: Annotated[
        bool, option("--allow-changes", text="Resume although settings or data have changed.")
    ] = False,
    retries: Annotated[
        int, typer.Option("--retries", min=0, help="Restarts after a crash, from the last checkpoint.")
    ] = 0,
    stall: Annotated[
        float | None,
        typer.Option("--stall", min=10, help="Seconds without a heartbeat after which a run counts as crashed."),
    ] = None,
    processes: Annotated[
        int,
        typer.Option("--processes", min=1, help="Processes that share each batch, on this machine unless --ray."),
    ] = 1,
    ray: RayAddress = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train on a table; write model, forecasts, scores, report."""
    from neuro_divergent.forecasting.run_config import override, parse_setting
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.runs.directory import RUN

    values = _read(file, resume=resume)
    if (Path(file) / RUN).is_file():
        output = output or Path(file)
    if preset is not None:
        fields["training.preset"] = preset
    if quantiles:
        fields.setdefault("task.loss", "quantile")
        fields["task.loss.quantiles"] = parse_numbers(quantiles, "--quantiles")
    # A component comes before its settings, which else would be of the one that it replaces.
    for key in sorted(fields):
        override(values, key, fields[key])
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
        if (processes > 1 or ray is not None) and launched() is not None:
            name = "--processes" if processes > 1 else "--ray"
            raise InputError(f"{name}: a launcher has started several already; leave it out.")
        if ray is not None:
            check_ray(ray)
        on_this_machine = ray is None and processes > 1
        if retries or (stall is not None and not on_this_machine):
            _supervise(values, options, retries, stall, processes if on_this_machine else 1)
        if processes > 1 or ray is not None:
            _launch(values, options, processes, stall, ray)
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
    """Return the sections of a run: those of a TOML file or of a started run, or the path of a table alone."""
    from neuro_divergent.core.config import read_toml
    from neuro_divergent.runs.directory import RunDirectory

    directory = RunDirectory(Path(file))
    if directory.has_begun:
        if not resume:
            raise InputError(
                f"{file}: is a run; resume it with 'nd train {file} --resume', forecast with 'nd predict {file}', or "
                "name a table to train on."
            )
        return directory.stored_config()
    return read_toml(Path(file)) if Path(file).suffix.lower() == ".toml" else {"data": {"path": file}}


def _supervise(
    values: dict[str, Any], options: session.TrainOptions, retries: int, stall: float | None, processes: int
) -> NoReturn:
    """Train in processes of its own that are started again when one crashes, and exit as they did."""
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.supervisor import supervise

    directory = session.locate(session.check(values, options.levels), options)
    if not options.resume:
        directory.check_free()
    kept = _of_an_attempt(_arguments(), processes)
    raise typer.Exit(supervise(kept, run=directory.path, retries=retries, stall=stall, processes=processes))


def _launch(
    values: dict[str, Any], options: session.TrainOptions, processes: int, stall: float | None, ray: str | None
) -> NoReturn:
    """Train in several processes, and exit as the one that failed first did."""
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.launcher import launch_on
    from neuro_divergent.interfaces.cli.supervisor import COMMAND
    from neuro_divergent.interfaces.cli.this_machine import this_machine

    config = session.check(values, options.levels)  # a mistake is said once
    command = [*COMMAND, *_without(_arguments(), ("--processes", "--stall", "--retries", "--ray"))]
    if ray is None:
        with this_machine(processes) as host:
            raise SystemExit(launch_on(host, command, stall=stall))  # process 0 has said how it ended
    from neuro_divergent.interfaces.cli.ray_host import Room, launch_on_ray

    training = config.training
    room = Room(
        1 if training.threads == "auto" else training.threads, training.device == "auto" or "cuda" in training.device
    )
    raise SystemExit(launch_on_ray(ray, command, processes, room))


def _of_an_attempt(arguments: list[str], processes: int) -> list[str]:
    """Return arguments without those for the supervisor, which itself starts several processes on this machine."""
    own = ("--retries", "--output", "-o", "--stall", *(("--processes",) if processes > 1 else ()))
    return [argument for argument in _without(arguments, own) if argument != "--resume"]


def _arguments() -> list[str]:
    """Return what follows ``train`` on the command line."""
    return sys.argv[sys.argv.index("train") + 1 :]


def _without(arguments: list[str], options: tuple[str, ...]) -> list[str]:
    """Return arguments without some options that have a value."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in options:
            next(rest, None)
        elif argument.partition("=")[0] not in options:
            kept.append(argument)
    return kept
