"""Errors of the doors, and the status by which a program knows what kind an error is."""

from __future__ import annotations

from http import HTTPStatus

from fastapi.responses import JSONResponse

from connectors.errors import ConnectorError
from reconcile.app import NameUnknown
from reconcile.decisions.refusals import RunUnknown
from reconcile.documents import JsonObject
from reconcile.errors import Failed, Refused, Wrong
from reconcile.guard import KeyUnknown, NamespaceUnknown
from reconcile.people.roles import NotAllowed
from reconcile.people.sessions import SignInRefused, TooManyAttempts
from reconcile.people.tokens import TokenUnknown
from reconcile.people.users import UserUnknown
from reconcile.store.findings import FindingUnknown
from reconcile.store.plans import PlanUnknown
from reconcile.views.findings import RevealRefused

PROBLEM = "application/problem+json"
KNOWN = (Wrong, Refused, Failed, ConnectorError)
"""The errors whose message is a sentence for people."""

_MISSING = (
    FindingUnknown,
    PlanUnknown,
    RunUnknown,
    NameUnknown,
    UserUnknown,
    TokenUnknown,
    KeyUnknown,
    NamespaceUnknown,
)
_FORBIDDEN = (NotAllowed, RevealRefused)


class NotSignedIn(Refused):
    """The request needs a user."""

    def __init__(self) -> None:
        super().__init__(
            "Sign in first; a program sends `Authorization: Bearer TOKEN` with a valid token. Nothing was changed"
        )


class FormRefused(Refused):
    """The form is not one of ours, or it is too old."""

    def __init__(self) -> None:
        super().__init__("This form is no longer valid, so nothing was changed. Load the page again and repeat it")


class NotHere(Wrong):
    """There is no such page, or not with this method."""

    def __init__(self, status: HTTPStatus) -> None:
        sentences = {
            HTTPStatus.BAD_REQUEST: "The body cannot be read as JSON. Nothing was changed",
            HTTPStatus.NOT_FOUND: "There is no such page",
            HTTPStatus.METHOD_NOT_ALLOWED: "This address does not accept that method",
        }
        super().__init__(sentences.get(status, status.phrase))
        self.status = status


class RequestInvalid(Wrong):
    """The request does not fit its description."""


class Defect(Exception):
    """Reconcile itself failed; the sentence says where the report is."""


def status_of(error: Exception) -> HTTPStatus:
    """Return the status that tells a program what kind of error it is."""
    match error:
        case NotHere():
            return error.status
        case NotSignedIn() | SignInRefused():
            return HTTPStatus.UNAUTHORIZED
        case TooManyAttempts():
            return HTTPStatus.TOO_MANY_REQUESTS
        case FormRefused():
            return HTTPStatus.FORBIDDEN
        case _ if isinstance(error, _FORBIDDEN):
            return HTTPStatus.FORBIDDEN
        case _ if isinstance(error, _MISSING):
            return HTTPStatus.NOT_FOUND
        case Refused():
            return HTTPStatus.CONFLICT
        case Wrong():
            return HTTPStatus.UNPROCESSABLE_ENTITY
        case Failed() | ConnectorError():
            return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.INTERNAL_SERVER_ERROR


def headers_of(error: Exception) -> dict[str, str]:
    if isinstance(error, NotSignedIn):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooManyAttempts):
        return {"Retry-After": str(max(1, int(error.wait.total_seconds())))}
    return {}


def problem(error: Exception) -> JSONResponse:
    """Return the answer of RFC 9457 for a program; the status and the sentence say what `type` would."""
    status = status_of(error)
    body: JsonObject = {"title": status.phrase, "status": int(status), "detail": str(error)}
    return JSONResponse(body, int(status), headers_of(error), media_type=PROBLEM)
