"""The ASGI application: routes of forecasts, health, metrics and descriptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError
from neuro_divergent.serving.server.access import Access
from neuro_divergent.serving.server.body_reader import CLOSE, DisconnectedError
from neuro_divergent.serving.server.docs_page import PAGE_POLICY, docs_file
from neuro_divergent.serving.server.forecast_log import ForecastLog
from neuro_divergent.serving.server.forecast_route import ForecastRoute
from neuro_divergent.serving.server.hosted_model import HostedModel
from neuro_divergent.serving.server.http_message import HttpError, HttpRequest, HttpResponse, json_response
from neuro_divergent.serving.server.metrics import KIND, Gauge, Labels, Metrics
from neuro_divergent.serving.server.model_source import ModelSource
from neuro_divergent.serving.server.open_inference import model_metadata
from neuro_divergent.serving.server.openapi import openapi_document
from neuro_divergent.serving.server.settings import ServerSettings

Handler = Callable[[HttpRequest], Awaitable[HttpResponse]]
Scope = Mapping[str, Any]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_ALLOW = {"GET": b"GET, HEAD", "POST": b"POST"}
_log = logging.getLogger(__name__)


class _Route:
    """A path that is served.

    Attributes:
        template: Its name in the metrics.
        method: The method.
        handler: Answers requests.
        is_open: Whether it never needs the token.
    """

    __slots__ = ("handler", "is_open", "labels", "method", "template")

    def __init__(self, template: str, method: str, handler: Handler, *, is_open: bool = False) -> None:
        self.template = template
        self.method = method
        self.handler = handler
        self.is_open = is_open
        self.labels: dict[int, tuple[Labels, Labels]] = {}


class Application:
    """Answers requests with the models that it hosts.

    Args:
        settings: Settings, with the port that is listened at.
        sources: Where the models come from; their names must differ.
    """

    def __init__(self, settings: ServerSettings, sources: Sequence[ModelSource]) -> None:
        names = [source.name for source in sources]
        if twice := {name for name in names if names.count(name) > 1}:
            raise InputError(f"{sorted(twice)[0]}: two models have this name; give one another, as name=path.")
        if not names:
            raise InputError("there is no model to serve.")
        self.settings = settings
        self.metrics = Metrics()
        self.is_stopping = False
        self._access = Access(settings)
        self._inference = ThreadPoolExecutor(1, "inference")
        self._parsing = ThreadPoolExecutor(1, "parsing")
        self._loading = ThreadPoolExecutor(1, "loading")
        self.log = None
        if settings.log_forecasts is not None:
            self.log = ForecastLog(settings.log_forecasts, self.metrics, with_inputs=settings.log_inputs)
        self.models = {
            source.name: HostedModel(
                source, settings=settings, metrics=self.metrics, executor=self._inference, loader=self._loading
            )
            for source in sources
        }
        self._forecasts = ForecastRoute(settings.limits, self._parsing, self.log)
        self._other = _Route("other", "GET", self._not_found)
        self._routes = self._make_routes()
        self._add_gauges()

    async def load(self) -> None:
        """Load all models.

        Raises:
            NeuroDivergentError: If one cannot be loaded.
        """
        for model in self.models.values():
            await model.load()

    async def refresh(self, *, force: bool = False) -> dict[str, Any]:
        """Look for new versions of all models, and return what is served now."""
        await asyncio.gather(*(model.refresh(force=force) for model in self.models.values()))
        return self._summary()

    async def close(self) -> None:
        """End loads that are under way, write what is logged, and end the threads."""
        for model in self.models.values():
            model.source.cancel()
        if self.log is not None:
            await asyncio.get_running_loop().run_in_executor(self._parsing, self.log.close)
        for executor in (self._inference, self._parsing, self._loading):
            executor.shutdown(wait=False)

    async def __call__(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        started = perf_counter()
        route, request = self._other, None
        try:
            request = HttpRequest(scope, receive, started, largest=self.settings.limits.headers)
            self._access.check(request, scope)
            route, handler = self._find(request)
            if not route.is_open:
                self._access.check_token(request, always=route.template == "/admin/reload")
            response = await handler(request)
        except InputError as error:
            response = self._reject(HttpError(400, str(error), "input"), request)
        except HttpError as error:
            response = self._reject(error, request)
            if request is not None and CLOSE not in error.headers and not await self._is_drained(request):
                response.headers.append(CLOSE)
        except DisconnectedError:
            self.metrics.rejected.add((("reason", "disconnected"),))
            return
        except Exception:  # noqa: BLE001 - a request owes its client an answer, whatever went wrong
            _log.exception("a request failed")
            bug = HttpError(500, "Something went wrong; the log of the server says what.", "bug", (CLOSE,))
            response = self._reject(bug, request)
        await send({"type": "http.response.start", "status": response.status, "headers": response.headers})
        await send({"type": "http.response.body", "body": response.body})
        labels = route.labels.get(response.status)
        if labels is None:
            by_route = ("route", route.template)
            labels = route.labels[response.status] = ((by_route, ("status", str(response.status))), (by_route,))
        self.metrics.requests.add(labels[0])
        self.metrics.seconds.observe(perf_counter() - started, labels[1])

    def _reject(self, error: HttpError, request: HttpRequest | None) -> HttpResponse:
        self.metrics.rejected.add((("reason", error.reason),))
        return error.response(is_inference=request is not None and request.path.startswith("/v2"))

    async def _is_drained(self, request: HttpRequest) -> bool:
        """Receive what is left of a refused request; return whether its connection can be used again."""
        headers = request.headers
        if request.is_read or (b"content-length" not in headers and b"transfer-encoding" not in headers):
            return True
        try:
            return await self._forecasts.bodies.discard(request)
        except DisconnectedError:
            return False

    def _find(self, request: HttpRequest) -> tuple[_Route, Handler]:
        """Return the route of a request, and what answers it.

        Raises:
            HttpError: If there is none, or not for this method.
        """
        route = self._routes.get(request.path)
        handler: Handler
        if route is None:
            route, handler = self._find_version(request.path)
            if route is self._other:
                return route, handler
        else:
            handler = route.handler
        if request.method != route.method and not (request.method == "HEAD" and route.method == "GET"):
            allow = _ALLOW[route.method]
            detail = f"{request.method[:20]} is not possible here; {allow.decode()} is."
            raise HttpError(405, detail, "method", ((b"allow", allow),))
        return route, handler

    def _find_version(self, path: str) -> tuple[_Route, Handler]:
        """Return the route of an address that names a version of a model."""
        parts = path.split("/")
        if len(parts) in (6, 7) and parts[1:3] == ["v2", "models"] and parts[4] == "versions":
            rest = "" if len(parts) == 6 else f"/{parts[6]}"
            model, route = self.models.get(parts[3]), self._versioned.get(rest)
            if model is not None and route is not None:
                if parts[5] != model.current.version:
                    detail = f"{model.name} is served in version {model.current.version} only."
                    return route, partial(self._refuse_version, detail)
                return route, partial(self._v2[rest], model)
        return self._other, self._not_found

    def _make_routes(self) -> dict[str, _Route]:
        routes = {
            "/models": _Route("/models", "GET", self._list_models),
            "/health": _Route("/health", "GET", self._health),
            "/health/live": _Route("/health/live", "GET", self._live, is_open=True),
            "/health/ready": _Route("/health/ready", "GET", self._ready, is_open=True),
            "/v2": _Route("/v2", "GET", self._server_metadata),
            "/v2/health/live": _Route("/v2/health/live", "GET", self._live, is_open=True),
            "/v2/health/ready": _Route("/v2/health/ready", "GET", self._ready, is_open=True),
            "/metrics": _Route("/metrics", "GET", self._metrics),
            "/openapi.json": _Route("/openapi.json", "GET", self._openapi),
            "/admin/reload": _Route("/admin/reload", "POST", self._reload),
        }
        for path in ("/docs", "/docs.js", "/docs.css"):
            routes[path] = _Route(path, "GET", partial(self._docs, path), is_open=True)
        self._v2: dict[str, Callable[[HostedModel, HttpRequest], Awaitable[HttpResponse]]] = {
            "": self._model_metadata,
            "/ready": self._model_ready,
            "/infer": self._infer,
        }
        method = {"": "GET", "/ready": "GET", "/infer": "POST"}
        self._versioned = {
            rest: _Route(f"/v2/models/{{name}}/versions/{{version}}{rest}", method[rest], self._not_found)
            for rest in self._v2
        }
        for name, model in self.models.items():
            routes[f"/models/{name}/forecast"] = _Route(
                "/models/{name}/forecast", "POST", partial(self._forecast, model)
            )
            for rest, handler in self._v2.items():
                template = f"/v2/models/{{name}}{rest}"
                routes[f"/v2/models/{name}{rest}"] = _Route(template, method[rest], partial(handler, model))
        if len(self.models) == 1:
            routes["/forecast"] = _Route("/forecast", "POST", partial(self._forecast, next(iter(self.models.values()))))
        return routes

    async def _forecast(self, model: HostedModel, request: HttpRequest) -> HttpResponse:
        return await self._forecasts.forecast(request, model.current)

    async def _infer(self, model: HostedModel, request: HttpRequest) -> HttpResponse:
        return await self._forecasts.infer(request, model.current)

    async def _not_found(self, request: HttpRequest) -> HttpResponse:
        hint = " Several models are served: POST /models/NAME/forecast." if request.path == "/forecast" else ""
        names = ", ".join(list(self.models)[:20])
        detail = f"There is nothing at this address.{hint} Models: {names}. GET /docs shows all."
        raise HttpError(404, detail, "address")

    async def _refuse_version(self, detail: str, request: HttpRequest) -> HttpResponse:
        raise HttpError(404, detail, "version")

    async def _live(self, request: HttpRequest) -> HttpResponse:
        return json_response({"live": True})

    async def _ready(self, request: HttpRequest) -> HttpResponse:
        is_ready = not self.is_stopping
        return json_response({"ready": is_ready}, 200 if is_ready else 503)

    async def _health(self, request: HttpRequest) -> HttpResponse:
        return json_response(self._summary())

    async def _list_models(self, request: HttpRequest) -> HttpResponse:
        return json_response({"models": [_model_entry(model) for model in self.models.values()]})

    async def _server_metadata(self, request: HttpRequest) -> HttpResponse:
        return json_response({"name": "neuro-divergent", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def _model_metadata(self, model: HostedModel, request: HttpRequest) -> HttpResponse:
        version = model.current
        return json_response(model_metadata(version.model.description, model=model.name, version=version.version))

    async def _model_ready(self, model: HostedModel, request: HttpRequest) -> HttpResponse:
        is_ready = not self.is_stopping
        return json_response({"name": model.name, "ready": is_ready}, 200 if is_ready else 503)

    async def _metrics(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, self.metrics.render(), KIND)

    async def _openapi(self, request: HttpRequest) -> HttpResponse:
        served = {name: model.current for name, model in self.models.items()}
        return json_response(openapi_document(served, self.settings))

    async def _docs(self, path: str, request: HttpRequest) -> HttpResponse:
        content, kind = docs_file(path)
        return HttpResponse(200, content, kind, policy=PAGE_POLICY)

    async def _reload(self, request: HttpRequest) -> HttpResponse:
        summary = await self.refresh(force=True)
        failed = any(model["problem"] for model in summary["models"])
        return json_response(summary, 409 if failed else 200)

    def _summary(self) -> dict[str, Any]:
        return {
            "ready": not self.is_stopping,
            "models": [
                {
                    "name": model.name,
                    "version": model.current.version,
                    "loaded": model.current.loaded,
                    "problem": model.problem,
                }
                for model in self.models.values()
            ],
        }

    def _add_gauges(self) -> None:
        models = self.models.values()

        def info() -> dict[Labels, float]:
            return {
                (
                    ("model", model.name),
                    ("version", model.current.version),
                    ("architecture", model.current.model.description.architecture),
                    ("precision", model.current.model.description.precision),
                ): 1.0
                for model in models
            }

        def failing() -> dict[Labels, float]:
            return {(("model", model.name),): float(model.problem is not None) for model in models}

        self.metrics.add_gauge(Gauge("nd_model_info", "The versions that are served.", info))
        self.metrics.add_gauge(Gauge("nd_model_load_failing", "Whether the newest version cannot be loaded.", failing))
        self.metrics.add_gauge(
            Gauge("nd_queue_depth", "Requests that wait for their forecast.", lambda: {(): self._forecasts.waiting})
        )


def _model_entry(model: HostedModel) -> dict[str, Any]:
    version = model.current
    about = version.model.description
    return {
        "name": model.name,
        "version": version.version,
        "architecture": about.architecture,
        "precision": about.precision,
        "horizon": about.horizon,
        "input_size": about.input_size,
        "frequency": about.frequency,
        "target": about.target,
        "time": about.time,
        "id": about.id,
        "quantiles": list(about.quantiles),
        "past": [feature.name for feature in about.past],
        "future": [feature.name for feature in about.future],
        "static": [feature.name for feature in about.static],
        "joint": about.joint,
    }
