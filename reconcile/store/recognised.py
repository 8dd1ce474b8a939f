"""Findings that are recognised by the digests of their groups, so that unchanged ones are neither loaded nor judged."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from reconcile.findings.states import State
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import CHUNK, chunks
from reconcile.store.tables import finding_members, findings

_PLAIN = tuple(state.value for state in (State.OPEN, State.AWAITING, State.APPROVED))
"""States in which a finding is known, and stays what it is, while its group is the same."""


@dataclass(frozen=True)
class Recognised:
    """The findings whose groups did not change, by digest; the money of those that have any; and all other findings."""

    unchanged: Mapping[str, str]
    money: Sequence[Mapping[str, str]]
    others: Sequence[str]


def digests(tx: Transaction, rule: str) -> set[str]:
    """Return the digests of the rule's findings that an unchanged group leaves as they are."""
    plain = (findings.c.state.in_(_PLAIN), findings.c.digest.is_not(None))
    return set(tx.connection.execute(sa.select(findings.c.digest).where(findings.c.rule == rule, *plain)).scalars())


def recognise(tx: Transaction, rule: str, digests: Container[str], judged: Collection[str]) -> Recognised:
    """Recognise the findings that have, alone, one of these digests, and that an unchanged group leaves as they are.

    Those that hold one of the `judged` records are none of them. All findings of the rule, except merged ones, are
    locked against decisions of people until the transaction ends.
    """
    query = sa.select(findings.c.id, findings.c.state, findings.c.digest, sa.type_coerce(findings.c.money, sa.Text))
    query = query.where(findings.c.rule == rule, findings.c.state != State.MERGED.value).order_by(findings.c.id)
    rows = tx.connection.execute(query.with_for_update().execution_options(yield_per=CHUNK))
    unchanged: dict[str, tuple[str, str]] = {}
    others: list[str] = []
    twice: set[str] = set()
    for finding, state, digest, money in rows:
        if digest not in digests or state not in _PLAIN:
            others.append(finding)
        elif digest in unchanged:
            twice.add(digest)
            others.append(finding)
        else:
            unchanged[digest] = (finding, money)
    holding = _holding(tx, judged)
    apart = [digest for digest, (finding, _) in unchanged.items() if digest in twice or finding in holding]
    others += [unchanged.pop(digest)[0] for digest in apart]
    amounts = [json.loads(money) for _, money in unchanged.values() if money != "{}"]
    return Recognised({digest: finding for digest, (finding, _) in unchanged.items()}, amounts, sorted(others))


def _holding(tx: Transaction, records: Iterable[str]) -> set[str]:
    """Return the findings with any of these records."""
    holding: set[str] = set()
    for chunk in chunks(records):
        holding.update(tx.connection.execute(_HOLDING, {"records": chunk}).scalars())
    return holding


_HOLDING = sa.select(finding_members.c.finding).where(
    finding_members.c.record.in_(sa.bindparam("records", expanding=True))
)
