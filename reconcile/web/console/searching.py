"""The search: by POST, because what people search for may be personal data, which no address may hold."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from fastapi.responses import Response

from reconcile.people.sessions import TooManyAttempts
from reconcile.store.findings import FindingFilter
from reconcile.views.search import SearchRefused, SearchResult, search_by
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Viewer
from reconcile.web.gate import Visit
from reconcile.web.problems import status_of

router = APIRouter(include_in_schema=False)

_SHOWN = 100


@router.get("/search")
def empty(visit: Viewer) -> Response:
    return _drawn(visit, "", None)


@router.post("/search")
def results(visit: Viewer) -> Response:
    """Show the findings in any state that fit a text."""
    text = visit.form.get("text", "")
    try:
        with visit.context.application() as application:
            result = search_by(application, visit.person, text, FindingFilter(), limit=_SHOWN)
    except (SearchRefused, TooManyAttempts) as error:
        return _drawn(visit, text, None, str(error), status_of(error))
    return _drawn(visit, text, result)


def _drawn(
    visit: Visit, text: str, result: SearchResult | None, problem: str | None = None, status: int = HTTPStatus.OK
) -> Response:
    given = {"searched": text, "result": result, "problem": problem, "most": _SHOWN}
    return page(visit, "search.html", "/search", status=status, **given)
