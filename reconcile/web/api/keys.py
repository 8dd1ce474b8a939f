"""The front door for other languages and tools: claim a key, complete it; each answer may be asked for again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse

from reconcile.documents import JsonObject
from reconcile.guard import claiming
from reconcile.guard.claiming import Done, InProgress, Taken
from reconcile.people.roles import Person, Role
from reconcile.store.guarded_keys import KeyState
from reconcile.views import keys
from reconcile.web.api import documents
from reconcile.web.api.description import answers
from reconcile.web.api.documents import (
    ClaimDocument,
    CompleteDocument,
    FailDocument,
    KeyReasonDocument,
    RenewDocument,
)
from reconcile.web.context import At, WebContext
from reconcile.web.gate import ApiRoute, OfApi
from rules.values import canonical_instant

router = APIRouter(prefix="/api/v1", route_class=ApiRoute)

VIEWER = Depends(OfApi(Role.VIEWER))
OPERATOR = Depends(OfApi(Role.OPERATOR))
Operator = Annotated[Person, OPERATOR]


@router.post("/keys/claim", responses=answers(documents.ClaimAnswerDocument))
def claim_key(person: Operator, context: At, wanted: ClaimDocument) -> JSONResponse:
    """Claim a key, so that its work is done once; another payload than the first is refused."""
    by = None if wanted.by is None else f"{person.origin}/{wanted.by}"
    answer = context.guard().ask(wanted.namespace, wanted.key, wanted.payload, lease=wanted.lease, by=by)
    document: JsonObject = {"namespace": answer.namespace, "key": answer.key}
    document |= dict.fromkeys(("fence", "attempt", "until", "seconds", "result"))
    match answer:
        case Taken():
            document |= {"answer": "yours", "fence": answer.fence, "attempt": answer.attempt}
            document |= {"until": canonical_instant(answer.until)}
        case InProgress():
            document |= {"answer": "in_progress", "until": canonical_instant(answer.until), "seconds": answer.seconds}
        case Done():
            document |= {"answer": "done", "result": answer.result}
    return JSONResponse(document)


@router.post("/keys/{key}/complete", responses=answers(documents.KeyDocument), dependencies=[OPERATOR])
def complete_key(context: At, key: str, wanted: CompleteDocument) -> JSONResponse:
    """Mark a claimed key as done and store its result; repeating this changes nothing."""
    context.guard().complete(_namespace(context, key), key, wanted.fence, wanted.result)
    return _shown(context, key)


@router.post("/keys/{key}/fail", responses=answers(documents.KeyDocument), dependencies=[OPERATOR])
def fail_key(context: At, key: str, wanted: FailDocument) -> JSONResponse:
    """Free a claimed key, because its work was certainly not done; repeating this changes nothing."""
    context.guard().fail(_namespace(context, key), key, wanted.fence, wanted.reason)
    return _shown(context, key)


@router.post("/keys/{key}/renew", responses=answers(documents.KeyDocument), dependencies=[OPERATOR])
def renew_key(context: At, key: str, wanted: RenewDocument) -> JSONResponse:
    """Let the lease of a claim last longer."""
    context.guard().renew(_namespace(context, key), key, wanted.fence, wanted.lease)
    return _shown(context, key)


@router.post("/keys/{key}/release", responses=answers(documents.KeyDocument))
def release_key(person: Operator, context: At, key: str, wanted: KeyReasonDocument) -> JSONResponse:
    """Let the next claim of a key do its work, even if it was done."""
    context.guard().release(key, reason=wanted.reason, by=person.name)
    return _shown(context, key)


@router.post("/keys/{key}/expire", responses=answers(documents.KeyDocument))
def expire_key(person: Operator, context: At, key: str, wanted: KeyReasonDocument) -> JSONResponse:
    """End the lease of a key in progress, whose claimer is dead."""
    context.guard().expire(key, reason=wanted.reason, by=person.name)
    return _shown(context, key)


@router.get("/keys", responses=answers(documents.KeysDocument), dependencies=[VIEWER])
def list_keys(
    context: At,
    state: KeyState = KeyState.IN_PROGRESS,
    namespace: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200, description="The maximum number of keys on the page.")] = 50,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> JSONResponse:
    """List keys in a state, those that are kept longest first, without their results."""
    listed = keys.page(context.store(), context.project().guard, state, namespace, limit=limit, cursor=cursor)
    return JSONResponse({"keys": [view.to_json() for view in listed.keys], "cursor": listed.cursor})


@router.get("/keys/{key}", responses=answers(documents.KeyDocument), dependencies=[VIEWER])
def show_key(context: At, key: str) -> JSONResponse:
    """Return a key by its name or the beginning of it."""
    return _shown(context, key)


def _namespace(context: WebContext, key: str) -> str:
    with context.store().read() as tx:
        return claiming.present(tx, key)[0].namespace


def _shown(context: WebContext, key: str) -> JSONResponse:
    return JSONResponse(keys.shown(context.store(), key).to_json())
