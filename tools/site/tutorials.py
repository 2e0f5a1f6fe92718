"""Executes the tutorials as notebooks and writes each as a page with its outputs, and as a notebook to download."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300  # a cell that takes longer hangs
AT_ONCE = 2
_INTERPRETER = "python3"
_CELL = re.compile(r"^```python(?: +tags=(?P<tags>\[[^\n]*\]))?\n(?P<code>.*?)\n```$", re.DOTALL | re.MULTILINE)


class TutorialError(Exception):
    """A tutorial did not run to its end."""


def run_all(sources: Sequence[Path], target: Path) -> list[Path]:
    """Execute tutorials, two at a time, and return the pages; those that have not changed since are kept."""
    target.mkdir(parents=True, exist_ok=True)
    state = _digest_of([*sorted((ROOT / "src").rglob("*.py")), ROOT / "constraints.txt", Path(__file__)])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda source: _run_if_changed(source, target, state), sources))


def _run_if_changed(source: Path, target: Path, state: str) -> Path:
    page, stamp = target / source.name, target / f".{source.stem}.digest"
    digest = _digest_of([source]) + state
    if page.exists() and stamp.exists() and stamp.read_text() == digest:
        return page
    stamp.unlink(missing_ok=True)
    run_tutorial(source, target)
    stamp.write_text(digest)
    return page


def run_tutorial(source: Path, target: Path) -> Path:
    """Execute one tutorial in an empty directory, and write its page, figures and notebook below ``target``."""
    import nbformat
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from tools.site.notebook_page import to_page

    notebook = read_notebook(source)
    place, sockets = Path(tempfile.mkdtemp(prefix=f"{source.stem}-")), Path(tempfile.mkdtemp())
    # Sockets in a directory of our own, to which no other user of the machine can connect.
    kernel = KernelManager(kernel_name=_INTERPRETER, transport="ipc", ip=str(sockets / "kernel"))
    client = NotebookClient(notebook, timeout=SECONDS, km=kernel)
    try:
        client.execute(cwd=str(place), env=_environment())
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise TutorialError(f"{source}: {_told(error)}") from error
    finally:
        if kernel.has_kernel:
            kernel.shutdown_kernel(now=True)
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    page = target / source.name
    text, files = to_page(notebook, source.stem)
    for name, content in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
    nbformat.write(_without_outputs(notebook), target / f"{source.stem}.ipynb")
    page.write_text(text, "utf-8")
    return page


def read_notebook(source: Path) -> Any:
    """Return a page as a notebook: fenced blocks of Python are cells, and all else is text between them."""
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    cells, end = [], 0
    page = source.read_text("utf-8")
    for found in _CELL.finditer(page):
        cells += [new_markdown_cell(page[end : found.start()].strip()), new_code_cell(found["code"])]
        cells[-1].metadata["tags"] = json.loads(found["tags"] or "[]")
        end = found.end()
    cells.append(new_markdown_cell(page[end:].strip()))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernel = {"name": _INTERPRETER, "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=[cell for cell in cells if cell.source], metadata={"kernelspec": kernel})


def _environment() -> dict[str, str]:
    """Return the environment of a kernel: commands of this environment first, one thread, figures as data."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    settings = {
        "PATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "PLOTLY_RENDERER": "plotly_mimetype",
        "PYTHONDONTWRITEBYTECODE": "",
        "COLUMNS": "110",
        "NO_COLOR": "1",
    }
    return {**os.environ, **settings}


def _told(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return "\n".join(lines[-40:])


def _without_outputs(notebook: Any) -> Any:
    """Return the notebook as a reader wants to begin with it: no outputs, and no cells that only check the page."""
    kept = [cell for cell in notebook.cells if "remove-cell" not in cell.metadata.get("tags", [])]
    for cell in kept:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.cells = kept
    return notebook


def _digest_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
