"""The commands of ``nd search``, of which the one that begins a search need not be named."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import START, StartGroup
from neuro_divergent.interfaces.cli.config_options import ConfigCommand
from neuro_divergent.interfaces.cli.search import showing, starting, working

app = typer.Typer(
    cls=StartGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=f"{starting.EXAMPLES}  nd search start --help\n",
)
app.command(START, cls=ConfigCommand, epilog=starting.EXAMPLES)(starting.start_command)
app.command("show", epilog=showing.EXAMPLES)(showing.show_command)
app.command("best", epilog=showing.EXAMPLES)(showing.best_command)
app.command("resume", epilog=working.EXAMPLES)(working.resume_command)
app.command("worker", epilog=working.EXAMPLES)(working.worker_command)


@app.callback()
def _search() -> None:
    """Search for the best settings. 'nd search FILE' is 'nd search start FILE'."""
