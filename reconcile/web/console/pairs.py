"""The queue of pairs that a rule is not sure about: a person says which are the same."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from connectors.errors import ConnectorError
from reconcile.decisions.pairs import FORGET, NOT_SAME, SAME, PairRequest
from reconcile.errors import Failed, Refused, Wrong
from reconcile.people.roles import Role
from reconcile.views import pairs
from reconcile.views.pairs import PairView
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Viewer
from reconcile.web.gate import OfConsole, Visit
from reconcile.web.problems import status_of

router = APIRouter(include_in_schema=False)

Reviewer = Annotated[Visit, Depends(OfConsole(Role.REVIEWER))]
_ANSWERED = {SAME: "Judged the same.", NOT_SAME: "Judged not the same.", FORGET: "Your answer is taken back."}


@router.get("/pairs")
def pairs_page(visit: Viewer, request: Request) -> Response:
    asked = request.query_params
    done = asked.get("done", "") if asked.get("done") in _ANSWERED else ""
    return _page(visit, asked.get("rule", ""), asked.get("pair", ""), done=done, answered=asked.get("answered", ""))


@router.post("/pairs/{pair}/reveal")
def reveal(visit: Reviewer, pair: str) -> Response:
    """Show one pair with personal data in clear, once, and record who saw it."""
    with visit.context.application() as application:
        shown = pairs.reveal(application, pair, by=visit.person)
    rule = visit.form.get("rule", "")
    return _page(visit, rule, pair, revealed=shown)


@router.post("/pairs/{pair}/{answer}")
def judge(visit: Reviewer, pair: str, answer: str) -> Response:
    """Record the answer and go on with the next pair; after a refusal, show this one with the reason."""
    form = visit.form
    chosen, rule = form.get("rule", ""), form.get("of", "")
    try:
        with visit.context.application() as application:
            request = PairRequest(rule, answer, pair=pair)
            application.decisions_of(visit.person).judge_pair(request)
    except (Wrong, Refused, Failed, ConnectorError) as error:
        return _page(visit, chosen, pair, problem=str(error), status=status_of(error))
    following = pair if answer == FORGET else form.get("next", "")
    return RedirectResponse(_address(chosen, following, done=answer, answered=pair), HTTPStatus.SEE_OTHER)


def _page(
    visit: Visit,
    rule: str,
    pair: str,
    *,
    done: str = "",
    answered: str = "",
    revealed: PairView | None = None,
    problem: str | None = None,
    status: int = HTTPStatus.OK,
) -> Response:
    with visit.context.application() as application:
        if rule:
            application.require("rule", rule, tuple(application.project.rules))
        waiting = pairs.waiting(application, (rule,) if rule else ())
        learning = [name for name, each in application.project.rules.items() if each.learns]
    ids = [view.id for view in waiting]
    place = ids.index(pair) if pair in ids else 0
    current = revealed or (waiting[place] if waiting else None)
    following = _following(ids, place)
    given = {
        "rule": rule,
        "rules": learning,
        "pair": current,
        "left": len(waiting),
        "next": following,
        "skip": _address(rule, following) if following else None,
        "is_revealed": revealed is not None,
        "done": _ANSWERED.get(done),
        "may_forget": answered if done in (SAME, NOT_SAME) else "",
        "problem": problem,
        "roles": Role,
    }
    return page(visit, "pairs.html", "/review", status=status, **given)


def _following(ids: Sequence[str], place: int) -> str:
    """Return the pair after this one, the first after the last; empty if there is no other."""
    return ids[(place + 1) % len(ids)] if len(ids) > 1 else ""


def _address(rule: str, pair: str, **more: str) -> str:
    named = {"rule": rule, "pair": pair, **more}
    return f"/pairs?{urlencode({name: value for name, value in named.items() if value})}"
