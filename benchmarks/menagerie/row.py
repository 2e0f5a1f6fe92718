"""What was measured of a pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

GOAL = 1.5  # of the median ratio
KINDS = ("step", "network", "predict")
HEADINGS = {"step": "training step", "network": "network alone", "predict": "predict"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """Ours and theirs, in this order, of everything; times in milliseconds.

    Attributes:
        name: Name of the architecture in NeuralForecast.
        parameters: Numbers that training adjusts.
        step: A training step.
        network: The network in it, forward and backward.
        predict: A forecast for all series.
        note: What is not the same.
    """

    name: str
    parameters: tuple[int, int]
    step: tuple[float, float]
    network: tuple[float, float]
    predict: tuple[float, float]
    note: str

    def ratio(self, kind: str) -> float:
        """How many times faster ours is."""
        ours, theirs = getattr(self, kind)
        return float(theirs / ours)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**asdict(self), "ratios": {kind: self.ratio(kind) for kind in KINDS}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        """Read what ``to_dict`` returned."""
        return cls(**{key: value for key, value in values.items() if key != "ratios"})

    @property
    def size(self) -> str:
        """The number of parameters, or both where they differ."""
        ours, theirs = self.parameters
        return f"{ours:,}" if ours == theirs else f"{ours:,} / {theirs:,}"

    def times(self, kind: str) -> str:
        """Both times, with three digits."""
        return " / ".join(f"{time:,.0f}" if time >= 100 else f"{time:.3g}" for time in getattr(self, kind))


def summary(rows: list[Row]) -> list[str]:
    """Say for each kind how fast ours is, and which architectures are slower."""
    lines = []
    for kind in KINDS:
        ratios = {row.name: row.ratio(kind) for row in rows}
        slower = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio < 1]
        text = f"{HEADINGS[kind]}: median {median(ratios.values()):.2f}x, least {min(ratios.values()):.2f}x"
        lines.append(f"{text}; slower: {', '.join(slower) or 'none'}")
    return lines


def show(rows: list[Row]) -> None:
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Milliseconds, ours / theirs", title_justify="left")
    table.add_column("")
    table.add_column("parameters", justify="right")
    for kind in KINDS:
        table.add_column(HEADINGS[kind], justify="right")
        table.add_column("ratio", justify="right")
    for row in rows:
        cells = [row.name, row.size]
        for kind in KINDS:
            colour = "[red]" if row.ratio(kind) < 1 else ""
            cells += [row.times(kind), f"{colour}{row.ratio(kind):.2f}"]
        table.add_row(*cells)
    console = Console()
    Console(width=None if console.is_terminal else 140).print(table)
    print(*summary(rows), sep="\n")
