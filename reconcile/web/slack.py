"""Presses of buttons that Slack sends over HTTP. A signature proves where a press comes from; nobody signs in."""

from __future__ import annotations

from http import HTTPStatus

import structlog
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from reconcile.chat import endpoint
from reconcile.web.context import At
from reconcile.web.gate import Anyone
from reconcile.web.problems import NotHere

router = APIRouter(include_in_schema=False)

log = structlog.get_logger("reconcile")


@router.post(endpoint.PATH, dependencies=[Depends(Anyone())])
async def interactions(request: Request, context: At) -> Response:
    """Keep the presses of a request and answer at once; a duty carries them out."""
    project = context.project()
    if not endpoint.is_wanted(project):
        raise NotHere(HTTPStatus.NOT_FOUND)
    body = await request.body()
    answer = await run_in_threadpool(endpoint.answer, project, context.store(), request.headers, body)
    if answer.kept:
        context.wake("press")
    if answer.reason:
        log.warning("press.refused", status=answer.status, why=answer.reason)
    return Response(status_code=answer.status)
