"""The commands of ``nd continuous``."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.continuous import preparing, showing, ticking

app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=ticking.EXAMPLES)
app.command("init", epilog=preparing.EXAMPLES)(preparing.init_command)
app.command("tick", epilog=ticking.EXAMPLES)(ticking.tick_command)
app.command("run", epilog=ticking.EXAMPLES)(ticking.run_command)
app.command("status", epilog=showing.EXAMPLES)(showing.status_command)
app.command("train", epilog=ticking.EXAMPLES)(ticking.train_command)
app.command("accept", epilog=ticking.EXAMPLES)(ticking.accept_command)


@app.callback()
def _continuous() -> None:
    """Keep a model up to date as rows come in. Its errors are watched, and challengers that win replace it."""
