"""The page of a federation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from neuro_divergent import __version__
from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.report.search import draw_all
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.svg.inline import stylesheet

METRICS = {"mae": "MAE", "rmse": "RMSE", "mase": "MASE", "skill": "skill"}
_ORDER = ("global", "personal", "local")
_MOST_CLIENTS = 500
_MEANS = "Means are over the clients that have the score of every model. "
_ENDINGS = {
    "interrupted": "It was interrupted",
    "failed": "It failed",
    "killed": "Its process was killed",
    "damaged": "Its files are damaged",
}


@dataclass(frozen=True)
class Rows:
    """A table of text.

    Attributes:
        columns: Titles.
        rows: Cells; the first one of a row names it.
        words: How many of the first columns are text, the others numbers.
        note: What to know about it; empty for nothing.
    """

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    words: int = 1
    note: str = ""


@dataclass(frozen=True)
class FederationPage:
    """What the page of a federation says.

    Attributes:
        name: Name of the federation.
        state: ``running``, ``finished``, ``interrupted``, ``failed``, ``killed`` or ``damaged``.
        message: Why it is not finished; empty if nothing is known.
        text: What was trained and what came of it, in sentences.
        numbers: Word, amount and meaning of what is most important.
        figures: Figures by round.
        privacy: Promise and expense as pairs of a word and its meaning; empty without a promise.
        privacy_notes: What the promise says, and what it does not.
        scores: Rows of scores: ``client``, ``model``, ``part``, ``windows``, ``mae``, ``rmse``, ``mase``, ``skill``.
        rounds: What happened in each round.
        refusals: Updates that did not count, and why.
        clients: What each client did.
        facts: Settings as pairs of a word and its meaning.
        toml: All settings as a document; empty if they cannot be read.
    """

    name: str
    state: str
    message: str = ""
    text: str = ""
    numbers: Sequence[tuple[str, str, str]] = ()
    figures: Sequence[Figure] = ()
    privacy: Sequence[tuple[str, str]] = ()
    privacy_notes: Sequence[str] = ()
    scores: Sequence[Mapping[str, Any]] = ()
    rounds: Rows = field(default_factory=Rows)
    refusals: Rows = field(default_factory=Rows)
    clients: Rows = field(default_factory=Rows)
    facts: Sequence[tuple[str, str]] = ()
    toml: str = ""


def render_federation(page: FederationPage) -> str:
    """Return the page of a federation."""
    values = {**vars(page), "figures": draw_all(page.figures), "scores": compare_models(page.scores)}
    values["ending"] = _ENDINGS.get(page.state, "") + (f": {page.message}" if page.message else ".")
    return template("federation.html").render(
        title=page.name, version=__version__, style=Markup(stylesheet()), federation=values
    )


def compare_models(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Put the scores of the models of each client side by side; ``None`` if there are none.

    Returns:
        ``models`` and ``metrics`` of the columns, ``rows`` with their cells, and a sentence for each comparison of two
        models.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in scores:
        found.setdefault(str(row["client"]), {})[str(row["model"])] = row
    if not found:
        return None
    known = {model for models in found.values() for model in models}
    models = [name for name in _ORDER if name in known] + sorted(known - set(_ORDER))
    parts = sorted({str(row.get("part") or "") for row in scores} - {""})
    rows = [_score_row(client, found[client], models) for client in list(found)[:_MOST_CLIENTS]]
    if len(found) > 1:
        rows.append(_mean_row(found, models))
    left = len(found) - _MOST_CLIENTS
    where = f"Scores are those on the {' or '.join(parts)} part of each client. " if parts else ""
    return {
        "models": models,
        "metrics": list(METRICS.values()),
        "rows": rows,
        "sentences": _comparisons(found, models),
        "note": where + _MEANS * (len(found) > 1) + (f"{left:,} more clients are not listed. " if left > 0 else ""),
    }


def _score_row(client: str, found: Mapping[str, Mapping[str, Any]], models: Sequence[str]) -> dict[str, Any]:
    windows = next(iter(found.values())).get("windows")
    values = {name: [_value(found.get(model), name) for model in models] for name in METRICS}
    return {"name": client, "windows": "" if windows is None else f"{windows:,}", "cells": _cells(values)}


def _mean_row(found: Mapping[str, Mapping[str, Mapping[str, Any]]], models: Sequence[str]) -> dict[str, Any]:
    """Return the means over the clients that have a score of every model, so that they can be compared."""
    values = {}
    for name in METRICS:
        table = [[_value(client.get(model), name) for model in models] for client in found.values()]
        whole = [row for row in table if not any(math.isnan(value) for value in row)]
        values[name] = [sum(column) / len(whole) for column in zip(*whole, strict=True)] if whole else []
        values[name] = values[name] or [math.nan] * len(models)
    return {"name": "mean", "windows": "", "cells": _cells(values), "is_mean": True}


def _cells(values: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    cells = []
    for name, row in values.items():
        known = [value for value in row if not math.isnan(value)]
        best = (max if name == "skill" else min)(known) if len(set(known)) > 1 else None
        text = format_percent if name == "skill" else format_number
        cells += [{"text": text(value), "is_best": value == best} for value in row]
    return cells


def _comparisons(found: Mapping[str, Mapping[str, Mapping[str, Any]]], models: Sequence[str]) -> list[str]:
    sentences = []
    if "local" not in models:
        return []
    for model in (name for name in models if name != "local"):
        pairs = [(_value(client.get(model), "mae"), _value(client.get("local"), "mae")) for client in found.values()]
        pairs = [pair for pair in pairs if not math.isnan(pair[0]) and not math.isnan(pair[1])]
        better = sum(own < alone for own, alone in pairs)
        if pairs:
            sentences.append(
                f"The {model} model has a lower MAE than the one that the client trained alone at {better:,} of "
                f"{len(pairs):,} clients."
            )
    return sentences


def _value(row: Mapping[str, Any] | None, name: str) -> float:
    value = None if row is None else row.get(name)
    return math.nan if value is None else float(value)
