"""Errors as answers: problem+json for programs, a page for people. No answer holds a traceback or echoes a request."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from reconcile.web import gate
from reconcile.web.console import signing
from reconcile.web.console.drawing import page, page_for_anyone
from reconcile.web.context import connection_of, context_of
from reconcile.web.gate import Form, SignInNeeded, Visit
from reconcile.web.problems import KNOWN, Defect, NotHere, RequestInvalid, problem, status_of

__all__ = ["KNOWN", "Defect", "NotHere", "RequestInvalid", "answer", "invalid"]

_HEADINGS = {
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.CONFLICT: "Nothing was changed",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available now",
    HTTPStatus.INTERNAL_SERVER_ERROR: "This failed",
}


def answer(request: Request, error: Exception) -> Response:
    """Return the answer for an error."""
    if request.scope["path"].startswith("/api/"):
        return problem(error)
    if isinstance(error, SignInNeeded):
        return signing.sign_in_again(request, error.form)
    status = status_of(error)
    given = {"heading": _HEADINGS.get(status, "This did not work"), "sentence": str(error)}
    visit = _visit(request)
    if visit is None:
        return page_for_anyone(context_of(request).project(), "error_alone.html", status=status, **given)
    return page(visit, "error.html", "", status=status, back="/", **given)


def _visit(request: Request) -> Visit | None:
    """Return the visit of whoever is signed in; None if nobody is, or the state does not answer."""
    try:
        context = context_of(request)
        connection = connection_of(request, context)
        signed_in, begins = gate.signed_in_of(request, context, connection)
    except KNOWN:
        return None
    return None if signed_in is None else Visit(context, connection, signed_in, Form([]), begins)


def invalid(error: RequestValidationError) -> RequestInvalid:
    """Return the mistakes in a request as one sentence, without its values."""
    mistakes = []
    for mistake in error.errors():
        if mistake["type"] == "json_invalid":
            return RequestInvalid("The body is not JSON. Nothing was changed")
        place = ".".join(str(part) for part in mistake["loc"][1:]) or str(mistake["loc"][0])
        mistakes.append(f"`{place}`: {mistake['msg'][:1].lower()}{mistake['msg'][1:]}")
    return RequestInvalid(f"The request is invalid: {'; '.join(mistakes[:5])}. Nothing was changed")
