"""Users and tokens, for administrators. A secret is answered once and never kept, not even for a repeated request."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from reconcile.decisions.once import once
from reconcile.documents import JsonObject
from reconcile.people import tokens, users
from reconcile.people.roles import Person, Role, parse_role
from reconcile.store import Transaction
from reconcile.store import users as stored
from reconcile.views import people
from reconcile.views.people import TokenView, UserView
from reconcile.web.api import documents
from reconcile.web.api.description import answers
from reconcile.web.api.documents import (
    IdempotencyKey,
    NewPasswordDocument,
    NewTokenDocument,
    NewUserDocument,
    UserRoleDocument,
)
from reconcile.web.context import At, WebContext
from reconcile.web.gate import ApiRoute, OfApi

router = APIRouter(prefix="/api/v1", route_class=ApiRoute)

ADMIN = Depends(OfApi(Role.ADMIN))
Admin = Annotated[Person, ADMIN]
Change = Callable[[Transaction], bool]


@router.get("/users", responses=answers(documents.UsersDocument), dependencies=[ADMIN])
def list_users(context: At) -> JSONResponse:
    """List all users."""
    with context.application() as application:
        return JSONResponse({"users": [view.to_json() for view in people.users(application)]})


@router.post("/users", responses=answers(documents.UserChangedDocument))
def add_user(person: Admin, context: At, wanted: NewUserDocument, key: IdempotencyKey = None) -> JSONResponse:
    """Add a user."""

    def change(tx: Transaction) -> bool:
        role, sees_personal = parse_role(wanted.role), wanted.personal_data
        password, by, origin = wanted.password, person.name, person.origin
        users.add(tx, wanted.name, role, by=by, password=password, sees_personal=sees_personal, origin=origin)
        return True

    request = ["add user", wanted.model_dump() | {"password": _digest(context, wanted.password)}]
    return _changed(context, person, key, request, wanted.name, change)


@router.post("/users/{user}/role", responses=answers(documents.UserChangedDocument))
def set_role(
    person: Admin, context: At, user: str, wanted: UserRoleDocument, key: IdempotencyKey = None
) -> JSONResponse:
    """Give a user another role, or the right to see personal data."""

    def change(tx: Transaction) -> bool:
        role = None if wanted.role is None else parse_role(wanted.role)
        return users.set_role(tx, user, role, by=person.name, sees_personal=wanted.personal_data)[1]

    return _changed(context, person, key, ["role", user, wanted.model_dump()], user, change)


@router.post("/users/{user}/password", responses=answers(documents.UserChangedDocument))
def set_password(
    person: Admin, context: At, user: str, wanted: NewPasswordDocument, key: IdempotencyKey = None
) -> JSONResponse:
    """Set a user's password."""

    def change(tx: Transaction) -> bool:
        users.set_password(tx, user, wanted.password, by=person.name, origin=person.origin)
        return True

    return _changed(context, person, key, ["password", user, _digest(context, wanted.password)], user, change)


@router.post("/users/{user}/disable", responses=answers(documents.UserChangedDocument))
def disable(person: Admin, context: At, user: str, key: IdempotencyKey = None) -> JSONResponse:
    """End a user's sessions, and refuse their sign-ins and tokens."""
    return _changed(context, person, key, ["disable", user], user, lambda tx: users.disable(tx, user, by=person.name))


@router.post("/users/{user}/enable", responses=answers(documents.UserChangedDocument))
def enable(person: Admin, context: At, user: str, key: IdempotencyKey = None) -> JSONResponse:
    """Let a disabled user sign in again."""
    return _changed(context, person, key, ["enable", user], user, lambda tx: users.enable(tx, user, by=person.name))


@router.get("/tokens", responses=answers(documents.TokensDocument), dependencies=[ADMIN])
def list_tokens(context: At) -> JSONResponse:
    """List all tokens, without their secrets."""
    with context.application() as application:
        return JSONResponse({"tokens": [view.to_json() for view in people.tokens(application)]})


@router.post("/tokens", responses=answers(documents.TokenMadeDocument))
def add_token(person: Admin, context: At, wanted: NewTokenDocument, key: IdempotencyKey = None) -> JSONResponse:
    """Make a token; its secret is in this answer only."""
    secrets: list[str] = []

    def act() -> JsonObject:
        role = None if wanted.role is None else parse_role(wanted.role)
        with context.store().begin() as tx:
            by, origin, expires = person.name, person.origin, wanted.expires
            secrets.append(tokens.add(tx, wanted.name, wanted.user, role, by=by, expires=expires, origin=origin))
            row = stored.token(tx, wanted.name)
        assert row is not None  # noqa: S101 - this transaction added it
        return TokenView.of(row).to_json()

    answer, is_earlier = once(context.store(), person.name, key, ["add token", wanted.model_dump(mode="json")], act)
    return _answer(answer | {"secret": secrets[0] if secrets else None}, is_earlier=is_earlier)


@router.post("/tokens/{token}/revoke", responses=answers(documents.TokenRevokedDocument))
def revoke(person: Admin, context: At, token: str, key: IdempotencyKey = None) -> JSONResponse:
    """End a token."""

    def act() -> JsonObject:
        with context.store().begin() as tx:
            tokens.revoke(tx, token, by=person.name)
        return {"name": token, "revoked": True}

    answer, is_earlier = once(context.store(), person.name, key, ["revoke token", token], act)
    return _answer(answer, is_earlier=is_earlier)


def _digest(context: WebContext, password: str | None) -> str | None:
    """Return an HMAC of a password: the kept digest of a request must not let anybody guess it."""
    if password is None:
        return None
    return hmac.digest(context.store().key, f"reconcile/password/1|{password}".encode(), "sha256").hex()


def _changed(
    context: WebContext, person: Person, key: str | None, request: Any, user: str, change: Change
) -> JSONResponse:
    """Change a user in one transaction; answer with the user."""

    def act() -> JsonObject:
        with context.store().begin() as tx:
            changed = change(tx)
            return UserView.of(users.named(tx, user)).to_json() | {"changed": changed}

    answer, is_earlier = once(context.store(), person.name, key, request, act)
    return _answer(answer, is_earlier=is_earlier)


def _answer(document: JsonObject, *, is_earlier: bool) -> JSONResponse:
    return JSONResponse(document, headers={"Idempotency-Replayed": "true"} if is_earlier else None)
