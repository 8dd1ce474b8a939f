"""Routes that change something: decisions about findings, and jobs. Each request can carry an idempotency key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from reconcile.coordination import pauses
from reconcile.decisions.many import DecisionResults, decide_each
from reconcile.decisions.offered import require
from reconcile.decisions.once import once
from reconcile.decisions.pairs import PairRequest
from reconcile.decisions.request import DecisionRequest
from reconcile.documents import JsonObject
from reconcile.people.roles import Person, Role
from reconcile.schedule.slots import slot_text
from reconcile.service import triggers
from reconcile.views.findings import named
from reconcile.web.api import documents
from reconcile.web.api.description import answers
from reconcile.web.api.documents import (
    DecisionDocument,
    IdempotencyKey,
    ManyDecisionsDocument,
    PairAnswerDocument,
    PauseRequestDocument,
    RecordName,
)
from reconcile.web.context import At, WebContext
from reconcile.web.gate import ApiRoute, OfApi

router = APIRouter(prefix="/api/v1", route_class=ApiRoute)

Reviewer = Annotated[Person, Depends(OfApi(Role.REVIEWER))]
Operator = Annotated[Person, Depends(OfApi(Role.OPERATOR))]
Act = Callable[[], JsonObject]


@router.post("/findings/{finding}/{decision}", responses=answers(documents.DecidedDocument))
def decide(
    person: Reviewer, context: At, finding: str, decision: str, wanted: DecisionDocument, key: IdempotencyKey = None
) -> JSONResponse:
    """Decide about a finding: approve, reject, dismiss, split, handle, snooze, reopen, assign, keep; as an operator
    undo, retry."""
    require(person, decision)

    def act() -> JsonObject:
        with context.application() as application:
            name = named(application, finding).id
            values = {column: _parts(record) for column, record in wanted.values.items()}
            seen = (wanted.version, wanted.plan_hash)
            request = DecisionRequest(
                decision, name, wanted.note, *seen, wanted.until, wanted.to, _parts(wanted.keeper), values
            )
            answer = application.decisions_of(person).decide(request).checked()
        return {"finding": name, "changed": answer.changed, "sentence": answer.sentence}

    asked = ["decide", finding, decision, wanted.model_dump(mode="json")]
    return _answered(context, person, key, asked, act, decision)


@router.post("/decisions", responses=answers(documents.ManyDecidedDocument))
def decide_many(
    person: Reviewer, context: At, wanted: ManyDecisionsDocument, key: IdempotencyKey = None
) -> JSONResponse:
    """Decide about many findings; one that is refused does not stop the others."""
    require(person, wanted.decision)
    each_once = {shown.finding: shown for shown in reversed(wanted.findings)}
    requests = [
        DecisionRequest(wanted.decision, name, wanted.note, shown.version, shown.plan_hash, wanted.until, wanted.to)
        for name, shown in reversed(each_once.items())
    ]

    def act() -> JsonObject:
        with context.application() as application:
            each = decide_each(requests, application.decisions_of(person).decide)
            return DecisionResults(tuple(each)).to_json()

    request = ["decide many", wanted.model_dump(mode="json")]
    return _answered(context, person, key, request, act, wanted.decision)


@router.post("/pairs/{pair}", responses=answers(documents.JudgedDocument))
def judge(
    person: Reviewer, context: At, pair: str, wanted: PairAnswerDocument, key: IdempotencyKey = None
) -> JSONResponse:
    """Say whether the records of a pair are the same; the next run of the rule follows the answer."""

    def act() -> JsonObject:
        with context.application() as application:
            request = PairRequest(wanted.rule, wanted.answer, pair=pair, note=wanted.note)
            answer = application.decisions_of(person).judge_pair(request)
        return {"pair": pair, "changed": answer.changed, "sentence": answer.sentence}

    return _answered(context, person, key, ["judge", pair, wanted.model_dump(mode="json")], act, "judge")


@router.post("/jobs/{job}/runs", responses=answers(documents.RequestedDocument))
def request_run(person: Operator, context: At, job: str, key: IdempotencyKey = None) -> JSONResponse:
    """Make a job due now; requests with the same key are one run."""
    with context.application() as application:
        application.job(job)
        with application.store.begin() as tx:
            requested = triggers.request(tx, application.project, job, key, by=person.name)
    context.wake("work")
    document = {"job": job, "run": requested.run, "slot": slot_text(requested.slot), "status": requested.status}
    return JSONResponse(document | {"new": requested.is_new})


@router.post("/jobs/{job}/pause", responses=answers(documents.JobChangedDocument))
def pause(person: Operator, context: At, job: str, wanted: PauseRequestDocument) -> JSONResponse:
    """Pause a job until somebody resumes it."""
    with context.application() as application:
        application.job(job)
        with application.store.begin() as tx:
            is_new = pauses.of_job(job) not in pauses.active(tx)
            pauses.pause(tx, pauses.of_job(job), reason=wanted.reason, by=person.name)
    return JSONResponse({"job": job, "changed": is_new})


@router.post("/jobs/{job}/resume", responses=answers(documents.JobChangedDocument))
def resume(person: Operator, context: At, job: str) -> JSONResponse:
    """Resume a paused job."""
    with context.application() as application:
        application.job(job)
        with application.store.begin() as tx:
            changed = pauses.resume(tx, pauses.of_job(job), person.name)
    context.wake("work")
    return JSONResponse({"job": job, "changed": changed})


def _parts(record: RecordName) -> tuple[str, ...]:
    """Return the parts of a record's id as texts, as a terminal gives them."""
    if record is None:
        return ()
    parts = record if isinstance(record, list) else [record]
    return tuple("" if part is None else str(part) for part in parts)


def _answered(
    context: WebContext, person: Person, key: str | None, request: Any, act: Act, decision: str
) -> JSONResponse:
    answer, is_earlier = once(context.store(), person.name, key, request, act)
    if decision in ("approve", "retry"):
        context.wake("clean")
    return JSONResponse(answer, headers={"Idempotency-Replayed": "true"} if is_earlier else None)
