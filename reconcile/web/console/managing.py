"""People: users, their roles and their tokens, for administrators."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from reconcile.errors import Refused, Wrong
from reconcile.people import passwords, tokens, users
from reconcile.people.roles import Role, parse_role
from reconcile.store import Transaction
from reconcile.views import people
from reconcile.web.console.drawing import page
from reconcile.web.gate import OfConsole, Visit
from reconcile.web.problems import status_of
from rules.models import parse_duration

router = APIRouter(include_in_schema=False)

Admin = Annotated[Visit, Depends(OfConsole(Role.ADMIN))]

_EXPIRIES = {"": "never", "7d": "in a week", "30d": "in 30 days", "90d": "in 90 days", "365d": "in a year"}


@router.get("/people")
def people_page(visit: Admin) -> Response:
    return _people(visit)


@router.post("/people")
def add(visit: Admin) -> Response:
    form = visit.form
    name, password = form.get("name", "").strip(), form.get("password", "")
    role, sees_personal = form.get("role", ""), "personal" in form

    def change(tx: Transaction) -> None:
        chosen = parse_role(role)
        by, origin = visit.person.name, visit.person.origin
        users.add(tx, name, chosen, by=by, password=password or None, sees_personal=sees_personal, origin=origin)

    return _changed(visit, change)


@router.post("/people/{name}/role")
def set_role(visit: Admin, name: str) -> Response:
    role, sees_personal = visit.form.get("role", ""), "personal" in visit.form
    return _changed(
        visit, lambda tx: users.set_role(tx, name, parse_role(role), by=visit.person.name, sees_personal=sees_personal)
    )


@router.post("/people/{name}/disable")
def disable(visit: Admin, name: str) -> Response:
    return _changed(visit, lambda tx: users.disable(tx, name, by=visit.person.name))


@router.post("/people/{name}/enable")
def enable(visit: Admin, name: str) -> Response:
    return _changed(visit, lambda tx: users.enable(tx, name, by=visit.person.name))


@router.post("/tokens")
def add_token(visit: Admin) -> Response:
    """Make a token and show it on this answer, the only time."""
    form = visit.form
    expires = form.get("expires", "")
    try:
        with visit.context.store().begin() as tx:
            until = tx.now + parse_duration(expires) if expires in _EXPIRIES and expires else None
            role = parse_role(form["role"]) if form.text("role") else None
            name, user = form.get("name", "").strip(), form.get("user", "")
            by, origin = visit.person.name, visit.person.origin
            token = tokens.add(tx, name, user, role, by=by, expires=until, origin=origin)
    except (Wrong, Refused) as error:
        return _people(visit, error)
    return _people(visit, token=token)


@router.post("/tokens/{name}/revoke")
def revoke(visit: Admin, name: str) -> Response:
    return _changed(visit, lambda tx: tokens.revoke(tx, name, by=visit.person.name))


def _changed(visit: Visit, change: Callable[[Transaction], object]) -> Response:
    """Change something in one transaction and show the page again, or the reason why nothing changed."""
    try:
        with visit.context.store().begin() as tx:
            change(tx)
    except (Wrong, Refused) as error:
        return _people(visit, error)
    return RedirectResponse("/people", HTTPStatus.SEE_OTHER)


def _people(visit: Visit, error: Exception | None = None, token: str | None = None) -> Response:
    with visit.context.application() as application:
        listed, listed_tokens = people.users(application), people.tokens(application)
    given = {"users": listed, "tokens": listed_tokens, "token": token, "problem": str(error) if error else None}
    given |= {"choices": [role.word for role in Role], "expiries": _EXPIRIES, "password_rule": passwords.RULE}
    status = HTTPStatus.OK if error is None else status_of(error)
    return page(visit, "people.html", "/people", status=status, **given)
