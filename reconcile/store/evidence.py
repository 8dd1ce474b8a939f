"""Data to compare the audit log with: the state of each thing, its rows as stored, and its recorded digest."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store import bulk
from reconcile.store.bulk import StoredRows
from reconcile.store.database import Transaction
from reconcile.store.tables import approvals, effects, facts, findings, metadata, plans

_BATCH = 1_000


@dataclass(frozen=True)
class Covered:
    """Rows of a thing: those of `table` whose column `of` holds its name, with the columns that its digest covers.

    Append a new nullable column at the end: nulls at the end are left out, so existing digests stay the same.
    """

    table: str
    of: str
    columns: tuple[str, ...]


# The rows of a thing


def rows(tx: Transaction, part: Covered, names: Sequence[str]) -> Sequence[Sequence[Any]]:
    """Return these things' rows of that part: the name, and the columns as stored."""
    return tx.connection.execute(_rows(part), {"the_names": list(names)}).all()


def rows_of(part: Covered, stored: StoredRows) -> Iterator[Sequence[Any]]:
    """Return what `rows` does for rows that are written like this; columns at the end may be left out, as null."""
    place = stored.names.index
    written = itertools.takewhile(stored.names.__contains__, part.columns)
    return map(operator.itemgetter(place(part.of), *map(place, written)), stored.rows)


@functools.cache
def _rows(part: Covered) -> sa.Select[Any]:
    columns = metadata.tables[part.table].c
    covered = (_as_stored(columns[name]) for name in part.columns)
    return sa.select(columns[part.of], *covered).where(bulk.one_of(columns[part.of], "the_names"))


def _as_stored(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Read texts unparsed: equal bytes are equal values, on both databases."""
    return column if isinstance(column.type, sa.Integer | sa.Boolean) else sa.type_coerce(column, sa.Text)


# Their digests


def digests(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    """Return the recorded digest of each of these things; things without one are left out."""
    return dict(tx.connection.execute(_DIGESTS, {"the_kind": kind, "the_names": list(names)}).all())


def digests_after(tx: Transaction, kind: str, last: str, limit: int) -> Sequence[tuple[str, str]]:
    """Return the next names and recorded digests of a kind, in the order of their names."""
    query = sa.select(facts.c.name, facts.c.digest).where(facts.c.kind == kind, facts.c.name > last)
    return [(name, digest) for name, digest in tx.connection.execute(query.order_by(facts.c.name).limit(limit))]


def without_digest(tx: Transaction, kind: str, part: Covered) -> str | None:
    """Return the name of a thing of this kind that has rows in this part, but no recorded digest; None without any."""
    name = metadata.tables[part.table].c[part.of]
    has_digest = sa.exists().where(facts.c.kind == kind, facts.c.name == name)
    unnamed = sa.select(name).where(name.is_not(None), ~has_digest).order_by(name).limit(1)
    return tx.connection.execute(unnamed).scalar()


def add_digests(tx: Transaction, kind: str, digest_of: Mapping[str, str]) -> None:
    bulk.insert(tx, facts, [{"kind": kind, "name": name, "digest": digest} for name, digest in digest_of.items()])


def change_digests(tx: Transaction, kind: str, digest_of: Mapping[str, str]) -> None:
    keys = [{"kind": kind, "name": name} for name in digest_of]
    bulk.update(tx, facts, keys, [{"digest": digest} for digest in digest_of.values()])


def delete_digests(tx: Transaction, kind: str, names: Sequence[str]) -> None:
    tx.connection.execute(sa.delete(facts).where(*_THESE), {"the_kind": kind, "the_names": list(names)})


_THESE = (facts.c.kind == sa.bindparam("the_kind"), bulk.one_of(facts.c.name, "the_names"))
_DIGESTS = sa.select(facts.c.name, facts.c.digest).where(*_THESE)


# Their states


def states(tx: Transaction) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and state of everything with a state in the log, streamed.

    The kinds are `finding`, `plan`, `plan_hash` and `approval` (plan and person).
    """
    for kind, query in _STATES.items():
        for name, state in tx.connection.execute(query.execution_options(yield_per=_BATCH)):
            yield kind, name, state


_STATES: Mapping[str, sa.Select[Any]] = {
    "finding": sa.select(findings.c.id, findings.c.state),
    "plan": sa.select(plans.c.id, plans.c.state),
    "plan_hash": sa.select(plans.c.id, plans.c.plan_hash),
    "approval": sa.select(approvals.c.plan + " " + approvals.c.by, approvals.c.decision + " " + approvals.c.plan_hash),
}


def odd_operation(tx: Transaction) -> tuple[str, str, str] | None:
    """Return the first operation whose state is not that of its plan: the plan, the state, the plan's state."""
    row = tx.connection.execute(_ODD_OPERATION).first()
    return None if row is None else tuple(row)


_ODD_OPERATION = (
    sa.select(effects.c.plan, effects.c.state, plans.c.state)
    .join(plans, plans.c.id == effects.c.plan)
    .where(effects.c.state != plans.c.state)
    .order_by(effects.c.plan)
    .limit(1)
)
