"""Results of many decisions, carried over the redirect that follows them: a reload must not decide again.

They wait in the state until the next page of this person tells them; the browser has only their key.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from reconcile.decisions.many import DecisionResults
from reconcile.decisions.request import DecisionResult
from reconcile.store import keyed_requests
from reconcile.web.console.drawing import set_cookie
from reconcile.web.context import connection_of
from reconcile.web.gate import Visit

_COOKIE = "reconcile-outcome"
_SECONDS = 60
_PREFIX = "outcome "
"""No key of the API has a blank."""
_KEPT = ("finding", "sentence", "ok", "changed", "held_up", "became")
"""The carried fields of each result."""


@dataclass(frozen=True)
class RedirectedResults:
    """Outcomes, and a remark on the file they came from."""

    outcomes: DecisionResults
    remark: str | None = None


def carry(
    answer: Response, request: Request, visit: Visit, outcomes: DecisionResults, *, remark: str | None = None
) -> None:
    """Let the next page of this person's browser tell what became of their decisions."""
    key, name = secrets.token_urlsafe(16), visit.person.name
    with visit.context.store().begin() as tx:
        keyed_requests.begin(tx, name, _PREFIX + key, "")
        rows = [[getattr(result, name) for name in _KEPT] for result in outcomes.each]
        keyed_requests.end(tx, name, _PREFIX + key, [remark, rows])
    set_cookie(answer, _COOKIE, key, connection_of(request, visit.context), _SECONDS)


def carried(request: Request, visit: Visit) -> RedirectedResults | None:
    """Return what `carry` left for this person, once; None without that."""
    key = request.cookies.get(_COOKIE)
    if not key or "\0" in key:
        return None
    with visit.context.store().begin() as tx:
        answer = keyed_requests.taken(tx, visit.person.name, _PREFIX + key)
    if answer is None:
        return None
    remark, rows = answer
    results = (DecisionResult(**dict(zip(_KEPT, row, strict=True))) for row in rows)
    return RedirectedResults(DecisionResults(tuple(results)), remark)


def forget(answer: Response) -> None:
    answer.delete_cookie(_COOKIE, path="/")
