"""The scores of a run as sentences and as rows of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from neuro_divergent.core.formatting import format_number, format_percent
from neuro_divergent.evaluation.evaluate import REFERENCE
from neuro_divergent.reporting.report.plain import rows, text
from neuro_divergent.reporting.text_summaries import Verdict, compare, judge, judge_interval
from neuro_divergent.runs.values import count, number

COLUMNS = {
    "mae": "MAE",
    "rmse": "RMSE",
    "mape": "MAPE %",
    "smape": "sMAPE %",
    "wape": "WAPE %",
    "mase": "MASE",
    "bias": "bias",
    "skill": "skill",
}


@dataclass(frozen=True)
class Scores:
    """Scores of the model and of the baselines.

    Attributes:
        model: Name of the model, as in ``table``.
        part: Part of the data that was scored.
        windows: Number of forecasts.
        table: Name and scores of each, NaN where one is not defined.
        coverage: For each level, the percentage of values inside the interval and its mean width.
    """

    model: str
    part: str
    note: str
    windows: int
    season_length: int
    table: list[dict[str, Any]]
    coverage: list[dict[str, float]]

    @classmethod
    def read(cls, content: dict[str, Any] | None) -> Scores | None:
        """Read ``scores.json``; ``None`` if there are no scores in it."""
        table = [
            {"name": text(row.get("name")), **{name: _score(row.get(name), name) for name in COLUMNS}}
            for row in rows(content, "scores")
            if text(row.get("name"))
        ]
        if content is None or text(content.get("model")) not in [row["name"] for row in table]:
            return None
        inside = [
            {name: found for name in ("level", "coverage", "width") if (found := number(row.get(name))) is not None}
            for row in rows(content, "coverage")
        ]
        return cls(
            model=text(content.get("model")),
            part=text(content.get("part")),
            note=text(content.get("note"), 2000),
            windows=count(content.get("windows")) or 0,
            season_length=count(content.get("season_length")) or 1,
            table=table,
            coverage=[row for row in inside if "level" in row and "coverage" in row],
        )

    @property
    def own(self) -> dict[str, Any]:
        """The scores of the model."""
        return next(row for row in self.table if row["name"] == self.model)

    def judge(self) -> Verdict | None:
        """Say whether the model beats the baselines; ``None`` without their scores."""
        has_reference = any(row["name"] == REFERENCE for row in self.table)
        return judge(self.model, compare(self.model, self.table)) if has_reference else None

    def shown(self) -> list[dict[str, Any]]:
        """Return a row for each: its name, its texts, and whether it is the model and the best."""
        best = {column: max(_goodness(row[column], column) for row in self.table) for column in COLUMNS}
        found = []
        for row in self.table:
            cells = [
                {
                    "text": format_percent(row[column]) if column == "skill" else format_number(row[column]),
                    "is_best": not math.isnan(row[column]) and _goodness(row[column], column) == best[column],
                }
                for column in COLUMNS
            ]
            found.append({"name": row["name"], "is_model": row["name"] == self.model, "cells": cells})
        return found

    def intervals(self) -> list[str]:
        """Return a sentence on the coverage of each interval."""
        return [judge_interval(row["level"], row["coverage"]) for row in self.coverage]


def _goodness(value: float, column: str) -> float:
    if math.isnan(value):
        return -math.inf
    return value if column == "skill" else -abs(value)


def _score(value: object, column: str) -> float:
    """Return a score, or NaN for what is none: only biases and skills are below zero."""
    found = number(value)
    return float("nan") if found is None or (found < 0 and column not in ("bias", "skill")) else found
