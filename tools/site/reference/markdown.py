"""Pieces of Markdown: headings with anchors, tables, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def heading(level: int, text: str, anchor: str, label: str = "") -> str:
    """Return a heading with a stable anchor; ``label`` is its name in the table of contents where that is shorter."""
    shown = f' data-toc-label="{label}"' if label else ""
    return f"{'#' * level} {text} {{ #{anchor}{shown} }}\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without the columns that are empty in all rows, and nothing at all without rows."""
    kept = [list(map(_cell, row)) for row in rows]
    if not kept:
        return ""
    filled = [number for number in range(len(columns)) if any(row[number] for row in kept)]
    lines = [[columns[number] for number in filled], ["---"] * len(filled)]
    lines += [[row[number] for number in filled] for row in kept]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code_block(text: str, language: str) -> str:
    """Return a block of code."""
    fence = "`" * max(3, 1 + max((len(found) for found in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}\n"


def code(text: str) -> str:
    """Return text as code within a line."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def escape(text: str) -> str:
    """Write text that is no code so that Markdown and HTML leave it as it is."""
    return re.sub(r"([*|])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def _cell(text: str) -> str:
    """Write text as one line; a bar within code divides nothing."""
    joined = re.sub(r"\s*\n\s*\n\s*", "<br>", text.strip())
    return " ".join(joined.split())
