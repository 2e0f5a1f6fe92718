"""An exported model, ready to answer requests; the front door of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.errors import DataError, InputError, UntrustedFileError
from neuro_divergent.serving.calendar.features import check_names
from neuro_divergent.serving.calendar.step import Step
from neuro_divergent.serving.calendar.time_text import read_time
from neuro_divergent.serving.calendar.time_type import TimeType
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.export_file import find_export
from neuro_divergent.serving.histories import Histories, HistoryReader, label_of
from neuro_divergent.serving.onnx_runner import OnnxRunner
from neuro_divergent.serving.prepared import ForecastTimes, Prepared
from neuro_divergent.serving.request import Request, Series, read_request, to_series
from neuro_divergent.serving.requested import RequestedOutput
from neuro_divergent.serving.response import Forecast, Responder, forecasts_of
from neuro_divergent.serving.runner import Runner
from neuro_divergent.serving.small_csv import UnusualCsvError, read_small_csv
from neuro_divergent.serving.windows import LARGEST, WindowBuilder

_SMALL = 1e-20  # With it no sum of finite numbers overflows.
_MOST_KEPT = 4096  # times and requested outputs that are remembered


def load(path: str | Path, *, threads: int = 1) -> ExportedModel:
    """Open an exported model.

    Args:
        path: An ``.onnx`` file, or a directory of a model or a run that was exported (``nd export``). The file beside
            the directory must be of the model that is there now.
        threads: Processor threads of a forecast. One is the fastest for small requests.

    Raises:
        InputError: If there is no such file, or it is of another version of the model.
        UntrustedFileError: If it is not an exported model.
        MissingDependencyError: If onnxruntime is not installed.

    Examples:
        >>> import neuro_divergent as nd
        >>> table = nd.datasets.air_passengers()
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=24, training=nd.TrainingConfig(max_steps=5))
        >>> path = forecaster.fit(table).export("model.onnx", levels=[80])
        >>> model = nd.serving.load(path)
        >>> [answer] = model.forecast([{"id": "A", "end": "1960-12-01", "y": table["y"].to_list()}], levels=[80])
        >>> answer.times[0], sorted(answer.values)
        ('1961-01-01', ['forecast', 'hi-80', 'lo-80'])
    """
    file = Path(path)
    if file.suffix.lower() == ".onnx" and not file.is_dir():
        if not file.exists():
            raise InputError(f"{file}: not found; export a model to it with: nd export MODEL --output {file.name}")
        return _opened(file, threads)
    found = find_export(file)
    model = _opened(found.file, threads)
    if model.version != found.digest:
        raise InputError(f"{found.file}: was exported from another version of the model. Run: nd export {file}")
    return model


def _opened(file: Path, threads: int) -> ExportedModel:
    runner = OnnxRunner.open(file, threads=threads)
    stem = file.name.removesuffix(".onnx").removesuffix(".int8")
    name = file.resolve().parent.name if stem == "model" else stem
    return ExportedModel(runner.description, runner, name=name or stem)


class ExportedModel:
    """Answers requests with a graph that takes raw histories. Several threads may use it at once.

    Args:
        description: What the graph reads and returns.
        runner: Runs it.
        name: What answers call the model; the name of its architecture when left out.

    Attributes:
        version: Digest of the saved model, which every answer repeats.
    """

    def __init__(self, description: Description, runner: Runner, *, name: str | None = None) -> None:
        self.description = description
        self.version = description.digest
        self.name = name or description.architecture
        self._runner = runner
        try:
            self._type = TimeType(description.time_type, description.time_unit, description.time_zone)
            self._step = Step.parse(description.frequency, self._type)
            check_names(description.calendar, self._type)
        except DataError as error:
            raise UntrustedFileError(f"{self.name}: not an exported model ({error}).") from None
        self._reader = HistoryReader(description)
        self._windows = WindowBuilder(description, self._step)
        self._responder = Responder(description, self.name)
        self._times: dict[tuple[str | int, int], ForecastTimes] = {}
        self._requested: dict[Any, RequestedOutput] = {}
        self._point = RequestedOutput.of(description)
        self._ones = np.ones((1, description.input_size, 1), np.float32)
        self._small = np.full(description.input_size, _SMALL)
        covariates = description.past or description.future or description.static or description.calendar
        self._is_plain = not covariates and not description.joint

    def answer(self, body: bytes) -> bytes:
        """Answer a request in JSON with JSON.

        Raises:
            InputError: If the request cannot be answered, with the reason; a ``DataError`` where a series is at fault.
        """
        prepared = self.prepare_json(body)
        return self._responder.json(prepared, self._runner.run(prepared.inputs))

    def forecast(
        self,
        series: Sequence[Series | dict[str, Any]],
        *,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
    ) -> list[Forecast]:
        """Forecast some series.

        Args:
            series: Histories and their covariates; dictionaries have the keys of ``Series``.
            levels: Central intervals in percent, among those of the graph.
            quantiles: Quantiles between 0 and 1, among those of the graph.
            horizon: Steps, at most those of training, which is the default.
        """
        request = Request(
            series=[to_series(item) for item in series],
            levels=list(levels),
            quantiles=list(quantiles),
            horizon=horizon,
        )
        prepared = self.prepare(request)
        return forecasts_of(prepared, self.run(prepared.inputs))

    def prepare_json(self, body: bytes) -> Prepared:
        """Read a request in JSON, check it and turn it into inputs of the graph."""
        return self.prepare(read_request(body))

    def prepare(self, request: Request) -> Prepared:
        """Check a request and turn it into inputs of the graph.

        Raises:
            InputError: If it cannot be answered.
        """
        requested = self._output(request)
        series = request.series
        if not series:
            raise InputError("the request has no series; send at least one.")
        if self._is_plain:
            one = len(series) == 1  # The usual case when speed is felt.
            plain = self._prepare_one(series[0], requested) if one else self._prepare_complete(series, requested)
            if plain is not None:
                return plain
        kept, notes = self._check_lengths(series)
        times = tuple(self._times_of(item, place, requested.horizon) for place, item in enumerate(kept))
        ends = tuple(None if found is None else found.end for found in times)
        histories = self._reader.read(kept, ends, requested.horizon)
        return self.prepare_histories(histories, times, requested, notes)

    def prepare_csv(
        self,
        content: bytes,
        *,
        ahead: bytes | None = None,
        levels: Sequence[float] = (),
        quantiles: Sequence[float] = (),
        horizon: int | None = None,
    ) -> Prepared:
        """Read a small CSV file with the columns of training, and turn its series into inputs of the graph.

        Series are in the order of tables: sorted by id.

        Args:
            content: The file.
            ahead: A file of the covariates known ahead, with a row for each step to forecast.
            levels: Central intervals in percent.
            quantiles: Quantiles between 0 and 1.
            horizon: Steps; all by default.

        Raises:
            UnusualCsvError: If only the reader of tables can read the file (``panel_inputs.forecast_table``).
            DataError: If its series cannot be used.
        """
        requested = RequestedOutput.of(self.description, levels, quantiles, horizon)
        found = read_small_csv(content, self.description, ahead=ahead, horizon=requested.horizon)
        histories, step = found.histories, found.step
        lengths = histories.lengths
        if self.description.short != "pad" and (lengths < self.description.input_size).any():
            raise UnusualCsvError("a series is too short")
        if self.description.joint and (lengths != lengths[0]).any():
            raise UnusualCsvError("series have different lengths")
        times = {
            end: ForecastTimes(end, step.times_after(end, requested.horizon), step.type) for end in set(found.ends)
        }
        return self.prepare_histories(histories, tuple(times[end] for end in found.ends), requested)

    def prepare_histories(
        self,
        histories: Histories,
        times: tuple[ForecastTimes | None, ...],
        requested: RequestedOutput,
        notes: tuple[str, ...] = (),
    ) -> Prepared:
        """Turn arrays into inputs of the graph; histories have any length, and missing values are filled in place."""
        inputs = self._windows.inputs(histories, requested.horizon)
        channels = None
        if self.description.joint:
            self._require_aligned(histories)
            inputs, channels = self._windows.joined(inputs, histories.ids)
        size = 1 if self.description.joint else len(histories.ids)
        return Prepared(inputs, size, requested, histories.ids, times, channels, notes)

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the output of the graph, ``(batch, horizon, channels, 1 + quantiles)``."""
        return self._runner.run(inputs)

    def respond(self, prepared: Prepared, forecast: Floats32) -> bytes:
        """Return the JSON of the answer from the rows of the output that belong to a request."""
        return self._responder.json(prepared, forecast)

    def respond_csv(self, prepared: Prepared, forecast: Floats32) -> bytes:
        """Return the answer as a CSV file: id, time, forecast, ends of intervals and quantiles."""
        return self._responder.csv(prepared, forecast)

    def _output(self, request: Request) -> RequestedOutput:
        if not request.levels and not request.quantiles and request.horizon is None:
            return self._point
        key = (*request.levels, None, *request.quantiles, None, request.horizon)
        found = self._requested.get(key)
        if found is None:
            found = RequestedOutput.of(self.description, request.levels, request.quantiles, request.horizon)
            _remember(self._requested, key, found)
        return found

    def _prepare_one(self, item: Series, requested: RequestedOutput) -> Prepared | None:
        """Return the inputs for one complete series without covariates; ``None`` where more must be looked at."""
        y = np.array(item.y, np.float64)
        if len(y) != self.description.input_size or item.past or item.future or item.static:
            return None
        # The sum bounds the largest value. It is NaN where one is missing, and no comparison with NaN is true.
        if not np.abs(y).dot(self._small) <= LARGEST * _SMALL:
            return None
        inputs: dict[str, Array] = {"past_y": y.astype(np.float32).reshape(1, -1, 1), "past_mask": self._ones}
        ids = (item.id,)
        if self.description.takes_series:
            inputs["series"] = self._windows.series_places(ids)
        return Prepared(inputs, 1, requested, ids, (self._times_of(item, 0, requested.horizon),))

    def _prepare_complete(self, series: Sequence[Series], requested: RequestedOutput) -> Prepared | None:
        """Return the same for several series."""
        length = self.description.input_size
        for item in series:
            if len(item.y) != length or item.past or item.future or item.static:
                return None
        y = np.array([item.y for item in series], np.float64)
        if not np.abs(y).max() <= LARGEST:
            return None
        size, horizon = len(series), requested.horizon
        inputs: dict[str, Array] = {
            "past_y": y.astype(np.float32)[..., None],
            "past_mask": np.ones((size, length, 1), np.float32),
        }
        ids = tuple([item.id for item in series])
        if self.description.takes_series:
            inputs["series"] = self._windows.series_places(ids)
        times = tuple([self._times_of(item, place, horizon) for place, item in enumerate(series)])
        return Prepared(inputs, size, requested, ids, times)

    def _times_of(self, series: Series, place: int, horizon: int) -> ForecastTimes | None:
        """Return the times of the forecast of a series; they are remembered, because many series end together."""
        if series.end is None:
            return None
        key = (series.end, horizon)
        found = self._times.get(key)
        if found is None:
            try:
                found = self._make_times(series.end, horizon)
            except DataError as error:
                raise DataError(f"{label_of(series.id, place)}, end: {error}") from None
            _remember(self._times, key, found)
        return found

    def _make_times(self, end: str | int, horizon: int) -> ForecastTimes:
        last = read_time(end, self._type)
        step = self._step.ending(np.array([last]))
        if not step.is_on_calendar(np.array([last]))[0]:
            raise DataError(f"{str(end)[:40]} is not on the calendar of the frequency ({self._step})")
        values = step.times_after(last, horizon)
        return ForecastTimes(last, values, self._type)

    def _check_lengths(self, series: Sequence[Series]) -> tuple[Sequence[Series], tuple[str, ...]]:
        """Apply the policy for short histories; return the series that are left and notes."""
        needed, policy = self.description.input_size, self.description.short
        short = [place for place, item in enumerate(series) if len(item.y) < needed]
        long = [place for place, item in enumerate(series) if len(item.y) > needed]
        notes = [self._note(series, long, "longer", "cut to its end")] if long else []
        if not short:
            return series, tuple(notes)
        if policy == "error" or (policy == "drop" and len(short) == len(series)):
            item = series[short[0]]
            affected = f"; {len(short)} series affected" if len(short) > 1 else ""
            count = f"{len(item.y)} value{'s' * (len(item.y) != 1)}"
            raise DataError(f"{label_of(item.id, short[0])}: {count}, needs {needed} (history){affected}.")
        if policy == "drop":
            notes.append(self._note(series, short, "shorter", "left out"))
            return [item for item in series if len(item.y) >= needed], tuple(notes)
        notes.append(self._note(series, short, "shorter", "padded"))
        return series, tuple(notes)

    def _note(self, series: Sequence[Series], places: list[int], how: str, consequence: str) -> str:
        first = places[0]
        what = f"{label_of(series[first].id, first)}: history of {len(series[first].y)} values"
        others = f"; {len(places)} series affected" if len(places) > 1 else ""
        return f"{what} is {how} than {self.description.input_size} and was {consequence}{others}"

    def _require_aligned(self, histories: Histories) -> None:
        for place, end in enumerate(histories.ends):
            if end != histories.ends[0]:
                raise DataError(
                    f"series must cover the same times to be forecast together: {histories.label(place)} ends at "
                    f"another time than {histories.label(0)}"
                )


def _remember(kept: dict[Any, Any], key: Any, value: Any) -> None:
    """Keep a value, and forget all others when there are many: requests could bring any number of keys."""
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    kept[key] = value
