"""Requests that are wrong in any way are refused with 4xx, and the server stays."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.integration.serving.server_process import ServerProcess, running
from tests.integration.serving.small_graph import INPUT_SIZE

VALID = {
    "series": [{"id": "A", "end": "2024-01-31T23:00:00", "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]}],
    "levels": [80],
    "quantiles": [0.5],
    "horizon": 2,
}
TENSORS = {
    "id": "1",
    "inputs": [{"name": "past_y", "shape": [1, INPUT_SIZE, 1], "datatype": "FP32", "data": [1.0] * INPUT_SIZE}],
    "outputs": [{"name": "point", "parameters": {"binary_data": True}}],
}
CSV = "unique_id,ds,y\n" + "\n".join(f"A,2024-01-01T{hour:02}:00:00,{hour}" for hour in range(INPUT_SIZE))
ODD: list[Any] = [
    None, True, -1, 0, 1e308, -1e308, 2**63, 2**70, "", "x" * 2000, "\x00", "é", "2024-13-99", [], {}, [[]], [None] * 9,
    {"y": 1}, [1e39] * INPUT_SIZE, ["1"], float("nan"), float("inf"), "9999-12-31T23:00:00", "0001-01-01", 10**400,
]  # fmt: skip
PATHS = ["/forecast", "/models/mean/forecast", "/v2/models/mean/infer", "/forecast?levels=80", "/models/x/forecast"]
METHODS = ["POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "BREW", "CONNECT"]


def mutated(content: Any, chance: random.Random) -> Any:
    """Return plain values with one of them changed, removed or doubled."""
    if isinstance(content, dict) and content:
        copy = dict(content)
        key = chance.choice(list(copy))
        match chance.randrange(5):
            case 0:
                del copy[key]
            case 1:
                copy[chance.choice(["seriess", "Y", "", "y", "id"])] = chance.choice(ODD)
            case _:
                copy[key] = mutated(copy[key], chance)
        return copy
    if isinstance(content, list) and content and chance.random() < 0.8:
        copy = list(content)
        place = chance.randrange(len(copy))
        match chance.randrange(4):
            case 0:
                del copy[place]
            case 1:
                copy *= chance.choice([2, 50])
            case _:
                copy[place] = mutated(copy[place], chance)
        return copy
    return chance.choice(ODD)


def broken_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some cut, changed, doubled or inserted."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                del data[place : place + chance.randint(1, 20)]
            case 1:
                data[place:place] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 8)))
            case 2:
                data[place:place] = data[: chance.randint(1, 60)]
            case _:
                if data:
                    data[place % len(data)] = chance.randrange(256)
        if not data:
            break
    return bytes(data)


def bad_request(chance: random.Random, port: int) -> bytes:
    """Return a request whose body, headers or bytes are wrong (now and then it is right by chance)."""
    kind = chance.random()
    path = chance.choice(PATHS)
    valid = TENSORS if "infer" in path else VALID
    content_type = "application/json"
    if kind < 0.45:
        body = json.dumps(mutated(mutated(valid, chance), chance)).encode()
    elif kind < 0.6:
        body = broken_bytes(json.dumps(valid).encode(), chance)
    elif kind < 0.75:
        body, content_type = broken_bytes(CSV.encode(), chance), "text/csv"
    elif kind < 0.8:
        body = b"[" * chance.choice([10, 1000, 100_000]) + b"]" * chance.choice([0, 10])
    else:
        body = json.dumps(valid).encode()
    headers = [("host", f"127.0.0.1:{port}"), ("content-type", content_type), ("content-length", str(len(body)))]
    method = "POST"
    if kind >= 0.8:
        extra = [
            ("content-type", chance.choice(["", "image/png", "text/csv;charset=x", "a" * 500])),
            ("inference-header-content-length", chance.choice(["-1", "0", "5", "99999999", "x", ""])),
            ("content-length", chance.choice(["-1", "0", "5", "99999999999", "x", "1e3"])),
            ("transfer-encoding", chance.choice(["chunked", "gzip", "chunked, chunked"])),
            ("host", chance.choice(["evil", "", "[::1"])),
            ("expect", "100-continue"),
            ("upgrade", chance.choice(["websocket", "h2c"])),
            ("connection", chance.choice(["upgrade", "close", "x" * 100])),
            ("accept", chance.choice(["text/csv", "*/*", "\xff"])),
            ("authorization", chance.choice(["Bearer", "Basic eA==", ""])),
        ]
        for name, value in chance.sample(extra, chance.randint(1, 3)):
            headers = [item for item in headers if item[0] != name or chance.random() < 0.2] + [(name, value)]
        method = chance.choice(METHODS) if chance.random() < 0.3 else method
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    whole = head.encode("latin-1") + body
    return broken_bytes(whole, chance) if chance.random() < 0.1 else whole


def statuses(received: bytes) -> Iterator[int]:
    """Yield the status of each answer, after checking that refusals are one line of JSON."""
    while received.startswith(b"HTTP/1.1 "):
        head, _, rest = received.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if status >= 400 and rest[:length]:
            detail = msgspec.json.decode(rest[:length])["detail"]
            assert detail
            assert "\n" not in detail
        if status != 100:
            yield status
        received = rest[length:]


def send_bad(server: ServerProcess, count: int, seed: int, found: Counter[int]) -> None:
    """Send bad requests one by one."""
    chance = random.Random(seed)
    for _ in range(count):
        content = bad_request(chance, server.port)
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            received = b""
            try:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    received += part
            except OSError:
                pass
        found.update(statuses(received))


def check_bad_requests(graph: Path, count: int) -> Counter[int]:
    """Send bad requests, and check that none makes the server fail."""
    found: Counter[int] = Counter()
    with running(graph, options=["--poll", "0", "--limit", "read_seconds=2"]) as server:
        threads = [threading.Thread(target=send_bad, args=(server, count // 3, seed, found)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        answer = server.post("/forecast", VALID)
        assert answer.status == 200
        assert len(answer.json()["series"][0]["forecast"]) == 2
        assert server.metric("nd_rejected_total", reason="bug") == 0
        assert not [line for line in server.log if "Traceback" in line or "Exception" in line]
        assert server.stop() == 0
    return found


def test_fifteen_hundred_bad_requests_give_no_server_error(graph: Path) -> None:
    found = check_bad_requests(graph, 1500)
    assert not [status for status in found if status >= 500 and status not in (503, 504)], found
    assert sum(count for status, count in found.items() if 400 <= status < 500) > 900


@pytest.mark.long
def test_twenty_thousand_bad_requests_give_no_server_error(graph: Path) -> None:
    found = check_bad_requests(graph, 20_000)
    assert not [status for status in found if status >= 500 and status not in (503, 504)], found


def test_bytes_that_are_not_http_are_refused_and_the_server_stays(server: ServerProcess) -> None:
    chance = random.Random(5)
    for size in (1, 10, 1000, 100_000):
        received = server.raw(chance.randbytes(size) + b"\r\n\r\n")
        assert all(400 <= status < 500 for status in statuses(received))
    assert server.get("/health/live").status == 200


def resident_megabytes(pid: int) -> float:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.soak
def test_memory_stays_flat_under_good_and_bad_requests(graph: Path, tmp_path: Path) -> None:
    good = json.dumps({"series": [{"id": "A", "end": "2024-01-31T23:00:00", "y": [1.0] * INPUT_SIZE}]}).encode()
    options = ["--poll", "0.5", "--limit", "read_seconds=2", "--log-forecasts", str(tmp_path)]
    with running(graph, options=options) as server:
        begin, seed, sizes = time.monotonic(), 0, []
        while time.monotonic() - begin < 3600:
            connection = server.connect()
            for _ in range(200):
                connection.request("POST", "/forecast", good, {"content-type": "application/json"})
                assert connection.getresponse().read()
            connection.close()
            send_bad(server, 50, seed, Counter())
            seed += 1
            sizes.append(resident_megabytes(server.process.pid))
        warm = max(sizes[len(sizes) // 4 : len(sizes) // 2])
        assert max(sizes[len(sizes) // 2 :]) < warm + 8, sizes[:: max(1, len(sizes) // 20)]
        assert server.stop() == 0
