"""A dashboard on a real port, and a reader of its streams."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from neuro_divergent.core.http_access import listen
from neuro_divergent.interfaces.cli.dashboard import server_of
from neuro_divergent.interfaces.dashboard.settings import Settings
from tests.dashboard.client import TOKEN


@contextmanager
def served(root: Path) -> Iterator[int]:
    """Serve a directory as the command does, and give the port."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        server: uvicorn.Server = server_of(Settings(root, TOKEN, port=port))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.handle_exit(2, None)
            thread.join(10)
            assert not thread.is_alive(), "an open stream kept the server from ending"


@dataclass
class Event:
    name: str
    id: int | None
    data: Any
    time: float


class Stream:
    """Reads a stream in a thread of its own, so that the time of arrival is known."""

    def __init__(self, port: int, target: str) -> None:
        end = time.monotonic() + 60
        while True:
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            self._connection.request("GET", target)
            self._socket = self._connection.sock
            self._response = self._connection.getresponse()
            # A run that was made a moment ago is found at the next look at the directory.
            if self._response.status != 404 or time.monotonic() > end:
                break
            self._response.close()
            self._connection.close()
            time.sleep(0.1)
        assert self._response.status == 200
        assert self._response.headers["content-type"].startswith("text/event-stream")
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, name: str, seconds: float = 60.0) -> Event:
        """Return the next event of a name; those before it are dropped."""
        end = time.monotonic() + seconds
        while True:
            event = self._events.get(timeout=max(end - time.monotonic(), 0.001))
            assert event is not None, f"the stream ended before {name}"
            if event.name == name:
                return event

    def rest(self, seconds: float = 60.0) -> list[Event]:
        """Return all that comes until the stream ends."""
        found: list[Event] = []
        while (event := self._events.get(timeout=seconds)) is not None:
            found.append(event)
        return found

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _read(self) -> None:
        name, identity = "message", None
        try:
            for raw in self._response:
                line = raw.decode().rstrip("\n")
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "id":
                    identity = int(value)
                elif field == "data":
                    self._events.put(Event(name, identity, json.loads(value), time.time()))
                elif not line:
                    name, identity = "message", None
        except (OSError, http.client.HTTPException):
            pass
        self._response.close()
        self._connection.close()
        self._events.put(None)
