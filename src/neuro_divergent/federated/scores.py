"""Scores of the models of clients, as a file and as means."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.federated.directory import SCORES

_NUMBERS = ("mae", "rmse", "mase", "skill")


def write_scores(scores: pl.DataFrame, directory: Path) -> None:
    """Write the scores of clients into the directory of a federation."""
    rows = strict_json.finite_or_none({"rows": scores.to_dicts()})["rows"]
    write_file(directory / SCORES, strict_json.dumps(rows, indent=1))


def mean_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of the scores over clients, by model; every client counts the same."""
    return scores.group_by("model", maintain_order=True).agg(
        pl.len().alias("clients"), *(pl.col(name).fill_nan(None).mean() for name in _NUMBERS)
    )
