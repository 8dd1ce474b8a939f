"""Builds the application that `serve` hosts: the console, the API, and what every answer of them has."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from reconcile import __version__
from reconcile.service.applications import Asgi
from reconcile.service.serve import ServeProcess
from reconcile.web import errors, gate, slack
from reconcile.web.api import keys, people, reading, writing
from reconcile.web.console import (
    listing,
    managing,
    overview,
    pairs,
    pieces,
    read_only,
    review,
    running,
    searching,
    sheets,
    signing,
)
from reconcile.web.context import WebContext
from reconcile.web.headers import SafeHeaders

ROUTERS = (
    pieces.router,
    signing.router,
    overview.router,
    sheets.router,
    listing.router,
    review.router,
    pairs.router,
    searching.router,
    running.router,
    read_only.router,
    managing.router,
    slack.router,
    reading.router,
    writing.router,
    people.router,
    keys.router,
)

log = structlog.get_logger("reconcile")


class RouteUndeclared(Exception):
    """A route does not declare who may use it, or does so twice."""


def of_server(server: ServeProcess) -> Asgi:
    """Return the application of a process that serves."""
    context = WebContext(
        project=lambda: server.project,
        store=lambda: server.store,
        wake=server.alarm.wake,
        sentence=server.sentence,
        welcome=server.welcome,
    )
    return SafeHeaders(application(context))


def application(context: WebContext) -> FastAPI:
    """Return the application. Raises RouteUndeclared."""
    app = FastAPI(title="Reconcile", version=__version__, openapi_url=None, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False
    app.state.context = context
    for router in ROUTERS:
        for route in router.routes:
            if not isinstance(route, APIRoute) or len(gate.declared(route)) != 1:
                raise RouteUndeclared(str(getattr(route, "path", route)))
        app.include_router(router)
    if len(app.routes) != len(ROUTERS):
        raise RouteUndeclared("A route is not in a router of ROUTERS")
    for kind in errors.KNOWN:
        app.add_exception_handler(kind, _told)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _defect)
    return app


def _told(request: Request, error: Exception) -> Response:
    """Answer with the sentence of an error that is one of ours."""
    return errors.answer(request, error)


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - it is the handler of these alone
    return errors.answer(request, errors.invalid(error))


def _http_error(request: Request, error: Exception) -> Response:
    status = HTTPStatus(getattr(error, "status_code", HTTPStatus.NOT_FOUND))
    return errors.answer(request, errors.NotHere(status))


def _defect(request: Request, error: Exception) -> Response:
    """Answer with where the report is, which holds code, no records and no secrets."""
    context: WebContext = request.app.state.context
    sentence = context.sentence(error)
    log.error("console.failed", path=request.scope["route"].path if "route" in request.scope else "", why=sentence)
    return errors.answer(request, errors.Defect(sentence))
