"""Versions are swapped, and the server is stopped, without losing a request."""

from __future__ import annotations

import http.client
import json
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.serving.server_process import JSON, TOKEN, Answer, ServerProcess, running
from tests.integration.serving.small_graph import digest_of, expected, write_graph

HISTORY = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
BODY = json.dumps({"series": [{"y": HISTORY}]}).encode()
VERSIONS = {digest_of(version): version for version in range(25)}


class Load:
    """Threads that send requests over open connections until they are told to stop, or the server closes."""

    def __init__(self, server: ServerProcess, connections: int = 4) -> None:
        self.answers: Counter[int] = Counter()
        self.problems: list[str] = []
        self._server = server
        self._is_stopping = False
        self._threads = [threading.Thread(target=self._work) for _ in range(connections)]
        for thread in self._threads:
            thread.start()

    @property
    def count(self) -> int:
        """Requests that were answered."""
        return sum(self.answers.values())

    def _work(self) -> None:
        connection = self._server.connect()
        try:
            while not self._is_stopping:
                connection.request("POST", "/forecast", BODY, JSON)
                answer = Answer(connection.getresponse())
                self._check(answer)
                if answer.headers.get("connection") == "close":
                    return
        except Exception as error:  # noqa: BLE001 - whatever it is, a request was lost
            self.problems.append(repr(error))
        finally:
            connection.close()

    def _check(self, answer: Answer) -> None:
        if answer.status != 200:
            self.problems.append(f"{answer.status} {answer.body[:200]!r}")
            return
        content = answer.json()
        version = VERSIONS[content["model_version"]]
        if content["series"][0]["forecast"] != expected(HISTORY, version):
            self.problems.append(f"version {version} answered {content['series'][0]}")
        if answer.headers["model-version"] != content["model_version"]:
            self.problems.append("header and body name different versions")
        self.answers[version] += 1

    def stop(self) -> None:
        """End the load."""
        self._is_stopping = True
        self.join()

    def join(self) -> None:
        """Wait for the end of the load."""
        for thread in self._threads:
            thread.join(60)


def swap(server: ServerProcess, path: Path, version: int) -> None:
    """Write a version, and wait until it answers."""
    write_graph(path, version)
    end = time.monotonic() + 30
    while server.get("/health").json()["models"][0]["version"] != digest_of(version):
        assert time.monotonic() < end
        time.sleep(0.02)


def run_swaps(directory: Path, swaps: int, requests: int) -> Load:
    """Swap versions under load, spread over a number of requests."""
    path = write_graph(directory / "mean.onnx", 0)
    with running(path, options=["--poll", "0.05", "--token", TOKEN]) as server:
        load = Load(server)
        for version in range(1, swaps + 1):
            end = time.monotonic() + 120
            while load.count < version * requests // (swaps + 1) and not load.problems:
                assert time.monotonic() < end
                time.sleep(0.005)
            swap(server, path, version)
        while load.count < requests and not load.problems:
            time.sleep(0.005)
        load.stop()
        assert server.metric("nd_model_loads_total", outcome="loaded") == swaps + 1
        assert server.stop() == 0
    return load


def test_three_swaps_under_load_fail_no_request(tmp_path: Path) -> None:
    load = run_swaps(tmp_path, swaps=3, requests=600)
    assert load.problems == []
    assert set(load.answers) == {0, 1, 2, 3}


@pytest.mark.long
def test_twenty_swaps_under_five_thousand_requests_fail_none(tmp_path: Path) -> None:
    load = run_swaps(tmp_path, swaps=20, requests=5000)
    assert load.problems == []
    assert load.count >= 5000
    assert set(load.answers) == set(range(21))


def test_version_that_cannot_be_loaded_leaves_the_present_one(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "mean.onnx", 0)
    with running(path, options=["--poll", "0", "--token", TOKEN]) as server:
        path.write_bytes(b"not a graph")
        reload = server.post("/admin/reload", b"", {"authorization": f"Bearer {TOKEN}"})
        assert reload.status == 409
        assert "cannot be read as an ONNX file" in reload.json()["models"][0]["problem"]
        assert server.post("/forecast", BODY).json()["model_version"] == digest_of(0)
        assert server.get("/health/ready").status == 200
        assert "cannot be read" in server.get("/health").json()["models"][0]["problem"]
        assert server.metric("nd_model_load_failing", model="mean") == 1
        assert any("could not be loaded" in line for line in server.log)
        write_graph(path, 1)
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while server.post("/forecast", BODY).json()["model_version"] != digest_of(1):
            assert time.monotonic() < end
            time.sleep(0.02)
        assert server.metric("nd_model_load_failing", model="mean") == 0


def test_sigterm_under_load_loses_no_request(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "mean.onnx", 0)
    with running(path, options=["--poll", "0"]) as server:
        load = Load(server, connections=6)
        while load.count < 200:
            time.sleep(0.005)
        assert server.stop() == 0
        load.join()
        assert load.problems == []
        assert load.count >= 200


def test_ready_refuses_while_the_server_drains_and_the_queue_is_answered() -> None:
    with running("0.8", module="tests.integration.serving.slow_server") as server:
        answers: list[Answer] = []
        threads = [threading.Thread(target=lambda: answers.append(server.post("/forecast", BODY))) for _ in range(5)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        assert server.get("/health/ready").status == 503
        assert server.get("/health/live").status == 200
        assert server.process.wait(20) == 0
        for thread in threads:
            thread.join()
        assert [answer.status for answer in answers] == [200] * 5


def test_second_signal_ends_at_once() -> None:
    with running("2", module="tests.integration.serving.slow_server") as server:

        def lose() -> None:
            with pytest.raises((OSError, http.client.HTTPException)):
                server.post("/forecast", BODY)

        thread = threading.Thread(target=lose)
        thread.start()
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.4)
        begin = time.monotonic()
        assert server.stop() == 143
        assert time.monotonic() - begin < 2
        thread.join()
