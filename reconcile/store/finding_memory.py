"""What a run must know of a rule's findings, read and written in bulk, some of them at a time."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from reconcile.findings.identity import RuleIdentity, decode, key_text
from reconcile.findings.known import Known, NotSame
from reconcile.findings.parts import Outline
from reconcile.findings.states import State
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.tables import finding_aliases, finding_members, findings, not_same, rule_state
from rules.values import Value

CHUNK = 1_000
FORMER = "former"
"""The role of a record that the finding once had."""
MOST_PAIRS_OF = 200
"""Up to this many records a decision is kept for every pair too; a larger finding is settled as a whole only."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Memory:
    """Findings of a rule: as judging sees them, and as they are stored."""

    known: tuple[Known, ...]
    rows: Mapping[str, Row]
    members: Mapping[str, Mapping[str, Row]]


_TURN = dt.timedelta(minutes=1)
"""More than a transaction waits for its turn. What stands as recorded later than that was so before the clock was set
back."""


@dataclass(frozen=True)
class Entered:
    """A rule at the start of a run: whether it never ran before, and whether what it matches changed since.

    `rewritten`: it changed only because this release writes normalised values in another way.

    `overtaken`: another run brought the rule's findings up to date after this one began to read, so it may know of
    records that this one did not see.
    """

    first: bool
    edited: bool
    renamed: int = 0
    overtaken: bool = False
    rewritten: bool = False


def insert_for(tx: Transaction, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can say ON CONFLICT, in the store's dialect."""
    return postgresql.insert(table) if tx.store.is_shared else sqlite.insert(table)


def chunks(items: Iterable[str]) -> Iterator[list[str]]:
    listed = list(items)
    return (listed[at : at + CHUNK] for at in range(0, len(listed), CHUNK))


# The rule


def former_name(tx: Transaction, rule: RuleIdentity) -> str | None:
    """The name under which the rule's findings still stand; None once they were brought over.

    They are brought over once: whoever takes the old name for another rule afterwards keeps what is theirs.
    """
    if rule.was is None or rule.was == rule.name:
        return None
    renamed_from = tx.connection.execute(_RENAMED_FROM, {"name": rule.name}).scalar()
    return None if renamed_from == rule.was else rule.was


def renamed_with(tx: Transaction, rule: RuleIdentity) -> list[str]:
    """The findings that `enter` changes because the rule has a new name: its own, and those its judgements are of."""
    was = former_name(tx, rule)
    if was is None:
        return []
    queries = (
        sa.select(findings.c.id).where(findings.c.rule == was),
        sa.select(not_same.c.finding).distinct().where(not_same.c.rule == was),
    )
    return [name for query in queries for name in tx.connection.execute(query).scalars()]


def standing(tx: Transaction, rule: RuleIdentity) -> Entered:
    """What `enter` would say, without writing."""
    was = former_name(tx, rule)
    rows = {row.rule: row for row in tx.connection.execute(_DEFINITIONS, {"names": [rule.name, was or ""]})}
    known = rows.get(rule.name, rows.get(was or ""))
    if known is None:
        return Entered(first=True, edited=False)
    return Entered(
        first=False, edited=known.definition != rule.definition, rewritten=_is_rewritten(known.definition, rule)
    )


def enter(tx: Transaction, rule: RuleIdentity, run: str, read_at: dt.datetime) -> Entered:
    """Take the rule for this transaction (runs of one rule queue here), bring findings over from its former name.

    The run began to read at `read_at`.
    """
    begun = insert_for(tx, rule_state).on_conflict_do_nothing()
    was = former_name(tx, rule)
    locked = _DEFINITIONS.order_by(rule_state.c.rule).with_for_update()
    there = {row.rule: row for row in tx.connection.execute(locked, {"names": [rule.name, was or ""]})}
    renamed = _rename(tx, was, rule.name, there) if was in there else 0
    known = there.get(rule.name, there.get(was or ""))
    if known is None:
        row = {"rule": rule.name, "definition": rule.definition, "first_run": run, "first_run_at": tx.now}
        mine = begun.values(row | {"last_run": run, "last_run_at": tx.now}).returning(rule_state.c.rule)
        if tx.connection.execute(mine).one_or_none() is not None:  # psycopg counts no rows of such an insert
            return Entered(first=True, edited=False)
        known = tx.connection.execute(locked, {"names": [rule.name]}).one()
    overtaken = known.last_run != run and read_at < known.last_run_at < tx.now + _TURN
    edited = known.definition != rule.definition
    update = {"definition": rule.definition, "last_run": run, "last_run_at": tx.now}
    update["cleaning"] = None if edited else known.cleaning
    tx.connection.execute(sa.update(rule_state).where(rule_state.c.rule == rule.name).values(update))
    rewritten = _is_rewritten(known.definition, rule)
    return Entered(first=False, edited=edited, renamed=renamed, overtaken=overtaken, rewritten=rewritten)


def _is_rewritten(ran: str, rule: RuleIdentity) -> bool:
    """Return True if the definition that ran last is the rule's, but for the versions of its normalisers."""
    return ran == rule.unversioned != rule.definition


def told_binding(tx: Transaction, rule: str, was: str | None = None) -> str | None:
    """The binding with which a run told to its end what it found by this rule; None: no run did.

    `was` is the rule's former name, where its findings may still stand.
    """
    rows = {row.rule: row.cleaning for row in tx.connection.execute(_DEFINITIONS, {"names": [rule, was or ""]})}
    return rows.get(rule, rows.get(was or ""))


def ended(tx: Transaction, run: str, bindings: Mapping[str, str | None]) -> None:
    """The run told what it found by these rules, with these bindings: from now on, what they say may be done.

    None for a rule that cleans nothing. Not of a rule that another run brought up to date since, perhaps as another
    one: that run tells of it.
    """
    for rule, binding in bindings.items():
        mine = sa.update(rule_state).where(rule_state.c.rule == rule, rule_state.c.last_run == run)
        tx.connection.execute(mine.values(cleaning=binding))


def _rename(tx: Transaction, old: str | None, new: str, there: Collection[str]) -> int:
    run = tx.connection.execute
    if new in there:
        run(sa.delete(rule_state).where(rule_state.c.rule == old))
        run(sa.update(rule_state).where(rule_state.c.rule == new).values(renamed_from=old))
    else:
        run(sa.update(rule_state).where(rule_state.c.rule == old).values(rule=new, renamed_from=old))
    double = sa.alias(not_same)
    same = (double.c.record_a == not_same.c.record_a) & (double.c.record_b == not_same.c.record_b)
    known_twice = sa.exists().where(double.c.rule == new, same)
    run(sa.delete(not_same).where(not_same.c.rule == old, known_twice))
    run(sa.update(not_same).where(not_same.c.rule == old).values(rule=new))
    moved: int = run(sa.update(findings).where(findings.c.rule == old).values(rule=new)).rowcount
    return moved


# What is known


def outlines(tx: Transaction, rules: Sequence[str], *, by_records: bool, lock: bool) -> Iterator[Outline]:
    """All findings of a rule (under all its names), merged ones aside, by what they are followed.

    `lock` keeps people's decisions out until the transaction ends, once the last one was read.
    """
    wanted = sa.select(findings.c.id, findings.c.key, findings.c.records).order_by(findings.c.id)
    wanted = wanted.where(findings.c.rule.in_(rules), findings.c.state != State.MERGED.value)
    found = tx.connection.execute(
        (wanted.with_for_update() if lock else wanted).execution_options(yield_per=CHUNK)
    ).partitions()
    for some in found:
        if by_records:
            followed = _followed(tx, [row.id for row in some])
            yield from (Outline(row.id, followed[row.id], row.records) for row in some)
        else:
            yield from (Outline(row.id, (key_text(decode_key(row.key)),), row.records) for row in some)


def _followed(tx: Transaction, ids: Sequence[str]) -> Mapping[str, list[str]]:
    """The records of each finding that `Known.followed` names, but for its order."""
    found: dict[str, list[str]] = defaultdict(list)
    for row in tx.connection.execute(_FOLLOWED, {"ids": list(ids)}):
        found[row.finding].append(row.record)
    return found


def load(tx: Transaction, ids: Iterable[str]) -> Memory:
    """These findings."""
    rows: dict[str, Row] = {}
    members: dict[str, dict[str, Row]] = defaultdict(dict)
    for some in chunks(ids):
        rows |= {row["id"]: row for row in _rows(tx.connection.execute(_FINDINGS, {"ids": some}))}
        for row in _rows(tx.connection.execute(_MEMBERS, {"ids": some})):
            members[row["finding"]][row["record"]] = row
    return Memory(tuple(_known(row, members[name]) for name, row in rows.items()), rows, members)


def _rows(found: sa.CursorResult[Any]) -> list[Row]:
    names = tuple(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]


def load_not_same(tx: Transaction, rules: Sequence[str]) -> NotSame:
    """The pairs that people judged to be different, in these rules."""
    pairs = {}
    for row in tx.connection.execute(sa.select(not_same).where(not_same.c.rule.in_(rules))):
        pairs[row.record_a, row.record_b] = (decode_key(row.values_a), decode_key(row.values_b))
    return NotSame(pairs)


def decode_key(stored: Iterable[Sequence[Any]]) -> dict[str, Value]:
    """A key as it is stored: a list of [column, value], so that its columns keep their order."""
    return {name: decode(value) for name, value in stored}


def _known(row: Row, members: Mapping[str, Row]) -> Known:
    keeper = next((record for record, one in members.items() if one["role"] == "keeper"), "")
    former = frozenset(record for record, one in members.items() if one["role"] == FORMER)
    return Known(
        id=row["id"],
        state=State(row["state"]),
        key=decode_key(row["key"]),
        keeper=keeper,
        members=frozenset(members) - former,
        first_seen=row["first_seen"],
        former=former,
        settled=frozenset(record for record, one in members.items() if one["settled_at"] is not None),
        settled_key=decode_key(row["payload"].get("settled_key", ())),
        snoozed_until=row["snoozed_until"],
        since=row["state_since"],
    )


def owners(tx: Transaction, marks: Iterable[str]) -> dict[str, str]:
    """Which finding has, or ever had, each of these fingerprints."""
    found: dict[str, str] = {}
    for some in chunks(marks):
        found.update((row.fingerprint, row.finding) for row in tx.connection.execute(_OWNERS, {"marks": some}))
    return found


def taken(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Which of these finding ids exist."""
    found: set[str] = set()
    for some in chunks(ids):
        found.update(tx.connection.execute(_TAKEN, {"ids": some}).scalars())
    return found


# Writing


def write(tx: Transaction, *, new: Sequence[Row], changed: Sequence[Row], aliases: Mapping[str, str]) -> None:
    """New findings, findings as they are now (whole rows), and fingerprints they did not have before."""
    bulk.insert(tx, findings, new)
    rest = [name for name in findings.c.keys() if name != "id"]  # noqa: SIM118 - a collection of columns, not a dict
    bulk.update(tx, findings, [_some(row, ("id",)) for row in changed], [_some(row, rest) for row in changed])
    rows = [{"fingerprint": mark, "finding": name, "since": tx.now} for mark, name in sorted(aliases.items())]
    bulk.insert(tx, finding_aliases, rows)


def write_members(tx: Transaction, *, new: Sequence[Row], changed: Sequence[Row]) -> None:
    """Members by finding and record; a changed one keeps when it was first seen and settled."""
    bulk.insert(tx, finding_members, new)
    which = [_some(row, ("finding", "record")) for row in changed]
    bulk.update(tx, finding_members, which, [_some(row, ("position", "role", "values")) for row in changed])


def _some(row: Row, names: Iterable[str]) -> Row:
    return {name: row[name] for name in names}


def touch(tx: Transaction, ids: Iterable[str], run: str) -> None:
    """These findings were seen again by this run, and nothing about them changed."""
    for some in chunks(ids):
        tx.connection.execute(_TOUCH, {"ids": some, "run": run, "now": tx.now})


def settle(tx: Transaction, finding: str, at: dt.datetime | None) -> None:
    """A decision covers the finding's present records, and only those, from now on; None: it covers none any more."""
    members = sa.update(finding_members).where(finding_members.c.finding == finding)
    if at is None:
        tx.connection.execute(members.values(settled_at=None))
        return
    tx.connection.execute(members.where(finding_members.c.role == FORMER).values(settled_at=None))
    fresh = members.where(finding_members.c.role != FORMER, finding_members.c.settled_at.is_(None))
    tx.connection.execute(fresh.values(settled_at=at))


def judged_before(tx: Transaction, names: Iterable[str]) -> set[str]:
    """The findings whose judgements `judge_different` of these would take over: they were about the same pairs."""
    found: set[str] = set()
    mine, other = sa.alias(finding_members), sa.alias(finding_members)
    for some in chunks(names):
        pairs = sa.select(not_same.c.finding).distinct().join(mine, mine.c.record == not_same.c.record_a)
        pairs = pairs.join(other, (other.c.record == not_same.c.record_b) & (other.c.finding == mine.c.finding))
        found.update(tx.connection.execute(pairs.where(mine.c.finding.in_(_ids)), {"ids": some}).scalars())
    return found


def judge_different(tx: Transaction, names: Iterable[str], *, by: str, note: str | None = None) -> int:
    """How many pairs of these findings' present records are judged to be different from now on, in their rule.

    Each is kept with the key the judgement was about; a later judgement takes the place of an earlier one.
    """
    insert = insert_for(tx, not_same)
    which = ("rule", "record_a", "record_b")
    update = {name: insert.excluded[name] for name in not_same.c.keys() if name not in which}  # noqa: SIM118
    statement = insert.on_conflict_do_update(index_elements=which, set_=update)
    judged = 0
    for some in chunks(names):
        records: dict[str, list[str]] = defaultdict(list)
        for one in tx.connection.execute(_PRESENT, {"ids": some}):
            records[one.finding].append(one.record)
        for row in tx.connection.execute(_JUDGED, {"ids": some}):
            if not 1 < len(records[row.id]) <= MOST_PAIRS_OF:  # those that share an id make no pair
                continue
            said = {"rule": row.rule, "values_a": row.key, "values_b": row.key, "finding": row.id}
            said |= {"decided_by": by, "decided_at": tx.now, "note": note}
            pairs = itertools.combinations(sorted(records[row.id]), 2)
            rows = [said | {"record_a": a, "record_b": b} for a, b in pairs]
            tx.connection.execute(statement, rows)
            judged += len(rows)
    return judged


_ids: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_names: sa.BindParameter[Any] = sa.bindparam("names", expanding=True)
_RENAMED_FROM = sa.select(rule_state.c.renamed_from).where(rule_state.c.rule == sa.bindparam("name"))
_DEFINITIONS = sa.select(
    rule_state.c.rule, rule_state.c.definition, rule_state.c.cleaning, rule_state.c.last_run, rule_state.c.last_run_at
).where(rule_state.c.rule.in_(_names))
_FINDINGS = sa.select(findings).where(findings.c.id.in_(_ids)).order_by(findings.c.id)
_MEMBERS = (
    sa.select(finding_members)
    .where(finding_members.c.finding.in_(_ids))
    .order_by(finding_members.c.finding, finding_members.c.position, finding_members.c.record)
)
_FOLLOWED = sa.select(finding_members.c.finding, finding_members.c.record).where(
    finding_members.c.finding.in_(_ids),
    sa.or_(finding_members.c.role != FORMER, finding_members.c.settled_at.is_not(None)),
)
_PRESENT = sa.select(finding_members.c.finding, finding_members.c.record).where(
    finding_members.c.finding.in_(_ids), finding_members.c.role != FORMER
)
_JUDGED = sa.select(findings.c.id, findings.c.rule, findings.c.key).where(findings.c.id.in_(_ids))
_OWNERS = sa.select(finding_aliases.c.fingerprint, finding_aliases.c.finding).where(
    finding_aliases.c.fingerprint.in_(sa.bindparam("marks", expanding=True))
)
_TAKEN = sa.select(findings.c.id).where(findings.c.id.in_(_ids))
_TOUCH = (
    sa.update(findings)
    .where(findings.c.id.in_(_ids))
    .values(last_run=sa.bindparam("run"), last_seen=sa.bindparam("now"))
)
