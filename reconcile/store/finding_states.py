"""Changes of findings by cleanings and by people: locked, read and written in bulk, or one at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypedDict

import sqlalchemy as sa

from reconcile.documents import JsonObject
from reconcile.findings.chosen_values import GivenValue, written
from reconcile.findings.identity import beginning, dataset_of, without_dataset
from reconcile.findings.payload import DECIDED, DECIDED_MONEY, HANDLED_MONEY, amount_rank
from reconcile.findings.states import State
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import CHUNK, FORMER
from reconcile.store.tables import finding_members, findings, not_same
from rules import values as sums


@dataclass(frozen=True)
class LoggedState:
    """The state of a finding, and what its audit entries show."""

    id: str
    rule: str
    state: State
    version: int
    records: int


@dataclass(frozen=True)
class Whole(LoggedState):
    """The same with the columns that a move can change, and its stored key."""

    state_since: dt.datetime
    snoozed_until: dt.datetime | None
    payload: Mapping[str, Any]
    key: Any


@dataclass(frozen=True)
class Moved:
    """The new values of a finding that was moved."""

    id: str
    state: State
    version: int
    payload: Mapping[str, Any]
    state_since: dt.datetime
    snoozed_until: dt.datetime | None


# In bulk


def lock(tx: Transaction, names: Iterable[str]) -> dict[str, LoggedState]:
    """Lock these findings, in the order of their ids, and return them by id."""
    rows = tx.connection.execute(_LOCKED, {"ids": sorted(set(names))})
    return {row.id: LoggedState(**_with_state(row)) for row in rows}


def lock_whole(tx: Transaction, names: Iterable[str]) -> dict[str, Whole]:
    """The same with their documents."""
    rows = tx.connection.execute(_LOCKED_WHOLE, {"ids": sorted(set(names))})
    return {row.id: Whole(**_with_state(row)) for row in rows}


def _with_state(row: sa.Row[Any]) -> dict[str, Any]:
    return row._asdict() | {"state": State(row.state)}


def move(tx: Transaction, names: Sequence[str], state: State) -> None:
    """Give these findings a new state; this ends a snooze."""
    tx.connection.execute(_MOVE, {"ids": list(names), "new_state": state.value, "new_since": tx.now})


def write(tx: Transaction, moved: Sequence[Moved]) -> None:
    rows = [
        {
            "state": row.state.value,
            "version": row.version,
            "payload": row.payload,
            "state_since": row.state_since,
            "snoozed_until": row.snoozed_until,
        }
        for row in moved
    ]
    bulk.update(tx, findings, [{"id": row.id} for row in moved], rows)


def settle(tx: Transaction, names: Collection[str]) -> None:
    """Mark the present records of these findings, and only those, as settled."""
    if names:
        tx.connection.execute(_SETTLE, {"ids": list(names), "now": tx.now})
        tx.connection.execute(_FORGET_DIGESTS, {"ids": list(names)})


# By a person; a note is only replaced by another one


def decide(
    tx: Transaction, finding: str, state: State, *, by: str, snoozed_until: dt.datetime | None, note: str | None
) -> None:
    """Give the finding the state that a person decided."""
    values = {"state": state.value, "state_since": tx.now, "decided_by": by, "snoozed_until": snoozed_until}
    if state is State.HANDLED:  # messages show its note, so not that of an earlier decision
        values["note"] = None
    _write(tx, finding, values, note)


def settle_values(tx: Transaction, finding: str, state: State) -> None:
    """Record the values of the finding that a decision of a person settles, and the state that it gives."""
    row = tx.connection.execute(_VALUES.where(findings.c.id == finding)).one()
    settled = {"settled_key": row.payload.get("judged", row.key), DECIDED: state.value}
    money = _with_all_money(row)
    settled |= {DECIDED_MONEY: money["money"]} if state is State.HANDLED else {}
    _write(tx, finding, money | {"payload": _without(row.payload, HANDLED_MONEY, DECIDED_MONEY) | settled})


def forget_decision(tx: Transaction, finding: str) -> None:
    """Record that no decision of a person covers records of the finding any more."""
    row = tx.connection.execute(_VALUES.where(findings.c.id == finding)).one()
    _write(
        tx, finding, _with_all_money(row) | {"payload": _without(row.payload, DECIDED, DECIDED_MONEY, HANDLED_MONEY)}
    )


def _with_all_money(row: sa.Row[Any]) -> dict[str, Any]:
    """Return the money of a finding that is decided as a whole: also that of the records that were handled before."""
    handled = row.payload.get(HANDLED_MONEY, {})
    money = sums.of({name: Decimal(amount) for name, amount in part.items()} for part in (row.money, handled))
    rank = amount_rank(money) if handled and row.amount_rank else row.amount_rank  # 0: the rule hides amounts
    return {"money": {name: str(amount) for name, amount in sorted(money.items())}, "amount_rank": rank}


def _without(payload: Mapping[str, Any], *names: str) -> JsonObject:
    return {name: value for name, value in payload.items() if name not in names}


_VALUES: sa.Select[Any] = sa.select(findings.c.key, findings.c.payload, findings.c.money, findings.c.amount_rank)


def name_decider(tx: Transaction, finding: str, *, by: str, note: str | None) -> None:
    """Record who decided about the finding's plan."""
    _write(tx, finding, {"decided_by": by}, note)


def assign(tx: Transaction, finding: str, to: str | None, *, note: str | None) -> None:
    _write(tx, finding, {"assigned_to": to}, note)


def choose_keeper(tx: Transaction, finding: str, record: str | None, *, by: str) -> None:
    """Mark the record, or none, as the keeper that this person chose.

    Earlier choices among the finding's present records end, also in the findings of `chosen_with`.
    """
    tx.connection.execute(_END_CHOICES, {"the_finding": finding})
    if record is not None:
        _set_choice(tx, finding, record, {"chosen_by": by, "chosen_at": tx.now})


def choose_values(tx: Transaction, finding: str, wanted: Mapping[str, tuple[str, GivenValue] | None]) -> None:
    """Let records give these fields, by column; None takes the choice of a field back.

    Earlier choices of these fields among the finding's present records end, also in the findings of `chosen_with`.
    """
    rows = tx.connection.execute(_GIVING_WITH, {"the_finding": finding}).all()
    gives = {(row.finding, row.record): dict(row.gives) for row in rows}
    for fields in gives.values():
        for column in wanted:
            fields.pop(column, None)
    for column, choice in wanted.items():
        if choice is not None:
            gives.setdefault((finding, choice[0]), {})[column] = written(choice[1])
    for (name, record), fields in gives.items():
        _set_choice(tx, name, record, {"gives": fields or None})


def mark_chosen(tx: Transaction, finding: str, *, version: int, note: str | None) -> None:
    """Give the finding this version after a choice, and let messages show it as it is since now."""
    renew(tx, [finding])
    _write(tx, finding, {"version": version}, note)


def _set_choice(tx: Transaction, finding: str, record: str, values: Mapping[str, Any]) -> None:
    this = (finding_members.c.finding == finding, finding_members.c.record == record)
    tx.connection.execute(sa.update(finding_members).where(*this).values(values))


def renew(tx: Transaction, names: Sequence[str]) -> None:
    """Let messages show these findings as they are since now."""
    tx.connection.execute(_RENEW, {"ids": list(names), "now": tx.now})


def chosen_with(tx: Transaction, finding: str) -> list[str]:
    """Return the findings of the rule in which a person chose one of the finding's present records: as the keeper, or
    for a field."""
    of_values = tx.connection.execute(_GIVING_WITH, {"the_finding": finding})
    query = sa.select(finding_members.c.finding).distinct().where(*_is_chosen_with("the_finding"))
    of_keepers = tx.connection.execute(query, {"the_finding": finding}).scalars()
    return sorted({*of_keepers, *(row.finding for row in of_values)})


class MemberChoice(TypedDict):
    """People's choices of a record, as columns of its row: as the keeper, and of fields that it gives."""

    chosen_by: str | None
    chosen_at: dt.datetime | None
    gives: JsonObject | None


def choices(tx: Transaction, rule: str, records: Iterable[str]) -> dict[str, MemberChoice]:
    """Return what people chose of these records in any finding of the rule, by record.

    The last choice of a record as the keeper counts, and the last one of each field.
    """
    query = (
        sa.select(*_columns("record", "chosen_by", "chosen_at", "gives"))
        .join(findings, findings.c.id == finding_members.c.finding)
        .where(bulk.one_of(finding_members.c.record, "records"), _IS_CHOSEN)
        # Without the empty text, SQLite would look for each record in each finding of the rule.
        .where(findings.c.rule.concat("") == rule)
        .order_by(finding_members.c.chosen_at, finding_members.c.finding)
    )
    names = sorted(set(records))
    chunks = (names[at : at + CHUNK] for at in range(0, len(names), CHUNK))
    chosen: dict[str, MemberChoice] = {}
    for row in (row for chunk in chunks for row in tx.connection.execute(query, {"records": chunk})):
        choice = chosen.setdefault(row.record, {"chosen_by": None, "chosen_at": None, "gives": None})
        if row.chosen_by is not None:
            choice["chosen_by"], choice["chosen_at"] = row.chosen_by, row.chosen_at
        earlier = choice["gives"] or {}
        newer = {
            name: each
            for name, each in (row.gives or {}).items()
            if name not in earlier or earlier[name]["at"] < each["at"]
        }
        choice["gives"] = {**earlier, **newer} or None
    return chosen


def carry_choice(tx: Transaction, finding: str, record: str, choice: MemberChoice) -> None:
    """Write what people chose of a record, as it is in another finding."""
    _set_choice(tx, finding, record, choice)


def chosen_records(tx: Transaction, records: Mapping[str, Collection[str]]) -> set[tuple[str, str]]:
    """Return those of the records, by dataset, that a person chose to keep in a finding of any rule.

    Records are named as in rules that read their dataset first.
    """
    prefixed = (f"{beginning(dataset)},{name[1:]}" for dataset, names in records.items() for name in names)
    names = {"records": [*prefixed, *{name for names in records.values() for name in names}]}
    query = (
        sa.select(finding_members.c.record, findings.c.dataset)
        .join(findings, findings.c.id == finding_members.c.finding)
        .where(bulk.one_of(finding_members.c.record, "records"), finding_members.c.chosen_by.is_not(None))
    )
    rows = tx.connection.execute(query, names)
    chosen = {(dataset_of(record) or dataset, without_dataset(record)) for record, dataset in rows}
    return {(dataset, name) for dataset, name in chosen if name in records.get(dataset, ())}


def _write(tx: Transaction, finding: str, values: Mapping[str, Any], note: str | None = None) -> None:
    values = {**values, "note": note} if note else dict(values)
    tx.connection.execute(sa.update(findings).where(findings.c.id == finding).values(values))


def _locked(row: type[LoggedState]) -> sa.Select[Any]:
    columns = (findings.c[name] for name in row.__dataclass_fields__)
    query = sa.select(*columns).where(bulk.one_of(findings.c.id, "ids"))
    return query.order_by(findings.c.id).with_for_update()


_LOCKED = _locked(LoggedState)
_LOCKED_WHOLE = _locked(Whole)
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
_FORGET_DIGESTS = sa.update(findings).where(bulk.one_of(findings.c.id, "ids")).values(digest=None)
_RENEW = sa.update(findings).where(bulk.one_of(findings.c.id, "ids")).values(state_since=_now)


def _columns(*names: str) -> Iterator[sa.Column[Any]]:
    return (finding_members.c[name] for name in names)


_IS_KEPT = finding_members.c.chosen_by.is_not(None)
_GIVES = finding_members.c.gives.is_not(None)
_IS_CHOSEN = _IS_KEPT | _GIVES


def _is_chosen_with(finding: str, how: sa.ColumnElement[bool] = _IS_KEPT) -> tuple[sa.ColumnElement[bool], ...]:
    of: sa.BindParameter[str] = sa.bindparam(finding)
    member, same = sa.alias(finding_members), sa.alias(findings)
    present = sa.select(member.c.record).where(member.c.finding == of, member.c.role != FORMER)
    rule = sa.select(findings.c.rule).where(findings.c.id == of).scalar_subquery()
    of_rule = sa.exists().where(same.c.id == finding_members.c.finding, same.c.rule == rule)
    return finding_members.c.record.in_(present), how, of_rule


_GIVING_WITH = sa.select(*_columns("finding", "record", "gives")).where(*_is_chosen_with("the_finding", _GIVES))
_END_CHOICES = sa.update(finding_members).where(*_is_chosen_with("the_finding")).values(chosen_by=None, chosen_at=None)
_SETTLE = (
    sa.update(finding_members)
    .where(bulk.one_of(finding_members.c.finding, "ids"))
    .values(
        settled_at=sa.case(
            (finding_members.c.role == FORMER, None), else_=sa.func.coalesce(finding_members.c.settled_at, _now)
        )
    )
)


def chosen(tx: Transaction, names: Iterable[str]) -> list[str]:
    """Return those of the findings whose keeper a person chose."""
    is_chosen = bulk.one_of(finding_members.c.finding, "ids") & finding_members.c.chosen_by.is_not(None)
    query = sa.select(finding_members.c.finding).where(is_chosen).distinct()
    return list(tx.connection.execute(query, {"ids": list(names)}).scalars())


def decided_records(tx: Transaction, rules: Sequence[str], records: Iterable[str]) -> set[str]:
    """Return those of the records that a decision of a person covers in any finding of these rules.

    A pair that was judged covers its records also after they left the finding, or after it joined another.
    """
    names = {"records": list(records)}
    query = (
        sa.select(finding_members.c.record, findings.c.payload)
        .join(findings, findings.c.id == finding_members.c.finding)
        .where(bulk.one_of(finding_members.c.record, "records"), finding_members.c.settled_at.is_not(None))
        .where(findings.c.rule.in_(rules))
    )
    decided = {record for record, payload in tx.connection.execute(query, names) if payload.get(DECIDED)}
    for record in (not_same.c.record_a, not_same.c.record_b):
        judged = sa.select(record).distinct().where(bulk.one_of(record, "records"), not_same.c.rule.in_(rules))
        decided.update(tx.connection.execute(judged, names).scalars())
    return decided


def decided_findings(tx: Transaction, names: Collection[str]) -> set[str]:
    """Return those of the findings that a person decided about, whatever records they have now."""
    documents = sa.select(findings.c.id, findings.c.payload).where(bulk.one_of(findings.c.id, "ids"))
    rows = tx.connection.execute(documents, {"ids": list(names)})
    return {name for name, payload in rows if payload.get(DECIDED)}


def rules_with_findings(tx: Transaction) -> list[str]:
    return list(tx.connection.execute(sa.select(findings.c.rule).distinct()).scalars())


def unrank(tx: Transaction, rules: Collection[str]) -> None:
    """Take the amounts of the rules' findings out of the order of findings."""
    ranked = findings.c.rule.in_(rules) & (findings.c.amount_rank != 0)
    tx.connection.execute(sa.update(findings).where(ranked).values(amount_rank=0.0))
