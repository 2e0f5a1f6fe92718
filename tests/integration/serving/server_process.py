"""A server in a process of its own, and clients on real sockets."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

TOKEN = "0123456789abcdef0123456789abcdef"
JSON = {"content-type": "application/json"}
_REPOSITORY = Path(__file__).parents[3]


class Answer:
    """A response, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self) -> Any:
        """Return the body, which must be strict JSON."""
        return msgspec.json.decode(self.body)


class ServerProcess:
    """A running server."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: list[str]) -> None:
        self.process = process
        self.port = port
        self.log = log

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        """Return a connection that is kept open."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """Send a GET request."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, content: Any, headers: dict[str, str] | None = None) -> Answer:
        """Send JSON."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.request("POST", path, body, {**JSON, **(headers or {})})

    def raw(self, content: bytes, *, timeout: float = 10) -> bytes:
        """Send bytes, and return all that comes back until the server closes or nothing more comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            received = b""
            try:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    received += part
            except OSError:
                pass
            return received

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all labels that are not given."""
        from prometheus_client.parser import text_string_to_metric_families

        text = self.get("/metrics").body.decode()
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def stop(self, number: int = signal.SIGTERM, timeout: float = 30) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout)


@contextmanager
def running(
    *models: str | Path, options: Sequence[str] = (), module: str = "neuro_divergent.serving"
) -> Iterator[ServerProcess]:
    """Start a server at a free port, and end it afterwards."""
    command = [sys.executable, "-m", module, *map(str, models), "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=_REPOSITORY
    )
    assert process.stdout is not None
    assert process.stderr is not None
    log: list[str] = []
    stderr = process.stderr
    reader = threading.Thread(target=lambda: log.extend(line.decode() for line in stderr), daemon=True)
    reader.start()
    try:
        line = process.stdout.readline().decode()
        match = re.search(r":(\d+)/", line)
        if match is None:
            process.wait(30)
            reader.join(5)
            raise AssertionError(f"the server did not start: {line} {''.join(log)}")
        yield ServerProcess(process, int(match[1]), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stdout.close()
        reader.join(5)
        stderr.close()
