"""Findings of a rule for runs: read and written in bulk, in chunks."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from reconcile.findings.identity import RuleIdentity, decode, key_text
from reconcile.findings.known import Known, Outline
from reconcile.findings.payload import DECIDED, DECIDED_MONEY, peaks
from reconcile.findings.states import HOLDING, PlanState, State
from reconcile.store import bulk
from reconcile.store.bulk import StoredRows, insert_for
from reconcile.store.database import Transaction
from reconcile.store.renamed import adopt, rename
from reconcile.store.tables import (
    finding_aliases,
    finding_members,
    findings,
    plans,
    rule_state,
)
from rules.values import Value

CHUNK = 1_000
FORMER = "former"
"""The role of a record that left the finding."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Memory:
    """Findings of a rule: for judging, and as stored rows."""

    known: tuple[Known, ...]
    rows: Mapping[str, Row]
    members: Mapping[str, Mapping[str, Row]]


_TURN = dt.timedelta(minutes=1)
"""Longer than a transaction waits for its turn. Times recorded later than that come from before the clock was set
back."""


@dataclass(frozen=True)
class Entered:
    """A rule at the start of a run: `first` if it never ran before, `edited` if its definition changed.

    `rewritten`: it changed only because this release writes normalised values in another form.

    `overtaken`: another run updated the rule's findings after this one began to read, so it may know records that this
    one did not see.
    """

    first: bool
    edited: bool
    renamed: int = 0
    overtaken: bool = False
    rewritten: bool = False


def chunks(items: Iterable[str]) -> Iterator[list[str]]:
    listed = list(items)
    return (listed[at : at + CHUNK] for at in range(0, len(listed), CHUNK))


# The rule


def former_name(tx: Transaction, rule: RuleIdentity) -> str | None:
    """Return the rule's former name if its findings still have it; None once they were moved.

    They are moved once: another rule that takes the old name later keeps its own findings.
    """
    if rule.was is None or rule.was == rule.name:
        return None
    renamed_from = tx.connection.execute(_RENAMED_FROM, {"name": rule.name}).scalar()
    return None if renamed_from == rule.was else rule.was


def continued_kind(tx: Transaction, rule: RuleIdentity) -> str | None:
    """Return the kind of findings that the rule continues in its next run: its own; None if `was` says any."""
    return None if rule.was == rule.name or former_name(tx, rule) else rule.kind


def standing(tx: Transaction, rule: RuleIdentity) -> Entered:
    """Return the result of `enter` without writing."""
    was = former_name(tx, rule)
    rows = {row.rule: row for row in tx.connection.execute(_DEFINITIONS, {"names": [rule.name, was or ""]})}
    existing = rows.get(rule.name, rows.get(was or ""))
    if existing is None:
        return Entered(first=True, edited=False)
    return Entered(
        first=False, edited=existing.definition != rule.definition, rewritten=_is_rewritten(existing.definition, rule)
    )


def enter(tx: Transaction, rule: RuleIdentity, run: str, read_at: dt.datetime) -> Entered:
    """Lock the rule for this transaction (runs of one rule queue here) and move all that has its former name.

    The run began to read at `read_at`.
    """
    begun = insert_for(tx, rule_state).on_conflict_do_nothing()
    was = former_name(tx, rule)
    locked = _DEFINITIONS.order_by(rule_state.c.rule).with_for_update()
    rows = {row.rule: row for row in tx.connection.execute(locked, {"names": [rule.name, was or ""]})}
    renamed = rename(tx, was, rule.name, rows) if was is not None and was in rows else 0
    if was in rows or rule.was == rule.name:
        adopt(tx, rule)
    existing = rows.get(rule.name, rows.get(was or ""))
    if existing is None:
        row = {"rule": rule.name, "definition": rule.definition, "first_run": run, "first_run_at": tx.now}
        inserted = begun.values(row | {"last_run": run, "last_run_at": tx.now}).returning(rule_state.c.rule)
        if tx.connection.execute(inserted).one_or_none() is not None:  # psycopg counts no rows of such an insert
            return Entered(first=True, edited=False)
        existing = tx.connection.execute(locked, {"names": [rule.name]}).one()
    overtaken = existing.last_run != run and read_at < existing.last_run_at < tx.now + _TURN
    edited = existing.definition != rule.definition
    update = {"definition": rule.definition, "last_run": run, "last_run_at": tx.now}
    update["cleaning"] = None if edited else existing.cleaning
    tx.connection.execute(sa.update(rule_state).where(rule_state.c.rule == rule.name).values(update))
    rewritten = _is_rewritten(existing.definition, rule)
    return Entered(first=False, edited=edited, renamed=renamed, overtaken=overtaken, rewritten=rewritten)


def _is_rewritten(ran: str, rule: RuleIdentity) -> bool:
    """Return True if the definition that ran last is the rule's, except for the versions of its normalisers."""
    return ran == rule.unversioned != rule.definition


def told_binding(tx: Transaction, rule: str, was: str | None = None) -> str | None:
    """Return the binding of the last run that fully reported this rule's findings; None without such a run.

    `was` is the rule's former name, which its findings may still have.
    """
    rows = {row.rule: row.cleaning for row in tx.connection.execute(_DEFINITIONS, {"names": [rule, was or ""]})}
    return rows.get(rule, rows.get(was or ""))


def ended(tx: Transaction, run: str, bindings: Mapping[str, str | None]) -> None:
    """Record that the run fully reported these rules, with these bindings: from now on they may clean.

    The binding is None for a rule that cleans nothing. Rules updated by another run since are skipped: that run
    reports them.
    """
    for rule, binding in bindings.items():
        state = sa.update(rule_state).where(rule_state.c.rule == rule, rule_state.c.last_run == run)
        tx.connection.execute(state.values(cleaning=binding))


# What is known


def outlines(tx: Transaction, rules: Sequence[str], *, by_records: bool, lock: bool) -> Iterator[Outline]:
    """Yield all findings of a rule (under all its names) that may continue, with the marks that identify them.

    A merged finding may only if a decision covers records of it.

    `lock` blocks decisions of people until the transaction ends, once the last one was read.
    """
    query = _OUTLINES.where(findings.c.rule.in_(rules), _MAY_CONTINUE)
    partitions = tx.connection.execute(
        (query.with_for_update() if lock else query).execution_options(yield_per=CHUNK)
    ).partitions()
    for partition in partitions:
        yield from _by_records(tx, partition) if by_records else map(_by_key, partition)


def outlines_of(tx: Transaction, ids: Iterable[str], *, by_records: bool = False) -> Iterator[Outline]:
    """Yield these findings with the marks that identify them, in the order of their ids."""
    for chunk in chunks(ids):
        rows = tx.connection.execute(_OUTLINES.where(findings.c.id.in_(_ids)), {"ids": chunk}).all()
        yield from _by_records(tx, rows) if by_records else map(_by_key, rows)


def _by_records(tx: Transaction, rows: Sequence[Any]) -> Iterator[Outline]:
    records = followed(tx, [row.id for row in rows])
    return (
        Outline(row.id, (*records[row.id], row.id, *((row.merged_into,) if row.merged_into else ())), row.records)
        for row in rows
    )


def _by_key(row: Any) -> Outline:
    return Outline(row.id, (key_text(decode_key(row.key)),), row.records)


def following(tx: Transaction, rule: str, records: Sequence[str]) -> Iterable[str]:
    """Return the findings of the rule that may continue and follow one of these records: see `Known.followed`."""
    return tx.connection.execute(_FOLLOWING, {"rule": rule, "records": records}).scalars()


def merged_with(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Return the findings that took in these, and those that these took in and that may continue."""
    related: set[str] = set()
    for chunk in chunks(ids):
        into = sa.select(findings.c.merged_into).where(findings.c.id.in_(_ids), findings.c.merged_into.is_not(None))
        taken_in = sa.select(findings.c.id).where(findings.c.merged_into.in_(_ids), _MAY_CONTINUE)
        for query in (into, taken_in):
            related.update(tx.connection.execute(query, {"ids": chunk}).scalars())
    return related


def decided_within(tx: Transaction, finding: str, records: Iterable[str]) -> list[str]:
    """Return the findings that this one took in, and that a decision about some of these records can bring back."""
    within, taken_in = frozenset(records), {finding}
    while more := merged_with(tx, taken_in) - taken_in:
        taken_in |= more
    merged = (each for each in load(tx, sorted(taken_in - {finding})).known if each.state is State.MERGED)
    return [each.id for each in merged if not within.isdisjoint(each.settled)]


def followed(tx: Transaction, ids: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the records of each finding as in `Known.followed`, unordered."""
    records_by_finding: dict[str, list[str]] = defaultdict(list)
    for row in tx.connection.execute(_FOLLOWED, {"ids": list(ids)}):
        records_by_finding[row.finding].append(row.record)
    return records_by_finding


def load(tx: Transaction, ids: Iterable[str]) -> Memory:
    """Load these findings."""
    rows: dict[str, Row] = {}
    members: dict[str, dict[str, Row]] = defaultdict(dict)
    for chunk in chunks(ids):
        rows |= {row["id"]: row for row in _rows(tx.connection.execute(_FINDINGS, {"ids": chunk}))}
        for row in _rows(tx.connection.execute(_MEMBERS, {"ids": chunk})):
            members[row["finding"]][row["record"]] = row
    undone = _being_undone(tx, [name for name, row in rows.items() if row["state"] == State.CLEANED.value])
    remembered = (_known_finding(row, members[name], is_being_undone=name in undone) for name, row in rows.items())
    return Memory(tuple(remembered), rows, members)


def _being_undone(tx: Transaction, cleaned: Sequence[str]) -> set[str]:
    return {name for chunk in chunks(cleaned) for name in tx.connection.execute(_UNDOS, {"ids": chunk}).scalars()}


def _rows(result: sa.CursorResult[Any]) -> list[Row]:
    names = tuple(result.keys())
    return [dict(zip(names, row, strict=True)) for row in result.all()]


def decode_key(stored: Iterable[Sequence[Any]]) -> dict[str, Value]:
    """Decode a stored key: a list of [column, value], which keeps the order of columns."""
    return {name: decode(value) for name, value in stored}


def _known_finding(row: Row, members: Mapping[str, Row], *, is_being_undone: bool) -> Known:
    anchor = next((record for record, member in members.items() if member["role"] != FORMER), "")
    former = frozenset(record for record, member in members.items() if member["role"] == FORMER)
    return Known(
        id=row["id"],
        state=State(row["state"]),
        key=decode_key(row["key"]),
        anchor=anchor,
        members=frozenset(members) - former,
        first_seen=row["first_seen"],
        former=former,
        settled=frozenset(record for record, member in members.items() if member["settled_at"] is not None),
        settled_key=decode_key(row["payload"].get("settled_key", ())),
        decided=State(row["payload"][DECIDED]) if DECIDED in row["payload"] else None,
        peaks=peaks(row["payload"], row["money"]),
        snoozed_until=row["snoozed_until"],
        since=row["state_since"],
        is_being_undone=is_being_undone,
        kind=row["kind"],
        merged_into=row["merged_into"],
        handled={name: Decimal(amount) for name, amount in row["payload"].get(DECIDED_MONEY, {}).items()},
    )


def owners(tx: Transaction, marks: Iterable[str]) -> dict[str, str]:
    """Return the finding that has, or ever had, each of these fingerprints."""
    by_mark: dict[str, str] = {}
    for chunk in chunks(marks):
        by_mark.update((row.fingerprint, row.finding) for row in tx.connection.execute(_OWNERS, {"marks": chunk}))
    return by_mark


def taken(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Return the existing ones of these finding ids."""
    existing: set[str] = set()
    for chunk in chunks(ids):
        existing.update(tx.connection.execute(_TAKEN, {"ids": chunk}).scalars())
    return existing


# Writing


def add(tx: Transaction, new: Sequence[Row], members: Sequence[Row]) -> Mapping[str, StoredRows]:
    """Write new findings with their members and fingerprints; return the rows as stored, by table."""
    marks = [{"fingerprint": row["fingerprint"], "finding": row["id"], "since": tx.now} for row in new]
    tables = {findings: new, finding_members: members, finding_aliases: marks}
    stored = {table: bulk.as_stored(tx, table, rows) for table, rows in tables.items()}
    for table, rows in stored.items():
        bulk.insert_stored(tx, table, rows)
    return {table.name: rows for table, rows in stored.items()}


def write(tx: Transaction, changed: Sequence[Row], aliases: Mapping[str, str]) -> None:
    """Write changed findings (whole rows), and new fingerprints of them."""
    values = [name for name in findings.c.keys() if name != "id"]  # noqa: SIM118 - a collection of columns, not a dict
    bulk.update(tx, findings, [_picked(row, ("id",)) for row in changed], [_picked(row, values) for row in changed])
    rows = [{"fingerprint": mark, "finding": name, "since": tx.now} for mark, name in sorted(aliases.items())]
    bulk.insert(tx, finding_aliases, rows)


def write_members(tx: Transaction, *, new: Sequence[Row], changed: Sequence[Row]) -> None:
    """Write members by finding and record; a changed one keeps its first-seen and settled times."""
    bulk.insert(tx, finding_members, new)
    which = [_picked(row, ("finding", "record")) for row in changed]
    bulk.update(tx, finding_members, which, [_picked(row, ("position", "role", "values")) for row in changed])


def _picked(row: Row, names: Iterable[str]) -> Row:
    return {name: row[name] for name in names}


def touch(tx: Transaction, ids: Iterable[str], run: str) -> None:
    """Record that this run saw these findings again, unchanged."""
    for chunk in chunks(ids):
        tx.connection.execute(_TOUCH, {"ids": chunk, "run": run, "now": tx.now})


def settle(tx: Transaction, finding: str, at: dt.datetime | None) -> None:
    """Mark exactly the finding's present records as covered by a decision; None: mark no record."""
    tx.connection.execute(sa.update(findings).where(findings.c.id == finding).values(digest=None))
    members = sa.update(finding_members).where(finding_members.c.finding == finding)
    if at is None:
        tx.connection.execute(members.values(settled_at=None))
        return
    tx.connection.execute(members.where(finding_members.c.role == FORMER).values(settled_at=None))
    fresh = members.where(finding_members.c.role != FORMER, finding_members.c.settled_at.is_(None))
    tx.connection.execute(fresh.values(settled_at=at))


_ids: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_names: sa.BindParameter[Any] = sa.bindparam("names", expanding=True)
_RENAMED_FROM = sa.select(rule_state.c.renamed_from).where(rule_state.c.rule == sa.bindparam("name"))
_DEFINITIONS = sa.select(
    rule_state.c.rule, rule_state.c.definition, rule_state.c.cleaning, rule_state.c.last_run, rule_state.c.last_run_at
).where(rule_state.c.rule.in_(_names))
_OUTLINES = sa.select(findings.c.id, findings.c.key, findings.c.records, findings.c.merged_into).order_by(findings.c.id)
_settled = sa.alias(finding_members)
_MAY_CONTINUE = sa.or_(
    findings.c.state != State.MERGED.value,
    sa.exists().where(_settled.c.finding == findings.c.id, _settled.c.settled_at.is_not(None)),
)
_FINDINGS = sa.select(findings).where(findings.c.id.in_(_ids)).order_by(findings.c.id)
_UNDOS = sa.select(plans.c.finding).where(
    plans.c.finding.in_(_ids),
    plans.c.undoes.is_not(None),
    plans.c.state.in_([state.value for state in HOLDING if state is not PlanState.RETRY_WAIT]),
)
_MEMBERS = (
    sa.select(finding_members)
    .where(finding_members.c.finding.in_(_ids))
    .order_by(finding_members.c.finding, finding_members.c.position, finding_members.c.record)
)
_IS_FOLLOWED = sa.or_(finding_members.c.role != FORMER, finding_members.c.settled_at.is_not(None))
_FOLLOWED = sa.select(finding_members.c.finding, finding_members.c.record).where(
    finding_members.c.finding.in_(_ids), _IS_FOLLOWED
)
# Without the empty text, SQLite would go through all findings of the rule, and look for each of the records in each.
_FOLLOWING = (
    sa.select(findings.c.id)
    .distinct()
    .join(finding_members, finding_members.c.finding == findings.c.id)
    .where(
        finding_members.c.record.in_(sa.bindparam("records", expanding=True)),
        findings.c.rule.concat("") == sa.bindparam("rule"),
        _MAY_CONTINUE,
        _IS_FOLLOWED,
    )
)
_OWNERS = sa.select(finding_aliases.c.fingerprint, finding_aliases.c.finding).where(
    finding_aliases.c.fingerprint.in_(sa.bindparam("marks", expanding=True))
)
_TAKEN = sa.select(findings.c.id).where(findings.c.id.in_(_ids))
_TOUCH = (
    sa.update(findings)
    .where(bulk.one_of(findings.c.id, "ids"))
    .values(last_run=sa.bindparam("run"), last_seen=sa.bindparam("now"))
)
