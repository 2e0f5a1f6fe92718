"""Runs the application: loads the models, listens, swaps versions, and stops without losing a request."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.http_access import listen
from neuro_divergent.serving.dependency import load_package
from neuro_divergent.serving.server.application import Application
from neuro_divergent.serving.server.export_cache import usual_cache
from neuro_divergent.serving.server.guarded_protocol import ConnectionGuard
from neuro_divergent.serving.server.model_source import ModelSource
from neuro_divergent.serving.server.settings import ServerSettings
from neuro_divergent.serving.server.source_address import SourceReader

if TYPE_CHECKING:
    import socket

    import uvicorn
else:
    uvicorn = load_package("uvicorn")

_BACKLOG = 1024
_TICK = 0.25
_SAME_SIGNAL = 0.2  # seconds in which a second signal is the same request: a supervisor passes on what it got as well
_CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}


def serve(
    settings: ServerSettings,
    sources: Sequence[ModelSource | str | Path],
    *,
    ready: Callable[[ServerSettings], None] | None = None,
) -> None:
    """Serve models until SIGTERM or SIGINT; SIGHUP looks for new versions.

    Args:
        settings: Settings of the server.
        sources: Where the models come from: exported files, and directories of saved models or runs, by their paths.
        ready: Called with the settings, in which the port is the real one, when requests are answered.

    Raises:
        InputError: If it cannot listen, or two models have the same name.
        NeuroDivergentError: If a model cannot be loaded.

    Examples:
        >>> import neuro_divergent as nd
        >>> settings = nd.serving.ServerSettings(port=0)
        >>> nd.serving.serve(settings, ["model.onnx"])
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.InputError: model.onnx: not found; export a model to it with: nd export ...
    """
    reader = SourceReader(usual_cache(), threads=settings.threads)
    found = [reader.read([str(item)])[0] if isinstance(item, (str, Path)) else item for item in sources]
    with listen(settings.host, settings.port, who="server", backlog=_BACKLOG) as listener:
        actual = replace(settings, port=listener.getsockname()[1])
        config_loop = uvicorn.Config(_no_app, log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=config_loop) as runner:
            runner.run(_serve(actual, found, listener, ready))


async def _serve(
    settings: ServerSettings,
    sources: Sequence[ModelSource],
    listener: socket.socket,
    ready: Callable[[ServerSettings], None] | None,
) -> None:
    server = ModelServer(Application(settings, sources))
    await server.serve_until_stopped(listener, lambda: ready(settings) if ready is not None else None)


class ModelServer(uvicorn.Server):
    """A uvicorn server that cuts off slow requests, polls for new versions, and drains before it stops.

    Args:
        application: What answers; its models are loaded when it starts.
    """

    def __init__(self, application: Application) -> None:
        settings = application.settings
        self._application = application
        self._settings = settings
        rejected = application.metrics.rejected
        self._guard = ConnectionGuard(settings.limits, lambda reason: rejected.add((("reason", reason),)))
        self._stopping = asyncio.Event()
        self._signaled: float | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        super().__init__(
            uvicorn.Config(
                application,
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                http=self._guard.make_protocol(),
                timeout_keep_alive=max(1, round(settings.limits.idle_seconds)),
                h11_max_incomplete_event_size=settings.limits.headers,
            )
        )

    async def serve_until_stopped(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Load the models, serve at a listening socket until a signal arrives, then finish what is under way.

        Raises:
            NeuroDivergentError: If a model cannot be loaded.
        """
        with self._handled_signals():
            try:
                if await self._is_loaded():
                    await self._serve_loaded(listener, ready)
            finally:
                await self._application.close()

    async def _is_loaded(self) -> bool:
        """Load the models; return false if a signal came first."""
        loading = asyncio.create_task(self._application.load())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([loading, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not loading.done():
            loading.cancel()
            return False
        await loading
        gc.collect()
        gc.freeze()  # what is loaded stays, and need not be looked at again while requests wait
        return True

    async def _serve_loaded(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await super().on_tick(0)
        await self.startup([listener])
        ready()
        poller = asyncio.create_task(self._poll())
        try:
            await self._tick_until(self._stopping.wait())
            if self._settings.drain_seconds:
                await self._tick_until(asyncio.sleep(self._settings.drain_seconds))
        finally:
            poller.cancel()
        await self._finish(listener)

    def request_stop(self) -> None:
        """Begin to stop: readiness is refused from now on, and requests are still answered."""
        self._application.is_stopping = True
        self._stopping.set()

    async def _tick_until(self, awaitable: Awaitable[object]) -> None:
        """Update the date of answers and cut off slow requests, until something happens."""
        task = asyncio.ensure_future(awaitable)
        while not task.done():
            await asyncio.wait([task], timeout=_TICK)
            await super().on_tick(0)
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                connection.cut_off_if_late(now)  # type: ignore[union-attr]
                connection.abort_if_unread(now)  # type: ignore[union-attr]

    async def _finish(self, listener: socket.socket) -> None:
        """Accept no more connections, answer what has arrived, and close."""
        self._guard.is_stopping = True
        await asyncio.sleep(0.05)  # connections that the kernel has accepted come first
        for server in self.servers:
            server.close()
        listener.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.stop_seconds
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while (self.server_state.connections or self.server_state.tasks) and loop.time() < end:
            for connection in list(self.server_state.connections):
                connection.cut_off_if_late(loop.time())  # type: ignore[union-attr]
                connection.close_if_quiet(loop.time())  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    async def _poll(self) -> None:
        while self._settings.poll_seconds:
            await asyncio.sleep(self._settings.poll_seconds)
            await self._application.refresh()

    def _reload(self) -> None:
        task: asyncio.Task[object] = asyncio.create_task(self._application.refresh(force=True))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _receive_stop(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._signaled is None:
            self._signaled = now
            self.request_stop()
        elif now - self._signaled > _SAME_SIGNAL:
            os._exit(_CODES[number])  # a second request means: at once

    @contextmanager
    def _handled_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        handled = []
        with suppress(NotImplementedError, ValueError, RuntimeError):  # outside of the main thread, and on Windows
            for number in _CODES:
                loop.add_signal_handler(number, self._receive_stop, number)
                handled.append(number)
            loop.add_signal_handler(signal.SIGHUP, self._reload)
            handled.append(signal.SIGHUP)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)


async def _no_app(scope: object, receive: object, send: object) -> None:
    """Do nothing: uvicorn wants an application before it tells which event loop is installed."""
