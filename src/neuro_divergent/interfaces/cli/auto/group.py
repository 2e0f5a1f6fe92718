"""The commands of ``nd auto``, of which the one that begins a search need not be named."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from neuro_divergent.interfaces.cli.auto import showing, starting
from neuro_divergent.interfaces.cli.config_options import ConfigCommand

_USUAL = "start"


class _Starts(TyperGroup):
    """Begins a search where the first word is not a command: ``nd auto FILE`` is ``nd auto start FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Starts, rich_markup_mode=None, no_args_is_help=True, epilog=f"{starting.EXAMPLES}  nd auto start --help\n"
)
app.command(_USUAL, cls=ConfigCommand, epilog=starting.EXAMPLES)(starting.start_command)
app.command("resume", epilog=showing.EXAMPLES)(showing.resume_command)
app.command("show", epilog=showing.EXAMPLES)(showing.show_command)


@app.callback()
def _auto() -> None:
    """Find the best forecast in a time budget ('nd auto FILE' is 'nd auto start FILE'); resume and show searches."""
