"""The findings that wait, page by page, as every door lists them."""

from __future__ import annotations

import datetime as dt
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconcile.errors import Wrong
from reconcile.store.finding_pages import PagePosition, page
from reconcile.store.findings import FindingFilter
from reconcile.store.sealing import RowsUnreadable, Seals
from reconcile.views.findings import FindingView, of_all
from rules.values import canonical_instant

if TYPE_CHECKING:
    from reconcile.app import Application
    from reconcile.store import Transaction


class CursorRefused(Wrong):
    """The place of a page is not one that we gave."""

    def __init__(self) -> None:
        super().__init__(
            "This is not a cursor; leave it out for the first page, or use the cursor of the previous page"
        )


@dataclass(frozen=True)
class QueuePage:
    """Findings, and the cursor of the next page; None after the last one."""

    findings: tuple[FindingView, ...]
    cursor: str | None


def listed(
    application: Application, criteria: FindingFilter, *, limit: int, cursor: str | None = None, members: bool = False
) -> QueuePage:
    """Return a page of findings in the order of the filter. Raises CursorRefused, StoreError."""
    with application.memory.read() as tx:
        seals = _seals(tx)
        after = None if cursor is None else _position(seals, cursor, _order(criteria))
        answer = page(tx, criteria, limit=limit, after=after, members=members)
        views = of_all(application, tx, answer.findings)
    end = None if answer.end is None else _cursor(seals, answer.end, _order(criteria))
    return QueuePage(tuple(views), end)


def _seals(tx: Transaction) -> Seals:
    """Return what seals cursors: they hold amounts, which may be personal, and are parts of addresses."""
    return Seals([hmac.digest(tx.store.key, b"reconcile/cursor/1", "sha256")])


def _order(criteria: FindingFilter) -> str:
    """Return the name of the order, in which alone a cursor names a place."""
    return "cursor by probability" if criteria.by_probability else "cursor"


def _cursor(seals: Seals, position: PagePosition, order: str) -> str:
    first_seen = canonical_instant(position.first_seen)
    return seals.seal(json.dumps([position.severity, position.rank, first_seen, position.id]), order)


def _position(seals: Seals, cursor: str, order: str) -> PagePosition:
    try:
        severity, rank, first_seen, name = json.loads(seals.open(cursor, order))
    except RowsUnreadable:
        raise CursorRefused from None
    return PagePosition(severity, rank, dt.datetime.fromisoformat(first_seen), name)
