"""The records of a rule that the state holds: those in its findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from reconcile.findings.states import State
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import FORMER, decode_key
from reconcile.store.tables import finding_members, findings, not_same
from rules.values import Value

_OVER = (State.RESOLVED.value, State.MERGED.value)


def values_of(tx: Transaction, rule: str, names: Sequence[str]) -> Mapping[str, Mapping[str, Value]]:
    """Return the values of these records in the rule's findings, by their names, as the last run saw each."""
    query = sa.select(finding_members.c.record, finding_members.c["values"])
    rows = tx.connection.execute(_present(query, rule, names).order_by(findings.c.last_seen, findings.c.id))
    return {record: decode_key(values) for record, values in rows}


def judged_values(tx: Transaction, rule: str, names: Sequence[str]) -> Mapping[str, Mapping[str, Value]]:
    """Return those of these records that people judged in the rule, with the values that a finding had of each last."""
    columns = (not_same.c.record_a, not_same.c.record_b)
    queries = (sa.select(name).where(not_same.c.rule == rule, bulk.is_one_of(name, names)) for name in columns)
    judged = set(tx.connection.execute(sa.union(*queries)).scalars())
    query = sa.select(finding_members.c.record, finding_members.c["values"])
    query = query.join(findings, findings.c.id == finding_members.c.finding)
    query = query.where(findings.c.rule == rule, bulk.is_one_of(finding_members.c.record, sorted(judged)))
    rows = tx.connection.execute(query.order_by(findings.c.last_seen, findings.c.id))
    values = {record: decode_key(stored) for record, stored in rows}
    return {record: values.get(record, {}) for record in judged}


def holding(tx: Transaction, rule: str, records: tuple[str, str]) -> list[str]:
    """Return the findings of the rule that hold both records."""
    query = _present(sa.select(findings.c.id), rule, records).group_by(findings.c.id).having(sa.func.count() > 1)
    return list(tx.connection.execute(query.order_by(findings.c.id)).scalars())


def _present(query: sa.Select[Any], rule: str, names: Sequence[str]) -> sa.Select[Any]:
    query = query.join_from(finding_members, findings, findings.c.id == finding_members.c.finding)
    return query.where(
        bulk.is_one_of(finding_members.c.record, names),
        finding_members.c.role != FORMER,
        findings.c.rule == rule,
        findings.c.state.not_in(_OVER),
    )
