"""Figures of a federation, from the table of its rounds.

The table has a row for each round, with ``round`` and some of ``loss``, ``mean_norm``, ``max_norm``, ``change``,
``participants``, ``dropped``, ``refused`` (how many clients) and ``epsilon``, null where nothing is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Figure, Line, Mark, Rule, Tone
from neuro_divergent.reporting.sampling import min_max

_ROUNDS = Axis("round")
_BUCKETS = 500  # into which a line is divided; each keeps its ends and extremes
_HEADROOM = 1.12  # above the budget, for its label
_NORMS: dict[str, tuple[str, Tone]] = {
    "mean_norm": ("mean of the updates", "train"),
    "max_norm": ("largest update", "validation"),
    "change": ("change of the shared weights", "neutral"),
}
_COUNTS: dict[str, tuple[str, Tone]] = {
    "participants": ("took part", "train"),
    "dropped": ("did not answer", "bad"),
    "refused": ("refused", "validation"),
}


def round_loss_figure(rounds: Any) -> Figure:
    """Show the training loss of the clients after each round."""
    places, values = _curve(_read(rounds), "loss")
    if not len(values):
        raise InputError("rounds: no loss was recorded.")
    best = int(values.argmin())
    return Figure(
        title="Loss by round",
        marks=(Line(*_thin(places, values), tone="train"),),
        x=_ROUNDS,
        y=Axis("training loss of the participants", logarithmic=None),
        note="The mean over those that took part, each on its own data.",
        alt_text=f"The loss went from {format_number(float(values[0]))} to {format_number(float(values[-1]))} and was "
        f"lowest in round {int(places[best]):,} with {format_number(float(values[best]))}.",
    )


def update_norm_figure(rounds: Any, *, max_norm: float | None = None) -> Figure:
    """Show the norms of the updates and of the change of the shared weights.

    Args:
        rounds: The table of rounds.
        max_norm: Norm above which an update is refused, if there is one.
    """
    frame = _read(rounds)
    marks: list[Mark] = []
    sentences = []
    for name, (label, tone) in _NORMS.items():
        places, values = _curve(frame, name)
        if len(values):
            marks.append(Line(*_thin(places, values), label, tone, dashed=name == "change"))
            sentences.append(f"{label}: {format_number(float(values[0]))} to {format_number(float(values[-1]))}")
    if not marks:
        raise InputError("rounds: no norm was recorded.")
    if max_norm is not None:
        marks.append(Rule(y=float(max_norm), label=f"refused above {format_number(float(max_norm))}"))
    return Figure(
        title="Norms by round",
        marks=tuple(marks),
        x=_ROUNDS,
        y=Axis("L2 norm", logarithmic=None),
        alt_text=f"From the first to the last round, {'; '.join(sentences)}.",
    )


def participation_figure(rounds: Any) -> Figure:
    """Show how many clients took part in each round, did not answer, and were refused."""
    frame = _read(rounds)
    marks: list[Mark] = []
    totals = {}
    for name, (label, tone) in _COUNTS.items():
        places, values = _curve(frame, name)
        totals[name] = int(values.sum())
        if len(values) and (name == "participants" or values.any()):
            marks.append(Line(*_thin(places, values), label, tone))
    if not marks:
        raise InputError("rounds: there are none.")
    return Figure(
        title="Clients by round",
        marks=tuple(marks),
        x=_ROUNDS,
        y=Axis("clients", from_zero=True),
        alt_text=f"In {format_count(frame.height, 'round')}, {format_count(totals['participants'], 'update')} counted; "
        f"{totals['refused']:,} did not count, and {format_count(totals['dropped'], 'answer')} did not come.",
    )


def budget_figure(rounds: Any, budget: float) -> Figure:
    """Show how much of a privacy budget was spent after each round.

    Args:
        rounds: The table of rounds.
        budget: Epsilon for all rounds together.
    """
    places, values = _curve(_read(rounds), "epsilon")
    if not len(values):
        raise InputError("rounds: no epsilon was recorded.")
    return Figure(
        title="Privacy budget",
        marks=(
            Line(*_thin(places, values), "spent", "forecast", steps=len(values) > 1),
            Rule(y=float(budget), label=f"budget {format_number(float(budget))}"),
        ),
        x=_ROUNDS,
        y=Axis("epsilon", limits=(0.0, _HEADROOM * max(float(budget), float(values.max())))),
        alt_text=f"An epsilon of {format_number(float(values[-1]))} of {format_number(float(budget))} is spent after "
        f"round {int(places[-1]):,}.",
    )


def _read(rounds: Any) -> pl.DataFrame:
    return read_columns(rounds, ("round",), "rounds")


def _curve(frame: pl.DataFrame, column: str) -> tuple[Array, Array]:
    """Return the rounds in which a column has a value, and the values; none if there is no such column."""
    if column not in frame.columns:
        return np.empty(0), np.empty(0)
    places, values = floats_of(frame["round"]), floats_of(frame[column])
    known = np.isfinite(values) & np.isfinite(places)
    return places[known], values[known]


def _thin(places: Array, values: Array) -> tuple[Array, Array]:
    return min_max(places, values, _BUCKETS)
