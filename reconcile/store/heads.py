"""Signed heads of the audit log in the store (its checkpoints), and what became of them at each anchor."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.tables import anchors, checkpoints

_BATCH = 1_000


class SignedHead(NamedTuple):
    """A checkpoint as stored; `at` is the text that was signed."""

    epoch: int
    seq: int
    head: str
    at: str
    signer: str
    signature: str


@dataclass(frozen=True)
class AnchoredHead:
    """A head at an anchor: due, written (`at`, with its `receipt`), or failed because a newer one replaced it."""

    anchor: str
    seq: int
    status: str
    attempts: int
    next_at: dt.datetime
    at: dt.datetime | None
    receipt: Mapping[str, Any] | None
    problem: str | None


def insert(tx: Transaction, heads: Iterable[SignedHead]) -> None:
    tx.connection.execute(sa.insert(_raw), [head._asdict() for head in heads])


def newest(tx: Transaction) -> SignedHead | None:
    row = tx.connection.execute(_NEWEST).one_or_none()
    return None if row is None else SignedHead(*row)


def signed_after(tx: Transaction, seq: int) -> int:
    """Return the number of signed heads of later entries."""
    return tx.connection.execute(sa.select(sa.func.count()).select_from(_raw).where(_raw.c.seq > seq)).scalar() or 0


def get(tx: Transaction, seq: int) -> SignedHead | None:
    row = tx.connection.execute(_ALL.where(_raw.c.seq == seq)).one_or_none()
    return None if row is None else SignedHead(*row)


def all_of(tx: Transaction) -> Iterator[SignedHead]:
    """Yield every checkpoint, oldest first, streamed."""
    for row in tx.connection.execute(_ALL.order_by(_raw.c.seq).execution_options(yield_per=_BATCH)):
        yield SignedHead(*row)


# At the anchors


def due(tx: Transaction, anchor: str) -> AnchoredHead | None:
    """Return the head that waits to be written to the anchor, also one whose time has not come."""
    row = tx.connection.execute(_LATEST, {"name": anchor, "the_status": "due"}).one_or_none()
    return None if row is None else AnchoredHead(*row)


def last_written(tx: Transaction, anchor: str) -> AnchoredHead | None:
    """Return the newest head written to the anchor."""
    row = tx.connection.execute(_LATEST, {"name": anchor, "the_status": "written"}).one_or_none()
    return None if row is None else AnchoredHead(*row)


def written(tx: Transaction, anchor: str) -> list[AnchoredHead]:
    """Return the heads written to the anchor, oldest first."""
    return [AnchoredHead(*row) for row in tx.connection.execute(_WRITTEN, {"name": anchor})]


def written_seqs(tx: Transaction, anchor: str, until: int) -> Iterator[int]:
    """Yield the entries up to this one whose heads were written to the anchor, oldest first, streamed."""
    is_written = sa.and_(anchors.c.anchor == anchor, anchors.c.status == "written", anchors.c.seq <= until)
    query = sa.select(anchors.c.seq).where(is_written).order_by(anchors.c.seq)
    yield from tx.connection.execute(query.execution_options(yield_per=_BATCH)).scalars()


def newest_at(tx: Transaction, anchor: str) -> int:
    """Return the newest entry whose head was ever due at the anchor; 0 if none was."""
    return tx.connection.execute(sa.select(sa.func.max(anchors.c.seq)).where(anchors.c.anchor == anchor)).scalar() or 0


def first_after(tx: Transaction, anchor: str, seq: int) -> int | None:
    """Return the oldest entry after this one whose head was ever due at the anchor."""
    later = sa.select(sa.func.min(anchors.c.seq)).where(anchors.c.anchor == anchor, anchors.c.seq > seq)
    return tx.connection.execute(later).scalar()


def is_any_due(tx: Transaction, names: Collection[str]) -> bool:
    """Return True if a head may be written now to one of these anchors."""
    is_due = (anchors.c.status == "due", anchors.c.anchor.in_(list(names)), anchors.c.next_at <= tx.now)
    return bool(tx.connection.execute(sa.select(sa.exists().where(*is_due))).scalar())


def make_due(tx: Transaction, anchor: str, seq: int, waiting: AnchoredHead | None) -> None:
    """Make a head due; it replaces `waiting`, and continues its attempts."""
    row: dict[str, Any] = {"anchor": anchor, "seq": seq, "status": "due", "attempts": 0, "next_at": tx.now}
    if waiting is not None:
        tx.connection.execute(_update(waiting).values(status="failed"))
        row |= {"attempts": waiting.attempts, "next_at": waiting.next_at, "problem": waiting.problem}
    tx.connection.execute(insert_for(tx, anchors).on_conflict_do_nothing(), row)


def claim(tx: Transaction, head: AnchoredHead, until: dt.datetime) -> bool:
    """Count an attempt to write a due head, and keep it from others until then; return False if one was first."""
    update = _update_due(head, head.attempts).values(attempts=head.attempts + 1, next_at=until)
    return tx.connection.execute(update).rowcount == 1


def mark_written(tx: Transaction, head: AnchoredHead, receipt: Mapping[str, Any]) -> None:
    values = {"status": "written", "at": tx.now, "receipt": dict(receipt), "problem": None}
    tx.connection.execute(_update(head).values(values))


def retry(tx: Transaction, head: AnchoredHead, at: dt.datetime, problem: str) -> None:
    """Make a claimed head due again, unless another process has claimed it since."""
    tx.connection.execute(_update_due(head, head.attempts + 1).values(next_at=at, problem=problem))


def _update(head: AnchoredHead) -> sa.Update:
    return sa.update(anchors).where(anchors.c.anchor == head.anchor, anchors.c.seq == head.seq)


def _update_due(head: AnchoredHead, attempts: int) -> sa.Update:
    return _update(head).where(anchors.c.status == "due", anchors.c.attempts == attempts)


_raw = sa.table("checkpoints", *(sa.column(column.name) for column in checkpoints.c))
_ALL = sa.select(*(_raw.c[name] for name in SignedHead._fields))
_NEWEST = _ALL.order_by(_raw.c.seq.desc()).limit(1)
_AT_ANCHOR = sa.select(*(anchors.c[name] for name in AnchoredHead.__dataclass_fields__)).where(
    anchors.c.anchor == sa.bindparam("name")
)
_LATEST = _AT_ANCHOR.where(anchors.c.status == sa.bindparam("the_status")).order_by(anchors.c.seq.desc()).limit(1)
_WRITTEN = _AT_ANCHOR.where(anchors.c.status == "written").order_by(anchors.c.seq)
