"""The option ``--import FILE``, which may stand anywhere on a command line."""

from __future__ import annotations

from collections.abc import Sequence

from neuro_divergent.core.errors import InputError

IMPORT = "--import"


def imports_first(arguments: Sequence[str]) -> list[str]:
    """Return the words of a command line with each ``--import FILE`` before the command, where it is read.

    Raises:
        InputError: If no file follows.
    """
    moved: list[str] = []
    others: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            others += [word, *words]
        elif word == IMPORT:
            file = next(words, None)
            if file is None:
                raise InputError(f"{IMPORT}: name a Python file, such as {IMPORT} my_model.py.")
            moved += [IMPORT, file]
        elif word.startswith(f"{IMPORT}="):
            moved.append(word)
        else:
            others.append(word)
    return [*moved, *others]
