"""Judgements of two records by themselves, outside any finding, and all judgements of a rule to learn from."""

from __future__ import annotations

import datetime as dt
import hmac
import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.findings.identity import PairValues, dataset_of, id_of
from reconcile.findings.payload import encoded
from reconcile.findings.states import State
from reconcile.store.columns import json_text
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import FORMER
from reconcile.store.judgements import MOST_PAIRS_OF, SAME, of_kind, upsert
from reconcile.store.tables import finding_members, findings, not_same
from rules.values import canonical_json

_HANDLED = "handled"
_CONFIRMED = (State.APPROVED, State.CLEANING, State.PARTLY, State.CLEANED)
"""States of a finding whose records a person, or a rule that needs none, confirmed to be the same."""


@dataclass(frozen=True)
class JudgedPair:
    """Two records that a rule compares, by their names in the store, the smaller first.

    `kind` and `dataset` are those of the rule; `values` are what the judgement is about.
    """

    rule: str
    kind: str
    dataset: str
    records: tuple[str, str]
    values: PairValues
    is_same: bool


@dataclass(frozen=True)
class StoredJudgement:
    """A judgement of a pair. It was made in a `finding`, or by itself, and then has the name `pair`."""

    is_same: bool
    is_handled: bool
    finding: str | None
    pair: str | None
    by: str


@dataclass(frozen=True)
class LearntPair:
    """Two records that people judged in a rule.

    `records` are their names in the store; `named` has each as its dataset (None for the rule's first) and its id in
    canonical JSON. `source` is how they were judged: `judged` as a pair, `split` off a finding, or by a finding that
    was `dismissed`, `handled` or `cleaned`.
    """

    records: tuple[str, str]
    is_same: bool
    source: str
    at: dt.datetime

    @property
    def named(self) -> tuple[tuple[str | None, str], tuple[str | None, str]]:
        first, second = ((dataset_of(record), canonical_json(id_of(record))) for record in self.records)
        return first, second


def find(tx: Transaction, rule: str, records: tuple[str, str]) -> StoredJudgement | None:
    """Return the judgement of a pair; None without one."""
    row = tx.connection.execute(sa.select(not_same).where(*_is(rule, records))).first()
    if row is None:
        return None
    is_handled = row.decision == _HANDLED
    return StoredJudgement(row.decision == SAME, is_handled, row.finding, row.pair, row.decided_by)


def has_other_partner(tx: Transaction, rule: str, kind: str, records: tuple[str, str]) -> bool:
    """Return True if one of two records was judged the same as a third one."""
    first, second = not_same.c.record_a, not_same.c.record_b
    holds_one = first.in_(records) != second.in_(records)
    query = sa.select(first).where(not_same.c.rule == rule, not_same.c.decision == SAME, holds_one)
    return tx.connection.execute(of_kind(query, kind).limit(1)).first() is not None


def judge(tx: Transaction, judged: JudgedPair, *, by: str, note: str | None) -> str:
    """Store a judgement in the place of an earlier one; return its name."""
    first, second = judged.records
    values_a, values_b = map(encoded, judged.values)
    text = json_text(["reconcile/pair/1", judged.rule, first, second, tx.now.isoformat()])
    row: dict[str, Any] = {
        "rule": judged.rule,
        "record_a": first,
        "record_b": second,
        "values_a": values_a,
        "values_b": values_b,
    }
    row |= {"finding": None, "decided_by": by, "decided_at": tx.now, "note": note}
    row |= {"decision": SAME if judged.is_same else None, "kind": judged.kind, "dataset": judged.dataset}
    row["pair"] = hmac.digest(tx.store.key, text.encode(), "sha256").hex()[:32]
    tx.connection.execute(upsert(tx), row)
    return str(row["pair"])


def forget(tx: Transaction, rule: str, records: tuple[str, str]) -> None:
    """Delete the judgement of a pair."""
    tx.connection.execute(sa.delete(not_same).where(*_is(rule, records)))


def learnt_pairs(tx: Transaction, rule: str, kind: str) -> list[LearntPair]:
    """Return all pairs that people judged in a rule of this kind, each once: in what a run, a finding or a person
    said of them last.

    An undone cleaning keeps its records apart but teaches nothing: it may have been a trial, or taken a wrong value.
    """
    query = sa.select(*_JUDGED, findings.c.state).where(not_same.c.rule == rule)
    rows = tx.connection.execute(of_kind(query, kind))
    learnt = {(row.record_a, row.record_b): _learnt(row) for row in rows if row.state != State.UNDONE.value}
    for records, at in _confirmed(tx, rule, kind).items():
        learnt.setdefault(records, LearntPair(records, is_same=True, source="cleaned", at=at))
    return [learnt[records] for records in sorted(learnt)]


def _learnt(row: Any) -> LearntPair:
    is_same = row.decision is not None
    if row.finding is None:
        source = "judged"
    elif row.decision == _HANDLED:
        source = _HANDLED
    else:
        source = row.state if row.state == State.DISMISSED.value else "split"
    return LearntPair((row.record_a, row.record_b), is_same, source, row.decided_at)


def _confirmed(tx: Transaction, rule: str, kind: str) -> Mapping[tuple[str, str], dt.datetime]:
    """Return the pairs of the records of cleaned findings, with the time of the decision."""
    query = sa.select(findings.c.id, findings.c.state_since, finding_members.c.record)
    query = query.join(finding_members, finding_members.c.finding == findings.c.id)
    query = query.where(findings.c.rule == rule, findings.c.kind == kind, finding_members.c.role != FORMER)
    states = [state.value for state in _CONFIRMED]
    records: dict[tuple[str, dt.datetime], list[str]] = defaultdict(list)
    for finding, at, record in tx.connection.execute(query.where(findings.c.state.in_(states))):
        records[finding, at].append(record)
    return {
        pair: at
        for (_, at), members in records.items()
        if len(members) <= MOST_PAIRS_OF
        for pair in itertools.combinations(sorted(members), 2)
    }


def _is(rule: str, records: tuple[str, str]) -> tuple[sa.ColumnElement[bool], ...]:
    first, second = records
    return not_same.c.rule == rule, not_same.c.record_a == first, not_same.c.record_b == second


_JUDGED = (not_same.c.record_a, not_same.c.record_b, not_same.c.decision, not_same.c.finding, not_same.c.decided_at)
