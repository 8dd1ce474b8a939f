"""Findings that are recognised by the digests of their groups, so that unchanged ones are neither loaded nor judged."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import sqlalchemy as sa

from reconcile.documents import JsonObject
from reconcile.findings.states import State
from reconcile.store import bulk
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import CHUNK, chunks
from reconcile.store.tables import finding_members, findings
from rules import values
from rules.engines.base import Positions
from rules.groups.recognised import Digests, Mask

_PLAIN = tuple(state.value for state in (State.OPEN, State.AWAITING, State.APPROVED))
"""States in which a finding is known, and stays what it is, while its group is the same."""


@dataclass(frozen=True)
class Recognised:
    """The findings whose groups did not change, and the ids of all other findings.

    `is_unchanged` has a truth value for each digest that was looked up, `money` the sum of the unchanged ones.
    """

    is_unchanged: Mask
    money: Mapping[str, Decimal]
    others: Sequence[str]

    @property
    def unchanged(self) -> int:
        """The number of unchanged findings."""
        return int(np.count_nonzero(self.is_unchanged))


def digests(tx: Transaction, rule: str) -> Digests:
    """Return the digests of the rule's findings that an unchanged group leaves as they are."""
    plain = (findings.c.state.in_(_PLAIN), findings.c.digest.is_not(None))
    query = sa.select(findings.c.digest).where(findings.c.rule == rule, *plain)
    content = bytearray()
    for partition in tx.connection.execute(query.execution_options(yield_per=CHUNK)).scalars().partitions():
        content += bytes.fromhex("".join(partition))
    return Digests(content)


def recognise(
    tx: Transaction, rule: str, digests: Digests, judged: Collection[str], *, lock: bool = True
) -> Recognised:
    """Recognise the findings that have, alone, one of these digests, and that an unchanged group leaves as they are.

    Those that hold one of the `judged` records are none of them. `lock` blocks decisions of people about all findings
    of the rule, except merged ones, until the transaction ends.
    """
    holding = _holding(tx, judged)
    counts = np.zeros(len(digests), np.int64)
    others: list[str] = []
    money: dict[str, Decimal] = {}
    query = _FINDINGS.where(findings.c.rule == rule, findings.c.state != State.MERGED.value).order_by(findings.c.id)
    rows = tx.connection.execute((query.with_for_update() if lock else query).execution_options(yield_per=CHUNK))
    for partition in rows.partitions():
        plain = [row for row in partition if row[1] in _PLAIN and row[2] is not None]
        others += [row[0] for row in partition if row[1] not in _PLAIN or row[2] is None]
        places = digests.places_of(Digests.read([row[2] for row in plain]))
        for (finding, _, _, amounts), place in zip(plain, places.tolist(), strict=True):
            if place < 0:
                others.append(finding)
                continue
            counts[place] += 1 if finding not in holding else _APART
            if amounts != "{}":
                values.add(money, _sizes(amounts))
    return _without_shared(tx, rule, digests, counts, Recognised(counts == 1, money, sorted(others)))


_APART = 2
"""Counts for a finding that is judged though its group is the same."""


def _without_shared(
    tx: Transaction, rule: str, digests: Digests, counts: Positions, recognised: Recognised
) -> Recognised:
    """Return the findings without those whose digest counts more than once; they are among the others."""
    shared = [digests[place] for place in np.flatnonzero(counts > 1).tolist()]
    money, others = dict(recognised.money), list(recognised.others)
    query = _FINDINGS.where(findings.c.rule == rule, findings.c.state.in_(_PLAIN))
    for chunk in chunks(shared):
        for finding, _, _, amounts in tx.connection.execute(query.where(findings.c.digest.in_(chunk))):
            others.append(finding)
            values.add(money, {currency: -amount for currency, amount in _sizes(amounts).items()})
    return Recognised(recognised.is_unchanged, money, sorted(others))


def _sizes(amounts: str) -> dict[str, Decimal]:
    parsed: JsonObject = json.loads(amounts)
    return values.sizes({currency: Decimal(amount) for currency, amount in parsed.items()})


def see_again(tx: Transaction, rule: str, recognised: Recognised, run: str) -> None:
    """Record that this run saw all unchanged findings again: every one of the rule but the others, in one statement."""
    if recognised.unchanged:
        tx.connection.execute(_SEE_AGAIN, {"the_rule": rule, "ids": recognised.others, "run": run, "now": tx.now})


def _holding(tx: Transaction, records: Iterable[str]) -> set[str]:
    """Return the findings with any of these records."""
    holding: set[str] = set()
    for chunk in chunks(records):
        holding.update(tx.connection.execute(_HOLDING, {"records": chunk}).scalars())
    return holding


_FINDINGS = sa.select(findings.c.id, findings.c.state, findings.c.digest, sa.type_coerce(findings.c.money, sa.Text))
_HOLDING = sa.select(finding_members.c.finding).where(
    finding_members.c.record.in_(sa.bindparam("records", expanding=True))
)
_SEE_AGAIN = (
    sa.update(findings)
    .where(
        findings.c.rule == sa.bindparam("the_rule"),
        findings.c.state != State.MERGED.value,
        bulk.none_of(findings.c.id, "ids"),
    )
    .values(last_run=sa.bindparam("run"), last_seen=sa.bindparam("now"))
)
