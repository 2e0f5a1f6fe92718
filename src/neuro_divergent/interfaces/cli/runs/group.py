"""The commands of ``nd runs``, of which ``list`` need not be named."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from neuro_divergent.interfaces.cli.runs import comparing, deleting, exporting, listing

_USUAL = "list"


class _ListsRuns(TyperGroup):
    """Lists runs where the first word is not a command: ``nd runs somewhere`` is ``nd runs list somewhere``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [_USUAL, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListsRuns,
    rich_markup_mode=None,
    epilog=f"{listing.EXAMPLES}  nd runs compare first second\n  nd runs list --help\n",
)
app.command(_USUAL, epilog=listing.EXAMPLES)(listing.list_command)
app.command("compare", epilog=comparing.EXAMPLES)(comparing.compare_command)
app.command("delete", epilog=deleting.EXAMPLES)(deleting.delete_command)
app.command("export", epilog=exporting.EXAMPLES)(exporting.export_command)


@app.callback()
def _runs() -> None:
    """List runs, or show one ('nd runs [DIR]' is 'nd runs list [DIR]'); compare, delete and export them."""
