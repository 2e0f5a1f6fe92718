"""The routes of a federation's server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from neuro_divergent.core.errors import ConfigError, NeuroDivergentError, RejectedUpdateError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.transport.https.exchange import Exchange
from neuro_divergent.federated.transport.https.members import Members
from neuro_divergent.federated.transport.https.peer import peer_name
from neuro_divergent.federated.wire import decode_update, largest_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BYTES, ROUND, FINAL = "application/octet-stream", "x-round", "x-final"
_LONGEST_WAIT = 20.0
_SMALL = 64 * 1024
_REFUSED, _TOO_LARGE, _FORBIDDEN = 409, 413, 403


@dataclass(frozen=True, eq=False)
class Front:
    """What requests of clients are answered from.

    Attributes:
        shared: The network of the federation.
        exchange: Where tasks and updates are.
        members: Who has joined.
    """

    shared: SharedNetwork
    exchange: Exchange
    members: Members

    async def settings(self, request: Request) -> Response:
        """Tell a client the settings of the federation."""
        config = self.shared.config.replace(clients={})
        return JSONResponse({"config": config.to_dict(), "digest": self.shared.layout.digest})

    async def join(self, request: Request) -> Response:
        """Let a client take part."""
        client = peer_name(request)
        body = strict_json.loads(await _read(request, _SMALL), "body", _SMALL)
        if not isinstance(body, dict) or body.get("digest") != self.shared.layout.digest:
            raise RejectedUpdateError(
                "the network of the client is another one; give it the settings of the federation, and the same version"
            )
        await run_in_threadpool(self.members.join, client, str(body.get("frequency"))[:20])
        self.exchange.see(client)
        return JSONResponse({"joined": client})

    async def task(self, request: Request) -> Response:
        """Give a client its task, as soon as there is one."""
        client = self._member(request)
        self.exchange.see(client)
        found = await self.exchange.wait_for_task(client, _LONGEST_WAIT)
        self.exchange.see(client)
        if found is None:
            return Response(status_code=204)
        self.exchange.sent += len(found.content)
        headers = {ROUND: str(found.round), FINAL: "true" if found.is_final else "false"}
        return Response(found.content, media_type=BYTES, headers=headers)

    async def update(self, request: Request) -> Response:
        """Take the update of a client."""
        client = self._member(request)
        content = await _read(request, largest_message(self.shared.layout))
        self.exchange.received += len(content)
        update = await run_in_threadpool(decode_update, content, self.shared.layout, client)
        await run_in_threadpool(self.exchange.take, update)
        return JSONResponse({"accepted": update.round})

    async def failure(self, request: Request) -> Response:
        """Note that a client has no update for a round."""
        client = self._member(request)
        body = strict_json.loads(await _read(request, _SMALL), "body", _SMALL)
        if not isinstance(body, dict) or type(body.get("round")) is not int or not isinstance(body.get("reason"), str):
            raise RejectedUpdateError("expected round and reason")
        self.exchange.refuse(client, body["round"], body["reason"][:300])
        return JSONResponse({"noted": body["round"]})

    async def farewell(self, request: Request) -> Response:
        """Note that a client has the final weights."""
        self.exchange.dismiss(self._member(request))
        return JSONResponse({})

    def _member(self, request: Request) -> str:
        client = peer_name(request)
        if client not in self.members:
            raise RejectedUpdateError(f"client {client!r} has not joined")
        return client


def create_app(front: Front) -> Starlette:
    """Return the application that answers the clients of a federation."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        front.exchange.begin()
        yield

    return Starlette(
        routes=[
            Route("/v1/settings", _answering(front.settings), methods=["GET"]),
            Route("/v1/join", _answering(front.join), methods=["POST"]),
            Route("/v1/task", _answering(front.task), methods=["GET"]),
            Route("/v1/update", _answering(front.update), methods=["POST"]),
            Route("/v1/failure", _answering(front.failure), methods=["POST"]),
            Route("/v1/farewell", _answering(front.farewell), methods=["POST"]),
        ],
        lifespan=lifespan,
    )


class _TooLargeError(Exception):
    """A body has more bytes than it may."""


def _answering(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Turn errors into answers; what is wrong on our side is for our log, not for the client."""

    async def answer(request: Request) -> Response:
        try:
            check_name(peer_name(request))
            return await endpoint(request)
        except ConfigError:
            return _error("the certificate has no name of a client", _FORBIDDEN)
        except _TooLargeError:
            return _error("the body is too large", _TOO_LARGE)
        except ClientDisconnect:
            return Response(status_code=400)
        except NeuroDivergentError as error:
            return _error(str(error)[:500], _REFUSED)

    return answer


def _error(detail: str, code: int) -> Response:
    return JSONResponse({"detail": detail}, code)


async def _read(request: Request, limit: int) -> bytes:
    """Return the body of a request, of at most some bytes, whatever its header says."""
    told: Any = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        raise _TooLargeError
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _TooLargeError
        parts.append(part)
    return b"".join(parts)
