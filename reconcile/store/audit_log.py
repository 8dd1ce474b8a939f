"""The audit log in the store: its entries, their bodies, and the row that holds its end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.tables import audit, audit_bodies, audit_head

_BATCH = 1_000


@dataclass(frozen=True)
class LogEntry:
    """One entry as read. `body` is None if it was erased."""

    seq: int
    at: dt.datetime
    actor: str
    event: str
    subject: str
    body: Any
    head: str


@dataclass(frozen=True)
class EntryFilter:
    """A filter for entries; fields that are None do not filter. `event` also takes a prefix: `finding`; numbers are
    below `before`."""

    finding: str | None = None
    run: str | None = None
    event: str | None = None
    actor: str | None = None
    before: int | None = None


class LogEnd(NamedTuple):
    """The end of the log: its last entry (0: none) and that entry's head."""

    seq: int
    head: str


# Writing


def end(tx: Transaction, *, lock: bool = False) -> LogEnd:
    """Return the end of the log; `lock` makes other writers wait until the end of the transaction."""
    return LogEnd(*tx.connection.execute(_END.with_for_update() if lock else _END).one())


def insert(tx: Transaction, entries: Sequence[Mapping[str, Any]], bodies: Sequence[Mapping[str, Any]]) -> None:
    """Insert entries and their bodies; every text is in the form that was hashed."""
    bulk.insert(tx, RAW_ENTRIES, entries)
    bulk.insert(tx, RAW_BODIES, bodies)


def move_end(tx: Transaction, seq: int, head: str) -> None:
    tx.connection.execute(_MOVE_END, {"end": seq, "new_head": head})


def delete_body(tx: Transaction, seq: int) -> None:
    tx.connection.execute(sa.delete(audit_bodies).where(audit_bodies.c.seq == seq))


# Reading


def find(
    tx: Transaction,
    *,
    finding: str | None = None,
    run: str | None = None,
    event: str | None = None,
    subject: str | None = None,
) -> Iterator[LogEntry]:
    """Yield the entries that pass every filter, oldest first, streamed.

    `event` also takes a prefix: `finding`; `subject` is as stored.
    """
    query = _filtered(finding, run, event)
    if subject is not None:
        query = query.where(audit.c.subject == subject)
    for row in tx.connection.execute(query.order_by(audit.c.seq).execution_options(yield_per=_BATCH)):
        yield LogEntry(*row)


def newest(tx: Transaction, criteria: EntryFilter, limit: int) -> list[LogEntry]:
    """Return the newest entries that pass the filter, newest first."""
    query = _filtered(criteria.finding, criteria.run, criteria.event)
    if criteria.before is not None:
        query = query.where(audit.c.seq < criteria.before)
    if criteria.actor is not None:
        query = query.where(audit.c.actor == criteria.actor)
    return [LogEntry(*row) for row in tx.connection.execute(query.order_by(audit.c.seq.desc()).limit(limit))]


def _filtered(finding: str | None, run: str | None, event: str | None) -> sa.Select[Any]:
    query = sa.select(*_ENTRY).join_from(audit, audit_bodies, audit_bodies.c.seq == audit.c.seq, isouter=True)
    if finding is not None:
        query = query.where(audit_bodies.c.finding == finding)
    if run is not None:
        query = query.where(audit_bodies.c.run == run)
    if event is not None:
        query = query.where(sa.or_(audit.c.event == event, audit.c.event.startswith(f"{event}.", autoescape=True)))
    return query


def last_at(tx: Transaction, subject: str, event: str) -> dt.datetime | None:
    """Return when this subject, as stored, last had the event; None if never."""
    query = sa.select(audit.c.at).where(audit.c.subject == subject, audit.c.event == event)
    at: dt.datetime | None = tx.connection.execute(query.order_by(audit.c.seq.desc()).limit(1)).scalar()
    return at


def since(tx: Transaction, subject: str, events: Collection[str], at: dt.datetime) -> list[LogEntry]:
    """Return the entries about this subject, as stored, with one of these events, since a time."""
    query = _filtered(None, None, None).where(audit.c.subject == subject, audit.c.event.in_(list(events)))
    return [LogEntry(*row) for row in tx.connection.execute(query.where(audit.c.at >= at).order_by(audit.c.seq))]


def last_of(tx: Transaction, subject: str, events: Collection[str]) -> LogEntry | None:
    """Return the newest entry about this subject, as stored, with one of these events; None if there is none."""
    query = _filtered(None, None, None).where(audit.c.subject == subject, audit.c.event.in_(list(events)))
    row = tx.connection.execute(query.order_by(audit.c.seq.desc()).limit(1)).one_or_none()
    return None if row is None else LogEntry(*row)


def first_of(tx: Transaction, subjects: Collection[str], events: Collection[str]) -> dict[str, int]:
    """Return the entry at which each of these subjects, as stored, first had one of these events."""
    query = sa.select(audit.c.subject, sa.func.min(audit.c.seq)).where(bulk.one_of(audit.c.subject, "subjects"))
    query = query.where(audit.c.event.in_(list(events))).group_by(audit.c.subject)
    seqs: dict[str, int] = {}
    ordered = sorted(subjects)
    for at in range(0, len(ordered), _BATCH):
        seqs |= dict(tx.connection.execute(query, {"subjects": ordered[at : at + _BATCH]}).all())
    return seqs


def chain(tx: Transaction) -> Iterator[tuple[Any, ...]]:
    """Yield every entry as the text that was hashed, oldest first, streamed; then its body's finding and run.

    The columns are those of `RAW_ENTRIES`, then the body's salt, text, finding and run.
    """
    result = tx.connection.execute(_CHAIN.execution_options(yield_per=_BATCH))
    for batch in result.partitions(_BATCH):
        yield from map(tuple, batch)


def backwards(tx: Transaction) -> Iterator[tuple[int, str, Any]]:
    """Yield number, event and body of each entry that has a body, newest first, streamed."""
    query = sa.select(audit.c.seq, audit.c.event, audit_bodies.c.body)
    query = query.join(audit_bodies, audit_bodies.c.seq == audit.c.seq).order_by(audit.c.seq.desc())
    yield from map(tuple, tx.connection.execute(query.execution_options(yield_per=_BATCH)))


def bodies(tx: Transaction) -> Iterator[tuple[int, str, str | None, str]]:
    """Yield number and event of each entry that has a body, its finding and its text, oldest first, streamed."""
    text = sa.type_coerce(audit_bodies.c.body, sa.Text)
    query = sa.select(audit.c.seq, audit.c.event, audit_bodies.c.finding, text)
    query = query.join_from(audit, audit_bodies, audit_bodies.c.seq == audit.c.seq).order_by(audit.c.seq)
    yield from map(tuple, tx.connection.execute(query.execution_options(yield_per=_BATCH)))


def recorded_end(tx: Transaction) -> LogEnd | None:
    """Return the end of the log; None if its row was deleted."""
    row = tx.connection.execute(_END).one_or_none()
    return None if row is None else LogEnd(*row)


def body_without_entry(tx: Transaction) -> int | None:
    """Return the number of the first body that belongs to no entry."""
    return tx.connection.execute(_STRAY_BODY).scalar()


def head_of(tx: Transaction, seq: int) -> str | None:
    return tx.connection.execute(sa.select(audit.c.head).where(audit.c.seq == seq)).scalar()


def time_of(tx: Transaction, seq: int) -> dt.datetime | None:
    return tx.connection.execute(sa.select(audit.c.at).where(audit.c.seq == seq)).scalar()


def _raw(table: sa.Table) -> sa.TableClause:
    """The rows as the text that was hashed: a reader that parses them first could fail on a tampered one."""
    numbers = (column.name for column in table.primary_key)
    texts = (column.name for column in table.c if not column.primary_key)
    return sa.table(
        table.name, *(sa.column(n, sa.BigInteger) for n in numbers), *(sa.column(n, sa.Text) for n in texts)
    )


RAW_ENTRIES, RAW_BODIES = _raw(audit), _raw(audit_bodies)

_ENTRY = (*(audit.c[name] for name in ("seq", "at", "actor", "event", "subject")), audit_bodies.c.body, audit.c.head)
_END = sa.select(audit_head.c.seq, audit_head.c.head).where(audit_head.c.id == 1)
_MOVE_END = (
    sa.update(audit_head).where(audit_head.c.id == 1).values(seq=sa.bindparam("end"), head=sa.bindparam("new_head"))
)
_CHAIN = (
    sa.select(*RAW_ENTRIES.c, *(RAW_BODIES.c[name] for name in ("salt", "body", "finding", "run")))
    .join_from(RAW_ENTRIES, RAW_BODIES, RAW_BODIES.c.seq == RAW_ENTRIES.c.seq, isouter=True)
    .order_by(RAW_ENTRIES.c.seq)
)
_STRAY_BODY = sa.select(sa.func.min(RAW_BODIES.c.seq)).where(
    RAW_BODIES.c.seq.not_in(sa.select(RAW_ENTRIES.c.seq).where(RAW_ENTRIES.c.seq == RAW_BODIES.c.seq))
)
