"""Answers requests for forecasts: JSON by series, CSV, and tensors of the open inference protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.request import read_request
from neuro_divergent.serving.server.body_reader import CLOSE, RETRY, BodyReader
from neuro_divergent.serving.server.http_message import BINARY, CSV, FORM, JSON, HttpError, HttpRequest, HttpResponse
from neuro_divergent.serving.server.open_inference import LENGTH, decode_infer, encode_infer
from neuro_divergent.serving.server.served_version import ServedVersion
from neuro_divergent.serving.server.settings import Limits
from neuro_divergent.serving.small_csv import UnusualCsvError

if TYPE_CHECKING:
    from neuro_divergent.serving.prepared import Prepared
    from neuro_divergent.serving.server.forecast_log import ForecastLog

_LARGE_BODY = 64 * 1024  # bytes from which a body is parsed in a thread, so that other requests go on
_MANY_WINDOWS = 64  # from which an answer is written in a thread
_OBJECTS = 4  # JSON objects that a series can have
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CsvOptions:
    """What the address of a CSV request asks for: ``?levels=80,95&quantiles=0.1&horizon=12``.

    Attributes:
        levels: Central intervals in percent.
        quantiles: Quantiles between 0 and 1.
        horizon: Steps; ``None`` for all.
    """

    levels: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    horizon: int | None = None

    @classmethod
    def parse(cls, query: bytes) -> CsvOptions:
        """Read the part of an address after the question mark.

        Raises:
            InputError: If it has other names or values.
        """
        found: dict[str, Any] = {}
        try:
            for name, text in parse_qsl(query.decode("ascii"), max_num_fields=10, strict_parsing=bool(query)):
                if name not in ("levels", "quantiles", "horizon") or name in found:
                    raise ValueError(name)
                found[name] = int(text) if name == "horizon" else tuple(map(float, text.split(",")))
        except ValueError:
            raise InputError("the address may end in ?levels=80,95&quantiles=0.1&horizon=12.") from None
        return cls(**found)


class ForecastRoute:
    """Turns the body of a request into windows, waits for their forecasts, and returns the answer.

    Args:
        limits: Limits of requests.
        executor: Thread for large bodies and answers.
        log: Where answers are logged; ``None`` for nowhere.
    """

    def __init__(self, limits: Limits, executor: Executor, log: ForecastLog | None) -> None:
        self._limits = limits
        self.bodies = BodyReader(limits)
        self._executor = executor
        self._log = log
        self.waiting = 0

    async def forecast(self, request: HttpRequest, version: ServedVersion) -> HttpResponse:
        """Answer series in JSON or CSV.

        Raises:
            HttpError: If the request is refused.
            InputError: If it cannot be used.
        """
        kind = request.content_type
        if kind not in (JSON, CSV, FORM, b""):
            raise HttpError(415, "The content type must be application/json or text/csv.", "content_type")
        self._check_queue()
        body = await self.bodies.read(request)
        model, is_csv = version.model, kind == CSV
        prepare: Callable[[], Prepared]
        if is_csv:
            prepare = partial(self._prepare_csv, version, body, request.query)
        else:
            prepare = partial(self._prepare_json, version, body)
        prepared = prepare() if len(body) < _LARGE_BODY else await self._in_thread(prepare)
        forecast = await self._run(version, prepared.inputs, prepared.size, request.started)
        as_csv = request.prefers_csv or (is_csv and JSON not in request.headers.get(b"accept", b""))
        respond = model.respond_csv if as_csv else model.respond
        if prepared.size < _MANY_WINDOWS:
            answer = respond(prepared, forecast)
        else:
            answer = await self._in_thread(lambda: respond(prepared, forecast))
        if self._log is not None:
            self._log.add(version, prepared, forecast)
        return HttpResponse(200, answer, b"text/csv; charset=utf-8" if as_csv else JSON, headers=version.headers)

    async def infer(self, request: HttpRequest, version: ServedVersion) -> HttpResponse:
        """Answer tensors.

        Raises:
            HttpError: If the request is refused.
            InputError: If it cannot be used.
        """
        if request.content_type not in (JSON, BINARY, FORM, b""):
            raise HttpError(
                415, "The content type must be application/json or application/octet-stream.", "content_type"
            )
        self._check_queue()
        body = await self.bodies.read(request)
        length, description = request.headers.get(LENGTH), version.model.description
        self._check_count("values", body.count(b","), self._limits.values)
        if len(body) < _LARGE_BODY:
            asked = decode_infer(body, length, description)
        else:
            asked = await self._in_thread(lambda: decode_infer(body, length, description))
        self._check_count("windows", asked.size, self._limits.series)
        forecast = await self._run(version, asked.inputs, asked.size, request.started)
        answer, kind, headers = encode_infer(asked, forecast, model=version.name, version=version.version)
        return HttpResponse(200, answer, kind, headers=(*version.headers, *headers))

    async def _run(self, version: ServedVersion, inputs: dict[str, Array], size: int, started: float) -> Floats32:
        self._check_queue()  # it was not full when the body began to arrive, but may be now
        self.waiting += 1
        try:
            left = self._limits.request_seconds - (perf_counter() - started)
            return await version.batcher.submit(inputs, size, asyncio.get_running_loop().time() + left)
        except TimeoutError:
            detail = f"The forecast took longer than {self._limits.request_seconds:g} seconds."
            raise HttpError(504, detail, "time", (CLOSE,)) from None
        finally:
            self.waiting -= 1

    def _check_queue(self) -> None:
        if self.waiting >= self._limits.queue:
            raise HttpError(503, f"{self.waiting} requests are waiting; try again.", "queue", (RETRY,))

    def _prepare_json(self, version: ServedVersion, body: bytes) -> Prepared:
        limits = self._limits
        self._check_count("values", body.count(b","), limits.values)
        self._check_count("series", (body.count(b"{") - 1) // _OBJECTS, limits.series)
        asked = read_request(body)
        self._check_count("series", len(asked.series), limits.series)
        self._check_count("levels and quantiles", len(asked.levels) + len(asked.quantiles), limits.levels)
        return version.model.prepare(asked)

    def _prepare_csv(self, version: ServedVersion, body: bytes, query: bytes) -> Prepared:
        asked = CsvOptions.parse(query)
        self._check_count("levels and quantiles", len(asked.levels) + len(asked.quantiles), self._limits.levels)
        try:
            prepared = version.model.prepare_csv(
                body, levels=asked.levels, quantiles=asked.quantiles, horizon=asked.horizon
            )
        except UnusualCsvError as error:
            raise InputError(f"this CSV cannot be read here ({error}); send JSON.") from None
        self._check_count("series", prepared.size, self._limits.series)
        return prepared

    @staticmethod
    def _check_count(what: str, count: int, most: int) -> None:
        if count > most:
            raise HttpError(413, f"{count:,} {what}; at most {most:,} are accepted in a request.", what.split()[0])

    async def _in_thread(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)
