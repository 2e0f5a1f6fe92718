"""Limits and access: what a server refuses, and how."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.integration.serving.server_process import TOKEN, Answer, ServerProcess, running
from tests.integration.serving.small_graph import INPUT_SIZE

BODY = json.dumps({"series": [{"y": [1.0] * INPUT_SIZE}]}).encode()
SLOW = "tests.integration.serving.slow_server"


def head(length: int, *, host: str = "127.0.0.1") -> bytes:
    """Return the beginning of a request."""
    lines = ["POST /forecast HTTP/1.1", f"host: {host}", "content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def status_of(received: bytes) -> int:
    """Return the status of a raw answer."""
    return int(received.split(b" ", 2)[1])


def test_other_hosts_and_origins_are_refused(server: ServerProcess) -> None:
    own = f"127.0.0.1:{server.port}"
    assert server.get("/models", host=own).status == 200
    assert server.get("/models", host=f"LOCALHOST:{server.port}").status == 200
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port}.evil", ""):
        assert server.get("/models", host=host).status == 421
    assert status_of(server.raw(b"GET /models HTTP/1.1\r\n\r\n")) == 400
    assert status_of(server.raw(f"GET / HTTP/1.1\r\nhost: {own}\r\nhost: {own}\r\n\r\n".encode())) == 400
    foreign = {"origin": "http://evil.example"}
    assert server.post("/forecast", BODY, foreign).status == 403
    assert server.post("/forecast", BODY, {"sec-fetch-site": "cross-site"}).status == 403
    assert server.post("/forecast", BODY, {"origin": f"http://{own}", "sec-fetch-site": "same-origin"}).status == 200


def test_every_answer_has_the_headers_that_protect_browsers(server: ServerProcess) -> None:
    for answer in (server.get("/docs"), server.get("/nothing"), server.post("/forecast", BODY)):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_beyond_this_machine_everything_but_health_needs_the_token(graph: Path) -> None:
    with pytest.raises(AssertionError, match="give a token"), running(graph, options=["--host", "0.0.0.0"]):
        pass
    with running(graph, options=["--host", "0.0.0.0", "--token", TOKEN]) as server:
        right = {"authorization": f"Bearer {TOKEN}"}
        for path in ("/models", "/health", "/metrics", "/openapi.json", "/v2", "/v2/models/mean"):
            assert server.get(path).status == 401
            assert server.get(path, authorization=f"Bearer {TOKEN[:-1]}").status == 401
            assert server.get(path, **right).status == 200
        assert server.post("/forecast", BODY).status == 401
        assert server.post("/forecast", BODY).headers["www-authenticate"] == "Bearer"
        assert server.post("/forecast", BODY, right).status == 200
        for path in ("/health/live", "/health/ready", "/v2/health/ready", "/docs"):
            assert server.get(path).status == 200


def test_bodies_series_and_levels_above_the_limits_are_refused(graph: Path) -> None:
    limits = ["body=20000", "series=20", "levels=4", "values=1000", "headers=2000"]
    options = ["--poll", "0", *(item for limit in limits for item in ("--limit", limit))]
    with running(graph, options=options) as server:
        assert server.post("/forecast", b" " * 20001).status == 413
        assert server.post("/forecast", b"[" + b"1," * 15000).status == 413
        chunked = b"POST /forecast HTTP/1.1\r\nhost: localhost:%d\r\ntransfer-encoding: chunked\r\n\r\n" % server.port
        answer = server.raw(chunked + b"4000\r\n" + b" " * 0x4000 + b"\r\n4000\r\n" + b" " * 0x4000 + b"\r\n0\r\n\r\n")
        assert status_of(answer) == 413
        series = {"y": [1.0] * INPUT_SIZE}
        assert server.post("/forecast", {"series": [series] * 20}).status == 200
        refused = server.post("/forecast", {"series": [series] * 21})
        assert (refused.status, refused.json()["detail"]) == (413, "21 series; at most 20 are accepted in a request.")
        assert server.post("/forecast", {"series": [series], "levels": [80] * 5}).status == 413
        assert server.post("/forecast", {"series": [{"y": [1.0] * 1100}]}).status == 413
        assert server.post("/forecast", {"series": [series], "horizon": 4}).status == 400
        assert server.get("/models", cookie="x" * 3000).status == 431
        assert server.post("/forecast", {"series": [series]}).status == 200
        assert server.metric("nd_rejected_total", reason="series") == 1


def check_slow_clients_are_cut_off(server: ServerProcess) -> None:
    """Send headers, and then a body, a byte at a time."""
    for sent, dribble in ((b"POST /forecast HTTP/1.1\r\n", b"x"), (head(1000, host=f"127.0.0.1:{server.port}"), b" ")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(sent)
            begin = time.monotonic()
            received = b""
            connection.settimeout(0.1)
            while time.monotonic() - begin < 8:
                try:
                    connection.sendall(dribble)
                    part = connection.recv(1000)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not part:
                    break
                received += part
            assert 0.9 < time.monotonic() - begin < 6
            assert received == b"" or status_of(received) == 408
    assert server.post("/forecast", BODY).status == 200


def test_slow_headers_and_bodies_are_cut_off(server: ServerProcess) -> None:
    before = server.metric("nd_rejected_total", reason="slow")
    check_slow_clients_are_cut_off(server)
    assert server.metric("nd_rejected_total", reason="slow") == before + 2


def test_server_without_httptools_answers_and_refuses_alike(graph: Path) -> None:
    options = ["--poll", "0", "--limit", "read_seconds=1", "--limit", "body=2000"]
    with running(graph, options=options, module="tests.integration.serving.without_httptools") as server:
        connection = server.connect()
        for _ in range(3):
            connection.request("POST", "/forecast", BODY, {"content-type": "application/json"})
            assert Answer(connection.getresponse()).json()["series"][0]["forecast"] == [2.0, 3.0, 4.0]
        connection.request("HEAD", "/models")
        assert Answer(connection.getresponse()).status == 200
        connection.close()
        assert server.post("/forecast", b"x" * 3000).status == 413
        assert status_of(server.raw(b"rubbish\r\n\r\n")) == 400
        check_slow_clients_are_cut_off(server)
        assert server.stop() == 0


def test_client_that_does_not_read_its_answer_is_cut_off(graph: Path) -> None:
    body = json.dumps({"series": [{"id": "x" * 1000, "y": [1.0] * INPUT_SIZE}] * 9000}).encode()
    with running(graph, options=["--poll", "0", "--limit", "request_seconds=2"]) as server:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(head(len(body), host=f"127.0.0.1:{server.port}") + body)
            end = time.monotonic() + 20
            while not server.metric("nd_rejected_total", reason="unread"):
                assert time.monotonic() < end
                time.sleep(0.1)
        assert server.stop() == 0


def test_endless_headers_are_cut_off(server: ServerProcess) -> None:
    answer = server.raw(b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"x" * 200_000)
    assert answer == b"" or status_of(answer) == 431


def test_full_queue_answers_503_with_retry_after_and_late_forecasts_504() -> None:
    with running("0.6", module=SLOW, options=["queue=4", "request_seconds=3"]) as server:
        answers: list[Answer] = []
        threads = [threading.Thread(target=lambda: answers.append(server.post("/forecast", BODY))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refused = [answer for answer in answers if answer.status == 503]
        assert {answer.status for answer in answers} == {200, 503}
        assert len(answers) - len(refused) >= 4
        assert all(answer.headers["retry-after"] == "1" for answer in refused)
    with running("1", module=SLOW, options=["request_seconds=0.3"]) as server:
        begin = time.monotonic()
        answer = server.post("/forecast", BODY)
        assert answer.status == 504
        assert time.monotonic() - begin < 0.9


def test_connections_above_the_limit_are_refused_and_their_places_are_free_again(graph: Path) -> None:
    with running(graph, options=["--poll", "0", "--limit", "connections=3"]) as server:
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        time.sleep(0.2)
        answer = server.get("/health/live")
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        for connection in held:
            connection.close()
        time.sleep(0.2)
        assert server.get("/health/live").status == 200


def test_requests_are_answered_while_a_slow_batch_runs() -> None:
    with running("1", module=SLOW) as server:
        thread = threading.Thread(target=lambda: server.post("/forecast", BODY))
        thread.start()
        time.sleep(0.3)
        begin = time.monotonic()
        assert server.get("/health/live").status == 200
        assert time.monotonic() - begin < 0.5
        assert server.metric("nd_queue_depth") == 1
        thread.join()
