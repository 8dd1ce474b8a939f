"""Records that people judged to be different, handled or the same: by pair, or as a whole if a finding has too many
pairs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.findings.identity import PairValues
from reconcile.findings.known import NotSame, Pair
from reconcile.findings.states import State
from reconcile.store import bulk
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import FORMER, chunks, decode_key, load
from reconcile.store.tables import finding_members, findings, not_same

MOST_PAIRS_OF = 200
"""Up to this many records, a decision is also stored for every pair; a larger finding is settled only as a whole, also
once it was merged into another."""
_HANDLED = "handled"
SAME = "same"
"""The decision that the records of a pair are the same."""


class Judgements(NamedTuple):
    """Where pairs were judged: the findings, and the names of pairs that were judged by themselves."""

    findings: set[str]
    pairs: set[str]


def load_not_same(tx: Transaction, rules: Sequence[str], kind: str | None) -> NotSame:
    """Load the pairs that people judged in these rules, and the crowds of findings merged since.

    Only judgements about findings of this `kind` of rule count; None: of any.
    """
    pairs = _pairs(tx, sa.select(not_same).where(not_same.c.rule.in_(rules)), kind)
    merged = load(tx, tx.connection.execute(_CROWDS, {"names": list(rules)}).scalars()).known
    crowds = [(finding.settled, finding.settled_key) for finding in merged if kind in (finding.kind, None)]
    return replace(pairs, crowds=crowds)


def load_pairs(tx: Transaction, rule: str, kind: str, records: Collection[str]) -> NotSame:
    """Load the pairs of these records that people judged in a rule, about findings of this `kind`; no crowds."""
    listed = list(records)
    among = (bulk.is_one_of(record, listed) for record in (not_same.c.record_a, not_same.c.record_b))
    return _pairs(tx, sa.select(not_same).where(not_same.c.rule == rule, *among), kind)


def load_same(tx: Transaction, rules: Sequence[str], kind: str | None) -> Mapping[Pair, PairValues]:
    """Load the pairs that people judged to be the same in these rules, with the values that the judgement is about."""
    query = sa.select(not_same).where(not_same.c.rule.in_(rules), not_same.c.decision == SAME)
    return {
        (row.record_a, row.record_b): (decode_key(row.values_a), decode_key(row.values_b))
        for row in tx.connection.execute(of_kind(query, kind))
    }


def of_kind(query: sa.Select[Any], kind: str | None) -> sa.Select[Any]:
    """Return a query of judged pairs for those of this kind of rule, or of any for None."""
    if kind is None:
        return query
    query = query.outerjoin(findings, findings.c.id == not_same.c.finding)
    return query.where(sa.func.coalesce(findings.c.kind, not_same.c.kind) == kind)


def _pairs(tx: Transaction, query: sa.Select[Any], kind: str | None) -> NotSame:
    pairs, handled = {}, set()
    query = query.where(not_same.c.decision.is_distinct_from(SAME))
    for row in tx.connection.execute(of_kind(query, kind)):
        pair = row.record_a, row.record_b
        pairs[pair] = (decode_key(row.values_a), decode_key(row.values_b))
        if row.decision == _HANDLED:
            handled.add(pair)
    return NotSame(pairs, handled=frozenset(handled))


def judged_before(tx: Transaction, names: Iterable[str]) -> Judgements:
    """Return the judgements that `judge` of these findings would replace: those about the same pairs."""
    judged = Judgements(set(), set())
    first, second = sa.alias(finding_members), sa.alias(finding_members)
    for chunk in chunks(names):
        pairs = _WHERE_JUDGED.join(first, first.c.record == not_same.c.record_a)
        pairs = pairs.join(second, (second.c.record == not_same.c.record_b) & (second.c.finding == first.c.finding))
        _add(judged, tx.connection.execute(pairs.where(first.c.finding.in_(_ids)), {"ids": chunk}))
    return judged


def judged_among(tx: Transaction, records: Collection[str]) -> Judgements:
    """Return the judgements of pairs of these records, in any rule."""
    pairs = _WHERE_JUDGED.where(bulk.one_of(not_same.c.record_a, "records"))
    pairs = pairs.where(bulk.one_of(not_same.c.record_b, "records"))
    return _add(Judgements(set(), set()), tx.connection.execute(pairs, {"records": list(records)}))


def _add(judged: Judgements, rows: Iterable[Any]) -> Judgements:
    for finding, pair in rows:
        if finding is None:
            judged.pairs.add(pair)
        else:
            judged.findings.add(finding)
    return judged


def judge(
    tx: Transaction,
    names: Iterable[str],
    *,
    by: str,
    note: str | None = None,
    are_handled: bool = False,
    keep_handled: bool = False,
    members: Mapping[str, Collection[str]] | None = None,
    apart: Collection[str] | None = None,
) -> int:
    """Judge all pairs of these findings' present records to be different, or to be handled, in their rule; return the
    number of pairs.

    `members` are the records to judge instead, by finding; with `apart` only their pairs with one of these. Each pair
    is stored with the values of the judgement. A later judgement replaces an earlier one, but with `keep_handled` none
    that it was handled: an undo says nothing about records that the cleaning left alone. One that is handled is still
    the same if it was judged so.
    """
    kept = _HANDLED if keep_handled else SAME if are_handled else None
    statement = upsert(tx, kept)
    judged = 0
    for chunk in chunks(names):
        records: dict[str, list[str]] = defaultdict(list)
        if members is None:
            for member in tx.connection.execute(_PRESENT, {"ids": chunk}):
                records[member.finding].append(member.record)
        else:
            records |= {name: list(members[name]) for name in chunk}
        for row in tx.connection.execute(_JUDGED, {"ids": chunk}):
            is_many = apart is None and len(records[row.id]) > MOST_PAIRS_OF
            if is_many or len(records[row.id]) < 2:  # those that share an id make no pair
                continue
            values = row.payload.get("judged", row.key)
            judgement = {"rule": row.rule, "values_a": values, "values_b": values, "finding": row.id}
            judgement |= {"decided_by": by, "decided_at": tx.now, "note": note}
            judgement |= {"decision": _HANDLED if are_handled else None}
            judgement |= dict.fromkeys(("pair", "kind", "dataset"))
            pairs = itertools.combinations(sorted(records[row.id]), 2)
            chosen = ((a, b) for a, b in pairs if apart is None or (a in apart) != (b in apart))
            if rows := [judgement | {"record_a": a, "record_b": b} for a, b in chosen]:
                tx.connection.execute(statement, rows)
            judged += len(rows)
    return judged


def upsert(tx: Transaction, kept: str | None = None) -> Any:
    """Return the statement that stores a judgement in the place of an earlier one without the kept decision."""
    insert = insert_for(tx, not_same)
    update = {name: insert.excluded[name] for name in not_same.c.keys() if name not in _PAIR}  # noqa: SIM118
    is_replaced = None if kept is None else not_same.c.decision.is_distinct_from(kept)
    return insert.on_conflict_do_update(index_elements=_PAIR, set_=update, where=is_replaced)


def present(tx: Transaction, finding: str) -> list[str]:
    """Return the names of the finding's present records."""
    return [row.record for row in tx.connection.execute(_PRESENT, {"ids": [finding]})]


def forget_judgements(tx: Transaction, finding: str, rule: str, records: Collection[str]) -> int:
    """Delete the judgements about pairs of these records, the finding's present ones, in its rule, and those made with
    this finding about one of them; return the number of pairs. Those that are the same stay so.

    A finding that joined another one and parted again can have judged records that are in neither by now: they stay.
    """
    names = {"records": list(records)}
    among = [bulk.one_of(record, "records") for record in (not_same.c.record_a, not_same.c.record_b)]
    own = (not_same.c.finding == finding) & sa.or_(*among)
    within = sa.and_(not_same.c.rule == rule, *among)
    which = not_same.c.decision.is_distinct_from(SAME) & (own | within)
    return tx.connection.execute(sa.delete(not_same).where(which), names).rowcount


_PAIR = ("rule", "record_a", "record_b")
_WHERE_JUDGED = sa.select(not_same.c.finding, not_same.c.pair).distinct()
_ids: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_CROWDS = (
    sa.select(findings.c.id)
    .join(finding_members, finding_members.c.finding == findings.c.id)
    .where(
        findings.c.rule.in_(sa.bindparam("names", expanding=True)),
        findings.c.state == State.MERGED.value,
        finding_members.c.settled_at.is_not(None),
    )
    .group_by(findings.c.id)
    .having(sa.func.count() > MOST_PAIRS_OF)
    .order_by(findings.c.id)
)
_PRESENT = sa.select(finding_members.c.finding, finding_members.c.record).where(
    finding_members.c.finding.in_(_ids), finding_members.c.role != FORMER
)
_JUDGED = sa.select(findings.c.id, findings.c.rule, findings.c.key, findings.c.payload).where(findings.c.id.in_(_ids))
