"""Groups of commands: help under headings, and a wrong name answered with the command that was probably meant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from neuro_divergent.core.errors import InputError, did_you_mean

START = "start"
_WORD = re.compile("[a-z]+(?:-[a-z]+)*")
_ALIKE = 0.75  # of a word that may also be the name of a file: it has to be very much like that of a command
# Words of other tools for commands of this one.
_SYNONYMS = {
    "backtest": "evaluate",
    "cv": "compare",
    "fit": "train",
    "forecast": "predict",
    "help": "--help",
    "list": "runs",
    "monitor": "drift",
    "optimize": "search",
    "resume": "train RUN --resume",
    "run": "train",
    "score": "evaluate",
    "test": "evaluate",
    "tune": "search",
    "ui": "dashboard",
    "version": "--version",
}
_TABLES = (".csv", ".tsv", ".gz", ".parquet", ".pq")


class CommandGroup(TyperGroup):
    """Shows its help when no command is named, with the commands under their headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that the first word names.

        Raises:
            InputError: If there is none, with the closest one.
        """
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise InputError(self.refuse(args[0], ctx.command_path))
        return super().resolve_command(ctx, args)

    def refuse(self, word: str, path: str) -> str:
        """Return what is said about a word that is no command of the group with this path, such as ``nd panel``."""
        return f"{path} has no command {word!r}.{did_you_mean(word, self.commands)} '{path} --help' lists all."

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings, in the order in which these appear first."""
        panels: dict[str, list[str]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            if not command.hidden:
                panels.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(name)
        width = max(map(len, self.commands), default=0)
        for title, names in panels.items():
            with formatter.section(title):
                limit = formatter.width - 6 - width
                rows = [(f"{name:{width}}", self.commands[name].get_short_help_str(limit)) for name in names]
                formatter.write_dl(rows)


class DefaultGroup(CommandGroup):
    """A group of which one command need not be named: ``nd search FILE`` is ``nd search start FILE``."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line, with the default command put first where none is named."""
        is_named = bool(args) and args[0] in (*self.commands, *ctx.help_option_names)
        if not is_named and (args or not self.no_args_is_help):
            if args and not ctx.resilient_parsing and self._is_misspelt(args[0]):
                raise InputError(self.refuse(args[0], ctx.command_path))
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _is_misspelt(self, word: str) -> bool:
        """Whether a first word is rather a command that was mistyped than what the default command works on."""
        close = did_you_mean(word, self.commands, cutoff=_ALIKE)
        return bool(close) and _WORD.fullmatch(word) is not None and not Path(word).exists()


class StartGroup(DefaultGroup):
    """Starts where the first word is not a command."""

    default = START


class RootGroup(CommandGroup):
    """All commands of ``nd``; ``order`` has their names as the help lists them."""

    order: ClassVar[tuple[str, ...]] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return sorted(super().list_commands(ctx), key=self.order.index)

    def refuse(self, word: str, path: str) -> str:
        """Return what is said about a word that is no command; it may be a file, or the word of another tool."""
        place = Path(word)
        if place.suffix.lower() in _TABLES:
            return f"{word!r} is no command. To train on a table: nd train {word} --horizon 24. 'nd --help' lists all."
        if place.suffix.lower() == ".toml":
            return f"{word!r} is no command. To train a run: nd train {word}. 'nd --help' lists all."
        if place.is_dir():
            return f"{word!r} is no command. For a run: nd runs {word}, or nd predict {word}. 'nd --help' lists all."
        meant = _SYNONYMS.get(word.lower())
        close = did_you_mean(word, self.commands) if meant is None else f" Did you mean 'nd {meant}'?"
        return f"{path} has no command {word!r}.{close} '{path} --help' lists all."
