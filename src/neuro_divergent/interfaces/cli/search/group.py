"""The commands of ``nd search``, of which the one that begins a search need not be named."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from neuro_divergent.interfaces.cli.config_options import ConfigCommand
from neuro_divergent.interfaces.cli.search import showing, starting, working

_USUAL = "start"


class _Starts(TyperGroup):
    """Begins a search where the first word is not a command: ``nd search FILE`` is ``nd search start FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Starts,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=f"{starting.EXAMPLES}  nd search start --help\n",
)
app.command(_USUAL, cls=ConfigCommand, epilog=starting.EXAMPLES)(starting.start_command)
app.command("show", epilog=showing.EXAMPLES)(showing.show_command)
app.command("best", epilog=showing.EXAMPLES)(showing.best_command)
app.command("resume", epilog=working.EXAMPLES)(working.resume_command)
app.command("worker", epilog=working.EXAMPLES)(working.worker_command)


@app.callback()
def _search() -> None:
    """Search for settings ('nd search FILE' is 'nd search start FILE'); show, resume and share searches."""
