"""Requests per second and latency of the server, with 1 and 32 connections.

    python benchmarks/server.py [--seconds 5] [--models nlinear nhits] [--files A.onnx ...]

Trains NLinear and NHITS at their default sizes (input 96, horizon 24) for a few steps, exports them in float32 and
int8, starts the server in a process of its own for each, and sends it requests of one series with 96 values from this
process, over loopback. The generator keeps one request under way per connection and does no more per answer than
compare its length, so that it takes much less processor time than the server; both need a core of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

INPUT_SIZE, HORIZON = 96, 24
_LENGTH = b"content-length: "


@dataclass(frozen=True)
class Load:
    """What a run of the generator measured.

    Attributes:
        rate: Answers per second.
        p50: Median latency in milliseconds.
        p99: Latency in milliseconds that 1 % exceed.
        failed: Answers with another status than 200.
        processor: Processor seconds of the generator per second.
    """

    rate: float
    p50: float
    p99: float
    failed: int
    processor: float


class Client(asyncio.Protocol):
    """One connection that always has one request under way."""

    def __init__(self, request: bytes, seconds: list[float], failed: list[bytes]) -> None:
        self._request, self._seconds, self._failed = request, seconds, failed
        self._buffer = b""
        self.is_stopping = False
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport: Any = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count an answer when it is complete, and send the next request."""
        if self._buffer:
            data = self._buffer + data
        # The length is that of each answer: rounding differs with the size of a batch.
        head, place = data.find(b"\r\n\r\n"), data.find(_LENGTH)
        if head < 0 or len(data) < head + 4 + int(data[place + len(_LENGTH) : data.find(b"\r", place)]):
            self._buffer = data
            return
        self._buffer = b""
        self._seconds.append(time.perf_counter() - self._sent)
        if not data.startswith(b"HTTP/1.1 200"):
            self._failed.append(data[:200])
        if self.is_stopping:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell that it is over."""
        if not self.ended.done():
            self.ended.set_result(None)


async def put_load(port: int, request: bytes, connections: int, seconds: float) -> Load:
    """Send requests for some seconds, after a warm-up of half a second."""
    loop = asyncio.get_running_loop()
    times: list[float] = []
    failed: list[bytes] = []
    clients: list[Client] = []
    for _ in range(connections):
        _, client = await loop.create_connection(lambda: Client(request, times, failed), "127.0.0.1", port)
        clients.append(client)
    await asyncio.sleep(0.5)
    times.clear()
    begin, work = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    elapsed, work, count = time.perf_counter() - begin, time.process_time() - work, len(times)
    measured = 1000 * np.sort(times[:count])
    for client in clients:
        client.is_stopping = True
    await asyncio.gather(*(client.ended for client in clients))
    p50, p99 = np.quantile(measured, [0.5, 0.99])
    return Load(count / elapsed, float(p50), float(p99), len(failed), work / elapsed)


def make_request(path: str, port: int, body: bytes) -> bytes:
    """Return a request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


def make_body() -> bytes:
    """Return a request for one series."""
    values = 50 + 10 * np.sin(np.arange(INPUT_SIZE) * 2 * np.pi / 24)
    numbers = ",".join(f"{value:.3f}" for value in values)
    return f'{{"series":[{{"id":"A","end":"2024-01-31T23:00:00","y":[{numbers}]}}]}}'.encode()


def export_models(directory: Path, names: list[str]) -> list[Path]:
    """Train and export the models that are measured."""
    from datetime import datetime, timedelta

    import polars as pl

    import neuro_divergent as nd
    from neuro_divergent.serving.export.exporter import export_model

    chance, count, begin = np.random.default_rng(0), 400, datetime(2024, 1, 1)
    table = pl.concat(
        pl.DataFrame(
            {
                "unique_id": [name] * count,
                "ds": [begin + timedelta(hours=hour) for hour in range(count)],
                "y": 50 + 10 * np.sin(np.arange(count) * 2 * np.pi / 24) + chance.normal(0, 1, count),
            }
        )
        for name in "ABCD"
    )
    paths = []
    for name in names:
        model = nd.Forecaster(
            name, horizon=HORIZON, input_size=INPUT_SIZE, training=nd.TrainingConfig(max_steps=20, batch_size=32)
        )
        model.fit(table)
        paths.append(export_model(model, directory / f"{name}.onnx"))
        paths.append(export_model(model, directory / f"{name}.int8.onnx", format="onnx-int8"))
    return paths


@contextlib.contextmanager
def running_server(model: Path):
    """Serve a model in a process of its own, and give its port."""
    command = [sys.executable, "-m", "neuro_divergent.serving", str(model), "--port", "0", "--poll", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode()
        try:
            yield int(re.search(r":(\d+)/", address)[1]), process.pid  # type: ignore[index]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--models", nargs="+", default=["nlinear", "nhits"])
    parser.add_argument("--files", nargs="+", type=Path, help="exported models to measure instead")
    options = parser.parse_args()
    factory = None
    with contextlib.suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with tempfile.TemporaryDirectory() as place:
        paths = options.files or export_models(Path(place), options.models)
        print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("| model | connections | requests/s | p50 ms | p99 ms | server ms of processor per request | failed |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for path in paths:
            with running_server(path) as (port, pid), asyncio.Runner(loop_factory=factory) as runner:
                for connections in (1, 32):
                    request = make_request("/forecast", port, make_body())
                    before, begin = processor_seconds(pid), time.perf_counter()
                    load = runner.run(put_load(port, request, connections, options.seconds))
                    used = (processor_seconds(pid) - before) / (time.perf_counter() - begin)
                    print(
                        f"| {path.name.removesuffix('.onnx')} | {connections} | {load.rate:,.0f} | {load.p50:.2f} | "
                        f"{load.p99:.1f} | {1000 * used / load.rate:.3f} | {load.failed} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
