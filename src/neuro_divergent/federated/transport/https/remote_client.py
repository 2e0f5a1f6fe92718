"""A client of a federation whose server is elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from neuro_divergent.core.errors import DivergedError, RejectedUpdateError
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.client_memory import ClientMemory
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.https.certificates import CERTIFICATE
from neuro_divergent.federated.transport.https.connection import Connection, NoAnswerError
from neuro_divergent.federated.transport.https.dependencies import require_installed
from neuro_divergent.federated.wire import decode_task, encode_update

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class RemoteClient:
    """Takes part in a federation until it is over.

    It can be killed and started again at any moment: it joins again, and does the round that it is asked for.

    Args:
        server: Address of the server.
        certificates: Directory with the certificate of this client.
        data: As for ``Forecaster.fit``.
        state: Directory for what the client keeps from round to round; ``None`` for in memory.
        patience: Seconds to try again for while the server does not answer.
        tell: Called with a line of text now and then.
    """

    def __init__(
        self,
        server: str,
        certificates: Path,
        data: Any,
        *,
        state: Path | None = None,
        patience: float = 3600.0,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        require_installed()
        self.name = client_of(certificates)
        self._connection = Connection(server, certificates)
        self._data = data
        self._state = state
        self._patience = patience
        self._tell = tell
        self.client: Client | None = None

    def run(self) -> Tensor:
        """Take part, and return the final shared weights.

        Raises:
            NoAnswerError: If the server did not answer for too long.
            RejectedUpdateError: If the server does not let this client in.
            ConfigError: If the data do not fit the settings of the federation.
        """
        with self._connection as connection:
            config = FederationConfig.from_dict(self._patiently(connection.settings))
            shared = SharedNetwork(config)
            self.client = client = Client(self.name, shared, self._data, ClientMemory(self._state))
            self._join(client)
            self._tell(f"joined as {self.name}: {client.examples:,} training windows")
            while True:
                found = self._patiently(connection.task)
                if found is None:
                    continue
                content, number, is_final = found
                task = decode_task(content, shared.layout)
                if is_final:
                    self._patiently(connection.leave)
                    return task.weights
                self._answer(client, task_number=number, content=content)

    def _answer(self, client: Client, *, task_number: int, content: bytes) -> None:
        """Train for a round and send what changed."""
        layout = client.shared.layout
        task = decode_task(content, layout)
        began = time.monotonic()
        try:
            update = client.train(task)
        except DivergedError as error:
            reason = str(error)
            self._tell(f"round {task_number}: {reason}")
            self._send(lambda: self._connection.fail(task_number, reason))
            return
        seconds = time.monotonic() - began
        self._tell(f"round {task_number}: trained in {seconds:.1f} s" + _loss(update.loss))
        encoded = encode_update(update, layout)
        self._send(lambda: self._connection.send(encoded))

    def _send(self, send: Callable[[], None]) -> None:
        """Send something; a round that is over by now does not matter, and one who has to join again does."""
        try:
            self._patiently(send)
        except RejectedUpdateError as error:
            self._tell(str(error))
            if self.client is not None:
                self._join(self.client)

    def _join(self, client: Client) -> None:
        self._patiently(lambda: self._connection.join(client.shared.layout.digest, client.frequency))

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask the server, again and again while it does not answer."""
        end, pause = time.monotonic() + self._patience, _FIRST_PAUSE
        while True:
            try:
                return ask()
            except NoAnswerError as error:
                if time.monotonic() + pause > end:
                    raise
                if pause == _FIRST_PAUSE:
                    self._tell(f"{error} Trying again.")
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)


def client_of(certificates: Path) -> str:
    """Return the name in the certificate of a client.

    Raises:
        InputError: If there is no such certificate.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    from neuro_divergent.core.errors import InputError
    from neuro_divergent.federated.client_name import check_name

    path = certificates / CERTIFICATE
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no certificate ({error}).") from None
    return check_name(str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value))


def _loss(loss: float | None) -> str:
    return "" if loss is None else f", loss {loss:.4g}"
