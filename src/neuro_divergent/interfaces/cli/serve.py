"""``nd serve``: answers requests for forecasts over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from neuro_divergent.serving.server.model_source import ModelSource
    from neuro_divergent.serving.server.settings import ServerSettings

_PLACES = {"description": "docs", "health": "health/ready", "metrics": "metrics"}
EXAMPLES = """\b
Examples:
  nd serve model.onnx
  nd serve runs/sales-nhits-20260101-120000 --port 9000
  nd serve sales@champion --registry models --poll 10
  nd serve eu=europe.onnx us=america.onnx --log-forecasts forecasts
  ND_SERVE_TOKEN=$(openssl rand -hex 32) nd serve model.onnx --host 0.0.0.0

Limits: body, buffered, series, values, levels, request_seconds, read_seconds, idle_seconds, queue, headers,
connections, batch.
"""


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help=".onnx file, directory of a model or a run, or sales@champion of a registry; name=MODEL names it.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own (127.0.0.1) needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for one that is free.", min=0, max=65535)] = 8080,
    token: Annotated[
        str | None,
        typer.Option(
            help="Secret of 128 bits or more that requests from other machines and /admin/reload need.",
            envvar="ND_SERVE_TOKEN",
            show_envvar=True,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name, as behind a proxy; may be repeated. Needs the token."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", envvar="ND_REGISTRY", help="Directory of the registry (models), or postgresql://..."
        ),
    ] = None,
    blobs: Annotated[
        str | None,
        typer.Option(metavar="PLACE", envvar="ND_REGISTRY_BLOBS", help="Files of models of a registry in PostgreSQL."),
    ] = None,
    poll: Annotated[float, typer.Option(help="Seconds between looks for a new version; 0 for never.", min=0)] = 5.0,
    cache: Annotated[
        Path | None,
        typer.Option(help="Directory for exports of models that have none.", show_default="~/.cache/neuro-divergent"),
    ] = None,
    threads: Annotated[int, typer.Option(help="Processor threads of the network.", min=1)] = 1,
    drain: Annotated[
        float, typer.Option(help="Seconds from SIGTERM, when /health/ready refuses, to closing the port.", min=0)
    ] = 0.0,
    log_forecasts: Annotated[Path | None, typer.Option(help="Directory for a log of the forecasts made.")] = None,
    log_inputs: Annotated[bool, typer.Option("--log-inputs", help="Log the histories as well.")] = False,
    limit: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A limit of requests (see below); may be repeated.")
    ] = None,
) -> None:
    """Answer requests for forecasts over HTTP. It speaks JSON, CSV and the open inference protocol."""
    from neuro_divergent.serving.server.export_cache import usual_cache
    from neuro_divergent.serving.server.settings import ServerSettings
    from neuro_divergent.serving.server.source_address import SourceReader, read_limits

    settings = ServerSettings(
        host=host,
        port=port,
        token=token,
        allowed_hosts=tuple(allow_host or ()),
        limits=read_limits(limit or ()),
        poll_seconds=poll,
        drain_seconds=drain,
        threads=threads,
        log_forecasts=log_forecasts,
        log_inputs=log_inputs,
    )
    sources = SourceReader(cache or usual_cache(), registry=registry, blobs=blobs, threads=threads).read(models)
    show_log()
    run_server(settings, sources)


def run_server(settings: ServerSettings, sources: list[ModelSource]) -> None:
    """Run the server, and say where it is once it answers."""
    from neuro_divergent.serving.server.server import serve as serve_models

    names = ", ".join(source.name for source in sources)

    def ready(actual: ServerSettings) -> None:
        places = ", ".join(f"{what}: {actual.address}{path}" for what, path in _PLACES.items())
        typer.echo(f"Serving {names} at {actual.address} ({places}). Ctrl-C ends it.")

    serve_models(settings, sources, ready=ready)


def show_log() -> None:
    """Show what the server logs on stderr, with the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("neuro_divergent.serving")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
