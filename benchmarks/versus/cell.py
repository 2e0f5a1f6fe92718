"""One line of the comparison: what was measured on both sides, and what was to be reached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from versus.side import Side


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the sections need to know.

    Attributes:
        rounds: How often both sides are measured in turns.
        threads: Threads on both sides.
        data: Directory of the public data sets.
        ours: Runs our functions in a process of their own.
        theirs: The same for theirs.
    """

    rounds: int
    threads: int
    data: Path
    ours: Side
    theirs: Side


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A measurement of ours beside theirs, or beside a limit.

    Attributes:
        section: Part of the comparison it belongs to.
        name: What was measured.
        ours: Our measurement.
        theirs: Theirs, or the limit.
        unit: Unit of both.
        goal: Ratio to reach, or ``None`` for a measurement that is shown without a goal.
        limit: Whether ``theirs`` is a limit: the ratio is then ours to it and must be at most the goal. Otherwise the
            ratio is theirs to ours and must be at least the goal.
        note: Anything else to know.
    """

    section: str
    name: str
    ours: float
    theirs: float
    unit: str
    goal: float | None = None
    limit: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times better ours is, or how many times the limit it needs."""
        return self.ours / self.theirs if self.limit else self.theirs / self.ours

    @property
    def reached(self) -> bool | None:
        """Whether the goal was reached; ``None`` without one."""
        if self.goal is None:
            return None
        return self.ratio <= self.goal if self.limit else self.ratio >= self.goal

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**self.__dict__, "ratio": self.ratio, "reached": self.reached}


def show(cells: list[Cell]) -> None:
    """Print the cells as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Neuro-Divergent beside NeuralForecast", title_justify="left")
    for heading in ("", "ours", "theirs or limit", "", "ratio", "goal", "reached", "note"):
        table.add_column(heading, justify="left" if heading in ("", "reached", "note") else "right")
    section = ""
    for cell in cells:
        if cell.section != section:
            table.add_section()
            table.add_row(f"[bold]{cell.section}")
        section = cell.section
        goal = "" if cell.goal is None else f"{'<=' if cell.limit else '>='} {cell.goal:g}"
        verdict = {None: "", True: "[green]yes", False: "[red]no"}[cell.reached]
        table.add_row(
            cell.name,
            f"{cell.ours:,.4g}",
            f"{cell.theirs:,.4g}",
            cell.unit,
            f"{cell.ratio:.2f}",
            goal,
            verdict,
            cell.note,
        )
    console = Console()
    Console(width=None if console.is_terminal else 180).print(table)
