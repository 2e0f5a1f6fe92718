"""The commands of ``nd pipeline``."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.pipeline import cleaning, preparing, running, showing

app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=running.EXAMPLES)
app.command("init", epilog=preparing.EXAMPLES)(preparing.init_command)
app.command("run", epilog=running.EXAMPLES)(running.run_command)
app.command("status", epilog=showing.EXAMPLES)(showing.status_command)
app.command("graph", epilog=showing.GRAPH_EXAMPLES)(showing.graph_command)
app.command("clean", epilog=cleaning.EXAMPLES)(cleaning.clean_command)


@app.callback()
def _pipeline() -> None:
    """Run stages from a table to a registered model. Results that are there are not computed again."""
