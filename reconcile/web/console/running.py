"""Runs, one run, and the buttons that trigger, pause and resume jobs."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from reconcile.coordination import pauses
from reconcile.people.roles import Role
from reconcile.service import jobs, triggers
from reconcile.views import runs
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Operator, Viewer

router = APIRouter(include_in_schema=False)

_LISTED = 50


@router.get("/runs")
def runs_page(visit: Viewer, job: str = "") -> Response:
    context = visit.context
    names = list(context.project().jobs)
    chosen = job if job in names else ""
    with context.application() as application:
        listed = runs.listed(application, chosen or None, _LISTED)
        unchanged = runs.unchanged(application, chosen or None, _LISTED)
        with application.memory.read() as tx:
            looked_at = [jobs.look_at(entry, tx) for entry in application.project.jobs.values()]
    given: dict[str, Any] = {
        "runs": listed,
        "unchanged": unchanged,
        "jobs": looked_at,
        "names": names,
        "chosen": chosen,
        "key": secrets.token_hex(8),
    }
    return page(visit, "runs.html", "/runs", roles=Role, **given)


@router.get("/runs/{run}")
def run_page(visit: Viewer, run: str) -> Response:
    with visit.context.application() as application:
        detail = runs.detail(application, run)
    return page(visit, "run.html", "/runs", run=detail)


@router.post("/jobs/{job}/trigger")
def trigger(visit: Operator, job: str) -> Response:
    """Queue a run; a form that is sent twice queues one run, by the key it was drawn with."""
    with visit.context.application() as application:
        application.job(job)
        key = visit.form.text("key")
        with application.store.begin() as tx:
            triggers.request(tx, application.project, job, key, by=visit.person.name)
    visit.context.wake("work")
    return _to_runs()


@router.post("/jobs/{job}/pause")
def pause(visit: Operator, job: str) -> Response:
    with visit.context.application() as application:
        application.job(job)
        reason = visit.form.text("reason") or "no reason given"
        with application.store.begin() as tx:
            pauses.pause(tx, pauses.of_job(job), reason=reason[:1000], by=visit.person.name)
    return _to_runs()


@router.post("/jobs/{job}/resume")
def resume(visit: Operator, job: str) -> Response:
    with visit.context.application() as application:
        application.job(job)
        with application.store.begin() as tx:
            pauses.resume(tx, pauses.of_job(job), visit.person.name)
    visit.context.wake("work")
    return _to_runs()


def _to_runs() -> Response:
    return RedirectResponse("/runs", HTTPStatus.SEE_OTHER)
