"""The ``nd`` command: wires the commands together and turns errors into one line and an exit code.

Nothing heavy is imported here or at the top of a command: ``nd --help`` must answer at once.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from neuro_divergent import __version__
from neuro_divergent.core.errors import NeuroDivergentError, ProcessLostError, StorageError
from neuro_divergent.core.launched import LAUNCHER, launched
from neuro_divergent.core.own_components import name_files
from neuro_divergent.interfaces.cli import (
    auto,
    benchmark,
    compare,
    completion,
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
from neuro_divergent.interfaces.cli.command_group import RootGroup
from neuro_divergent.interfaces.cli.config_options import ConfigCommand
from neuro_divergent.interfaces.cli.import_options import IMPORT, imports_first
from neuro_divergent.interfaces.cli.supervised import attend_agent

_INTERRUPTED, _TERMINATED = 130, 143
_COMMANDS = {  # by the heading of the help under which they are
    "Train": (demo, train, init, models, presets, schedule),
    "Use": (predict, export, serve),
    "Evaluate": (evaluate, compare, benchmark, report, doctor),
    "Search": (search, auto),
    "Operate": (runs, dashboard, health, drift, registry, pipeline, continuous),
    "Scale": (panel, launch, federated, privacy, hardware),
    "Shell": (completion,),
}


class _Root(RootGroup):
    order = tuple(module.__name__.rpartition(".")[2] for modules in _COMMANDS.values() for module in modules)


app = typer.Typer(
    name="nd",
    cls=_Root,
    invoke_without_command=True,
    add_completion=False,  # 'nd completion' is quicker, and knows names of models and runs
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing what draws help in boxes takes longer than all the rest
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n  nd demo\n  nd train sales.csv --horizon 24\n  nd predict runs/sales-nhits-20260101-120000",
)
for _heading, _modules in _COMMANDS.items():
    for _module in _modules:
        _name = _module.__name__.rpartition(".")[2]
        if hasattr(_module, "app"):
            app.add_typer(_module.app, name=_name, rich_help_panel=_heading)
        else:
            app.command(_name, cls=ConfigCommand, epilog=_module.EXAMPLES, rich_help_panel=_heading)(
                getattr(_module, _name)
            )


class _TerminatedError(BaseException):
    """The process was asked to end."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neuro-divergent {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            IMPORT,
            metavar="FILE",
            help="Python file with parts of your own, such as a model, whose names are then known; may be repeated.",
        ),
    ] = None,
) -> None:
    """Train neural forecasting models: a table in; trained models, forecasts with intervals and evidence out."""
    if debug:
        os.environ["ND_TRACEBACK"] = "1"
    if context.invoked_subcommand is None:
        from neuro_divergent.interfaces.cli.start_page import show_start

        show_start()
    name_files(imports or ())


@cache
def commands() -> TyperGroup:
    """Return all commands, as a group that parses a command line."""
    found = get_command(app)
    assert isinstance(found, TyperGroup)
    return found


def run() -> NoReturn:
    """Run the command line and exit.

    Codes: 0 fine, 2 input, 3 untrusted file, 4 storage, 5 diverged, 6 another process lost, 7 a stage failed, 130 and
    143 signals.
    """
    if sys.argv[1:2] == [completion.ANSWER]:
        completion.answer(commands(), sys.argv[2:])
        sys.exit()
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
        code = commands().main(imports_first(sys.argv[1:]), prog_name="nd", standalone_mode=False) or 0
    except typer.TyperException as error:
        from neuro_divergent.interfaces.cli.usage_error import explain

        return _fail(explain(error, commands(), sys.argv[1:]), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    except _TerminatedError:
        return _end("terminated", _TERMINATED)
    except ProcessLostError as error:
        return error.exit_code if LAUNCHER in os.environ else _fail(str(error), error.exit_code)
    except NeuroDivergentError as error:
        return _fail(str(error), error.exit_code, getattr(error, "__notes__", ()))
    except OSError as error:
        return _fail(str(error), StorageError.exit_code)
    except Exception as error:  # noqa: BLE001 - a command line owes its user a line, whatever went wrong
        from neuro_divergent.core.packages import missing_extra
        from neuro_divergent.interfaces.cli.unexpected_error import explain_unexpected

        if isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error)) is not None:
            return _fail(str(missing), missing.exit_code)
        return _fail(explain_unexpected(error), 1)
    if code == _INTERRUPTED:
        return _end("interrupted", _INTERRUPTED)
    return int(code)


def _end(how: str, code: int) -> int:
    sys.stderr.write(f"{how}\n")
    return code


def _fail(message: str, code: int, notes: Sequence[str] = ()) -> int:
    """Say what is wrong and what to do in one line, and each note in another; a traceback comes first if asked for."""
    from neuro_divergent.interfaces.cli.next_step import add_next_step

    if os.environ.get("ND_TRACEBACK"):
        traceback.print_exc()
    lines = [f"error: {add_next_step(' '.join(message.split()))}", *(" ".join(note.split()) for note in notes)]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return code


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    sys.stderr.write(f"warning: {' '.join(str(message).split())}\n")


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _TerminatedError


if __name__ == "__main__":
    run()
