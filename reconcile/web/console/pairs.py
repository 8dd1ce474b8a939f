"""The queue of pairs that a rule is not sure about, or that it joined: a person says which are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Viewer
from reconcile.web.gate import OfConsole, Visit
from reconcile.web.problems import status_of

router = APIRouter(include_in_schema=False)

Reviewer = Annotated[Visit, Depends(OfConsole(Role.REVIEWER))]
_ANSWERED = {SAME: "Judged the same.", NOT_SAME: "Judged not the same.", FORGET: "Your answer is taken back."}


@dataclass(frozen=True)
class _Queue:
    """The pairs that a person goes through: of one rule or all, and the uncertain ones or those that `joined` findings.

    `clear`: the person asked to see personal data, which is recorded for each pair.
    """

    rule: str = ""
    joined: bool = False
    clear: bool = False

    @classmethod
    def of(cls, given: Mapping[str, str]) -> _Queue:
        return cls(given.get("rule", ""), bool(given.get("joined")), bool(given.get("clear")))

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a form or an address that keep it."""
        named = {"rule": self.rule, "joined": self.joined and "1", "clear": self.clear and "1"}
        return {name: value for name, value in named.items() if value}

    def address(self, pair: str = "", **more: str) -> str:
        """Return the address of the page, where personal data is masked."""
        named = {**self.fields, "pair": pair, **more, "clear": ""}
        given = urlencode({name: value for name, value in named.items() if value})
        return f"/pairs?{given}" if given else "/pairs"


@router.get("/pairs")
def pairs_page(visit: Viewer, request: Request) -> Response:
    asked = request.query_params
    done = asked.get("done", "") if asked.get("done") in _ANSWERED else ""
    queue = replace(_Queue.of(asked), clear=False)
    return _page(visit, queue, asked.get("pair", ""), done=done, answered=asked.get("answered", ""))


@router.post("/pairs/{pair}/reveal")
def reveal(visit: Reviewer, pair: str) -> Response:
    """Show a pair, and those after it, with personal data in clear, and record who saw each."""
    return _page(visit, replace(_Queue.of(visit.form), clear=True), pair)


@router.post("/pairs/{pair}/{answer}")
def judge(visit: Reviewer, pair: str, answer: str) -> Response:
    """Record the answer and go on with the next pair; after a refusal, show this one with the reason."""
    form = visit.form
    queue, rule = _Queue.of(form), form.get("of", "")
    try:
        with visit.context.application() as application:
            request = PairRequest(rule, answer, pair=pair)
            application.decisions_of(visit.person).judge_pair(request)
    except (Wrong, Refused, Failed, ConnectorError) as error:
        return _page(visit, queue, pair, problem=str(error), status=status_of(error))
    following = pair if answer == FORGET else form.get("next", "")
    if queue.clear:
        return _page(visit, queue, following, done=answer, answered=pair)
    return RedirectResponse(queue.address(following, done=answer, answered=pair), HTTPStatus.SEE_OTHER)


def _page(
    visit: Visit,
    queue: _Queue,
    pair: str,
    *,
    done: str = "",
    answered: str = "",
    problem: str | None = None,
    status: int = HTTPStatus.OK,
) -> Response:
    rules = (queue.rule,) if queue.rule else ()
    with visit.context.application() as application:
        for rule in rules:
            application.require("rule", rule, tuple(application.project.rules))
        waiting = pairs.waiting(application, rules, joined=queue.joined)
        learning = [name for name, each in application.project.rules.items() if each.learns]
        ids = [view.id for view in waiting]
        place = ids.index(pair) if pair in ids else 0
        current = waiting[place] if waiting else None
        if queue.clear and current is not None:
            current = pairs.reveal(application, current.id, by=visit.person) or current
        others = 0 if waiting or queue.joined else len(pairs.waiting(application, rules, joined=True))
    following = _following(ids, place)
    given = {
        "queue": queue,
        "rules": learning,
        "pair": current,
        "left": len(waiting),
        "others": others,
        "next": following,
        "done": _ANSWERED.get(done),
        "may_forget": answered if done in (SAME, NOT_SAME) else "",
        "problem": problem,
        "roles": Role,
    }
    return page(visit, "pairs.html", "/review", status=status, **given)


def _following(ids: Sequence[str], place: int) -> str:
    """Return the pair after this one, the first after the last; empty if there is no other."""
    return ids[(place + 1) % len(ids)] if len(ids) > 1 else ""
