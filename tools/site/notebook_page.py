"""Turns an executed notebook into a page: Markdown, with outputs below the cells and figures in files beside it."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PLOTLY = "application/vnd.plotly.v1+json"
_PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
_FIGURE_HEIGHT = 450


def to_page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of the page and the files that it needs, by their names."""
    files: dict[str, bytes] = {}
    parts: list[str] = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "remove-cell" in tags:
            continue
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        if "hide-input" not in tags:
            parts.append(_code(cell.source))
        if not cell.source.startswith("%%writefile"):  # which only says that it wrote it
            parts.extend(_outputs(cell.outputs, name, files))
    note = f"\n[Download this page as a notebook]({name}.ipynb){{ .nd-notebook download }}\n"
    text = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    if any(file.endswith(".js") for file in files):
        text += '\n\n<script defer src="../assets/plotly.min.js"></script>\n'
        text += "\n".join(f'<script defer src="{file}"></script>' for file in files if file.endswith(".js"))
        text += '\n<script defer src="../assets/figures.js"></script>\n'
    return f"{text}\n{note}", files


def _code(source: str) -> str:
    """Return the code as a reader types it: commands without the mark of the notebook, files under their names."""
    lines = source.strip("\n").splitlines()
    if lines and lines[0].startswith("%%writefile"):
        return _fence("\n".join(lines[1:]), f'python title="{lines[0].split()[-1]}"')
    if lines and all(line.startswith("!") or not line.strip() or line.startswith(" ") for line in lines):
        return _fence("\n".join(line.removeprefix("!") for line in lines), "sh")
    return _fence(source, "python")


def _outputs(outputs: list[Any], name: str, files: dict[str, bytes]) -> list[str]:
    """Return what a cell printed and showed, texts that follow each other as one."""
    parts: list[str] = []
    printed = ""
    for output in outputs:
        if output.output_type == "stream":
            printed += output.text
            continue
        if output.output_type not in ("display_data", "execute_result"):
            continue
        if printed.strip():
            parts.append(_text(printed))
        printed = ""
        parts.append(_shown(output.data, name, files))
    if printed.strip():
        parts.append(_text(printed))
    return parts


def _shown(data: dict[str, Any], name: str, files: dict[str, bytes]) -> str:
    """Return the richest form of an output that a page can have."""
    number = len(files) + 1
    if _PLOTLY in data:
        figure = data[_PLOTLY]
        height = figure.get("layout", {}).get("height") or _FIGURE_HEIGHT
        file = f"figures/{name}-{number}.js"
        key = f"{name}-{number}"
        code = f"(window.ndFigures = window.ndFigures || {{}})[{json.dumps(key)}] = {json.dumps(figure)};\n"
        files[file] = code.encode()
        return f'<div class="nd-figure" data-figure="{key}" style="height: {height}px"></div>'
    for kind, ending in _PICTURES.items():
        if kind in data:
            file = f"figures/{name}-{number}.{ending}"
            content = data[kind]
            files[file] = content.encode() if ending == "svg" else base64.b64decode(content)
            return f"![{data.get('text/plain', 'Figure')[:80]}]({file})"
    if "text/html" in data:
        html = "\n".join(line for line in data["text/html"].splitlines() if line.strip())
        return f'<div class="nd-output">\n{html}\n</div>'
    return _text(data.get("text/plain", ""))


def _text(printed: str) -> str:
    """Return printed text as a block; of a line that was written over again and again, the last state."""
    lines = [line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in _ANSI.sub("", printed).split("\n")]
    return _fence("\n".join(lines).strip("\n"), "{ .text .nd-printed }")


def _fence(text: str, language: str) -> str:
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", text)), 3)
    return f"{marks} {language}\n{text}\n{marks}"
