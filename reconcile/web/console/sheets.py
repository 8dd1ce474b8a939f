"""The findings of the queue as a file, and the decisions that come back in it."""

from __future__ import annotations

import datetime as dt
import io
from http import HTTPStatus
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from connectors.disk.scratch import Scratch
from notifications.wording.words import plural
from reconcile.app import Application
from reconcile.decisions.many import DecisionResults, decide_each
from reconcile.decisions.selection import NumberNotConfirmed
from reconcile.errors import Refused, Wrong
from reconcile.people.roles import Role
from reconcile.sheets import deciding, exporting, returned
from reconcile.sheets.exporting import Export
from reconcile.sheets.formats import FORMATS
from reconcile.sheets.returned import ReturnedSheet, SheetRefused
from reconcile.store.findings import count
from reconcile.web.console.filters import Filter, chosen
from reconcile.web.console.review import MOST, filter_of, queue_page, told_next
from reconcile.web.console.signing import Viewer
from reconcile.web.gate import OfConsole, Visit
from reconcile.web.multipart import FormPart
from reconcile.web.problems import NotHere, status_of

router = APIRouter(include_in_schema=False)

ReviewerWithFile = Annotated[Visit, Depends(OfConsole(Role.REVIEWER, takes_file=True))]

_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_MOST_EXPORTED = 5_000
"""Findings of one file: it is built in memory, and with them a body may be given back."""


class TooManyFindings(Wrong):
    """So many findings are exported on the command line."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"These are {number:,} findings, and a file from the console holds at most {_MOST_EXPORTED:,}. Filter "
            "them, or use `reconcile export`"
        )


class TooManyDecisions(Wrong):
    """So many decisions are carried out on the command line."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"The file has {number:,} decisions, and the console takes at most {MOST:,}. Nothing was changed; use "
            "`reconcile decide`"
        )


class FileMissing(Wrong):
    """The form came without a file."""

    def __init__(self) -> None:
        super().__init__("No file was chosen. Nothing was changed; choose an exported file with your decisions")


class NumberNotEntered(Refused):
    """So many decisions are carried out only with their number."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"The file has {plural(number, 'decision', 'decisions')}. Nothing was changed; enter {number} as their "
            "number, then upload the file again"
        )


@router.get("/review/findings.{form}")
def export(visit: Viewer, request: Request, form: str) -> Response:
    """Return the findings of the filter, masked as on every page."""
    if form not in _KINDS:
        raise NotHere(HTTPStatus.NOT_FOUND)
    content = io.BytesIO()
    with visit.context.application() as application, Scratch() as scratch:
        with application.memory.read() as tx:
            criteria = chosen(application, tx, visit, Filter.of(request.query_params)).criteria
            number = count(tx, criteria)
        if number > _MOST_EXPORTED:
            raise TooManyFindings(number)
        exporting.write(application, content, f".{form}", Export(criteria), scratch=scratch)
    name = f"findings-{dt.datetime.now(dt.UTC):%Y-%m-%d}.{form}"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content.getvalue(), media_type=_KINDS[form], headers=disposition)


@router.post("/review/file")
def decide(visit: ReviewerWithFile, request: Request) -> Response:
    """Carry out the decisions of a file; each is checked by itself."""
    asked = filter_of(visit.form)
    try:
        with visit.context.application() as application:
            sheet = _sheet(application, visit)
            outcomes = _outcomes(application, visit, sheet)
    except SheetRefused as error:
        return queue_page(visit, request, asked, mistakes=error.problems, status=status_of(error))
    except (Wrong, Refused) as error:
        return queue_page(visit, request, asked, problem=str(error), status=status_of(error))
    if any(request.decision == "approve" for request in sheet.requests):
        visit.context.wake("clean")
    return told_next(visit, request, outcomes, remark=sheet.remark)


def _sheet(application: Application, visit: Visit) -> ReturnedSheet:
    """Return the checked decisions of the file. Raises the errors of a file, TooManyDecisions, NumberNotEntered."""
    file = visit.form.files.get("file")
    if file is None:
        raise FileMissing
    sheet, number = _read(application, file), visit.form.get("number", "").strip()
    if len(sheet.decisions) > MOST:
        raise TooManyDecisions(len(sheet.decisions))
    try:
        sheet.confirm(int(number) if number.isdecimal() and len(number) < 10 else None)
    except NumberNotConfirmed as error:
        raise NumberNotEntered(error.number) from None
    return sheet


def _read(application: Application, file: FormPart) -> ReturnedSheet:
    name = PurePosixPath((file.file or "").replace("\\", "/")).name or "file"
    suffix = PurePosixPath(name).suffix.lower()
    with Scratch() as scratch:
        path = scratch / f"returned{suffix if suffix in FORMATS else ''}"
        path.write_bytes(file.content)
        return returned.read(application, path, shown=name)


def _outcomes(application: Application, visit: Visit, sheet: ReturnedSheet) -> DecisionResults:
    each = decide_each(
        sheet.requests,
        lambda request: deciding.carry_out(application, visit.person, sheet.decisions[request.about]),
    )
    return DecisionResults(tuple(each))
