"""Commands and web addresses that learn of decisions."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import StorageError
from neuro_divergent.lifecycle.continuous.journal import Decision

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Hooks(Config):
    """A command and a web address that learn of every decision.

    Both get the decision as JSON: the command on its standard input, the address as the body of a POST request. A hook
    that fails is tried again at the next tick, so a decision can be told twice but is not lost.

    Attributes:
        command: Program and arguments; it is not given to a shell.
        webhook: Address to post to, with https, or http on this machine.
        allowed_hosts: Hosts that the webhook may be on.
        kinds: Decisions to tell, such as ``promoted`` and ``incident``; all if empty.
        timeout: Seconds that a hook may take.
    """

    command: tuple[str, ...] = ()
    webhook: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    timeout: Annotated[float, Field(gt=0)] = 30.0

    @model_validator(mode="after")
    def _allowed(self) -> Hooks:
        if self.webhook is None:
            return self
        address = urlsplit(self.webhook)
        secure = address.scheme == "https" or (address.scheme == "http" and address.hostname in _LOOPBACK)
        if not secure or not address.hostname:
            raise ValueError(f"webhook: {self.webhook!r} must begin with https://, or http:// on this machine")
        if address.hostname not in self.allowed_hosts:
            raise ValueError(f"webhook: {address.hostname!r} is not among allowed_hosts; add it there if that is meant")
        return self

    def deliver(self, decision: Decision, name: str) -> None:
        """Tell a decision about a model.

        Raises:
            StorageError: If a hook fails.
        """
        if self.kinds and decision.kind not in self.kinds:
            return
        content = {"model": name, **{key: value for key, value in vars(decision).items() if key != "delivered"}}
        body = json.dumps(content, ensure_ascii=False).encode("utf-8")
        if self.command:
            run_hook(self.command, body, timeout=self.timeout)
        if self.webhook is not None:
            self._post(self.webhook, body)

    def _post(self, address: str, body: bytes) -> None:
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"}, method="POST")
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=self.timeout):
                return
        except (OSError, urllib.error.URLError, ValueError) as error:
            raise StorageError(f"hook {urlsplit(address).hostname}: {error}") from error


def run_hook(command: Sequence[str], body: bytes, *, timeout: float) -> None:
    """Run a program with a document on its standard input.

    Args:
        command: Program and arguments; they are not given to a shell.
        body: The document.
        timeout: Seconds that it may take.

    Raises:
        StorageError: If it cannot be run, takes longer or fails.
    """
    try:
        done = subprocess.run(command, input=body, capture_output=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"hook {command[0]}: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise StorageError(f"hook {command[0]}: exit code {done.returncode}. {said}".strip())


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Does not follow an answer to another host, which nobody has allowed."""

    def redirect_request(self, *_: object) -> None:
        return None
