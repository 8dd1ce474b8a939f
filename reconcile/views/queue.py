"""The findings that wait, page by page, as every door lists them."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconcile.errors import Wrong
from reconcile.store.finding_pages import PageFilter, Position, page
from reconcile.views.findings import FindingView, of
from rules.models import Severity
from rules.values import canonical_instant

if TYPE_CHECKING:
    from reconcile.app import Application


class CursorRefused(Wrong):
    """The place of a page is not one that we gave."""

    def __init__(self) -> None:
        super().__init__("This is not a cursor; leave it out for the first page, or pass on the one of the last page")


@dataclass(frozen=True)
class QueuePage:
    """Findings, and the cursor of the next page; None after the last one."""

    findings: tuple[FindingView, ...]
    cursor: str | None


def listed(
    application: Application, criteria: PageFilter, *, limit: int, cursor: str | None = None, members: bool = False
) -> QueuePage:
    """Return a page of findings, the worst and oldest first. Raises CursorRefused, StoreError."""
    after = None if cursor is None else _position(cursor)
    with application.memory.read() as tx:
        answer = page(tx, criteria, limit=limit, after=after, members=members)
    end = None if answer.end is None else _cursor(answer.end)
    return QueuePage(tuple(of(application, finding) for finding in answer.findings), end)


def _cursor(position: Position) -> str:
    text = json.dumps([position.severity, canonical_instant(position.first_seen), position.id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _position(cursor: str) -> Position:
    try:
        severity, first_seen, name = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        position = Position(Severity(severity), dt.datetime.fromisoformat(first_seen), str(name))
    except (binascii.Error, ValueError, TypeError):
        raise CursorRefused from None
    if position.first_seen.tzinfo is None:
        raise CursorRefused
    return position
