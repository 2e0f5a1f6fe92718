"""The commands of ``nd panel``."""

from __future__ import annotations

import typer

from neuro_divergent.interfaces.cli.command_group import CommandGroup
from neuro_divergent.interfaces.cli.config_options import ConfigCommand
from neuro_divergent.interfaces.cli.panel import append, build, check, compact, info

EXAMPLES = """\b
Examples:
  nd panel build 'in/*.parquet' --output panel/
  nd train panel/ --horizon 24
  nd panel append panel/ today.parquet
  nd panel info panel/
"""

app = typer.Typer(cls=CommandGroup, rich_markup_mode=None, no_args_is_help=True, epilog=EXAMPLES)
app.command("build", cls=ConfigCommand, epilog=build.EXAMPLES)(build.build)
app.command("append", cls=ConfigCommand, epilog=append.EXAMPLES)(append.append)
app.command("info", cls=ConfigCommand, epilog=info.EXAMPLES)(info.info)
app.command("check", cls=ConfigCommand, epilog=check.EXAMPLES)(check.check)
app.command("compact", cls=ConfigCommand, epilog=compact.EXAMPLES)(compact.compact)


@app.callback()
def _panel() -> None:
    """Keep tables that exceed memory as arrays on disk."""
