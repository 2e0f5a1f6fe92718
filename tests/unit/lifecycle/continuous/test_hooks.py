"""Hooks that learn of decisions."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from neuro_divergent.core.errors import ConfigError, StorageError
from neuro_divergent.lifecycle.continuous.hooks import Hooks
from neuro_divergent.lifecycle.continuous.journal import Decision

DECISION = Decision("promoted", "Version 2 is the new champion.", {"blocks": 9}, 4, "2026-01-01T00:00:00+00:00")


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is posted to it."""

    received: list[bytes]
    location = ""

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(302 if self.location else 200)
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


def serve(location: str = "") -> tuple[HTTPServer, list[bytes]]:
    received: list[bytes] = []
    server = HTTPServer(("127.0.0.1", 0), type("Handler", (Receiver,), {"received": received, "location": location}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, received


def test_a_webhook_gets_the_decision_as_json() -> None:
    server, received = serve()
    hooks = Hooks(webhook=f"http://127.0.0.1:{server.server_port}/nd", allowed_hosts=("127.0.0.1",))
    hooks.deliver(DECISION, "load")
    server.shutdown()
    server.server_close()
    document = json.loads(received[0])
    assert (document["model"], document["kind"], document["number"]) == ("load", "promoted", 4)


def test_a_webhook_that_answers_with_another_address_is_not_followed() -> None:
    other, received = serve()
    server, _ = serve(f"http://127.0.0.1:{other.server_port}/")
    hooks = Hooks(webhook=f"http://127.0.0.1:{server.server_port}/", allowed_hosts=("127.0.0.1",))
    with pytest.raises(StorageError, match="302"):
        hooks.deliver(DECISION, "load")
    for item in (server, other):
        item.shutdown()
        item.server_close()
    assert not received


def test_a_command_gets_the_decision_on_its_standard_input(tmp_path: Path) -> None:
    program = f"import sys, pathlib; pathlib.Path({str(tmp_path / 'out')!r}).write_text(sys.stdin.read())"
    Hooks(command=(sys.executable, "-c", program)).deliver(DECISION, "load")
    assert json.loads((tmp_path / "out").read_text())["evidence"] == {"blocks": 9}


def test_a_command_that_fails_or_takes_too_long_is_an_error() -> None:
    failing = Hooks(command=(sys.executable, "-c", "import sys; sys.exit('no mail server')"))
    with pytest.raises(StorageError, match=r"exit code 1\. no mail server"):
        failing.deliver(DECISION, "load")
    with pytest.raises(StorageError, match="timed out"):
        Hooks(command=(sys.executable, "-c", "input()" * 1 + "; import time; time.sleep(9)"), timeout=0.2).deliver(
            DECISION, "load"
        )


def test_only_the_kinds_that_are_named_are_told() -> None:
    Hooks(command=("/does/not/exist",), kinds=("incident",)).deliver(DECISION, "load")


@pytest.mark.parametrize(
    ("webhook", "allowed", "message"),
    [
        ("http://example.org/x", ("example.org",), "must begin with https"),
        ("https://example.org/x", (), "not among allowed_hosts"),
        ("file:///etc/passwd", (), "must begin with https"),
    ],
)
def test_a_webhook_elsewhere_or_without_encryption_is_refused(
    webhook: str, allowed: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Hooks(webhook=webhook, allowed_hosts=allowed)
