"""The commands of ``nd registry``."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.registry import exporting, listing, promoting, registering

app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=listing.EXAMPLES)
app.command("register", epilog=registering.EXAMPLES)(registering.register_command)
app.command("list", epilog=listing.EXAMPLES)(listing.list_command)
app.command("show", epilog=listing.EXAMPLES)(listing.show_command)
app.command("diff", epilog=listing.EXAMPLES)(listing.diff_command)
app.command("history", epilog=promoting.EXAMPLES)(promoting.history_command)
app.command("promote", epilog=promoting.EXAMPLES)(promoting.promote_command)
app.command("rollback", epilog=promoting.EXAMPLES)(promoting.rollback_command)
app.command("remove-alias", epilog=promoting.EXAMPLES)(promoting.remove_alias_command)
app.command("tag", epilog=registering.EXAMPLES)(registering.tag_command)
app.command("archive", epilog=registering.EXAMPLES)(registering.archive_command)
app.command("export", epilog=exporting.EXAMPLES)(exporting.export_command)
app.command("collect", epilog=exporting.EXAMPLES)(exporting.collect_command)


@app.callback()
def _registry() -> None:
    """Keep versions of models, and name the champion."""
