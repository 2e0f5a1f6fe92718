"""``python -m neuro_divergent.serving MODEL...``: the server of ``nd serve`` with few packages, for containers.

It needs onnxruntime, NumPy, msgspec, lazy-loader and uvicorn; a model from a registry, or one that is not exported yet,
needs more.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from neuro_divergent.core.errors import NeuroDivergentError


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve models until the process is told to stop; return the exit code."""
    try:
        return _serve(_parser().parse_args(arguments))
    except NeuroDivergentError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        return error.exit_code


def _serve(options: argparse.Namespace) -> int:
    from neuro_divergent.serving.server.export_cache import usual_cache
    from neuro_divergent.serving.server.server import serve
    from neuro_divergent.serving.server.settings import ServerSettings
    from neuro_divergent.serving.server.source_address import SourceReader, read_limits

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("neuro_divergent.serving").setLevel(logging.INFO)
    settings = ServerSettings(
        host=options.host,
        port=options.port,
        token=options.token or None,
        allowed_hosts=tuple(options.allow_host),
        limits=read_limits(options.limit),
        poll_seconds=options.poll,
        drain_seconds=options.drain,
        threads=options.threads,
        log_forecasts=options.log_forecasts,
        log_inputs=options.log_inputs,
    )
    reader = SourceReader(
        options.cache or usual_cache(), registry=options.registry, blobs=options.blobs, threads=options.threads
    )

    def ready(actual: ServerSettings) -> None:
        sys.stdout.write(f"Serving at {actual.address}\n")
        sys.stdout.flush()

    serve(settings, reader.read(options.models), ready=ready)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("neuro_divergent.serving", description="Answer requests for forecasts over HTTP.")
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help=".onnx file, directory of a model, or sales@champion of a registry")
    add("--host", default="127.0.0.1", help="address to listen at; any but 127.0.0.1 needs a token")
    add("--port", type=int, default=8080, help="port to listen at; 0 for one that is free")
    add("--token", default=os.environ.get("ND_SERVE_TOKEN"), help="secret of requests (ND_SERVE_TOKEN)")
    add("--allow-host", action="append", default=[], metavar="NAME", help="another host name, as behind a proxy")
    add("--registry", default=os.environ.get("ND_REGISTRY"), help="directory or address of a registry")
    add("--blobs", default=os.environ.get("ND_REGISTRY_BLOBS"), help="files of models of a registry in PostgreSQL")
    add("--poll", type=float, default=5.0, help="seconds between looks for a new version; 0 for never")
    add("--cache", type=Path, help="directory for exports of models that have none")
    add("--threads", type=int, default=1, help="processor threads of the network")
    add("--drain", type=float, default=0.0, help="seconds from SIGTERM to closing the port")
    add("--log-forecasts", type=Path, help="directory for a log of the forecasts made")
    add("--log-inputs", action="store_true", help="log the histories as well")
    add("--limit", action="append", default=[], metavar="NAME=VALUE", help="a limit of requests, such as body=1000000")
    return parser


if __name__ == "__main__":
    sys.exit(main())
