"""The review queue: one finding after another, or many at once; and a finding alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from connectors.errors import ConnectorError
from reconcile.app import Application
from reconcile.decisions.many import DecisionResults, decide_each
from reconcile.decisions.offered import ROLES, possible
from reconcile.decisions.refusals import FindingChanged
from reconcile.decisions.request import DecisionRequest, DecisionResult
from reconcile.errors import Failed, Refused, Wrong
from reconcile.people.roles import Person, Role
from reconcile.store import Transaction
from reconcile.store.finding_pages import numbers
from reconcile.store.findings import assignees, get, standing, with_hidden_amount
from reconcile.store.plans import waiting_plans
from reconcile.views import filters as list_filters
from reconcile.views import findings, pairs, queue
from reconcile.web.console import carried, filters, saved
from reconcile.web.console.drawing import page
from reconcile.web.console.filters import GROUPS, Filter
from reconcile.web.console.signing import Viewer, draft_of, forget_draft
from reconcile.web.gate import Form, OfConsole, Visit
from reconcile.web.problems import status_of
from rules.models import Severity, parse_duration

router = APIRouter(include_in_schema=False)

Reviewer = Annotated[Visit, Depends(OfConsole(Role.REVIEWER))]

SHOWN = 50
"""Findings of a page of the queue."""
MOST = 1_000
"""Findings that one form decides."""

_Given = dict[str, Any]

_REOPENED = ("dismissed", "handled", "snoozed")
"""States that result from a decision and that reopening takes back."""
_TAKE_BACK = "take-back"
SNOOZES = {"": "until it grows", "1d": "for a day", "7d": "for a week", "30d": "for 30 days"}


class SnoozeRefused(Wrong):
    """The end of the snooze is none of the list."""

    def __init__(self) -> None:
        super().__init__("This is not a time to snooze until. Nothing was changed; choose one from the list")


class TooManySelected(Wrong):
    """So many findings are decided on the command line."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"{number:,} findings are selected, and the console decides at most {MOST:,} at once. Nothing was changed; "
            "select fewer, or use the command line"
        )


@router.get("/review")
def review(visit: Viewer, request: Request) -> Response:
    return queue_page(visit, request, request.query_params)


@router.get("/findings/{finding}")
def finding_page(visit: Viewer, request: Request, finding: str) -> Response:
    return _finding(visit, request, finding)


@router.post("/findings/{finding}/reveal")
def reveal(visit: Viewer, request: Request, finding: str) -> Response:
    """Show one finding with personal data in clear, once, and record who saw it."""
    return _finding(visit, request, finding, show=True)


@router.post("/findings/{finding}/{decision}")
def decide(visit: Reviewer, request: Request, finding: str, decision: str) -> Response:
    """Carry out one decision and go on with the next finding; after a refusal, show this one with the reason."""
    form = visit.form
    try:
        wanted = _request(form, decision, finding, form.get("version", ""), form.get("plan", ""))
        with visit.context.application() as application:
            application.decisions_of(visit.person).decide(wanted).checked()
    except (Wrong, Refused, Failed, ConnectorError) as error:
        return _refused(visit, request, finding, error)
    if decision in ("approve", "retry"):
        visit.context.wake("clean")
    return _to(_after(finding, form, stays=decision in ("keep", "split")))


@router.post("/review/decide")
def decide_many(visit: Reviewer, request: Request) -> Response:
    """Decide about each selected finding; each is checked by itself."""
    form = visit.form
    decision, selected = form.get("decision", ""), list(dict.fromkeys(form.every("finding")))
    try:
        requests = _requests(form, decision, selected)
    except (SnoozeRefused, TooManySelected) as error:
        return queue_page(visit, request, filter_of(form), problem=str(error), status=status_of(error))
    with visit.context.application() as application:
        took_back = partial(_take_back, application, visit.person)
        act = took_back if decision == _TAKE_BACK else application.decisions_of(visit.person).decide
        each = tuple(decide_each(requests, act))
    if decision == "approve":
        visit.context.wake("clean")
    return told_next(visit, request, DecisionResults(each))


def _take_back(application: Application, person: Person, wanted: DecisionRequest) -> DecisionResult:
    """Reopen a finding that is still as this person left it; its tick names that state in the place of a plan."""
    with application.memory.read() as tx:
        finding = get(tx, wanted.about)
    if finding.state.value != wanted.plan or finding.decided_by != person.name:
        raise FindingChanged(finding)
    return application.decisions_of(person).decide(replace(wanted, decision="reopen", plan=None))


def told_next(visit: Visit, request: Request, outcomes: DecisionResults, *, remark: str | None = None) -> Response:
    """Go back to the queue, which tells what became of many decisions: a reload must not decide again."""
    answer = _to(Filter.of(filter_of(visit.form)).address())
    carried.carry(answer, request, visit, outcomes, remark=remark)
    return answer


def filter_of(form: Form) -> Mapping[str, str]:
    """Return the fields of a form that are the filter of the queue."""
    return {name: form[name] for name in form if name != "finding"}


def _shown_in(entry: str) -> tuple[str, str, str]:
    """Return the finding, version and plan of a ticked box: `F-31HRQR:2:` and the plan's hash, if one waits."""
    finding, _, shown = entry.partition(":")
    version, _, plan = shown.partition(":")
    return finding, version, plan


def _requests(form: Form, decision: str, selected: Sequence[str]) -> list[DecisionRequest]:
    if len(selected) > MOST:
        raise TooManySelected(len(selected))
    return [_request(form, decision, *_shown_in(entry)) for entry in selected]


def _request(form: Form, decision: str, finding: str, version: str, plan: str) -> DecisionRequest:
    """Return the decision of a form about a finding that was shown with this version and plan. Raises SnoozeRefused."""
    until = form.get("until", "")
    if until not in SNOOZES:
        raise SnoozeRefused
    return DecisionRequest(
        decision,
        finding,
        note=form.text("note"),
        version=int(version) if version.isdecimal() and len(version) < 10 else None,
        plan=plan or None,
        until=dt.datetime.now(dt.UTC) + parse_duration(until) if until else None,
        to=form.text("to"),
        keeper=tuple(form.every("keeper")[:1]),
        values=dict(map(_value, form.every("value"))),
    )


def _value(pressed: str) -> tuple[str, tuple[str, ...]]:
    """Return the column of a button, and the handle of its record; without one, the rule chooses."""
    handle, _, column = pressed.partition(" ")
    return column, (handle,) if handle else ()


def _after(finding: str, form: Form, *, stays: bool) -> str:
    """Return where to go after a decision: to the next finding of the queue, or back to the one page.

    After a choice of the keeper or a value, and after a split, the same finding stays, with its new plan.
    """
    if form.get("back", "").startswith("/review"):
        after = {"finding": finding} if stays else {"finding": form.get("next", ""), "done": finding}
        return Filter.of(form).address(**after)
    return f"/findings/{finding}"


def _refused(visit: Visit, request: Request, finding: str, error: Exception) -> Response:
    given: dict[str, Any] = {"problem": str(error), "status": status_of(error), "draft": _typed(visit.form)}
    if visit.form.get("back", "").startswith("/review"):
        return queue_page(visit, request, dict(visit.form) | {"finding": finding}, **given)
    return _finding(visit, request, finding, **given)


def _typed(form: Form) -> Mapping[str, str]:
    return {name: form.get(name, "") for name in ("note", "until", "to")}


# Drawing


def queue_page(
    visit: Visit,
    request: Request,
    asked: Mapping[str, str],
    *,
    status: int = HTTPStatus.OK,
    problem: str | None = None,
    mistakes: Sequence[str] = (),
    draft: Mapping[str, str] | None = None,
) -> Response:
    """Return the queue with one of its findings; `mistakes` are those of a file that was given back."""
    wanted_filter = Filter.of(asked)
    told = carried.carried(request, visit) if request.method == "GET" else None
    with visit.context.application() as application:
        listing = _listing(application, visit, wanted_filter)
        listed, names = listing.page, [view.id for view in listing.page.findings]
        wanted = asked.get("finding", "")
        current = wanted or (names[0] if names else "")
        shown = _shown(application, visit, current) if current else None
        done = _done(application, asked.get("done", ""))
        with application.memory.read() as tx:
            plans = {finding: plan.hash for finding, plan in waiting_plans(tx, names).items()}
            taken_back = _taken_back(tx, told.outcomes) if told else []
        choices = choices_of(application, visit)
        uncertain = pairs.count(application, [wanted_filter.rule] if wanted_filter.rule in choices["rules"] else ())
    given = choices | {
        "pairs": uncertain,
        "filter": wanted_filter,
        "listing": listing,
        "views": saved.views(request, visit),
        "most": MOST,
        "items": listed.findings,
        "plans": plans,
        "next_page": wanted_filter.address(after=listed.cursor) if listed.cursor else None,
        "current": current,
        "previous": _neighbour(names, current, -1),
        "next": _neighbour(names, current, 1),
        "is_open": bool(wanted),
        "done": done,
        "outcomes": told.outcomes if told else None,
        "taken_back": taken_back,
        "mistakes": mistakes,
    }
    problem = problem or (told.remark if told else None)
    answer = _drawn(visit, request, "review.html", status, given | _about(shown, problem, draft, request))
    if told:
        carried.forget(answer)
    return answer


@dataclass(frozen=True)
class Listing:
    """A page of the findings that a filter chooses: how many there are in all, and in each group of states.

    `text` is the one that was typed, None if it cannot be read; with a text, other groups are not counted.
    `hidden_amounts` are the findings that an amount left out because the person does not see theirs.
    """

    page: queue.QueuePage
    number: int
    groups: Mapping[str, int]
    text: str | None
    is_cut: bool
    hidden_amounts: int


def _listing(application: Application, visit: Visit, wanted: Filter) -> Listing:
    with application.memory.read() as tx:
        chosen = filters.chosen(application, tx, visit, wanted)
        counted = numbers(tx, chosen.criteria if chosen.text else replace(chosen.criteria, states=()))
        hidden = with_hidden_amount(tx, chosen.criteria)
    page = queue.listed(application, chosen.criteria, limit=SHOWN, cursor=wanted.after or None)
    groups = {name: sum(counted.get(state, 0) for state in states) for name, (_, states) in GROUPS.items()}
    shown_groups = {wanted.state: groups[wanted.state]} if chosen.text else groups
    return Listing(page, groups[wanted.state], shown_groups, chosen.text, chosen.is_cut, hidden)


def choices_of(application: Application, visit: Visit) -> _Given:
    """Return what the fields of the filter offer."""
    project = application.project
    with application.memory.read() as tx:
        people = [name for name in assignees(tx) if name != visit.person.name]
    return {
        "group_names": {name: words for name, (words, _) in GROUPS.items()},
        "rules": list(project.rules),
        "severities": [severity.name for severity in sorted(Severity, reverse=True)],
        "forms": list_filters.forms(project),
        "owners": list_filters.owners(project),
        "estimates": any(rule.learns for rule in project.rules.values()),
        "people": people,
    }


def _taken_back(tx: Transaction, outcomes: DecisionResults) -> list[str]:
    """Return the ticks of decided findings that are still as they were left and can be reopened at once."""
    names = [each.finding or "" for each in outcomes.each if each.status == "decided" and each.became in _REOPENED]
    now = [finding for finding in standing(tx, names) if finding.state.value in _REOPENED]
    return [f"{finding.id}:{finding.version}:{finding.state.value}" for finding in now]


def _finding(
    visit: Visit,
    request: Request,
    finding: str,
    *,
    show: bool = False,
    status: int = HTTPStatus.OK,
    problem: str | None = None,
    draft: Mapping[str, str] | None = None,
) -> Response:
    with visit.context.application() as application:
        shown = _shown(application, visit, finding, show=show)
    return _drawn(visit, request, "finding.html", status, _about(shown, problem, draft, request))


@dataclass(frozen=True)
class _Shown:
    """A finding as it is drawn, and what may be decided about it.

    `approval_refusal` says why this person cannot approve its plan though their role allows it.
    """

    finding: findings.FindingDetail
    can: frozenset[str]
    approval_refusal: str | None
    is_revealed: bool

    @property
    def progress(self) -> str | None:
        """The work on the finding right now; None without any."""
        states = {
            "approved": "The plan is approved and will be executed in a moment.",
            "cleaning": "It is being cleaned.",
        }
        return states.get(self.finding.state)


def _shown(application: Application, visit: Visit, name: str, *, show: bool = False) -> _Shown:
    finding = (
        findings.reveal(application, name, by=visit.person) if show else findings.detail(application, name, show=False)
    )
    undo = finding.undo.state if finding.undo else None
    has_plan, can_take_back = finding.plan is not None, finding.can_take_back
    can_split = any(finding.splits)
    can = possible(finding.state, has_plan=has_plan, undo=undo, can_take_back=can_take_back, can_split=can_split)
    allowed = frozenset(decision for decision in can if visit.person.role >= ROLES[decision])
    refusal = finding.approval_refusal(visit.person.name) if "approve" in allowed else None
    return _Shown(finding, allowed - {"approve"} if refusal else allowed, refusal, show)


def _about(shown: _Shown | None, problem: str | None, draft: Mapping[str, str] | None, request: Request) -> _Given:
    typed = {"note": "", "until": "", "to": ""} | dict(draft or draft_of(request))
    return {"shown": shown, "problem": problem, "typed": typed, "snoozes": SNOOZES}


def _drawn(visit: Visit, request: Request, template: str, status: int, given: _Given) -> Response:
    answer = page(visit, template, "/review", status=status, roles=Role, **given)
    if draft_of(request):
        forget_draft(answer)
    return answer


def _done(application: Application, name: str) -> findings.FindingView | None:
    """Return the finding that was just decided; None for a name that is none of ours."""
    if not name:
        return None
    try:
        return findings.named(application, name)
    except Wrong:
        return None


def _neighbour(names: Sequence[str], current: str, step: int) -> str:
    """Return the finding beside the current one; empty at the end."""
    place = names.index(current) + step if current in names else 0 if step > 0 else -1
    return names[place] if 0 <= place < len(names) else ""


def _to(address: str) -> Response:
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
