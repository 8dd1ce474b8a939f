"""The filter of the queue, its saved views, and all findings that it chooses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from reconcile.errors import Wrong
from reconcile.people.roles import Role
from reconcile.store.finding_pages import page as page_of
from reconcile.store.findings import count
from reconcile.store.plans import waiting_plans
from reconcile.views.findings import of_all
from reconcile.web.console import filters, saved
from reconcile.web.console.drawing import page
from reconcile.web.console.filters import Filter
from reconcile.web.console.review import MOST, SNOOZES, Reviewer, filter_of, queue_page
from reconcile.web.console.signing import Viewer
from reconcile.web.problems import status_of

router = APIRouter(include_in_schema=False)


@router.post("/review/filter")
def filter_list(visit: Viewer, request: Request) -> Response:
    """Go to the address of the list with what was typed: a text may be personal data, so the address has it sealed."""
    try:
        address = Filter.typed(visit.form, visit).address()
    except Wrong as error:
        asked = Filter.of_form(visit.form, visit).fields
        return queue_page(visit, request, asked, problem=str(error), status=status_of(error))
    return _to(address)


@router.post("/review/views")
def change_views(visit: Viewer, request: Request) -> Response:
    """Save the filter under a name, or remove a saved view."""
    form = visit.form
    wanted = Filter.of({**filter_of(form), "after": ""})
    answer = _to(wanted.address())
    try:
        if "remove" in form:
            saved.remove(answer, request, visit, form["remove"])
        else:
            saved.save(answer, request, visit, form.get("name", "").strip(), wanted)
    except Wrong as error:
        return queue_page(visit, request, wanted.fields, problem=str(error), status=status_of(error))
    return answer


@router.get("/review/all")
def all_findings(visit: Reviewer, request: Request) -> Response:
    """Show all findings of the filter as they are now, to decide about them at once.

    The form names each with its version and plan: what comes later, or changes, is not decided.
    """
    wanted = Filter.of(request.query_params)
    with visit.context.application() as application, application.memory.read() as tx:
        chosen = filters.chosen(application, tx, visit, wanted)
        number = count(tx, chosen.criteria)
        listed = of_all(application, tx, page_of(tx, chosen.criteria, limit=MOST).findings)
        plans = {finding: plan.hash for finding, plan in waiting_plans(tx, [view.id for view in listed]).items()}
    given: dict[str, Any] = {"filter": wanted, "number": number, "most": MOST, "is_cut": chosen.is_cut}
    given |= {"items": listed, "plans": plans, "snoozes": SNOOZES, "roles": Role}
    return page(visit, "all.html", "/review", **given)


def _to(address: str) -> Response:
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
