"""The ``nd`` command: wires the commands together and turns errors into one line and an exit code.

Nothing heavy is imported here or at the top of a command: ``nd --help`` must answer at once.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from neuro_divergent import __version__
from neuro_divergent.core.errors import NeuroDivergentError, ProcessLostError, StorageError
from neuro_divergent.core.launched import LAUNCHER, launched
from neuro_divergent.interfaces.cli import (
    auto,
    benchmark,
    compare,
    continuous,
    dashboard,
    demo,
    doctor,
    drift,
    evaluate,
    export,
    federated,
    hardware,
    health,
    init,
    launch,
    models,
    panel,
    pipeline,
    predict,
    presets,
    privacy,
    registry,
    report,
    runs,
    schedule,
    search,
    serve,
    train,
)
from neuro_divergent.interfaces.cli.config_options import ConfigCommand
from neuro_divergent.interfaces.cli.supervised import attend_agent

_INTERRUPTED, _TERMINATED = 130, 143

app = typer.Typer(
    name="nd",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing what draws help in boxes takes longer than all the rest
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n  nd demo\n  nd train sales.csv --horizon 24\n  nd predict runs/sales-nhits-20260101-120000",
)
for _module in (
    demo, train, predict, evaluate, export, serve, compare, benchmark, report, doctor, drift, dashboard, health, models,
    presets, schedule, init, launch,
):  # fmt: skip
    _name = _module.__name__.rpartition(".")[2]
    app.command(_name, cls=ConfigCommand, epilog=_module.EXAMPLES)(getattr(_module, _name))
app.add_typer(runs.app, name="runs")
app.add_typer(panel.app, name="panel")
app.add_typer(hardware.app, name="hardware")
app.add_typer(search.app, name="search")
app.add_typer(auto.app, name="auto")
app.add_typer(federated.app, name="federated")
app.add_typer(privacy.app, name="privacy")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(registry.app, name="registry")
app.add_typer(continuous.app, name="continuous")


class _TerminatedError(BaseException):
    """The process was asked to end."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neuro-divergent {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    """Train neural forecasting models: a table in; trained models, forecasts with intervals and evidence out."""
    if debug:
        os.environ["ND_TRACEBACK"] = "1"


def run() -> NoReturn:
    """Run the command line and exit.

    Codes: 0 fine, 2 input, 3 untrusted file, 4 storage, 5 diverged, 6 another process lost, 7 a stage failed, 130 and
    143 signals.
    """
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _terminate)
    attend_agent()
    place = launched()
    if place is None:
        sys.exit(_run())
    _name_process(f"nd rank {place.rank}")
    try:
        code = _run()
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    _exit_at_once(code)


def _name_process(name: str) -> None:
    """Set what ``top`` and ``ps`` call this process, where the system lets it."""
    try:
        Path("/proc/self/comm").write_text(name)
    except OSError:
        return


def _exit_at_once(code: int) -> NoReturn:
    """End one of several processes without tearing the interpreter down.

    One in some dozen processes that were part of a group of torch is aborted then, when everything is done, by a thread
    that its libraries left behind (torch 2.13, gloo), and would count as failed.
    """
    if "torch" in sys.modules:
        from neuro_divergent.distributed.group import leave_group

        leave_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    try:
        code = app(prog_name="nd", standalone_mode=False) or 0
    except typer.TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    except _TerminatedError:
        return _end("terminated", _TERMINATED)
    except ProcessLostError as error:
        return error.exit_code if LAUNCHER in os.environ else _fail(str(error), error.exit_code)
    except NeuroDivergentError as error:
        return _fail(str(error), error.exit_code)
    except OSError as error:
        return _fail(str(error), StorageError.exit_code)
    except Exception as error:  # noqa: BLE001 - a command line owes its user a line, whatever went wrong
        hint = "This is a bug: please report it. ND_TRACEBACK=1 shows where it is"
        return _fail(f"{type(error).__name__}: {error}. {hint}", 1)
    if code == _INTERRUPTED:
        return _end("interrupted", _INTERRUPTED)
    return int(code)


def _end(how: str, code: int) -> int:
    sys.stderr.write(f"{how}\n")
    return code


def _fail(message: str, code: int) -> int:
    """Say what is wrong in one line, after the traceback if that was asked for."""
    if os.environ.get("ND_TRACEBACK"):
        traceback.print_exc()
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    return code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"warning: {' '.join(str(message).split())}\n")


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _TerminatedError


if __name__ == "__main__":
    run()
