"""Rules, effects and the audit log: pages that show, and change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from reconcile.errors import Wrong
from reconcile.people.roles import Role
from reconcile.store.audit_log import EntryFilter
from reconcile.views import audit, effects, rules
from reconcile.web.console import plots
from reconcile.web.console.drawing import page
from reconcile.web.console.signing import Operator, Viewer
from reconcile.web.context import SUMS_KEPT, WebContext
from reconcile.web.gate import Visit
from reconcile.web.problems import status_of

router = APIRouter(include_in_schema=False)

_ENTRIES = 50
_FIELDS = ("finding", "run", "event", "actor")


@router.get("/rules")
def rules_page(visit: Viewer) -> Response:
    context = visit.context
    return page(visit, "rules.html", "/rules", rules=context.kept("rules", SUMS_KEPT, lambda: _rules(context)))


def _rules(context: WebContext) -> Sequence[rules.RuleView]:
    with context.application() as application:
        return rules.listed(application)


@router.get("/rules/{rule}")
def rule_page(visit: Viewer, rule: str) -> Response:
    with visit.context.application() as application:
        detail = rules.detail(application, rule)
    curves = None if detail.weights is None else plots.curves(detail.weights)
    return page(visit, "rule.html", "/rules", rule=detail, plot=plots.stacked(detail.days), curves=curves)


@router.get("/effects")
def effects_page(visit: Viewer) -> Response:
    with visit.context.application() as application:
        shown = effects.effects(application)
    windows = list(effects.WINDOWS)
    return page(visit, "effects.html", "/effects", effects=shown, most=effects.LISTED, windows=windows)


@router.get("/audit")
def audit_page(visit: Viewer, request: Request) -> Response:
    return _audit(visit, request.query_params)


@router.post("/audit/verify")
def verify(visit: Operator) -> Response:
    """Verify the log, its signatures, its anchors and the state; this reads all of them."""
    with visit.context.application() as application:
        is_intact, sentences = audit.verify(application)
    return _audit(visit, {}, verified=(is_intact, sentences))


def _audit(visit: Visit, given: Mapping[str, str], verified: tuple[bool, Sequence[str]] | None = None) -> Response:
    fields = {name: given.get(name, "").strip()[:200] for name in _FIELDS}
    before = given.get("before", "")
    start = int(before) if before.isdecimal() and len(before) < 16 else None
    given_fields = {name: value or None for name, value in fields.items()}
    criteria = EntryFilter(**given_fields, before=start)
    shown, problem, status = audit.AuditPage((), None), None, 200
    try:
        with visit.context.application() as application:
            shown = audit.page(application, criteria, _ENTRIES)
    except Wrong as error:  # the finding of the filter does not exist
        problem, status = str(error), status_of(error)
    about = {"fields": fields, "verified": verified, "problem": problem, "is_later": start is not None}
    return page(visit, "audit.html", "/audit", status=status, shown=shown, roles=Role, **about)
