"""Colours of interactive figures, of middle brightness, so that one set works on light and on dark pages.

Tones mean the same as in ``figures.css``, which has a set for each.
"""

from __future__ import annotations

TONES = {
    "actual": "#7d7c78",
    "forecast": "#c837ab",
    "backtest": "#94730a",
    "train": "#3a7ec8",
    "validation": "#d0661f",
    "good": "#16936f",
    "bad": "#d9532c",
    "neutral": "#708399",
    "1": "#1e80c0",
    "2": "#cf6414",
    "3": "#0f9270",
    "4": "#b95c9d",
    "5": "#94790c",
    "6": "#7a6ede",
    "7": "#7a8591",
    "8": "#c2496b",
}
RULE = "#7a8591"
GRID = "rgba(128, 138, 150, 0.28)"
TEXT = "#757c86"
"""Text that can be read on white and on black; an image or a page of its own has darker text."""
ABOVE, BELOW = "#1e80c0", "#cf6414"
"""Shades of numbers above zero and below."""


def faded(colour: str, opacity: float) -> str:
    """Return a colour with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"
