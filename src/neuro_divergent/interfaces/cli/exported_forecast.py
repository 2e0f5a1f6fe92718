"""Forecasts of ``nd predict`` by an exported graph: without torch, and for small CSV files without polars.

They equal those of the model but for the rounding of 32-bit floats, which an export keeps below 1e-4 of the spread of a
history.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, NeuroDivergentError

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.core.arrays import Floats32
    from neuro_divergent.serving.exported_model import ExportedModel
    from neuro_divergent.serving.prepared import Prepared

_ENDING = ".onnx"
_KINDS = ("Forecaster", "Ensemble", "Conformal")
_BATCH = 4096  # windows that go through the graph at once
_NO_FRACTION = ".000000"  # Python leaves it out for each time by itself.


@dataclass(frozen=True)
class PredictOptions:
    """What a call of ``nd predict`` asks for.

    Attributes:
        data: File or pattern of the series; ``None`` for those of training.
        future: File of the covariates known ahead.
        levels: Intervals in percent.
        quantiles: Between 0 and 1.
        horizon: Steps; ``None`` for those of training.
        changes: Fields of ``Schema`` that differ from training.
    """

    data: str | None
    future: str | None = None
    levels: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    horizon: int | None = None
    changes: dict[str, Any] = field(default_factory=dict)


class SmallForecast:
    """Forecasts that were made without polars.

    Args:
        model: The exported model.
        prepared: Its inputs.
        output: What its graph returned.
    """

    def __init__(self, model: ExportedModel, prepared: Prepared, output: Floats32) -> None:
        self._model, self._prepared, self._output = model, prepared, output

    def to_csv(self) -> bytes:
        """Return the table as CSV."""
        return self._model.respond_csv(self._prepared, self._output)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table, times as text or integers."""
        from neuro_divergent.serving.response import forecasts_of

        name, time = self._model.description.id, self._model.description.time
        rows: list[dict[str, Any]] = []
        for forecast in forecasts_of(self._prepared, self._output):
            columns = {column: values.tolist() for column, values in forecast.values.items()}
            for step, text in enumerate(forecast.times or ()):
                row: dict[str, Any] = {} if name is None else {name: forecast.id}
                row[time] = text.removesuffix(_NO_FRACTION) if isinstance(text, str) else text
                rows.append(row | {column: values[step] for column, values in columns.items()})
        return rows

    def __len__(self) -> int:
        return len(self._prepared.ids) * self._prepared.requested.horizon


def is_exported_file(path: Path) -> bool:
    """Whether a model is an exported file itself."""
    return path.suffix.lower() == _ENDING and not path.is_dir()


def forecast_file(path: Path, options: PredictOptions, *, needs_frame: bool) -> SmallForecast | pl.DataFrame:
    """Forecast with an exported file; there is nothing to fall back to.

    Raises:
        InputError: If the graph cannot answer this, with the reason.
    """
    from neuro_divergent.serving.exported_model import load

    if options.data is None:
        raise InputError(f"{path}: an exported file holds no series. Pass them as DATA.")
    return _forecast(load(path), options, needs_frame=needs_frame)


def exported_beside(path: Path) -> tuple[ExportedModel, Path] | None:
    """Return the exported graph that lies beside a model or in a run, and the directory of the model.

    ``None`` if there is none, if it is of another version of the model, or if it cannot be run here.
    """
    from neuro_divergent.serving.export_file import find_export

    try:
        found = find_export(path)  # before anything else is imported
        from neuro_divergent.serving.exported_model import load

        return load(path), found.model
    except NeuroDivergentError:
        return None


def forecast_exported(
    model: ExportedModel, options: PredictOptions, *, needs_frame: bool
) -> SmallForecast | pl.DataFrame | None:
    """Forecast with the exported graph of a model.

    Returns:
        ``None`` if the graph cannot answer this, so that the model has to.

    Raises:
        DataError: If the data cannot be used.
    """
    if options.data is None or not _answers(model, options):
        return None
    return _forecast(model, options, needs_frame=needs_frame)


def _answers(model: ExportedModel, options: PredictOptions) -> bool:
    """Whether a graph has what is asked for."""
    from neuro_divergent.serving.requested import RequestedOutput

    description = model.description
    if description.kind not in _KINDS:
        return False
    if description.kind != "Forecaster" and (options.changes or options.horizon is not None):
        return False
    try:
        RequestedOutput.of(description, options.levels, options.quantiles, options.horizon)
    except InputError:
        return False
    return True


def _forecast(model: ExportedModel, options: PredictOptions, *, needs_frame: bool) -> SmallForecast | pl.DataFrame:
    if not needs_frame and (found := _forecast_small(model, options)) is not None:
        return found
    from neuro_divergent.interfaces.cli.silence import silenced
    from neuro_divergent.serving.panel_inputs import forecast_table

    description = model.description
    stored = {"encoding": description.encoding, "date_format": description.date_format, **description.reading}
    with silenced():
        return forecast_table(
            model,
            options.data,
            future=options.future,
            levels=options.levels,
            quantiles=options.quantiles,
            horizon=options.horizon,
            changes={**stored, **options.changes},
        )


def _forecast_small(model: ExportedModel, options: PredictOptions) -> SmallForecast | None:
    """Return the forecast of a small and plain CSV file; ``None`` where polars should read it or explain an error."""
    import numpy as np

    description = model.description
    if options.changes or description.encoding or description.date_format or description.reading:
        return None
    content, ahead = _content(options.data), _content(options.future)
    if content is None or (ahead is None and options.future is not None):
        return None
    try:
        prepared = model.prepare_csv(
            content, ahead=ahead, levels=options.levels, quantiles=options.quantiles, horizon=options.horizon
        )
    except NeuroDivergentError:
        return None
    parts = [
        model.run({name: array[first : first + _BATCH] for name, array in prepared.inputs.items()})
        for first in range(0, prepared.size, _BATCH)
    ]
    return SmallForecast(model, prepared, np.concatenate(parts))


def _content(name: str | None) -> bytes | None:
    """Return the content of a small CSV file; ``None`` for anything else."""
    from neuro_divergent.serving.small_csv import LARGEST_FILE

    if name is None or not name.lower().endswith(".csv"):
        return None
    try:
        if os.stat(name).st_size > LARGEST_FILE or not Path(name).is_file():  # noqa: PTH116
            return None
        return Path(name).read_bytes()
    except (OSError, ValueError):
        return None
