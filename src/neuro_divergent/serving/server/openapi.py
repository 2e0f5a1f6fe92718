"""The OpenAPI 3.1 document of a server, made from the descriptions of its models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.serving.description import Description, ExportedFeature
from neuro_divergent.serving.server.open_inference import model_metadata
from neuro_divergent.serving.server.served_version import ServedVersion
from neuro_divergent.serving.server.settings import ServerSettings

_ERRORS = {
    "400": "The request cannot be used; the detail says why.",
    "401": "The token is missing or wrong.",
    "413": "The body, the series or the levels are more than is accepted.",
    "503": "Too many requests are waiting; Retry-After says when to try again.",
    "504": "The forecast took too long.",
}
_INFER = {
    "type": "object",
    "required": ["inputs"],
    "properties": {
        "id": {"type": "string"},
        "inputs": {"type": "array", "items": {"$ref": "#/components/schemas/Tensor"}},
        "outputs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"enum": ["forecast", "point", "quantiles"]},
                    "parameters": {"type": "object", "properties": {"binary_data": {"type": "boolean"}}},
                },
            },
        },
        "parameters": {"type": "object"},
    },
}
_TENSOR = {
    "type": "object",
    "required": ["name", "shape", "datatype"],
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "datatype": {"type": "string"},
        "data": {"type": "array", "items": {}},
        "parameters": {"type": "object"},
    },
}
_INFER_ANSWER = {
    "type": "object",
    "required": ["model_name", "model_version", "outputs"],
    "properties": {
        "model_name": {"type": "string"},
        "model_version": {"type": "string"},
        "id": {"type": "string"},
        "outputs": {"type": "array", "items": {"$ref": "#/components/schemas/Tensor"}},
    },
}
_ERROR = {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}}


def openapi_document(models: Mapping[str, ServedVersion], settings: ServerSettings) -> dict[str, Any]:
    """Return the document.

    Args:
        models: The versions that are served, by name.
        settings: Settings of the server.
    """
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {"Error": _ERROR, "Tensor": _TENSOR, "InferRequest": _INFER, "InferAnswer": _INFER_ANSWER}
    for name, version in models.items():
        description = version.model.description
        schemas[f"{name}-request"] = request_schema(description, settings)
        schemas[f"{name}-answer"] = answer_schema(description)
        paths[f"/models/{name}/forecast"] = {"post": _forecast(name, version)}
        paths[f"/v2/models/{name}"] = {"get": _get(f"Metadata of {name}", [name], operation=f"metadata-{name}")}
        paths[f"/v2/models/{name}/ready"] = {"get": _get(f"Whether {name} is ready", [name], operation=f"ready-{name}")}
        paths[f"/v2/models/{name}/infer"] = {"post": _infer(name, version)}
    if len(models) == 1:
        (name,) = models
        paths["/forecast"] = {"post": {**_forecast(name, models[name]), "operationId": "forecast"}}
    paths |= _server_paths()
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Neuro-Divergent models",
            "version": __version__,
            "description": "Forecasts from exported models. Answers name the version of the model that made them.",
        },
        "servers": [{"url": settings.address.rstrip("/")}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    if settings.needs_token:
        document["security"] = [{"token": []}]
    return document


def request_schema(description: Description, settings: ServerSettings) -> dict[str, Any]:
    """Return the JSON Schema of a request for forecasts."""
    required = ["y"]
    if description.calendar:
        required.append("end")
    if description.requires_known_series or description.joint:
        required.append("id")
    numbers = {"type": "array", "minItems": 1, "items": {"type": ["number", "null"]}}
    time = {"type": "integer"} if description.time_type == "integer" else {"type": "string"}
    series: dict[str, Any] = {
        "y": {
            **numbers,
            "description": f"{description.target}: the last {description.input_size} values, oldest first.",
        },
        "id": {"type": ["string", "integer"]},
        "end": {**time, "description": "Time of the last value; without it the answer has steps instead of times."},
    }
    for name, features in (("past", description.past), ("future", description.future), ("static", description.static)):
        if features:
            required.append(name)
            series[name] = _features_schema(features, is_static=name == "static")
    if description.future:
        series["future"]["description"] = f"As many values as y, and {description.horizon} more."
    limits = settings.limits
    levels = {"type": "array", "maxItems": limits.levels}
    return {
        "type": "object",
        "required": ["series"],
        "additionalProperties": False,
        "properties": {
            "series": {
                "type": "array",
                "minItems": 1,
                "maxItems": limits.series,
                "items": {
                    "type": "object",
                    "required": required,
                    "additionalProperties": False,
                    "properties": series,
                },
            },
            "levels": {
                **levels,
                "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
                "description": "Central intervals in percent: "
                + (", ".join(f"{level:g}" for level in levels_of(description)) or "none are exported"),
            },
            "quantiles": {
                **levels,
                "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            },
            "horizon": {"type": "integer", "minimum": 1, "maximum": description.horizon},
        },
    }


def answer_schema(description: Description) -> dict[str, Any]:
    """Return the JSON Schema of an answer."""
    numbers = {"type": "array", "items": {"type": ["number", "null"]}}
    return {
        "type": "object",
        "required": ["model", "model_version", "series"],
        "properties": {
            "model": {"type": "string"},
            "model_version": {"type": "string"},
            "series": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["forecast"],
                    "properties": {
                        "id": {"type": ["string", "integer"]},
                        description.time: {"type": "array", "items": {"type": ["string", "integer"]}},
                        "step": {"type": "array", "items": {"type": "integer"}},
                        "forecast": numbers,
                    },
                    "additionalProperties": numbers,
                },
            },
            "notes": {"type": "array", "items": {"type": "string"}},
        },
    }


def levels_of(description: Description) -> list[float]:
    """Return the central intervals, in percent, whose two quantiles are exported."""
    known = {round(quantile, 9) for quantile in description.quantiles}
    return sorted(round(100 * (1 - 2 * low), 6) for low in known if low < 0.5 and round(1 - low, 9) in known)


def example_request(description: Description) -> dict[str, Any]:
    """Return a request that the model answers."""
    length = description.input_size
    wave = [round(10 + (place % 12) / 2, 1) for place in range(length)]
    end: str | int = 1000
    if description.time_type == "date":
        end = date(2024, 1, 31).isoformat()
    elif description.time_type == "datetime":
        end = datetime(2024, 1, 31).isoformat() + ("Z" if description.time_zone else "")
    names = list(description.series) if description.joint else [*description.series[:1], "A"][:1]
    one: dict[str, Any] = {"y": wave, "end": end}
    if description.past:
        one["past"] = {feature.name: [_value(feature)] * length for feature in description.past}
    if description.future:
        one["future"] = {
            feature.name: [_value(feature)] * (length + description.horizon) for feature in description.future
        }
    if description.static:
        one["static"] = {feature.name: _value(feature) for feature in description.static}
    request: dict[str, Any] = {"series": [{"id": name, **one} for name in names]}
    if levels := levels_of(description):
        request["levels"] = levels[:1]
    return request


def _value(feature: ExportedFeature) -> Any:
    return 0 if not feature.categories else feature.categories[0]


def _features_schema(features: tuple[ExportedFeature, ...], *, is_static: bool) -> dict[str, Any]:
    properties = {}
    for feature in features:
        item: dict[str, Any] = {"type": ["number", "null"]}
        if feature.categories is not None:
            item = {"type": ["string", "number", "boolean", "null"]}
            if 0 < len(feature.categories) <= 20:
                item["examples"] = list(feature.categories)
        properties[feature.name] = item if is_static else {"type": "array", "items": item}
    return {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}


def _forecast(name: str, version: ServedVersion) -> dict[str, Any]:
    description = version.model.description
    text = {"schema": {"type": "string"}}
    return {
        "operationId": f"forecast-{name}",
        "tags": [name],
        "summary": f"Forecast {description.horizon} steps of {description.target} ({description.architecture})",
        "description": (
            f"Version {version.version}. Step {description.frequency}; {description.input_size} values of history."
            " CSV has the columns of training, and levels, quantiles and horizon in the address."
        ),
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{name}-request"},
                    "example": example_request(description),
                },
                "text/csv": text,
            },
        },
        "responses": {
            "200": {
                "description": "The forecasts.",
                "headers": {"model-version": {"schema": {"type": "string"}}},
                "content": {
                    "application/json": {"schema": {"$ref": f"#/components/schemas/{name}-answer"}},
                    "text/csv": text,
                },
            },
            **_errors(),
        },
    }


def _infer(name: str, version: ServedVersion) -> dict[str, Any]:
    metadata = model_metadata(version.model.description, model=name, version=version.version)
    shapes = "; ".join(f"{item['name']} {item['datatype']} {item['shape']}" for item in metadata["inputs"])
    body = {"schema": {"$ref": "#/components/schemas/InferRequest"}}
    answer = {"schema": {"$ref": "#/components/schemas/InferAnswer"}}
    return {
        "operationId": f"infer-{name}",
        "tags": [name],
        "summary": "Forecast from tensors (open inference protocol, version 2)",
        "description": f"Inputs: {shapes}. Binary tensors need the header Inference-Header-Content-Length.",
        "requestBody": {
            "required": True,
            "content": {"application/json": body, "application/octet-stream": {"schema": {}}},
        },
        "responses": {"200": {"description": "The tensors.", "content": {"application/json": answer}}, **_errors()},
    }


def _errors() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": text, "content": content} for status, text in _ERRORS.items()}


def _server_paths() -> dict[str, Any]:
    open_route: dict[str, Any] = {"security": []}
    return {
        "/models": {"get": _get("Models that are served", operation="models")},
        "/health": {"get": _get("Versions that are served, and why a newer one is not", operation="health")},
        "/health/live": {"get": {**_get("Whether the process answers", operation="live"), **open_route}},
        "/health/ready": {"get": {**_get("Whether requests are welcome (else 503)", operation="ready"), **open_route}},
        "/metrics": {"get": _get("Metrics for Prometheus", operation="metrics", kind="text/plain")},
        "/v2": {"get": _get("Metadata of the server (open inference protocol)", operation="server-metadata")},
        "/v2/health/live": {"get": {**_get("Whether the process answers", operation="v2-live"), **open_route}},
        "/v2/health/ready": {"get": {**_get("Whether requests are welcome", operation="v2-ready"), **open_route}},
        "/admin/reload": {
            "post": {
                **_get("Look for new versions now", operation="reload"),
                "security": [{"token": []}],
            }
        },
    }


def _get(
    summary: str, tags: list[str] | None = None, *, operation: str, kind: str = "application/json"
) -> dict[str, Any]:
    return {
        "operationId": operation,
        "tags": tags or ["server"],
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {kind: {"schema": {}}}}},
    }
