"""``nd dashboard``."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.core.http_access import listen
from neuro_divergent.interfaces.cli import dashboard as command
from neuro_divergent.interfaces.cli.dashboard import dashboard
from tests.dashboard.client import TOKEN
from tests.dashboard.run_maker import make_run
from tests.dashboard.server import Stream

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=([\w\-]+)")


@contextmanager
def started(root: Path, *options: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command, and give it with the first line it says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", "dashboard", str(root), "--port", "0", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def status_of(port: int, target: str, method: str = "GET", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, target, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def wait_for(port: int) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            status_of(port, "/")
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nobody answers")


def test_it_serves_and_ends_at_once_with_an_open_stream(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "first")
    with started(tmp_path / "runs") as (process, said):
        found = ADDRESS.search(said)
        assert found, said
        port, token = int(found[1]), found[2]
        assert len(token) >= 43
        wait_for(port)
        assert status_of(port, "/api/runs") == 200
        assert status_of(port, "/api/runs", Host=f"evil.example:{port}") == 421
        assert status_of(port, "/api/runs/0123456789abcdef/stop", "POST") == 401
        assert status_of(port, "/api/runs/0123456789abcdef/stop", "POST", Authorization=f"Bearer {token}") == 404
        stream = Stream(port, "/api/stream")
        stream.wait_for("runs")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)  # also where it gives the stream time to end
        assert process.returncode == 130
        assert errors == "interrupted\n"
        stream.close()


def test_the_token_may_come_from_the_environment(tmp_path: Path) -> None:
    with started(tmp_path, ND_DASHBOARD_TOKEN=TOKEN) as (_, said):
        assert said.rstrip().endswith(f"#token={TOKEN}")


def test_other_addresses_need_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ND_DASHBOARD_TOKEN", raising=False)
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        with pytest.raises(InputError, match="give a token with --token or ND_DASHBOARD_TOKEN"):
            dashboard(tmp_path, host=host)
        with pytest.raises(InputError, match="128 bits"):
            dashboard(tmp_path, host=host, token="short")


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}: is taken, perhaps by another dashboard; .*--port 0"):
            dashboard(tmp_path, port=port)
    with pytest.raises(InputError, match="cannot be used"):
        listen("no-such-host.invalid", 0)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a directory"):
        dashboard(tmp_path / "file")
    with pytest.raises(InputError, match="not found"):
        dashboard(tmp_path / "nothing")


@pytest.mark.parametrize("missing", [["fastapi"], ["uvicorn", "plotly"]])
def test_missing_packages_are_named(tmp_path: Path, missing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None if name in missing else object())
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[dashboard\]"') as error:
        dashboard(tmp_path)
    assert all(name in str(error.value) for name in missing)


def test_help_needs_none_of_the_packages() -> None:
    code = "import sys; from neuro_divergent.interfaces.cli import dashboard; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"fastapi", "uvicorn", "starlette", "plotly", "polars", "torch"} & set(re.findall(r"'(\w+)'", loaded))


def test_listening_at_the_wider_loopback_works() -> None:
    with listen("localhost", 0) as listener:
        assert listener.getsockname()[0] in ("127.0.0.1", "::1")
        assert listener.family in (socket.AF_INET, socket.AF_INET6)
