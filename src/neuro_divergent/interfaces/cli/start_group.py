"""A group of commands of which the one that starts something need not be named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

START = "start"


class StartGroup(TyperGroup):
    """Starts where the first word is not a command: ``nd search FILE`` is ``nd search start FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line, with ``start`` put first where no command is named."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [START, *args]
        return super().parse_args(ctx, args)
