"""Values and names as the text of labels."""

from __future__ import annotations

import html
import re
from datetime import date
from typing import Any

import numpy as np

from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.figure import Values

_UNKNOWN_TO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Return text for HTML and SVG, in or between tags; characters that neither can hold become question marks."""
    return html.escape(_UNKNOWN_TO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def write_value(value: Any) -> str:
    """Write a number, a time or a name; of a time the parts that are zero are left out."""
    if isinstance(value, date):
        value = np.datetime64(value.replace(tzinfo=None) if hasattr(value, "hour") else value)  # type: ignore[call-arg]
    if isinstance(value, np.datetime64):
        return str(value.astype("M8[s]")).replace("T", " ").removesuffix(":00").removesuffix(" 00:00")
    return format_number(float(value)) if isinstance(value, int | float | np.number) else str(value)


def write_values(values: Values) -> list[str]:
    """Write each of some values."""
    return [write_value(value) for value in values]


def shorten(text: str, most: int) -> str:
    """Shorten a text in its middle, as both ends of a name tell it from others."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
