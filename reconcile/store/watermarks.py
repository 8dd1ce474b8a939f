"""The position up to which each rule's findings are current, and their records, for runs that read only changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.findings.states import LIVE, State
from reconcile.store import finding_memory, remembered
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import FORMER, chunks, decode_key
from reconcile.store.tables import finding_members, findings, rule_state, watermarks
from rules.values import Value


@dataclass(frozen=True)
class Watermark:
    """A row of `watermarks`."""

    rule: str
    version: str
    mark: Mapping[str, Any]
    run: str
    full_slot: dt.datetime
    increments: int = 0
    missed: int = 0


@dataclass(frozen=True)
class OpenFinding:
    """A finding's state, key, and the names of its records.

    `decided`: its state changed after the last run, so by a person. `has_nearby`: it shows records near its own.
    """

    state: State
    snoozed_until: dt.datetime | None
    key: Mapping[str, Value]
    records: Sequence[str]
    decided: bool
    has_nearby: bool


def get(tx: Transaction, rule: str) -> Watermark | None:
    row = tx.connection.execute(_ROW, {"name": rule}).mappings().one_or_none()
    return None if row is None else Watermark(**row)


def keep(tx: Transaction, watermark: Watermark) -> None:
    insert = insert_for(tx, watermarks)
    newer = {name: insert.excluded[name] for name in watermarks.c.keys() if name != "rule"}  # noqa: SIM118 - a collection of columns, not a dict
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["rule"], set_=newer), asdict(watermark))


def forget(tx: Transaction, rule: str) -> None:
    """Delete the rule's watermark, and what it remembers of its records: its next run is full."""
    remembered.forget(tx, rule)
    tx.connection.execute(sa.delete(watermarks).where(watermarks.c.rule == rule))


def every(tx: Transaction) -> Iterator[Watermark]:
    rows = tx.connection.execute(sa.select(watermarks).order_by(watermarks.c.rule)).mappings().all()
    return (Watermark(**row) for row in rows)


def open_findings(tx: Transaction, rule: str, *, unsteady: bool = False) -> Iterator[OpenFinding]:
    """Yield the rule's findings that the last run saw, or that end when their records no longer match.

    With `unsteady`, yield only those that may change while their records stay the same.
    """
    statement = _OPEN.where(_IS_UNSTEADY) if unsteady else _OPEN
    rows = tx.connection.execute(statement.execution_options(yield_per=1_000), {"name": rule})
    last, records = None, list[str]()
    for row in rows:
        if last is not None and row.id != last.id:
            yield _open_finding(last, records)
            records = []
        last = row
        records.append(row.record)
    if last is not None:
        yield _open_finding(last, records)


def _open_finding(row: Any, records: Sequence[str]) -> OpenFinding:
    state = State(row.state)
    return OpenFinding(state, row.snoozed_until, decode_key(row.key), records, bool(row.decided), bool(row.has_nearby))


def following(tx: Transaction, rule: str, records: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the followed records of each finding of the rule that follows one of these: see `Known.followed`."""
    findings_of = {name for chunk in chunks(records) for name in finding_memory.following(tx, rule, chunk)}
    for chunk in chunks(sorted(findings_of)):
        yield from finding_memory.followed(tx, chunk).values()


_ROW = sa.select(watermarks).where(watermarks.c.rule == sa.bindparam("name"))
_DECIDED = findings.c.state_since > rule_state.c.last_run_at
_HAS_NEARBY = sa.type_coerce(findings.c.payload, sa.Text).like('%"nearby":{%')
STEADY = (State.OPEN, State.SNOOZED, State.DISMISSED, State.HANDLED)
"""States that a run leaves as they are while the records are the same."""
_IS_UNSTEADY = sa.or_(
    findings.c.state.not_in([state.value for state in STEADY]),
    findings.c.snoozed_until.is_not(None),
    _DECIDED,
    _HAS_NEARBY,
)
_OPEN = (
    sa.select(
        *(findings.c.id, findings.c.state, findings.c.snoozed_until, findings.c.key, finding_members.c.record),
        _DECIDED.label("decided"),
        _HAS_NEARBY.label("has_nearby"),
    )
    .join(finding_members, finding_members.c.finding == findings.c.id)
    .join(rule_state, rule_state.c.rule == findings.c.rule)
    .where(
        findings.c.rule == sa.bindparam("name"),
        findings.c.state.not_in((State.RESOLVED.value, State.MERGED.value)),
        sa.or_(findings.c.state.in_([state.value for state in LIVE]), findings.c.last_run == rule_state.c.last_run),
        finding_members.c.role != FORMER,
    )
    .order_by(findings.c.id)
)
