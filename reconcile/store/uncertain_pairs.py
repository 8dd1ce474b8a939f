"""The pairs of records whose judgement would teach a rule most, as its last run found them."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from reconcile.findings.identity import beginning
from reconcile.findings.payload import encoded
from reconcile.store import bulk
from reconcile.store.columns import json_text
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import decode_key
from reconcile.store.tables import not_same, uncertain_pairs
from rules.values import Value


@dataclass(frozen=True)
class StoredPair:
    """Two records, by their names in the store, the smaller first, with the values that a finding would show.

    `dataset` is the first of the rule. `evidence` says in words what speaks for and against that they are the same, and
    holds no value of a record. `id` names the pair to a door without any of its values.
    """

    rule: str
    kind: str
    dataset: str
    records: tuple[str, str]
    values: tuple[Mapping[str, Value], Mapping[str, Value]]
    probability: Decimal
    evidence: str
    id: str = ""


def replace(tx: Transaction, rule: str, pairs: Sequence[StoredPair]) -> None:
    """Store the pairs of a rule, in their order, in the place of those of its last run."""
    tx.connection.execute(sa.delete(uncertain_pairs).where(uncertain_pairs.c.rule == rule))
    rows = []
    for position, pair in enumerate(pairs):
        (record_a, record_b), (values_a, values_b) = pair.records, map(encoded, pair.values)
        row: dict[str, Any] = {"pair": _id(tx, rule, pair.records), "rule": rule, "kind": pair.kind}
        row |= {"dataset": pair.dataset, "position": position, "record_a": record_a, "record_b": record_b}
        row |= {"values_a": values_a, "values_b": values_b, "probability": str(pair.probability)}
        rows.append(row | {"evidence": pair.evidence, "found_at": tx.now})
    bulk.insert(tx, uncertain_pairs, rows)


def keep_only(tx: Transaction, rules: Sequence[str]) -> None:
    """Delete the pairs of all other rules, which no run replaces any more."""
    tx.connection.execute(sa.delete(uncertain_pairs).where(uncertain_pairs.c.rule.not_in(rules)))


def waiting(tx: Transaction, rules: Sequence[str]) -> list[StoredPair]:
    """Return the pairs of these rules that nobody judged since the last run, in the order of the rules."""
    is_judged = sa.exists().where(
        not_same.c.rule == uncertain_pairs.c.rule,
        not_same.c.record_a == uncertain_pairs.c.record_a,
        not_same.c.record_b == uncertain_pairs.c.record_b,
        not_same.c.decided_at >= uncertain_pairs.c.found_at,
    )
    query = sa.select(uncertain_pairs).where(uncertain_pairs.c.rule.in_(rules), ~is_judged)
    rows = tx.connection.execute(query.order_by(uncertain_pairs.c.rule, uncertain_pairs.c.position))
    order = {rule: number for number, rule in enumerate(rules)}
    return sorted(map(_pair, rows), key=lambda pair: order[pair.rule])


def get(tx: Transaction, identifier: str) -> StoredPair | None:
    """Return the pair of this id, judged or not; None without one."""
    row = tx.connection.execute(sa.select(uncertain_pairs).where(uncertain_pairs.c.pair == identifier)).first()
    return None if row is None else _pair(row)


def of_rule(tx: Transaction, rule: str) -> list[StoredPair]:
    """Return all pairs of a rule, also those that were judged since its last run."""
    query = sa.select(uncertain_pairs).where(uncertain_pairs.c.rule == rule).order_by(uncertain_pairs.c.position)
    return list(map(_pair, tx.connection.execute(query)))


def forget_dataset(tx: Transaction, dataset: str) -> None:
    """Delete the pairs with records of a dataset; the next run of each rule finds them again."""
    records = (uncertain_pairs.c.record_a, uncertain_pairs.c.record_b)
    of_dataset = (record.startswith(beginning(dataset), autoescape=True) for record in records)
    tx.connection.execute(sa.delete(uncertain_pairs).where(sa.or_(uncertain_pairs.c.dataset == dataset, *of_dataset)))


def _id(tx: Transaction, rule: str, records: tuple[str, str]) -> str:
    text = json_text(["reconcile/uncertain/1", rule, *records])
    return hmac.digest(tx.store.key, text.encode(), "sha256").hex()[:32]


def _pair(row: Any) -> StoredPair:
    return StoredPair(
        row.rule,
        row.kind,
        row.dataset,
        (row.record_a, row.record_b),
        (decode_key(row.values_a), decode_key(row.values_b)),
        Decimal(row.probability),
        row.evidence,
        row.pair,
    )
