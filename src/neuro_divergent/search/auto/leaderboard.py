"""The leaderboard of a search: scores, weights, costs and significance of all candidates, and why the winner won."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.formatting import format_number, format_p_value, format_percent
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.diagnostics.finding import Change, Finding
from neuro_divergent.evaluation.comparison.comparison import Comparison, compare
from neuro_divergent.evaluation.cross_validation.forecast_values import history_of, id_column, name_rows
from neuro_divergent.search.auto.cutoffs import Cutoffs

COMBINATION = "combination"
REFERENCE = "seasonal_naive"


@dataclass(frozen=True)
class Row:
    """A candidate, or the combination.

    Attributes:
        candidate: Its name.
        kind: Naive, statistical, network or combination.
        score: Error on the back-tests; ``None`` if there is none.
        weight: Weight in the combination, over all series.
        rank: Mean rank over the series; ``None`` if it was not compared.
        p_value: Of being as good as the seasonal naive forecast, adjusted for the number of candidates.
        seconds: Wall-clock seconds of all its tasks.
        processor_seconds: Processor seconds of them.
        round: Last round that it finished: ``probe`` or ``full``.
        steps: Steps of training that were best.
        note: Why it was left out, failed or was replaced.
    """

    candidate: str
    kind: str
    score: float | None = None
    weight: float = 0.0
    rank: float | None = None
    p_value: float | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0
    round: str = ""
    steps: int = 0
    note: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """All candidates, the best first, and what follows from them.

    Attributes:
        metric: The metric.
        rows: A row per candidate, and one for the combination.
        reason: Why the winner won, in a sentence.
        notes: What else a reader should know.
        findings: What the doctor says, as plain values.
        seconds: Wall-clock seconds of the search.
    """

    metric: str
    rows: tuple[Row, ...]
    reason: str
    notes: tuple[str, ...] = ()
    findings: tuple[dict[str, Any], ...] = ()
    seconds: float = 0.0

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return pl.DataFrame([asdict(row) for row in self.rows], infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = finite_or_none(asdict(self))
        return plain

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Leaderboard:
        """Restore what ``to_dict`` returned."""
        rows = tuple(Row(**row) for row in values["rows"])
        return cls(
            metric=str(values["metric"]),
            rows=rows,
            reason=str(values["reason"]),
            notes=tuple(str(note) for note in values.get("notes", ())),
            findings=tuple(Finding.from_dict(item).to_dict() for item in values.get("findings", ())),
            seconds=float(values.get("seconds", 0.0)),
        )


def prepare_comparison() -> None:
    """Import what the significance tests need, in the background: a second that is free while others compute."""
    threading.Thread(target=importlib.import_module, args=("scipy.stats",), daemon=True).start()


def compare_candidates(
    cutoffs: Cutoffs, forecasts: Mapping[str, Floats], *, metric: str, season: int
) -> Comparison | None:
    """Compare out-of-fold forecasts with significance tests; ``None`` where there is too little to compare."""
    usable = cutoffs.usable
    if not usable.any() or len(forecasts) < 2:
        return None
    panel, horizon = cutoffs.panel, cutoffs.horizon
    series, targets = cutoffs.series[np.nonzero(usable)[1]], cutoffs.targets[usable]
    places: dict[str, Any] = {
        "series": np.repeat(series, horizon),
        "row": np.repeat(targets, horizon),
        "step": np.tile(np.arange(1, horizon + 1), len(series)),
    }
    made = {name: forecast[usable].reshape(-1) for name, forecast in forecasts.items()}
    frame = name_rows(pl.DataFrame({**places, **made}), panel)
    chosen = panel.take(np.unique(series))
    history = history_of(chosen).rename({panel.schema.target: "y"})
    try:
        return compare(
            frame,
            metric,
            reference=REFERENCE if REFERENCE in forecasts else None,
            models=list(forecasts),
            train=history,
            season_length=season,
            id=id_column(panel),
            time=panel.schema.time,
        )
    except NeuroDivergentError:
        return None  # one series and one cut-off, or a metric that is undefined: nothing to test


def explain(
    metric: str, score: float, members: Sequence[tuple[str, float]], singles: Mapping[str, float], p_value: float | None
) -> str:
    """Say in a sentence or two who won and by how much."""
    shown = ", ".join(f"{name} {format_percent(weight)}" for name, weight in members)
    what = f"The forecast is {members[0][0]} alone" if len(members) == 1 else f"The forecast combines {shown}"
    if not math.isfinite(score):
        return f"{what}: the series are too short for a back-test."
    parts = [f"{what}: {metric.upper()} {format_number(score)} on the back-tests"]
    reference = singles.get(REFERENCE, math.nan)
    if math.isfinite(reference) and reference > 0 and [name for name, _ in members] != [REFERENCE]:
        certain = "" if p_value is None else f" (p {format_p_value(p_value)})"
        parts.append(f"{_relation(score, reference)} the seasonal naive forecast{certain}")
    best = min((value for value in singles.values() if math.isfinite(value)), default=math.nan)
    if len(members) > 1 and math.isfinite(best) and best > 0:
        name = next(name for name, value in singles.items() if value == best)
        parts.append(f"{_relation(score, best)} {name}, the best single candidate")
    return ", ".join(parts) + "."


def _relation(score: float, other: float) -> str:
    change = score / other - 1
    if abs(change) < 0.0005:
        return "the same as"
    return f"{format_percent(abs(change))} {'lower' if change < 0 else 'higher'} than"


def no_better_than_naive(metric: str, score: float, reference: float) -> Finding:
    """Return the note of the doctor for data on which nothing beats the seasonal naive forecast."""
    return Finding(
        rule="auto_baseline",
        title="Nothing beats the seasonal naive forecast",
        severity="warning",
        evidence=f"{metric.upper()} {score:.4g} on the back-tests, {reference:.4g} of the seasonal naive forecast: the "
        "history of the series holds little else that helps at this horizon, or the budget was too small to find it.",
        numbers={"score": score, "seasonal_naive": reference},
        changes=(
            Change("auto.budget", "1h", "more candidates are trained to their end"),
            Change("data.future", ["price", "holiday"], "covariates known ahead hold what the history does not"),
        ),
    )
