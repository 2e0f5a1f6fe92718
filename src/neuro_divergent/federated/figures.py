"""The figures of a federation, by name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import polars as pl

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.federated.reading import FederationSummary
from neuro_divergent.reporting.figures.federation import (
    budget_figure,
    participation_figure,
    round_loss_figure,
    update_norm_figure,
)
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.runs.values import number, part

_FLOATS = ("seconds", "change", "loss", "mean_norm", "max_norm", "epsilon")


def round_table(federation: FederationSummary) -> pl.DataFrame:
    """Return a row for each round: its number, numbers of it, and how many clients did what."""
    rows = federation.rows
    return pl.DataFrame(
        {
            "round": [float(row.round) for row in rows],
            **{name: [getattr(row, name) for row in rows] for name in _FLOATS},
            **{name: [float(len(getattr(row, name))) for row in rows] for name in _LISTS},
        },
        schema=dict.fromkeys(("round", *_FLOATS, *_LISTS), pl.Float64),
    )


_LISTS = ("participants", "dropped", "refused")


def federation_figure(federation: FederationSummary, name: str) -> Figure:
    """Return a figure of a federation: one of ``FIGURES``.

    Raises:
        InputError: If there is no such figure, or not enough rounds for it.
    """
    if name not in FIGURES:
        raise InputError(f"{name!r}: no such figure.{did_you_mean(name, FIGURES)} Known: {', '.join(FIGURES)}.")
    if not federation.rows:
        raise InputError("rounds: none is complete yet.")
    return FIGURES[name](federation)


def federation_figures(federation: FederationSummary) -> dict[str, Figure]:
    """Return the figures that a federation has the numbers for, by name."""
    found = {}
    for name in FIGURES:
        with suppress(InputError):
            found[name] = federation_figure(federation, name)
    return found


def _loss(federation: FederationSummary) -> Figure:
    return round_loss_figure(round_table(federation))


def _norms(federation: FederationSummary) -> Figure:
    largest = number(part(federation.settings, "federation").get("max_norm"))
    return update_norm_figure(round_table(federation), max_norm=largest)


def _participation(federation: FederationSummary) -> Figure:
    return participation_figure(round_table(federation))


def _budget(federation: FederationSummary) -> Figure:
    privacy = federation.privacy
    if privacy is None or privacy.budget is None:
        raise InputError("privacy: there is no budget.")
    return budget_figure(round_table(federation), privacy.budget)


FIGURES: dict[str, Callable[[FederationSummary], Figure]] = {
    "loss": _loss,
    "participation": _participation,
    "norms": _norms,
    "budget": _budget,
}
"""What makes each figure, by its name."""
