"""Pages of tutorials: which blocks are cells, and what becomes of their outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.site.notebook_page import to_page
from tools.site.tutorials import read_notebook

PAGE = """# Title

```python
x = 1
```

```sh
nd train sales.csv
```

```python tags=["hide-input"]
x
```
"""


def page_of(source: str, *outputs: object, tags: tuple[str, ...] = ()) -> tuple[str, dict[str, bytes]]:
    cell = new_code_cell(source, outputs=list(outputs))
    cell.metadata["tags"] = list(tags)
    return to_page(new_notebook(cells=[new_markdown_cell("# Title"), cell]), "page")


def stream(text: str) -> object:
    return new_output("stream", name="stdout", text=text)


def shown(**data: object) -> object:
    return new_output("display_data", data={key.replace("__", "/"): value for key, value in data.items()})


def test_blocks_of_python_are_cells_and_others_are_text(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text(PAGE)
    cells = read_notebook(tmp_path / "p.md").cells
    assert [cell.cell_type for cell in cells] == ["markdown", "code", "markdown", "code"]
    assert [cell.source for cell in cells if cell.cell_type == "code"] == ["x = 1", "x"]
    assert "nd train sales.csv" in cells[2].source
    assert cells[3].metadata["tags"] == ["hide-input"]


def test_printed_text_follows_its_code_with_the_last_state_of_a_rewritten_line() -> None:
    text, files = page_of("train()", stream("step 1\rstep 2\r"), stream("step 3\n\x1b[32mdone\x1b[0m\n"))
    assert "``` python\ntrain()\n```" in text
    assert "``` { .text .nd-printed }\nstep 3\ndone\n```" in text
    assert files == {}


def test_output_that_contains_a_fence_does_not_end_its_block() -> None:
    text, _ = page_of("show()", stream("```\ninside\n```\n"))
    assert "```` { .text .nd-printed }\n```\ninside\n```\n````" in text


def test_tags_hide_the_code_or_the_whole_cell() -> None:
    hidden, _ = page_of("secret()", stream("seen\n"), tags=("hide-input",))
    assert "secret" not in hidden
    assert "seen" in hidden
    removed, _ = page_of("secret()", stream("unseen\n"), tags=("remove-cell",))
    assert "secret" not in removed
    assert "unseen" not in removed


def test_commands_and_files_are_shown_as_a_reader_types_them() -> None:
    assert "``` sh\nnd --version\n```" in page_of("!nd --version")[0]
    assert '``` python title="model.py"\nx = 1\n```' in page_of("%%writefile model.py\nx = 1")[0]


def test_plotly_figure_becomes_a_file_that_the_page_loads() -> None:
    figure = {"data": [{"y": [1, 2]}], "layout": {"height": 300}}
    text, files = page_of("plot()", new_output("display_data", data={"application/vnd.plotly.v1+json": figure}))
    assert '<div class="nd-figure" data-figure="page-1" style="height: 300px">' in text
    assert '<script defer src="figures/page-1.js">' in text
    assert json.dumps(figure).encode() in files["figures/page-1.js"]


def test_richest_form_of_an_output_is_shown() -> None:
    text, _ = page_of("table", shown(text__plain="plain", text__html="<table>\n\n<tr></tr></table>"))
    assert "plain" not in text
    assert "<table>\n<tr></tr></table>" in text  # an empty line would end the block
    picture = new_output("display_data", data={"text/plain": "A loss", "image/svg+xml": "<svg/>"})
    text, files = page_of("picture", picture)
    assert "![A loss](figures/page-1.svg)" in text
    assert files == {"figures/page-1.svg": b"<svg/>"}


@pytest.mark.long
def test_tutorial_that_fails_is_named_with_its_cell_and_one_that_runs_leaves_page_and_notebook(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("# Good\n\n```python\nprint(6 * 7)\n```\n")
    bad.write_text("# Bad\n\n```python\nraise ValueError('because')\n```\n")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tools.site", "tutorial", str(good), str(bad), "--output", str(out)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert "\n42\n" in (out / "good.md").read_text()
    notebook = json.loads((out / "good.ipynb").read_text())
    assert [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"] == [[]]
    assert made.returncode == 1
    assert f"error: {bad}" in made.stderr
    assert "because" in made.stderr
    assert not (out / "bad.md").exists()
