"""The commands of ``nd federated``."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.federated import preparing, running, serving, showing

app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=running.EXAMPLES)
app.command("init", epilog=preparing.EXAMPLES)(preparing.init_command)
app.command("run", epilog=running.EXAMPLES)(running.run_command)
app.command("server", epilog=serving.EXAMPLES)(serving.server_command)
app.command("client", epilog=serving.EXAMPLES)(serving.client_command)
app.command("status", epilog=showing.EXAMPLES)(showing.status_command)


@app.callback()
def _federated() -> None:
    """Train one model on the data of several clients. They do not show them to each other."""
