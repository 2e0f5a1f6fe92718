"""The commands of ``nd auto``, of which the one that begins a search need not be named."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.auto import showing, starting
from neuro_divergent.interfaces.cli.command_group import START, StartGroup
from neuro_divergent.interfaces.cli.config_options import ConfigCommand

app = typer.Typer(
    cls=StartGroup, rich_markup_mode=None, no_args_is_help=True, epilog=f"{starting.EXAMPLES}  nd auto start --help\n"
)
app.command(START, cls=ConfigCommand, epilog=starting.EXAMPLES)(starting.start_command)
app.command("resume", epilog=showing.EXAMPLES)(showing.resume_command)
app.command("show", epilog=showing.EXAMPLES)(showing.show_command)


@app.callback()
def _auto() -> None:
    """Find the best forecast in a time budget. 'nd auto FILE' is 'nd auto start FILE'."""
