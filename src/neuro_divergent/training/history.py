"""The history of a training: rows of losses, rates and metrics."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_duration, format_number
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.strict_json import finite_or_none


class History:
    """Rows of losses and rates.

    ``train_loss`` is the mean over the steps since the row before, and ``gradient_norm`` is the one of the last step,
    before clipping. ``waiting_share`` is the fraction of the time since then that went into waiting for batches or
    making them. Validation columns are empty in rows without a validation. ``epoch`` counts from 0.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> data = torch.ones(8, 1), torch.ones(8, 1)
        >>> config = nd.TrainingConfig(max_steps=20, log_every=5)
        >>> history = nd.Trainer(torch.nn.Linear(1, 1), nd.losses.MSE(), config).fit(data, validation=data)
        >>> history.frame().select("step", "epoch").rows()
        [(5, 4), (10, 9), (15, 14), (20, 19)]
        >>> [row["step"] for row in history.rows if "validation_loss" in row]
        [20]
    """

    _SCHEMA = {  # noqa: RUF012
        "step": pl.Int64,
        "epoch": pl.Int64,
        "seconds": pl.Float64,
        "train_loss": pl.Float64,
        "learning_rate": pl.Float64,
        "gradient_norm": pl.Float64,
        "samples_per_second": pl.Float64,
        "waiting_share": pl.Float64,
        "validation_loss": pl.Float64,
    }

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._looked_at, self._columns = 0, dict.fromkeys(self._SCHEMA)
        self._began = time.perf_counter()

    def __repr__(self) -> str:
        if not self.rows:
            return "History(no rows)"
        last = self.rows[-1]
        found = {name: last[name] for name in ("train_loss", "validation_loss") if last.get(name) is not None}
        values = "".join(f", {name} {format_number(value)}" for name, value in found.items())
        return f"History({format_count(len(self.rows), 'row')}, {format_count(last['step'], 'step')}{values})"

    def _repr_html_(self) -> str:
        shown = {name: [row[name] for row in self.rows if row.get(name) is not None] for name in self.columns}
        pairs = [
            (name, html.Html(f"{html.sparkline(values, name)} {html.text(values[0])} to {html.text(values[-1])}"))
            for name, values in shown.items()
            if values and name not in ("step", "epoch", "seconds", "samples_per_second", "waiting_share")
        ]
        last: dict[str, Any] = self.rows[-1] if self.rows else {"step": 0, "seconds": 0.0}
        summary = f"{format_count(last['step'], 'step')} in {format_duration(last['seconds'])}"
        return html.card("History", summary, html.facts(pairs))

    def start(self) -> None:
        """Set the clock to zero, or to where the last row left it."""
        self._began = time.perf_counter() - (self.rows[-1]["seconds"] if self.rows else 0.0)

    @property
    def seconds(self) -> float:
        """Time since training began."""
        return time.perf_counter() - self._began

    @property
    def columns(self) -> list[str]:
        """The names of all columns; metrics come last, in the order in which they first appeared."""
        if self._looked_at > len(self.rows):
            self._looked_at, self._columns = 0, dict.fromkeys(self._SCHEMA)
        for row in self.rows[self._looked_at :]:
            self._columns.update(dict.fromkeys(row))
        self._looked_at = len(self.rows)
        return list(self._columns)

    def add(self, **row: Any) -> None:
        """Add a row, stamped with the time."""
        self.rows.append({"seconds": self.seconds, **row})

    def frame(self) -> pl.DataFrame:
        """Return the rows as a table; a metric is empty in the rows before it first appeared."""
        return pl.DataFrame(self.rows, schema={name: self._SCHEMA.get(name, pl.Float64) for name in self.columns})

    def by_epoch(self) -> pl.DataFrame:
        """Return one row for each epoch.

        ``train_loss`` is the mean over steps, ``gradient_norm`` and ``gradient_norm_max`` are the mean and the maximum
        over the rows of the epoch, ``samples_per_second`` and ``waiting_share`` are means over time, and the learning
        rate and all results of validation are the last of the epoch. ``seconds`` is the time since training began, as
        in ``frame()``, and ``epoch_seconds`` the time spent in the epoch.

        A row that covers steps of several epochs counts for the one it was written in, and an epoch in which no row was
        written has none here; ``log_every`` controls both.
        """
        steps = pl.col("step") - pl.col("step").shift(1, fill_value=0)
        spent = pl.col("seconds") - pl.col("seconds").shift(1, fill_value=0.0)
        results = [name for name in self.columns if name not in self._SCHEMA or name == "validation_loss"]
        return (
            self.frame()
            .with_columns(_steps=steps, _spent=spent)
            .group_by("epoch", maintain_order=True)
            .agg(
                pl.col("step").last(),
                pl.col("seconds").last(),
                pl.col("_spent").sum().alias("epoch_seconds"),
                _mean("train_loss", "_steps"),
                pl.col("learning_rate").last(),
                pl.col("gradient_norm").mean(),
                pl.col("gradient_norm").max().alias("gradient_norm_max"),
                _mean("samples_per_second", "_spent"),
                _mean("waiting_share", "_spent"),
                *(pl.col(name).drop_nulls().last() for name in results),
            )
        )

    def write(self, path: str | Path) -> None:
        """Write the rows to a ``.json``, ``.parquet`` or ``.csv`` file.

        JSON is a list with an object for each row; numbers that are not finite, which JSON does not have, are ``null``.

        Raises:
            InputError: If the name ends otherwise.
            StorageError: If the disk refuses; the file is then as it was.
        """
        path = Path(path)
        frame = self.frame()
        buffer = io.BytesIO()
        if path.suffix == ".json":
            rows = finite_or_none(frame.to_dicts())
            buffer.write((json.dumps(rows, indent=1, allow_nan=False) + "\n").encode("utf-8"))
        elif path.suffix == ".parquet":
            frame.write_parquet(buffer)
        elif path.suffix == ".csv":
            frame.write_csv(buffer)
        else:
            raise InputError(f"{path}: write a history to a .json, .parquet or .csv file.")
        write_file(path, buffer.getvalue())

    def state_dict(self) -> dict[str, Any]:
        """Return the rows."""
        return {"rows": [dict(row) for row in self.rows]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore rows; ``start`` then continues from the time of the last one."""
        self.rows = [dict(row) for row in state["rows"]]
        self._looked_at, self._columns = 0, dict.fromkeys(self._SCHEMA)


def _mean(value: str, weight: str) -> pl.Expr:
    """Return the mean of a column weighted by another, or the plain one where all weights are zero."""
    total = pl.col(weight).sum()
    weighted = (pl.col(value) * pl.col(weight)).sum() / total
    return pl.when(total > 0).then(weighted).otherwise(pl.col(value).mean()).alias(value)
