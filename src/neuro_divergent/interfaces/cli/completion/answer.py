"""What the script of a shell is told when TAB is pressed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.completion.words import Candidate

ANSWER = "__complete"
"""First word of a call by such a script."""


def answer(commands: Any, arguments: Sequence[str]) -> None:
    """Write what the last word can become, one line for each; nothing where that is not known.

    Args:
        commands: The group of all commands.
        arguments: Name of the shell; then for bash the line up to the cursor and the characters that end a word, for
            others the words after ``nd``, the last of them unfinished.
    """
    with suppress(Exception):  # whoever types is not to be disturbed
        shell, *rest = arguments
        lines = _for_bash(commands, *rest) if shell == "bash" else _described(commands, rest)
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _described(commands: Any, words: Sequence[str]) -> list[str]:
    found = _complete(commands, words)
    return [f"{item.text}\t{item.help}" if item.help else item.text for item in found]


def _for_bash(commands: Any, line: str, breaks: str = "") -> list[str]:
    """Return completions of the part of the last word that bash takes for a word of its own."""
    words = split_line(line)[1:]
    last = words[-1] if words else ""
    known = max((last.rfind(letter) + 1 for letter in breaks if letter in "=:"), default=0)
    return [_quoted(item.text)[known:] for item in _complete(commands, words)]


def _complete(commands: Any, words: Sequence[str]) -> list[Candidate]:
    from neuro_divergent.interfaces.cli.completion.words import complete

    return complete(commands, list(words) or [""])


def split_line(line: str) -> list[str]:
    """Split a line as a shell does, with the unfinished word last; it is empty after a space."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        while (word := lexer.get_token()) is not None:
            words.append(word)
    except ValueError:  # a quotation mark is open
        return [*words, lexer.token]
    is_between = line[-1:].isspace() and not line[:-1].endswith("\\")
    return [*words, ""] if is_between or not words else words


def _quoted(text: str) -> str:
    """Return a name as bash needs it written."""
    return "".join(f"\\{letter}" if letter in " \\\"'$`&|;<>()*?[]!#" else letter for letter in text)
