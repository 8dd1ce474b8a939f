"""What a cleaning makes of findings: their states, what is settled, and what people hear, for many at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.audit import facts, log
from reconcile.findings.states import TRANSITIONS, Event, State
from reconcile.store import Transaction, bulk
from reconcile.store.finding_memory import CHUNK, FORMER, judge_different, judged_before
from reconcile.store.tables import finding_members, findings

_TOLD = (Event.PROPOSED, Event.FAILED, Event.QUARANTINED, Event.NOT_UNDONE)
"""What is news: a person has to do something."""
_SETTLING = (Event.CLEANED, Event.TAKEN_BACK)


@dataclass(frozen=True)
class Move:
    """What happens to a finding; `bundle` is the plan it happens through, `why` a sentence for people."""

    finding: str
    event: Event
    bundle: str | None = None
    why: str | None = None


def move(tx: Transaction, moves: Iterable[Move], *, by: str, run: str | None = None) -> list[Move]:
    """Bring each finding where its event leads, with its audit entry; returns the moves that were made.

    A finding in a state in which that cannot happen to it stays as it is: it was merged into another one meanwhile, or
    a person decided; what was done to its records stands in the journal of effects.
    """
    made: list[Move] = []
    for some in _chunks(moves):
        if all(_is_plain(one) for one in some):
            made += _plain(tx, some, by, run)
        else:
            made += _whole(tx, some, by, run)
    return made


def _is_plain(one: Move) -> bool:
    """Only the state changes: the finding's documents need not be read and written again."""
    return one.why is None and one.event not in (*_TOLD, *_SETTLING)


def _plain(tx: Transaction, some: Sequence[Move], by: str, run: str | None) -> list[Move]:
    rows = {row.id: row for row in tx.connection.execute(_LOCKED, {"ids": sorted({one.finding for one in some})})}
    done: dict[str, Move] = {}
    to: dict[State, list[str]] = {}
    for one in some:
        row = rows.get(one.finding)
        if row is None or one.finding in done or (State(row.state), one.event) not in TRANSITIONS:
            continue
        state = TRANSITIONS[State(row.state), one.event]
        to.setdefault(state, []).append(one.finding)
        _log(tx, one, row, State(row.state), state, row.version, by, run)
        done[one.finding] = one
        if State(row.state) is State.SNOOZED:
            log.touch(tx, facts.FINDING, [one.finding])  # until when ends with the state
    for state, names in to.items():
        tx.connection.execute(_MOVE, {"ids": names, "new_state": state.value, "new_since": tx.now})
    return list(done.values())


def _whole(tx: Transaction, some: Sequence[Move], by: str, run: str | None) -> list[Move]:
    rows = {row.id: row for row in tx.connection.execute(_LOCKED_WHOLE, {"ids": sorted({m.finding for m in some})})}
    now = {name: State(row.state) for name, row in rows.items()}
    versions = {name: row.version for name, row in rows.items()}
    payloads = {name: dict(row.payload) for name, row in rows.items()}
    done: list[Move] = []
    for one in some:
        was = now.get(one.finding)
        if was is None or (was, one.event) not in TRANSITIONS:
            continue
        now[one.finding] = to = TRANSITIONS[was, one.event]
        versions[one.finding] += one.event in _TOLD
        payloads[one.finding] |= _said(rows[one.finding], one, versions[one.finding])
        _log(tx, one, rows[one.finding], was, to, versions[one.finding], by, run)
        done.append(one)
    changed = dict.fromkeys(one.finding for one in done)
    log.touch(tx, facts.FINDING, changed)
    if changed:
        columns = [
            {
                "state": now[name].value,
                "version": versions[name],
                "payload": payloads[name],
                "state_since": tx.now if now[name].value != rows[name].state else rows[name].state_since,
                "snoozed_until": None if now[name].value != rows[name].state else rows[name].snoozed_until,
            }
            for name in changed
        ]
        bulk.update(tx, findings, [{"id": name} for name in changed], columns)
    settle(tx, [one.finding for one in done if one.event in _SETTLING])
    taken_back = [one.finding for one in done if one.event is Event.TAKEN_BACK]
    log.touch(tx, facts.FINDING, judged_before(tx, taken_back))
    judge_different(tx, taken_back, by=by)
    return done


def _log(
    tx: Transaction, one: Move, row: sa.Row[Any], was: State, to: State, version: int, by: str, run: str | None
) -> None:
    body = {"finding": one.finding, "rule": row.rule, "from": was.value, "to": to.value}
    body |= {"records": row.records, "version": version}
    optional = {"run": run, "plan": one.bundle, "why": one.why}
    log.append(tx, by, one.event.value, one.finding, body | {k: v for k, v in optional.items() if v})


def settle(tx: Transaction, names: Collection[str]) -> None:
    """What was done covers the present records of these findings, and only those."""
    if names:
        tx.connection.execute(_SETTLE, {"ids": list(names), "now": tx.now})


def _said(row: sa.Row[Any], one: Move, version: int) -> dict[str, Any]:
    """`not_undone` stands beside the reason of the finding's state, with the version in which it is news."""
    if one.event is Event.NOT_UNDONE:
        return {"not_undone": [version, one.why]}
    said: dict[str, Any] = {} if one.why is None else {"reason": one.why}
    if one.event is Event.TAKEN_BACK:
        said["not_undone"] = None
    return said | ({"settled_key": row.key} if one.event in _SETTLING else {})


def _chunks(moves: Iterable[Move]) -> Iterator[Sequence[Move]]:
    listed = list(moves)
    return (listed[at : at + CHUNK] for at in range(0, len(listed), CHUNK))


_NAMES = ("id", "rule", "state", "state_since", "version", "records")


def _locked(*names: str) -> sa.Select[Any]:
    query = sa.select(*(findings.c[name] for name in names)).where(bulk.one_of(findings.c.id, "ids"))
    return query.order_by(findings.c.id).with_for_update()


_LOCKED = _locked(*_NAMES)
_LOCKED_WHOLE = _locked(*_NAMES, "snoozed_until", "payload", "key")
_MOVE = (
    sa.update(findings)
    .where(bulk.one_of(findings.c.id, "ids"))
    .values(
        state=sa.bindparam("new_state"),
        state_since=sa.bindparam("new_since", type_=findings.c.state_since.type),
        snoozed_until=None,
    )
)
_now: sa.BindParameter[Any] = sa.bindparam("now", type_=finding_members.c.settled_at.type)
_SETTLE = (
    sa.update(finding_members)
    .where(bulk.one_of(finding_members.c.finding, "ids"))
    .values(
        settled_at=sa.case(
            (finding_members.c.role == FORMER, None), else_=sa.func.coalesce(finding_members.c.settled_at, _now)
        )
    )
)
