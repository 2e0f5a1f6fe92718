"""The folds of a splitter in colours, for a terminal."""

from __future__ import annotations

from rich.text import Text

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.evaluation.splitters.fold_text import draw_folds as lines_of
from neuro_divergent.reporting.terminal import ASCII, BRAILLE, CharacterSet

_STYLES = {"train": "blue", "gap": "dim", "test": "bold magenta", "embargo": "yellow"}


def draw_folds(splitter: Splitter, panel: Panel, *, width: int = 80, characters: CharacterSet = BRAILLE) -> Text:
    """Draw what ``splitter.draw`` draws; colours only repeat what the characters say.

    Args:
        splitter: What makes the folds.
        panel: The series.
        width: Characters from left to right; at least 40.
        characters: Which characters the terminal can show.
    """
    text = Text(no_wrap=True, overflow="crop")
    for place, line in enumerate(lines_of(splitter.split(panel), panel, width=width, plain=characters is ASCII)):
        text.append("\n" if place else "")
        for part, role in line:
            text.append(part, style=_STYLES.get(role, ""))
    return text
