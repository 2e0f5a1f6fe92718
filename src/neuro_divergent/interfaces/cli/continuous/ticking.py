"""``nd continuous tick|run|train|accept``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.continuous.continuous import TickResult

EXAMPLES = """\b
Examples:
  nd continuous tick load              (by hand, or every hour: 0 * * * * cd /srv && nd continuous tick load)
  nd continuous run load --every 1h
  nd continuous train load --reason "new tariff"
  nd continuous status load
"""
_Directory = Annotated[Path, typer.Argument(help="Directory that 'nd continuous init' has made.")]


def tick_command(
    directory: _Directory,
    as_json: Annotated[bool, typer.Option("--json", help="Print decisions as JSON.")] = False,
) -> None:
    """Do what is to be done now: read new rows, forecast, compare, train and replace. Killed, the next tick goes on."""
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.continuous.continuous import Continuous

    screen = Screen(as_json=as_json)
    continuous = Continuous(directory)
    with interruptible("nd continuous tick", directory), shown_progress(screen.messages):
        result = continuous.tick()
    _show(result, screen, directory)


def run_command(
    directory: _Directory,
    every: Annotated[str, typer.Option(help="Time between ticks, such as 15m, 1h or 1d.")] = "1h",
) -> None:
    """Stay and call a tick again and again, each in a process of its own. Killed, the next one goes on."""
    import signal
    import subprocess
    import sys
    import time

    from neuro_divergent.lifecycle.continuous.continuous import Continuous
    from neuro_divergent.lifecycle.continuous.settings import parse_duration

    pause = parse_duration(every).total_seconds()
    Continuous(directory)  # so that a mistake is told now
    command = [sys.executable, "-m", "neuro_divergent", "continuous", "tick", str(directory)]
    while True:
        began = time.monotonic()
        tick = subprocess.Popen(command)
        try:
            tick.wait()
        except BaseException:
            # A signal from the terminal has reached the tick too, which saves what it has.
            tick.send_signal(signal.SIGTERM)
            tick.wait()
            raise
        time.sleep(max(0.0, began + pause - time.monotonic()))


def train_command(
    directory: _Directory,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "requested by hand.",
) -> None:
    """Train a challenger now, whatever the triggers say; it still has to pass the gate and the comparison."""
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.continuous.continuous import Continuous

    continuous = Continuous(directory)
    continuous.request(reason)
    screen = Screen()
    with interruptible("nd continuous tick", directory), shown_progress(screen.messages):
        result = continuous.tick()
    _show(result, screen, directory)


def accept_command(
    directory: _Directory,
    incident: Annotated[int, typer.Argument(help="Number of the incident, as 'nd continuous status' shows it.")],
) -> None:
    """Take rows in that were put in quarantine, because they are right after all."""
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.continuous.continuous import Continuous

    _show(Continuous(directory).accept(incident), Screen(), directory)


def _show(result: TickResult, screen: Screen, directory: Path) -> None:
    for decision in result.decisions:
        screen.say(decision.sentence)
    for message in result.failed_hooks:
        typer.echo(f"warning: {message}; it is tried again at the next tick.", err=True)
    if result.decisions:
        screen.facts([("next", f"nd continuous status {shlex.quote(str(directory))}")])
    else:
        screen.say("Nothing to decide." if result.steps else "Nothing is new.")
    screen.result(
        {
            "decisions": [vars(decision) for decision in result.decisions],
            "steps": result.steps,
            "failed_hooks": result.failed_hooks,
        }
    )
