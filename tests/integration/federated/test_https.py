"""Federations over HTTPS: real server, real TLS, real clients."""

from __future__ import annotations

import hashlib
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors
from neuro_divergent.federated.transport.https.certificates import AUTHORITY, CERTIFICATE, KEY, Authority
from neuro_divergent.federated.transport.https.connection import NoAnswerError
from neuro_divergent.federated.wire import decode_task, encode_update, largest_message
from tests.integration.federated.https_federation import NAMES, RunningServer, client, config, issue, serve
from tests.unit.federated.tables import federation


def digest(weights: dict[str, torch.Tensor]) -> str:
    content = b"".join(weights[name].numpy().tobytes() for name in sorted(weights))
    return hashlib.sha256(content).hexdigest()


def run_clients(directory: Path, address: str) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}

    def work(name: str, number: int) -> None:
        found[name] = client(directory, name, address, number).run()

    threads = [threading.Thread(target=work, args=(name, number)) for number, name in enumerate(NAMES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return found


def test_a_federation_over_https_ends_with_the_weights_of_one_in_process(tmp_path: Path) -> None:
    issue(tmp_path)
    server = serve(tmp_path, config(rounds=4))
    found = run_clients(tmp_path, server.address)
    server.join()
    inside = federation(3, rounds=4).fit()
    assert server.model is not None
    assert digest(server.model.weights) == digest(inside.model.weights)
    assert all(torch.equal(weights, inside._state.weights) for weights in found.values())  # type: ignore[union-attr]
    assert [len(row["participants"]) for row in server.rows] == [3, 3, 3, 3]
    assert server.rows[-1]["bytes_up"] > 3 * inside.shared.layout.num_bytes
    assert digest(nd.federated.GlobalModel.load(tmp_path / "run" / "model").weights) == digest(server.model.weights)


def test_a_client_that_never_answers_is_dropped_at_the_deadline(tmp_path: Path) -> None:
    issue(tmp_path)
    server = serve(tmp_path, config(rounds=1, deadline=8.0), farewell=2.0)
    with client(tmp_path, "client-2", server.address, 2)._connection as connection:
        connection.join(server.server.shared.layout.digest, "1")
    threads = [
        threading.Thread(target=lambda name=name, number=number: client(tmp_path, name, server.address, number).run())
        for number, name in enumerate(NAMES[:2])
    ]
    for thread in threads:
        thread.start()
    server.join()
    for thread in threads:
        thread.join(60)
    assert all(row["dropped"] == ["client-2"] for row in server.rows)
    assert all(len(row["participants"]) == 2 for row in server.rows)


# What hostile messages meet.


class Attacker:
    """Sends requests with a certificate, or without."""

    def __init__(self, address: str, authority: Path, certificate: Path | None) -> None:
        context = ssl.create_default_context(cafile=str(authority))
        if certificate is not None:
            context.load_cert_chain(certificate / CERTIFICATE, certificate / KEY)
        self._client = httpx2.Client(base_url=address, verify=context, timeout=30, trust_env=False)

    def __enter__(self) -> Attacker:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def post(self, path: str, content: bytes, **options: Any) -> int:
        """Return the status of the answer; 0 where there is none."""
        try:
            return self._client.post(path, content=content, **options).status_code
        except httpx2.TransportError:
            return 0

    def get(self, path: str) -> httpx2.Response:
        return self._client.get(path)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, RunningServer]]:
    """Yield a server in its first round, which waits for all of its clients."""
    directory = tmp_path_factory.mktemp("attacked")
    issue(directory)
    server = serve(directory, config(rounds=1), farewell=20.0)
    shared = server.server.shared
    for name in NAMES:
        with client(directory, name, server.address, 0)._connection as connection:
            connection.join(shared.layout.digest, "1")
    yield directory, server
    run_clients(directory, server.address)  # who are still served
    server.join()
    assert server.rows[0]["participants"] == sorted(NAMES)
    assert server.rows[0]["refused"] == {}
    inside = federation(3, rounds=1).fit()
    assert server.model is not None
    assert digest(server.model.weights) == digest(inside.model.weights)


def make_update(server: RunningServer, **changes: Any) -> bytes:
    """Return an honest update of round 1, with some parts changed."""
    from neuro_divergent.federated.update import Update

    layout = server.server.shared.layout
    made = {"client": "x", "round": 1, "delta": torch.zeros(layout.size, dtype=torch.float64), "examples": 5, **changes}
    return encode_update(Update(**made), layout)


def hostile_bodies(server: RunningServer, generator: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield 1,000 bodies that are no update of this round, by what is wrong with them."""
    layout = server.server.shared.layout
    honest = make_update(server)
    size = int.from_bytes(honest[:8], "little")
    tensors = layout.split(torch.zeros(layout.size, dtype=torch.float64))

    def framed(header: Any, some: dict[str, torch.Tensor]) -> bytes:
        text = strict_json.dumps(header)
        return len(text).to_bytes(8, "little") + text + dump_tensors(some)

    good = {"round": 1, "examples": 5, "loss": None, "further": []}
    named = {f"main.{name}": item for name, item in tensors.items()}
    first = next(iter(named))
    for number in range(1000):
        kind = number % 10
        if kind == 0:
            yield "other round", make_update(server, round=generator.choice([0, 2, 3, -1, 10**9]))
        elif kind == 1:
            yield "cut", honest[: generator.randrange(len(honest))]
        elif kind == 2:
            yield "noise", generator.randbytes(generator.randrange(1, 4000))
        elif kind == 3:
            shape = [generator.randrange(1, 5) for _ in range(generator.randrange(1, 4))] + [7]
            yield "wrong shape", framed(good, {**named, first: torch.zeros(shape)})
        elif kind == 4:
            dtype = generator.choice([torch.float64, torch.int64, torch.float16, torch.uint8])
            yield "wrong type", framed(good, {**named, first: named[first].to(dtype)})
        elif kind == 5:
            yield "missing tensor", framed(good, {name: item for name, item in named.items() if name != first})
        elif kind == 6:
            yield "further tensor", framed(good, {**named, f"main.{generator.random()}": torch.zeros(3)})
        elif kind == 7:
            header = generator.choice(
                [{**good, "examples": "many"}, {**good, "round": 1.5}, {**good, "x": 1}, [], {**good, "further": ["c"]}]
            )
            yield "wrong header", framed(header, named)
        elif kind == 8:
            length = generator.choice([2**63, 2**40, len(honest), size + 1, 0])
            yield "wrong length", length.to_bytes(8, "little") + honest[8:]
        else:
            yield "too large", honest + bytes(largest_message(layout))


def test_a_thousand_hostile_updates_are_refused_and_the_server_goes_on(attacked: tuple[Path, RunningServer]) -> None:
    directory, server = attacked
    generator = random.Random(0)
    with Attacker(server.address, directory / NAMES[0] / AUTHORITY, directory / NAMES[0]) as attacker:
        found = [(kind, attacker.post("/v1/update", content)) for kind, content in hostile_bodies(server, generator)]
        assert [kind for kind, status in found if status < 400 and not (status == 0 and kind == "too large")] == []
        assert attacker.get("/v1/settings").status_code == 200


def test_a_hundred_requests_to_other_places_and_by_other_methods_are_refused(
    attacked: tuple[Path, RunningServer],
) -> None:
    directory, server = attacked
    generator = random.Random(1)
    with Attacker(server.address, directory / NAMES[1] / AUTHORITY, directory / NAMES[1]) as attacker:
        for number in range(100):
            path = ["/v1/join", "/v1/failure", "/v1/../etc/passwd", f"/{generator.random()}", "/v1/task"][number % 5]
            body = [b"", b"{}", b"[1", b'{"round": 1}', b'{"digest": "0"}', b"\xff\xfe"][number % 6]
            assert attacker.post(path, body) >= 400


def without_certificate(directory: Path, server: RunningServer) -> Attacker:
    return Attacker(server.address, directory / NAMES[0] / AUTHORITY, None)


def of_another_authority(directory: Path, server: RunningServer) -> Attacker:
    place = directory / "foreign"
    if not place.exists():
        Authority(place / "authority").issue_client(place / NAMES[0], NAMES[0])
    return Attacker(server.address, directory / NAMES[0] / AUTHORITY, place / NAMES[0])


def expired(directory: Path, server: RunningServer) -> Attacker:
    place = directory / "expired"
    if not place.exists():
        Authority(directory / "authority").issue_client(place, NAMES[0], days=-0.01)
    return Attacker(server.address, directory / NAMES[0] / AUTHORITY, place)


def of_the_server_itself(directory: Path, server: RunningServer) -> Attacker:
    return Attacker(server.address, directory / NAMES[0] / AUTHORITY, directory / "server")


@pytest.mark.parametrize("who", [without_certificate, of_another_authority, expired, of_the_server_itself])
def test_messages_without_a_valid_certificate_of_a_client_reach_nobody(
    who: Callable[[Path, RunningServer], Attacker], attacked: tuple[Path, RunningServer]
) -> None:
    directory, server = attacked
    for _ in range(25):
        with who(directory, server) as attacker:
            assert attacker.post("/v1/update", make_update(server)) == 0


def test_a_client_with_a_certificate_that_is_not_listed_cannot_join(attacked: tuple[Path, RunningServer]) -> None:
    directory, server = attacked
    place = directory / "stranger"
    if not place.exists():
        Authority(directory / "authority").issue_client(place, "stranger")
    with pytest.raises(nd.errors.InputError, match="is not one of this federation"):
        client(directory, "stranger", server.address, 0, patience=1).run()


def test_a_client_with_another_frequency_cannot_join(attacked: tuple[Path, RunningServer]) -> None:
    directory, server = attacked
    with (
        client(directory, NAMES[1], server.address, 0)._connection as connection,
        pytest.raises(nd.errors.InputError, match="a row every '2'"),
    ):
        connection.join(server.server.shared.layout.digest, "2")


def test_an_update_is_accepted_once_and_its_replay_is_refused(tmp_path: Path) -> None:
    issue(tmp_path)
    server = serve(tmp_path, config(rounds=2, local_epochs=1))
    sent: list[bytes] = []
    replayed: list[int] = []

    class Replaying:
        def __init__(self, inner: Any, attacker: Attacker) -> None:
            self._inner, self._attacker = inner, attacker

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def send(self, content: bytes) -> None:
            replayed.extend(self._attacker.post("/v1/update", old) for old in sent)
            self._inner.send(content)
            sent.append(content)
            replayed.append(self._attacker.post("/v1/update", content))

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self._inner.close()
            self._attacker.__exit__()

    made = client(tmp_path, NAMES[0], server.address, 0)
    attacker = Attacker(server.address, tmp_path / NAMES[0] / AUTHORITY, tmp_path / NAMES[0])
    made._connection = Replaying(made._connection, attacker)  # type: ignore[assignment]
    others = [
        threading.Thread(target=lambda name=name, number=number: client(tmp_path, name, server.address, number).run())
        for number, name in enumerate(NAMES)
        if number
    ]
    for thread in others:
        thread.start()
    made.run()
    for thread in others:
        thread.join(60)
    server.join()
    assert len(replayed) == 3
    assert set(replayed) == {409}
    assert server.model is not None
    assert digest(server.model.weights) == digest(federation(3, rounds=2, local_epochs=1).fit().model.weights)


def test_a_client_that_diverges_tells_so_and_the_round_goes_on(tmp_path: Path) -> None:
    issue(tmp_path)
    server = serve(tmp_path, config(rounds=1, min_clients=2))

    def work(name: str, number: int) -> None:
        made = client(tmp_path, name, server.address, number)
        if number == 2:

            def diverge(task: Any) -> Any:
                raise nd.errors.DivergedError("the loss became NaN")

            original = made._answer

            def answer(own: Any, **options: Any) -> None:
                own.train = diverge
                original(own, **options)

            made._answer = answer  # type: ignore[method-assign]
        made.run()

    threads = [threading.Thread(target=work, args=(name, number)) for number, name in enumerate(NAMES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    server.join()
    assert server.rows[0]["refused"] == {"client-2": "the loss became NaN"}
    assert not server.rows[0]["is_void"]


def test_a_server_that_does_not_answer_is_given_up_after_the_patience(tmp_path: Path) -> None:
    issue(tmp_path)
    began = time.monotonic()
    with pytest.raises(NoAnswerError, match="does not answer"):
        client(tmp_path, NAMES[0], "https://127.0.0.1:9", 0, patience=1).run()
    assert time.monotonic() - began < 10


def test_a_server_that_ends_in_a_round_goes_on_from_the_last_complete_one(tmp_path: Path) -> None:
    issue(tmp_path)
    server = serve(tmp_path, config(rounds=3))
    only = threading.Thread(target=lambda: client(tmp_path, NAMES[0], server.address, 0).run(), daemon=True)
    only.start()
    time.sleep(1)
    server.halt()
    again = serve(tmp_path, config(rounds=3), port=server.port)
    run_clients_but_first = [
        threading.Thread(target=lambda name=name, number=number: client(tmp_path, name, again.address, number).run())
        for number, name in enumerate(NAMES)
        if number
    ]
    for thread in run_clients_but_first:
        thread.start()
    again.join()
    assert again.model is not None
    assert digest(again.model.weights) == digest(federation(3, rounds=3).fit().model.weights)


def test_settings_with_an_open_history_are_refused_by_the_server(tmp_path: Path) -> None:
    issue(tmp_path)
    open_settings = config().replace(run=config().run.replace(task=nd.Task(horizon=4)))
    with pytest.raises(nd.errors.ConfigError, match="input_size"):
        serve(tmp_path, open_settings)


def test_a_task_is_decoded_by_the_network_it_is_for_alone(tmp_path: Path) -> None:
    from neuro_divergent.federated.shared_network import SharedNetwork
    from neuro_divergent.federated.update import RoundTask
    from neuro_divergent.federated.wire import encode_task

    one = SharedNetwork(config())
    other = SharedNetwork(config().replace(run=config().run.replace(task=nd.Task(horizon=6, input_size=8))))
    with pytest.raises(nd.errors.UntrustedFileError):
        decode_task(encode_task(RoundTask(1, one.initial), one.layout), other.layout)
