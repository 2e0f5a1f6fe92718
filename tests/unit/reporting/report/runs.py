"""Runs for tests of what they leave behind, trained in this process."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.workflow import train_run as workflow

EVIL = "<script>alert('x')</script>"
LEVELS = (80.0, 95.0)


def evil_frame(num_series: int = 8, length: int = 60) -> pl.DataFrame:
    """Return series of which one has a name that must be escaped, and one a very long name."""
    frame = Synthetic(num_series=num_series, length=length).frame()
    return frame.with_columns(pl.col("unique_id").replace({"series-0": EVIL, "series-1": "long-" * 60}))


def train_run(path: Path, frame: pl.DataFrame, **sections: dict[str, Any]) -> dict[str, str]:
    """Train a small run as the command line does, and return the files it says it wrote."""
    data = path.with_name(f"{path.name}.csv")
    frame.write_csv(data)
    values = {
        "data": {"path": str(data)},
        "model": sections.get("model", {"name": "nlinear"}),
        "task": {"horizon": 4, "input_size": 12, "test": 8, **sections.get("task", {})},
        "training": {"max_steps": 20, "threads": 1, "log_every": 2, **sections.get("training", {})},
    }
    return workflow.train_run(RunConfig.from_dict(values), path, levels=LEVELS).files


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in its order, and every attribute is kept."""

    VOID = ("meta", "line", "path", "link", "rect", "circle", "use", "br", "polyline", "polygon")

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(content)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag."""
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}: {attrs}"
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag that ends itself."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that the tag that was opened last is closed first."""
        if tag in self.VOID and (not self.open or self.open[-1] != tag):
            return
        assert self.open, f"closed but never opened: {tag}"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Remember a text."""
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All the words."""
        return " ".join(" ".join(self.texts).split())

    def values(self, attribute: str) -> list[str]:
        """Return the values of an attribute in the whole page."""
        return [value or "" for _, attributes in self.tags for name, value in attributes.items() if name == attribute]

    def count(self, tag: str) -> int:
        """Return how many tags of a name there are."""
        return sum(name == tag for name, _ in self.tags)
