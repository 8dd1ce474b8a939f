"""Today: the first page."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from reconcile.service import jobs
from reconcile.store import runs
from reconcile.views import today
from reconcile.web.console import plots
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Viewer
from reconcile.web.context import SUMS_KEPT, WebContext

router = APIRouter(include_in_schema=False)

_RUNS = 8


@router.get("/")
def today_page(visit: Viewer) -> Response:
    context = visit.context
    shown = context.kept("today", SUMS_KEPT, lambda: _today(context))
    with context.store().read() as tx:
        listing = [jobs.look_at(job, tx) for job in context.project().jobs.values()]
        latest = runs.listed(tx, None, _RUNS)
    return page(visit, "today.html", "/", today=shown, plot=plots.stacked(shown.days), jobs=listing, runs=latest)


def _today(context: WebContext) -> today.Today:
    with context.application() as application:
        return today.today(application)
