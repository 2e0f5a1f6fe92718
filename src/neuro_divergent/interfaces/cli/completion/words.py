"""What the last word of a command line can become, by the commands, their options and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from typer.core import TyperArgument, TyperGroup, TyperOption

from neuro_divergent.interfaces.cli.command_group import DefaultGroup

_HELP = "--help"


class Candidate(NamedTuple):
    """What a word can become, and what that means."""

    text: str
    help: str = ""


@dataclass(frozen=True)
class Place:
    """Where on a command line a word is.

    Attributes:
        command: The command that it belongs to.
        path: Names of that command and those above it, such as ``("panel", "build")``.
        position: How many arguments of the command come before.
        pending: The option whose value it is, if it is one.
        given: Options that come before.
        is_after_options: Whether ``--`` came before.
    """

    command: Any
    path: tuple[str, ...] = ()
    position: int = 0
    pending: TyperOption | None = None
    given: tuple[TyperOption, ...] = field(default=())
    is_after_options: bool = False

    def after(self, word: str) -> Place | None:
        """Return the place after a complete word; ``None`` behind one that no command understands."""
        if self.pending is not None:
            return replace(self, pending=None)
        if word == "--" and not self.is_after_options:
            return replace(self, is_after_options=True)
        if word.startswith("-") and len(word) > 1 and not self.is_after_options:
            return self._after_option(word)
        if isinstance(self.command, TyperGroup):
            child = self.command.commands.get(word)
            if child is not None:
                return Place(child, (*self.path, word))
            below = self.default()
            return None if below is None else below.after(word)
        return replace(self, position=self.position + 1)

    def default(self) -> Place | None:
        """Return the same place in the command that a group means where none is named."""
        if not isinstance(self.command, DefaultGroup):
            return None
        name = self.command.default
        return Place(self.command.commands[name], (*self.path, name))

    def _after_option(self, word: str) -> Place | None:
        name, equals, _ = word.partition("=")
        option = self.option(name) or (None if name.startswith("--") else self.option(word[:2]))
        if option is None:
            below = self.default()
            return self if below is None else below.after(word)
        is_short = not word.startswith("--") and len(word) > 2  # -ofile
        needs_value = takes_value(option) and not equals and not is_short
        return replace(self, given=(*self.given, option), pending=option if needs_value else None)

    def option(self, name: str) -> TyperOption | None:
        """Return the option of the command with this name."""
        return next((item for item in self.options() if name in (*item.opts, *item.secondary_opts)), None)

    def options(self) -> Iterator[TyperOption]:
        """Yield the options of the command."""
        return (item for item in self.command.params if isinstance(item, TyperOption) and not item.hidden)

    def argument(self) -> TyperArgument | None:
        """Return the argument that a word here is, if there is one left."""
        found = [item for item in self.command.params if isinstance(item, TyperArgument)]
        if self.position < len(found):
            return found[self.position]
        return found[-1] if found and found[-1].nargs == -1 else None


def complete(root: Any, words: Sequence[str]) -> list[Candidate]:
    """Return what the last of some words after ``nd`` can become."""
    *before, word = words
    place: Place | None = Place(root)
    for item in before:
        place = None if place is None else place.after(item)
    return [] if place is None else list(_candidates(place, word))


def takes_value(option: TyperOption) -> bool:
    """Whether an option is followed by a value."""
    return not option.is_flag and not option.count


def _candidates(place: Place, word: str) -> Iterator[Candidate]:
    from neuro_divergent.interfaces.cli.completion.values import values_of

    if place.pending is not None:
        yield from values_of(place, place.pending, word)
        return
    if word.startswith("-") and not place.is_after_options:
        name, equals, value = word.partition("=")
        if not equals:
            yield from _options(place, word)
            return
        owner = place if place.option(name) else place.default() or place
        if (option := owner.option(name)) is not None and takes_value(option):
            for found in values_of(owner, option, value):
                yield Candidate(f"{name}={found.text}", found.help)
        return
    if isinstance(place.command, TyperGroup):
        for name, command in place.command.commands.items():
            if name.startswith(word) and not command.hidden:
                yield Candidate(name, command.get_short_help_str(80))
        below = place.default()
        if below is None or not word:  # every file of the directory would hide the commands
            return
        place = below
    argument = place.argument()
    if argument is not None:
        yield from values_of(place, argument, word)
    elif not word:
        yield from _options(place, "--")


def _options(place: Place, word: str) -> Iterator[Candidate]:
    """Yield the options that begin with a word and can still be given."""
    places = [place, *([below] if (below := place.default()) else [])]
    for owner in places:
        for option in owner.options():
            names = [name for name in (*option.opts, *option.secondary_opts) if name.startswith(word)]
            if option not in place.given or option.multiple:
                long = [name for name in names if name.startswith("--")]
                yield from (Candidate(name, _first_sentence(option.help or "")) for name in long or names)
    if _HELP.startswith(word):
        yield Candidate(_HELP, "Show what the command does, with examples.")


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
