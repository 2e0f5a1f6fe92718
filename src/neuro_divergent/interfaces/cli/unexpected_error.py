"""What is said about an unexpected error: where it is, if that is in a file of the user, or that it is a bug."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import neuro_divergent

_SHOW = "ND_TRACEBACK=1 shows"


def explain_unexpected(error: Exception) -> str:
    """Return one line: an error that was raised in a file of the user is no bug of this package.

    What the user's code called in other packages, such as torch, counts as the user's.
    """
    said = f"{type(error).__name__}: {error}"
    ours = Path(neuro_divergent.__file__).resolve().parent
    others = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        place = Path(frame.filename).resolve()
        if place.is_relative_to(ours):
            break
        if place.is_file() and not any(place.is_relative_to(other) for other in others):
            return f"{said} ({place.name}, line {frame.lineno}, in {frame.name}). {_SHOW} how it came there"
    return f"{said}. This is a bug: please report it. {_SHOW} where it is"
