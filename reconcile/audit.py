"""The audit log: append-only, gapless, every entry bound to all before it by a hash.

An entry is {seq, at, actor, event, subject, body commitment}. Its hash is the leaf, and head n = SHA-256(head n-1 |
leaf n); head 0 is derived from the store's id, so that a chain cannot be moved to another store. The subject is an
HMAC under the store's key. Bodies stand apart under salted commitments, so that personal data can be erased and the
chain stays whole; they hold ids, counts and hashes, never cell values.

Entries are written at the very end of the transaction of the change they tell, the head's row last: that row puts
writers in order and is held for as short as can be.

What this can prove: any edit, insert, removal or reordering inside the log, and a tail that was cut without also
rewriting the head. What it cannot: whoever may write the database can cut the tail and set the head back, or rebuild
everything from some entry on, unseen. Only heads that were written down elsewhere (anchors) show that; this log does
not have them yet.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store import Store, Transaction, tables
from reconcile.store.columns import json_text
from rules.values import canonical_instant

_GENESIS = b"reconcile/audit/1/genesis\0"
_LEAF = b"reconcile/audit/1/leaf\0"
_HEAD = b"reconcile/audit/1/head\0"
_BODY = b"reconcile/audit/1/body\0"
_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment")
_BATCH = 1_000


@dataclass(frozen=True)
class Entry:
    """One entry as it is read. `body` is None where it was erased."""

    seq: int
    at: dt.datetime
    actor: str
    event: str
    subject: str
    body: Any
    head: str


@dataclass(frozen=True)
class VerifyResult:
    """`entries` were right, from the first on; if `problem` is set, the entry `seq` is the first that is not."""

    entries: int
    head: str
    seq: int | None = None
    problem: str | None = None

    @property
    def intact(self) -> bool:
        return self.problem is None


class _Pending:
    """The entries of one transaction until its end."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str, str]] = []  # actor, event, subject, body as canonical JSON

    def finish(self, tx: Transaction) -> None:
        last, head = tx.connection.execute(_LAST.with_for_update()).one()
        head = head or genesis(tx.store.id)
        rows, bodies = [], []
        at = canonical_instant(tx.now)
        for seq, (actor, event, subject, body) in enumerate(self.entries, last + 1):
            salt = secrets.token_hex(32)
            row = {"seq": seq, "at": at, "actor": actor, "event": event, "subject": subject, "prev": head}
            row["body_commitment"] = commitment(salt, body)
            head = row["head"] = _next_head(head, row)
            rows.append(row)
            bodies.append({"seq": seq, "salt": salt, "body": body, **_named(body)})
        tx.connection.execute(sa.insert(_raw_audit), rows)
        tx.connection.execute(sa.insert(_raw_bodies), bodies)
        tx.connection.execute(_MOVE, {"end": last + len(rows), "new_head": head})


def append(tx: Transaction, actor: str, event: str, subject: str, body: Mapping[str, Any]) -> None:
    """One entry, kept exactly when the transaction is.

    `actor` is who did it (a person or `reconcile`), `event` a dotted name (`finding.opened`), `subject` what it is
    about in clear (it is stored as an HMAC), `body` plain JSON; its keys `finding` and `run` can be searched for.
    """
    tx.finisher(_Pending).entries.append((actor, event, subject_of(tx.store, subject), json_text(dict(body))))


def entries(
    tx: Transaction,
    *,
    finding: str | None = None,
    run: str | None = None,
    event: str | None = None,
    subject: str | None = None,
    since: dt.datetime | None = None,
) -> Iterator[Entry]:
    """The entries that pass every filter, oldest first, streamed. `event` also takes a prefix: `finding`."""
    log, bodies = tables.audit, tables.audit_bodies
    query = sa.select(log, bodies.c.body).join(bodies, bodies.c.seq == log.c.seq, isouter=True).order_by(log.c.seq)
    if finding is not None:
        query = query.where(bodies.c.finding == finding)
    if run is not None:
        query = query.where(bodies.c.run == run)
    if event is not None:
        query = query.where(sa.or_(log.c.event == event, log.c.event.startswith(f"{event}.", autoescape=True)))
    if subject is not None:
        query = query.where(log.c.subject == subject_of(tx.store, subject))
    if since is not None:
        query = query.where(log.c.at >= since)
    for row in tx.connection.execution_options(yield_per=_BATCH).execute(query):
        yield Entry(row.seq, row.at, row.actor, row.event, row.subject, row.body, row.head)


def verify(store: Store) -> VerifyResult:
    """Recompute the whole chain in bounded memory; name the first entry that is wrong, and what is wrong with it."""
    with store.read() as tx:
        return verify_in(tx)


def verify_in(tx: Transaction) -> VerifyResult:
    """The same, as the transaction sees the log."""
    result = _walk(tx)
    if result.intact:
        stray = tx.connection.execute(_STRAY_BODY).scalar()
        if stray is not None:
            return VerifyResult(result.entries, result.head, stray, "a body stands here without its entry")
    return result


def _walk(tx: Transaction) -> VerifyResult:
    seq, head = 0, genesis(tx.store.id)
    for row in tx.connection.execution_options(yield_per=_BATCH).execute(_CHAIN).mappings():
        problem = "the entry is missing" if row["seq"] != seq + 1 else _problem(row, head)
        if problem:
            return VerifyResult(seq, head, seq + 1, problem)
        seq, head = seq + 1, row["head"]
    return _compare_end(tx, seq, head)


def _compare_end(tx: Transaction, seq: int, head: str) -> VerifyResult:
    end = tx.connection.execute(_LAST).one_or_none()
    if end is None:
        return VerifyResult(seq, head, seq + 1, "the row that says where the log ends is missing")
    if end.seq > seq:
        return VerifyResult(seq, head, seq + 1, f"the log ends here, but {end.seq} entries were written")
    if end.seq < seq:
        return VerifyResult(end.seq, head, end.seq + 1, "the entry stands behind the end of the log")
    if seq and end.head != head:
        return VerifyResult(seq - 1, head, seq, "the entry's head is not the one the log ended with")
    return VerifyResult(seq, head)


def _problem(row: sa.RowMapping, prev: str) -> str | None:
    if row["prev"] != prev:
        return "the entry does not follow the one before it: one of the two was changed, inserted or moved"
    if not all(isinstance(row[name], (int, str)) for name in _FIELDS) or row["head"] != _next_head(prev, row):
        return "the entry was changed"
    if row["body"] is None:
        return "the entry's body is missing"
    if not isinstance(row["body"], str) or row["body_commitment"] != commitment(str(row["salt"]), row["body"]):
        return "the entry's body was changed"
    if _named(row["body"]) != {"finding": row["finding"], "run": row["run"]}:
        return "what the entry's body is filed under was changed"
    return None


def genesis(store_id: str) -> str:
    """Head 0 of a store."""
    return hashlib.sha256(_GENESIS + store_id.encode()).hexdigest()


def commitment(salt: str, body: str) -> str:
    """What an entry says of its body: it proves the body where that still stands, and tells nothing where not."""
    return hashlib.sha256(_BODY + salt.encode() + b"\0" + body.encode()).hexdigest()


def subject_of(store: Store, subject: str) -> str:
    """A subject as the log holds it: HMAC-SHA256 under the store's key."""
    return hmac.new(store.key, f"reconcile/audit/1/subject|{subject}".encode(), hashlib.sha256).hexdigest()


def _next_head(prev: str, row: Mapping[Any, Any]) -> str:
    leaf = hashlib.sha256(_LEAF + json_text({name: row[name] for name in _FIELDS}).encode()).digest()
    return hashlib.sha256(_HEAD + prev.encode() + b"\0" + leaf).hexdigest()


def _named(body: str) -> dict[str, str | None]:
    said = _parsed(body)
    return {name: said.get(name) if isinstance(said.get(name), str) else None for name in ("finding", "run")}


def _parsed(body: str) -> dict[str, Any]:
    value = json.loads(body)
    return value if isinstance(value, dict) else {}


# The log's rows as the very text that was hashed: a reader that parsed them first could stumble over a tampered one.
_raw_audit = sa.table("audit", *(sa.column(c.name) for c in tables.audit.c))
_raw_bodies = sa.table("audit_bodies", *(sa.column(c.name) for c in tables.audit_bodies.c))

_LAST = sa.select(tables.audit_head.c.seq, tables.audit_head.c.head).where(tables.audit_head.c.id == 1)
_MOVE = (
    sa.update(tables.audit_head)
    .where(tables.audit_head.c.id == 1)
    .values(seq=sa.bindparam("end"), head=sa.bindparam("new_head"))
)
_CHAIN = (
    sa.select(*_raw_audit.c, *(c for c in _raw_bodies.c if c.name != "seq"))
    .join_from(_raw_audit, _raw_bodies, _raw_bodies.c.seq == _raw_audit.c.seq, isouter=True)
    .order_by(_raw_audit.c.seq)
)
_STRAY_BODY = sa.select(sa.func.min(_raw_bodies.c.seq)).where(
    _raw_bodies.c.seq.not_in(sa.select(_raw_audit.c.seq).where(_raw_audit.c.seq == _raw_bodies.c.seq))
)
