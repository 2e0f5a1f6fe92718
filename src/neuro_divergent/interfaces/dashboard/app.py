"""The FastAPI application: routes behind the security middleware."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from neuro_divergent import __version__
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.interfaces.dashboard.board import Board
from neuro_divergent.interfaces.dashboard.response import JsonResponse
from neuro_divergent.interfaces.dashboard.routes import ROUTERS
from neuro_divergent.interfaces.dashboard.security import Security
from neuro_divergent.interfaces.dashboard.settings import Settings


def create_app(settings: Settings) -> FastAPI:
    """Create the application for a directory of runs."""
    app = FastAPI(
        title="Neuro-Divergent dashboard",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,  # the address of a redirection would be made from the request
        exception_handlers={
            HTTPException: _say_why,
            RequestValidationError: _say_what_is_wrong,
            NeuroDivergentError: _say_what_is_unreadable,
        },
    )
    app.state.board = Board(settings)
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Security, settings=settings)
    return app


async def _say_why(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, HTTPException)
    return JsonResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)


async def _say_what_is_wrong(request: Request, error: Exception) -> JsonResponse:
    assert isinstance(error, RequestValidationError)
    # The input is not repeated in the message: it is untrusted.
    found = [f"{item['loc'][-1]}: {item['msg']}" for item in error.errors()[:5]]
    return JsonResponse({"detail": "; ".join(found)}, 422)


async def _say_what_is_unreadable(request: Request, error: Exception) -> JsonResponse:
    return JsonResponse({"detail": str(error)}, 404)
