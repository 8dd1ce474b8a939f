"""Routes that read: findings, rules, runs, jobs and the audit log."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, AwareDatetime

from reconcile.findings.states import IN_HAND, LIVE, State
from reconcile.people.roles import Person, Role
from reconcile.service import jobs
from reconcile.store.audit_log import EntryFilter
from reconcile.store.findings import FindingFilter
from reconcile.views import audit, effects, findings, pairs, queue, rules, runs
from reconcile.views.filters import ListFilter
from reconcile.views.search import search_by
from reconcile.web.api import documents
from reconcile.web.api.description import PATH, answers, description
from reconcile.web.context import At
from reconcile.web.gate import Anyone, ApiRoute, OfApi
from rules.models import Duration, Severity

router = APIRouter(prefix="/api/v1", route_class=ApiRoute)

VIEWER = Depends(OfApi(Role.VIEWER))
Viewer = Annotated[Person, VIEWER]
Limit = Annotated[int, Query(ge=1, le=200, description="The maximum number of entries on the page.")]
_Severities = Annotated[str | None, Query(pattern=f"^({'|'.join(Severity.__members__)})$")]


def _checked(since: dt.datetime | None) -> dt.datetime | None:
    if since is not None and not 1900 <= since.year < 3000:
        raise ValueError("must be between the years 1900 and 2999")
    return since


_Since = Annotated[AwareDatetime | None, AfterValidator(_checked), Query(description="First seen then or later.")]
_Amount = Annotated[Decimal | None, Query(ge=0, max_digits=40, description="The size of the largest amount at risk.")]
_Probability = Annotated[Decimal | None, Query(ge=0, le=1, max_digits=20, description="That all records are the same.")]
_States = Annotated[list[State] | None, Query(description="By default all that have not ended.")]


@router.get(PATH.removeprefix(router.prefix), dependencies=[Depends(Anyone())], include_in_schema=False)
def openapi(request: Request) -> Response:
    return Response(description(request.app), media_type="application/json")


@router.get("/me", responses=answers(documents.MeDocument))
def me(person: Viewer) -> JSONResponse:
    """Return the user of the token."""
    return JSONResponse({"name": person.name, "role": person.role.word, "sees_personal": person.sees_personal})


@router.get("/findings", responses=answers(documents.FindingsDocument), dependencies=[VIEWER])
def list_findings(
    context: At,
    state: _States = None,
    rule: Annotated[list[str] | None, Query()] = None,
    severity: _Severities = None,
    assigned_to: str | None = None,
    form: Annotated[list[str] | None, Query()] = None,
    owner: str | None = None,
    older_than: Annotated[Duration | None, Query(description="First seen so long ago, like 7d.")] = None,
    since: _Since = None,
    at_least: _Amount = None,
    at_most: _Amount = None,
    probable_at_least: _Probability = None,
    probable_at_most: _Probability = None,
    order: Annotated[Literal["probability"] | None, Query(description="The least probable first.")] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> JSONResponse:
    """List findings: the worst, then the largest amount, then the oldest first; `severity` is that or worse.

    Findings whose amount is masked are in no range of amounts, and those without a probability are left out by a range
    of probabilities or their order.
    """
    with context.application() as application:
        for name in rule or ():
            application.require("rule", name, tuple(application.project.rules))
        least = None if severity is None else Severity[severity]
        wanted = ListFilter(
            tuple(state or (*LIVE, *IN_HAND)),
            tuple(rule or ()),
            owner,
            least,
            tuple(form or ()),
            assigned_to,
            older_than=older_than,
            since=since,
            at_least=at_least,
            at_most=at_most,
            probable_at_least=probable_at_least,
            probable_at_most=probable_at_most,
            by_probability=order is not None,
        )
        with application.memory.read() as tx:
            criteria = wanted.criteria(application, tx)
        shown = queue.listed(application, criteria, limit=limit, cursor=cursor, members=True)
        listed = [findings.to_json(view) for view in shown.findings]
    return JSONResponse({"findings": listed, "cursor": shown.cursor})


@router.post("/findings/search", responses=answers(documents.SearchResultDocument))
def search_findings(person: Viewer, context: At, wanted: documents.SearchDocument) -> JSONResponse:
    """List findings in any state that fit a text: by their id, a record's id, or a part of a value of the key.

    Masked values fit only for users who may see personal data. Each of their searches is recorded, and 60 are allowed
    in 15 minutes.
    """
    with context.application() as application:
        least = None if wanted.severity is None else Severity[wanted.severity]
        criteria = FindingFilter(tuple(wanted.rules), tuple(wanted.states), least)
        for name in wanted.rules:
            application.require("rule", name, tuple(application.project.rules))
        result = search_by(application, person, wanted.text, criteria, limit=wanted.limit)
        fitting = [findings.to_json(view) for view in result.findings]
    return JSONResponse({"findings": fitting, "more": result.is_cut})


@router.get("/findings/{finding}", responses=answers(documents.FindingDetailDocument), dependencies=[VIEWER])
def show_finding(context: At, finding: str) -> JSONResponse:
    """Return a finding by its id or the beginning of it."""
    with context.application() as application:
        return JSONResponse(findings.detail_to_json(findings.detail(application, finding, show=False)))


@router.post("/findings/{finding}/reveal", responses=answers(documents.FindingDetailDocument))
def reveal_finding(person: Viewer, context: At, finding: str) -> JSONResponse:
    """Return a finding with personal data in clear, which the user must be allowed to see; this is recorded."""
    with context.application() as application:
        return JSONResponse(findings.detail_to_json(findings.reveal(application, finding, by=person)))


@router.get("/pairs", responses=answers(documents.PairsDocument), dependencies=[VIEWER])
def list_pairs(context: At, rule: Annotated[list[str] | None, Query()] = None) -> JSONResponse:
    """List the pairs of records whose judgement would teach a rule, with personal data masked."""
    with context.application() as application:
        for name in rule or ():
            application.require("rule", name, tuple(application.project.rules))
        return JSONResponse({"pairs": [pairs.to_json(view) for view in pairs.waiting(application, tuple(rule or ()))]})


@router.get("/rules", responses=answers(documents.RulesDocument), dependencies=[VIEWER])
def list_rules(context: At) -> JSONResponse:
    """List the rules, those with the most waiting findings first."""
    with context.application() as application:
        return JSONResponse({"rules": [view.to_json() for view in rules.listed(application)]})


@router.get("/rules/{rule}", responses=answers(documents.RuleDocument), dependencies=[VIEWER])
def show_rule(context: At, rule: str) -> JSONResponse:
    """Return a rule with its definition as YAML."""
    with context.application() as application:
        detail = rules.detail(application, rule)
    return JSONResponse(detail.view.to_json() | {"definition": detail.definition})


@router.get("/runs", responses=answers(documents.RunsDocument), dependencies=[VIEWER])
def list_runs(context: At, job: str | None = None, limit: Limit = 50) -> JSONResponse:
    """List the latest runs, newest first."""
    with context.application() as application:
        if job is not None:
            application.job(job)
        return JSONResponse({"runs": [view.to_json() for view in runs.listed(application, job, limit)]})


@router.get("/runs/{run}", responses=answers(documents.RunDetailDocument), dependencies=[VIEWER])
def show_run(context: At, run: str) -> JSONResponse:
    """Return a run with the results of its rules."""
    with context.application() as application:
        return JSONResponse(runs.detail_to_json(application, runs.detail(application, run).view))


@router.get("/jobs", responses=answers(documents.JobsDocument), dependencies=[VIEWER])
def list_jobs(context: At) -> JSONResponse:
    """List the jobs: when they are due, whether they run, and their last success."""
    with context.application() as application, application.memory.read() as tx:
        shown = [jobs.look_at(job, tx).to_json() for job in application.project.jobs.values()]
    return JSONResponse({"jobs": shown})


@router.get("/effects", responses=answers(documents.EffectsDocument), dependencies=[VIEWER])
def show_effects(context: At) -> JSONResponse:
    """Return what cleaning does now, and how long it took in the last 24 hours and 7 days."""
    with context.application() as application:
        return JSONResponse(effects.effects(application).to_json())


@router.get("/audit", responses=answers(documents.AuditEntriesDocument), dependencies=[VIEWER])
def list_entries(
    context: At,
    finding: str | None = None,
    run: str | None = None,
    event: str | None = None,
    actor: str | None = None,
    before: Annotated[int | None, Query(ge=1, le=10**15)] = None,
    limit: Limit = 50,
) -> JSONResponse:
    """List entries of the audit log, newest first; `event` also takes a prefix such as `finding`."""
    with context.application() as application:
        shown = audit.page(application, EntryFilter(finding, run, event, actor, before), limit)
    return JSONResponse({"entries": [view.to_json() for view in shown.entries], "before": shown.before})
