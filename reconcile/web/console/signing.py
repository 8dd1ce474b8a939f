"""Signing in and out, the first user, and one's own account."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from reconcile.errors import Refused, Wrong
from reconcile.people import passwords, sessions, users
from reconcile.people.roles import Role
from reconcile.store import users as stored_users
from reconcile.web.console.drawing import page, page_for_anyone, set_cookie
from reconcile.web.context import WebContext, connection_of, context_of
from reconcile.web.gate import (
    COOKIE,
    Anyone,
    Body,
    Form,
    OfConsole,
    Visit,
    form_of_stranger,
    is_foreign,
    signed_in_of,
)
from reconcile.web.problems import FormRefused, status_of

router = APIRouter(include_in_schema=False)

Viewer = Annotated[Visit, Depends(OfConsole(Role.VIEWER))]
Operator = Annotated[Visit, Depends(OfConsole(Role.OPERATOR))]
EVERYBODY = [Depends(Anyone())]

_FORM_COOKIE = "reconcile-form"
_DRAFT_COOKIE = "reconcile-draft"
_LARGEST_DRAFT = 3_000
_DRAFT_SECONDS = 300
_DRAFTED = ("note", "until", "to", "reason")
"""The fields that come back after a new sign-in: what people typed, never what they pressed."""


@router.get("/sign-in", dependencies=EVERYBODY)
def sign_in_page(request: Request, next: str = "/", expired: bool = False) -> Response:  # noqa: A002, FBT001, FBT002 - names of the address
    context = context_of(request)
    connection = connection_of(request, context)
    session, _ = signed_in_of(request, context, connection)
    if session is not None:
        return _to(within(next))
    with context.store().read() as tx:
        if not stored_users.exist(tx):
            return _to("/welcome")
    return _sign_in_form(request, context, next=within(next), expired=expired)


@router.post("/sign-in", dependencies=EVERYBODY)
def sign_in(request: Request, body: Body) -> Response:
    context = context_of(request)
    connection = connection_of(request, context)
    form = _anonymous(request, context, body)
    name, place = form.get("name", "")[:100], within(form.get("next", "/"))
    former = request.cookies.get(COOKIE)
    draft = form.get("draft", "")[:_LARGEST_DRAFT]
    try:
        session = sessions.sign_in(
            context.store(), name, form.get("password", ""), connection.address, context.lifetime(), former=former
        )
    except Refused as error:
        given = {"next": place, "name": name, "problem": str(error), "draft": draft, "posted": bool(draft)}
        return _sign_in_form(request, context, status=status_of(error), **given)
    answer = _to(place)
    set_cookie(answer, COOKIE, session.secret, connection)
    if draft:
        set_cookie(answer, _DRAFT_COOKIE, draft, connection, _DRAFT_SECONDS)
    return answer


@router.post("/sign-out")
def sign_out(visit: Viewer) -> Response:
    sessions.sign_out(visit.context.store(), visit.signed_in.secret)
    answer = _to("/sign-in")
    answer.delete_cookie(COOKIE, path="/")
    return answer


# The first user


@router.get("/welcome", dependencies=EVERYBODY)
def welcome_page(request: Request) -> Response:
    context = context_of(request)
    with context.store().read() as tx:
        if stored_users.exist(tx):
            return _to("/sign-in")
    return _welcome_form(request, context)


@router.post("/welcome", dependencies=EVERYBODY)
def welcome(request: Request, body: Body) -> Response:
    context = context_of(request)
    connection = connection_of(request, context)
    form = _anonymous(request, context, body)
    name, password = form.get("name", "").strip(), form.get("password", "")
    sees_personal = bool(form.get("personal"))
    try:
        sessions.count_attempt(context.store(), "first user", connection.address)
        if not context.welcome.fits(form.get("code", "")):
            raise CodeRefused
        with context.store().begin() as tx:
            if stored_users.exist(tx):
                raise CodeRefused
            users.add(tx, name, Role.ADMIN, by=name, password=password, sees_personal=sees_personal)
        session = sessions.sign_in(context.store(), name, password, connection.address, context.lifetime())
    except (Refused, Wrong) as error:
        given = {"name": name[:64], "personal": sees_personal, "problem": str(error)}
        return _welcome_form(request, context, status=status_of(error), **given)
    answer = _to("/")
    set_cookie(answer, COOKIE, session.secret, connection)
    return answer


class CodeRefused(Refused):
    """The code is wrong, or there is a user already."""

    def __init__(self) -> None:
        super().__init__(
            "This code is wrong, or a user already exists. `reconcile serve` prints the code when it starts"
        )


# One's own account


@router.get("/account")
def account(visit: Viewer, done: str = "") -> Response:
    return page(visit, "account.html", "", password_rule=passwords.RULE, problem=None, done=bool(done))


@router.post("/account/password")
def change_password(visit: Viewer) -> Response:
    name, store = visit.person.name, visit.context.store()
    try:
        sessions.confirm(store, name, visit.form.get("password", ""), visit.connection.address)
        with store.begin() as tx:
            kept = sessions.id_of(store, visit.signed_in.secret)
            users.set_password(tx, name, visit.form.get("new", ""), by=name, keep=kept)
    except (Refused, Wrong) as error:
        given: dict[str, Any] = {"password_rule": passwords.RULE, "problem": str(error), "done": False}
        return page(visit, "account.html", "", status=status_of(error), **given)
    return _to("/account?done=1")


# A session that ended


def sign_in_again(request: Request, form: Form) -> Response:
    """Answer a request without a session: sign in, and come back with what was typed, which is not acted on."""
    context = context_of(request)
    if request.method in ("GET", "HEAD"):
        query = request.scope["query_string"].decode("latin-1")
        target = request.scope["path"] + (f"?{query}" if query else "")
        expired = "&expired=1" if COOKIE in request.cookies else ""
        return _to(f"/sign-in?{urlencode({'next': target})}{expired}" if target != "/" else f"/sign-in?{expired[1:]}")
    place = within(form.get("back", "/"))
    given = {"next": place, "draft": _packed(form), "posted": True}
    return _sign_in_form(request, context, status=HTTPStatus.UNAUTHORIZED, **given)


def draft_of(request: Request) -> Mapping[str, str]:
    """Return what a person typed before they had to sign in again; empty without that."""
    try:
        text = base64.urlsafe_b64decode(request.cookies.get(_DRAFT_COOKIE, ""))
        fields = json.loads(text or b"{}")
    except (binascii.Error, ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {name: value for name, value in fields.items() if name in _DRAFTED and isinstance(value, str)}


def forget_draft(answer: Response) -> None:
    answer.delete_cookie(_DRAFT_COOKIE, path="/")


def _packed(form: Form) -> str:
    """Return the typed fields as the content of a cookie: an address would be logged."""
    fields = {name: form[name] for name in _DRAFTED if form.text(name)}
    packed = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode() if fields else ""
    return packed if len(packed) <= _LARGEST_DRAFT else ""


def within(address: str) -> str:
    """Return an address of this site; `/` for any other."""
    is_ours = address.startswith("/") and address[1:2] not in ("/", "\\") and address.isprintable()
    return address if is_ours else "/"


# Parts


def _to(address: str) -> Response:
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)


def _sign_in_form(request: Request, context: WebContext, *, status: int = HTTPStatus.OK, **given: Any) -> Response:
    usual = {"next": "/", "name": "", "problem": None, "draft": "", "expired": False, "posted": False}
    return _anonymous_form(request, context, "sign_in.html", status, usual | given)


def _welcome_form(request: Request, context: WebContext, *, status: int = HTTPStatus.OK, **given: Any) -> Response:
    usual = {"name": "", "personal": False, "problem": None, "password_rule": passwords.RULE}
    return _anonymous_form(request, context, "welcome.html", status, usual | given)


def _anonymous_form(
    request: Request, context: WebContext, template: str, status: int, given: Mapping[str, Any]
) -> Response:
    """Return a form for somebody without a session; a cookie proves later that this browser asked for it."""
    cookie = request.cookies.get(_FORM_COOKIE) or secrets.token_urlsafe(32)
    answer = page_for_anyone(context.project(), template, status=status, csrf=_proof(context, cookie), **given)
    set_cookie(answer, _FORM_COOKIE, cookie, connection_of(request, context))
    return answer


def _anonymous(request: Request, context: WebContext, body: bytes) -> Form:
    """Return the form. Raises FormRefused unless this browser asked for it: nobody is signed in by another site."""
    cookie = request.cookies.get(_FORM_COOKIE, "")
    if not cookie or is_foreign(request):
        raise FormRefused
    form = form_of_stranger(request, body)
    if not hmac.compare_digest(_proof(context, cookie).encode(), form.get("csrf", "").encode()):
        raise FormRefused
    return form


def _proof(context: WebContext, cookie: str) -> str:
    return hmac.digest(context.store().key, f"reconcile/form/1|{cookie}".encode(), "sha256").hex()
