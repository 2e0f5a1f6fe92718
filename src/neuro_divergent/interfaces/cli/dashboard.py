"""``nd dashboard``: shows runs in the browser while they train."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from uvicorn import Server

    from neuro_divergent.interfaces.dashboard.settings import Settings

EXAMPLES = """\b
Examples:
  nd dashboard
  nd dashboard runs --open
  ND_DASHBOARD_TOKEN=$(openssl rand -hex 32) nd dashboard --host 0.0.0.0
"""
TOKEN = "ND_DASHBOARD_TOKEN"
_USUAL = Path("runs")
_MOST_CONNECTIONS = 300
_LARGEST_HEAD = 64 * 1024


def dashboard(
    path: Annotated[
        Path, typer.Argument(metavar="[RUNS]", help="Directory of runs, or one run.", show_default=True)
    ] = _USUAL,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own (127.0.0.1) needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at; 0 for one that is free.", min=0, max=65535)] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            help="Secret of 128 bits or more that allows stopping runs; a new one is made without it.",
            envvar=TOKEN,
            show_envvar=True,
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another host name, as behind a reverse proxy; may be repeated. Reading needs the token then.",
        ),
    ] = None,
) -> None:
    """Show runs in the browser while they train. It has losses, forecasts, comparisons and diagnoses."""
    from neuro_divergent.core.errors import InputError

    if not path.is_dir() and (path != _USUAL or path.exists()):  # the usual place appears with the first run
        what = "is not a directory" if path.exists() else "not found"
        raise InputError(f"{path}: {what}; give a directory that holds runs, or one run.")
    _check_installed()
    from neuro_divergent.core.http_access import HOW_TO_MAKE_ONE, is_loopback, listen, new_token
    from neuro_divergent.interfaces.dashboard.settings import Settings

    if not token and not is_loopback(host):
        raise InputError(
            f"--host {host}: anybody who reaches that address could read all runs and stop them; give a token with "
            f"--token or {TOKEN}. {HOW_TO_MAKE_ONE}"
        )
    wanted = Settings(path.resolve(), token or new_token(), host, port, tuple(allow_host or ()))
    with listen(host, port, who="dashboard") as listener:
        settings = replace(wanted, port=listener.getsockname()[1])
        address = f"{settings.address}#token={settings.token}"
        typer.echo(f"Dashboard of {path}: {address}")
        typer.echo("Anybody with this address can stop runs. Ctrl-C ends the dashboard.")
        if show:
            _open_soon(address)
        server_of(settings).run(sockets=[listener])


def _check_installed() -> None:
    from neuro_divergent.core.errors import MissingDependencyError

    missing = [name for name in ("fastapi", "uvicorn", "plotly") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the dashboard needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            'pip install "neuro-divergent[dashboard]"'
        )


def server_of(settings: Settings) -> Server:
    """Return a server of the application that closes its open streams when it shuts down."""
    import uvicorn

    from neuro_divergent.interfaces.dashboard.app import create_app

    app = create_app(settings)

    class _Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.board.streams.is_closing = True
            super().handle_exit(sig, frame)

    return _Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            http="h11",
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
        )
    )


def _open_soon(address: str) -> None:
    """Open a page in the browser as soon as the server responds; some browsers block the process that starts them."""
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, args=(address,)).start()
