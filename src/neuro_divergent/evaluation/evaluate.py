"""Evaluation of a trained forecaster and of the baselines, on held-out windows or new data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number, format_percent
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.arguments import new_panel, rows_at_end, windows_from
from neuro_divergent.evaluation.display import frame_html
from neuro_divergent.evaluation.levels import supported_levels
from neuro_divergent.evaluation.window_blocks import first_targets, forecast_blocks
from neuro_divergent.evaluation.window_scorer import REFERENCE, Kept, WindowScorer

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.predictor import WindowForecasts

Part = Literal["test", "validation"]
_USUAL_LEVELS = (80.0, 95.0)

__all__ = ["REFERENCE", "Evaluation", "Part", "evaluate", "score_windows"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a forecaster and of the baselines on the same values.

    Attributes:
        model: Name of the architecture, as in the first row of ``table``.
        part: Part that was forecast: ``test``, ``validation`` or ``new data``.
        note: What the scored values were used for in training, in words.
        season_length: Rows in a season, for the seasonal naive forecast and MASE.
        windows: Number of forecasts, each of a complete horizon.
        table: One row for the model and one per baseline: ``model``, ``mae``, ``mse``, ``rmse``, ``mape``, ``smape``,
            ``wape``, ``mase``, ``bias`` and ``skill``, ``1 - MAE / seasonal naive MAE``.
        per_series: Scores of the model for each series, and its skill there.
        coverage: For each level, the percentage of values inside the interval and its mean width.
        forecasts: Every forecast value: id, time, ``cutoff`` (time of the last value it could see), ``step``,
            ``actual`` (null where it was not observed), ``forecast``, one column per baseline and the intervals. Of a
            panel with more than 4 million rows and more than half a million forecast values, it holds those of evenly
            spread series, as ``note`` says.
    """

    model: str
    part: str
    note: str
    season_length: int
    windows: int
    table: pl.DataFrame
    per_series: pl.DataFrame
    coverage: pl.DataFrame
    forecasts: pl.DataFrame

    def __repr__(self) -> str:
        row = self.table.row(0, named=True)
        skill = ""
        if row["skill"] is not None:
            skill = f", {format_percent(abs(row['skill']))} {'less' if row['skill'] >= 0 else 'more'} than {REFERENCE}"
        windows = format_count(self.windows, "window")
        return f"Evaluation({self.model}, {self.part}, {windows}: MAE {format_number(row['mae'])}{skill})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.note}\n{self.table}"

    def _repr_html_(self) -> str:
        parts = [frame_html(self.table), html.paragraph(self.note)]
        if self.coverage.height:
            parts.append(frame_html(self.coverage))
        windows = format_count(self.windows, "window")
        return html.card("Evaluation", f"{self.model}, {self.part}, {windows}", *parts)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of ``table`` as ``scores.json`` has them, where the column of models is ``name``."""
        return self.table.rename({"model": "name"}).to_dicts()

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as plain values, as ``scores.json`` has them; undefined ones are ``None``."""
        plain = {name: getattr(self, name) for name in ("model", "part", "note", "season_length", "windows")}
        tables = {"scores": self.rows(), "coverage": self.coverage.to_dicts()}
        return {**plain, **finite_or_none(tables)}


def evaluate(
    forecaster: Forecaster,
    data: Any = None,
    *,
    part: Part | None = None,
    last: int | float = 0.2,
    levels: Sequence[float] | None = None,
    season_length: int | None = None,
) -> Evaluation:
    """Score a trained forecaster and the baselines.

    A panel with more than 4 million rows is forecast and scored block by block, so that memory does not grow with the
    number of windows.

    Args:
        forecaster: A trained forecaster.
        data: New data to forecast the end of, as for ``fit``; unset, the data of training.
        part: Part of the data of training to score; unset, the test part if there is one, else validation.
        last: With ``data``: fraction of each series (below 1) or number of rows at its end to forecast.
        levels: Levels of the intervals to check, in percent; unset, 80 and 95 where the forecaster supports them.
        season_length: Rows in a season; unset, it follows from the frequency.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, test=24, training=nd.TrainingConfig(max_steps=20))
        >>> evaluation = nd.evaluate(forecaster.fit(nd.datasets.air_passengers()))
        >>> evaluation.part, evaluation.windows
        ('test', 2)
        >>> evaluation.table["model"].to_list()
        ['nlinear', 'last value', 'seasonal naive', 'drift']
        >>> evaluation.coverage.columns
        ['level', 'coverage', 'width']
    """
    task = forecaster.fitted.task
    if data is None:
        windows, name = _held_out(forecaster, part)
        note = _note(forecaster, name)
        forecaster = forecaster if name == "test" else forecaster.validated
    else:
        panel = new_panel(forecaster, data)
        begins = panel.offsets[1:] - rows_at_end(panel, last, task.horizon)
        windows = windows_from(panel, task, begins, task.horizon)
        name, note = "new data", _note_on_new_data(forecaster.fitted.context, windows)
    if not len(windows):
        raise InputError(
            f"there is no {name} window to score: a window needs {task.history + task.horizon} rows. Hold out more, or "
            "train with a shorter input_size."
        )
    season = windows.panel.frequency.season_length if season_length is None else season_length
    if season < 1:
        raise InputError(f"season_length: {season!r} must be at least 1.")
    if levels is None:
        levels, _ = supported_levels(forecaster, windows, _USUAL_LEVELS)
    kept = Kept.of(windows)
    channels = windows.panel.num_series if windows.joint else 1
    scorer = WindowScorer(windows.panel, first_targets(windows), season, kept, channels)
    for result in forecast_blocks(forecaster, windows, levels):
        scorer.add(result)
    return _evaluation(scorer, model=forecaster.architecture.name, part=name, note=f"{note}{kept.note}")


def score_windows(
    result: WindowForecasts, panel: Panel, *, model: str, part: str, note: str, season_length: int
) -> Evaluation:
    """Compare forecasts of windows of a panel with the observed values and with the baselines."""
    first = np.full(panel.num_series, len(panel), dtype=np.int64)
    np.minimum.at(first, result.series, result.rows)
    scorer = WindowScorer(panel, first, season_length, Kept())
    scorer.add(result)
    return _evaluation(scorer, model=model, part=part, note=note)


def _evaluation(scorer: WindowScorer, *, model: str, part: str, note: str) -> Evaluation:
    return Evaluation(
        model=model,
        part=part,
        note=note,
        season_length=scorer.season_length,
        windows=scorer.windows,
        table=scorer.table(model),
        per_series=scorer.per_series(),
        coverage=scorer.coverage(),
        forecasts=scorer.forecasts(),
    )


def _held_out(forecaster: Forecaster, part: Part | None) -> tuple[Windows, str]:
    split = forecaster.split
    if split is None:
        raise InputError("a loaded forecaster does not hold the data of training: pass data to score it on.")
    name = part or ("test" if len(split.test) else "validation")
    if name not in ("test", "validation"):
        raise InputError(f"part: {name!r} must be 'test' or 'validation'.")
    windows: Windows = getattr(split, name)
    if not len(windows):
        raise InputError(f"nothing was held out for {name}: train with {name}=0.2, or pass data to score.")
    return windows, name


def _note(forecaster: Forecaster, part: str) -> str:
    """Say what the held-out part was used for."""
    if part == "test":
        return "Test part: none of these values were used in training."
    uses = []
    if forecaster.training.early_stopping is not None:
        uses.append("was used for early stopping")
    loss = forecaster.fitted.task.loss
    if not loss.quantile_levels and not loss.traits.any_level:
        uses.append("set the width of the intervals, whose coverage is therefore right by construction")
    is_refitted = forecaster.validated is not forecaster
    refitted = " The model was then trained again on all rows; these scores are from before." if is_refitted else ""
    if not uses:
        return f"Validation part: these values were not trained on.{refitted}"
    return (
        f"Validation part: it {' and '.join(uses)}. These scores are optimistic; "
        f"hold out a test part (test=0.1, on the command line --test 0.1) for an unbiased one.{refitted}"
    )


def _note_on_new_data(context: Panel, windows: Windows) -> str:
    """Say whether the values to forecast lie after the data of training."""
    panel, first = windows.panel, first_targets(windows)
    ends = context.frequency.time_at(context.starts, context.lengths - 1)
    known = pl.DataFrame({"id": context.ids, "end": ends})
    begins = panel.frequency.time_at(panel.starts, np.maximum(first - panel.offsets[:-1], 0))
    given = pl.DataFrame({"id": panel.ids, "begin": begins, "scored": first < len(panel)})
    both = given.filter("scored").join(known, on="id", how="inner")
    inside = both.filter(pl.col("begin") <= pl.col("end")).height
    if inside:
        return (
            f"New data, but {inside} of {panel.num_series} series are scored on times that lie within the data of "
            "training: if the model was trained on them, these scores are optimistic."
        )
    return "New data: these values come after the data of training, or belong to series that were not in it."
