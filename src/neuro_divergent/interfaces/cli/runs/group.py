"""The commands of ``nd runs``, of which ``list`` need not be named."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import DefaultGroup
from neuro_divergent.interfaces.cli.runs import comparing, deleting, exporting, listing, showing


class _ListsRuns(DefaultGroup):
    """Lists runs where the first word is not a command: ``nd runs somewhere`` is ``nd runs list somewhere``."""

    default = "list"


app = typer.Typer(
    cls=_ListsRuns,
    rich_markup_mode=None,
    epilog=f"{listing.EXAMPLES}  nd runs show first\n  nd runs compare first second\n  nd runs list --help\n",
)
app.command(_ListsRuns.default, epilog=listing.EXAMPLES)(listing.list_command)
app.command("show", epilog=showing.EXAMPLES)(showing.show_command)
app.command("compare", epilog=comparing.EXAMPLES)(comparing.compare_command)
app.command("delete", epilog=deleting.EXAMPLES)(deleting.delete_command)
app.command("export", epilog=exporting.EXAMPLES)(exporting.export_command)


@app.callback()
def _runs() -> None:
    """List, show, compare, delete and export runs. 'nd runs [DIR]' is 'nd runs list [DIR]'."""
