"""The connection of a client to the server."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Self

import httpx2

from neuro_divergent.core.errors import InputError, NeuroDivergentError, RejectedUpdateError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.federated.transport.https.app import FINAL, ROUND
from neuro_divergent.federated.transport.https.certificates import AUTHORITY, CERTIFICATE, KEY

_SECONDS = httpx2.Timeout(60.0, connect=10.0)
_SMALL = 16 * 1024**2


class NoAnswerError(NeuroDivergentError):
    """The server cannot be reached now."""


class Connection:
    """Requests of one client to the server, over one connection that is kept open.

    Args:
        server: Address of the server, such as ``https://server.example:8443``.
        certificates: Directory with the certificate and key of the client, and the certificate of the authority.
    """

    def __init__(self, server: str, certificates: Path) -> None:
        missing = [name for name in (AUTHORITY, CERTIFICATE, KEY) if not (certificates / name).is_file()]
        if missing:
            raise InputError(f"{certificates / missing[0]}: not found; the organiser of the federation has it.")
        if not server.startswith("https://"):
            raise InputError(f"server: {server!r} is no address such as https://server.example:8443.")
        context = ssl.create_default_context(cafile=str(certificates / AUTHORITY))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            context.load_cert_chain(certificates / CERTIFICATE, certificates / KEY)
        except (ssl.SSLError, OSError) as error:
            raise InputError(f"{certificates}: the certificate cannot be used: {error}.") from None
        self._client = httpx2.Client(base_url=server, verify=context, timeout=_SECONDS, trust_env=False)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def settings(self) -> dict[str, Any]:
        """Return the settings of the federation, as plain values."""
        found = strict_json.loads(self._request("GET", "/v1/settings").content, "settings", _SMALL)
        if not isinstance(found, dict) or not isinstance(found.get("config"), dict):
            raise InputError("the server does not answer like one of a federation.")
        config: dict[str, Any] = found["config"]
        return config

    def join(self, digest: str, frequency: str) -> None:
        """Take part."""
        self._request("POST", "/v1/join", strict_json.dumps({"digest": digest, "frequency": frequency}))

    def task(self) -> tuple[bytes, int, bool] | None:
        """Return the next task, its round and whether it is the end; ``None`` if there was none for a while."""
        answer = self._request("GET", "/v1/task")
        if answer.status_code == 204:
            return None
        return answer.content, int(answer.headers[ROUND]), answer.headers[FINAL] == "true"

    def send(self, content: bytes) -> None:
        """Send an update.

        Raises:
            RejectedUpdateError: If the server refuses it.
        """
        self._request("POST", "/v1/update", content)

    def fail(self, number: int, reason: str) -> None:
        """Tell that there is no update for a round."""
        self._request("POST", "/v1/failure", strict_json.dumps({"round": number, "reason": reason[:300]}))

    def leave(self) -> None:
        """Tell that the final weights are here."""
        self._request("POST", "/v1/farewell")

    def _request(self, method: str, path: str, content: bytes = b"") -> httpx2.Response:
        try:
            answer = self._client.request(method, path, content=content or None)
        except httpx2.TransportError as error:
            if isinstance(error.__cause__, ssl.SSLError) or "CERTIFICATE" in str(error).upper():
                raise InputError(
                    f"the server and this client do not accept each other's certificates: {error}."
                ) from None
            raise NoAnswerError(f"the server does not answer: {error}.") from None
        if answer.status_code >= 500:
            raise NoAnswerError(f"the server failed: {answer.status_code}.")
        if answer.status_code >= 400:
            raise RejectedUpdateError(f"the server refused: {_detail(answer)}")
        return answer


def _detail(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["detail"])[:500]
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code}"
