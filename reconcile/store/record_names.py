"""The names of a dataset's records: by which ids they are made, where they are stored, and how they are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.findings.identity import beginning, dataset_of, without_dataset
from reconcile.findings.record_names import RecordIds
from reconcile.store import bulk, remembered, watermarks
from reconcile.store import plans as stored_plans
from reconcile.store.bulk import insert_for
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import chunks
from reconcile.store.plans import StoredPlan
from reconcile.store.tables import (
    effects,
    finding_members,
    findings,
    holds,
    not_same,
    plans,
    record_ids,
    uncertain_pairs,
)
from rules.values import Type

_BATCH = 1_000
_ASIDE = "~"
"""How no name begins: it keeps names apart while several records exchange theirs."""

Names = Mapping[str, str]
"""New names of records by their former ones, with the dataset where the names have it."""


class FindingNames(NamedTuple):
    """The parts of a finding, besides its members, that depend on the ids of its records."""

    id: str
    rule: str
    dataset: str
    key: Any
    payload: Mapping[str, Any]


# Ids


def ids(tx: Transaction, dataset: str, *, shared: bool = False, alone: bool = False) -> RecordIds | None:
    """Return the ids by which the dataset's records are named; None if no run said so yet.

    They stay until the transaction ends: `shared` with others that rely on it, `alone` to change them.
    """
    query = sa.select(record_ids.c["columns"], record_ids.c.types).where(record_ids.c.dataset == dataset)
    if shared or alone:
        query = query.with_for_update(read=shared)
    row = tx.connection.execute(query).one_or_none()
    return None if row is None else RecordIds(tuple(row[0]), tuple(map(Type, row[1])))


def keep_ids(tx: Transaction, dataset: str, ids: RecordIds) -> None:
    """Name the dataset's records by these ids from now on."""
    insert = insert_for(tx, record_ids)
    newer = {name: insert.excluded[name] for name in ("columns", "types", "at")}
    row = {"dataset": dataset, "columns": list(ids.columns), "types": [kind.value for kind in ids.types], "at": tx.now}
    tx.connection.execute(insert.on_conflict_do_update(index_elements=["dataset"], set_=newer), row)


# Findings of a dataset


def is_record_of(dataset: str) -> sa.ColumnElement[bool]:
    """Match the records of the dataset, which its name begins with where it is not the first of a rule."""
    return is_of_dataset(finding_members.c.record, findings.c.dataset, dataset)


def is_about(dataset: str) -> sa.ColumnElement[bool]:
    """Match the findings of rules that read the dataset first, and those with records of it."""
    record = finding_members.c.record
    holding = sa.select(finding_members.c.finding).where(record.startswith(beginning(dataset), autoescape=True))
    return sa.or_(findings.c.dataset == dataset, findings.c.id.in_(holding))


def records(tx: Transaction, dataset: str) -> Iterator[str]:
    """Yield each record of the dataset once that is in a finding or in a pair."""
    query: Any = sa.select(finding_members.c.record).select_from(MEMBERS).where(is_record_of(dataset))
    query = query.union(*(_paired(table, name, dataset) for table in _PAIRED for name in ("record_a", "record_b")))
    yield from tx.connection.execute(query.execution_options(yield_per=_BATCH)).scalars()


_PAIRED = (not_same, uncertain_pairs)


def _paired(table: sa.Table, column: str, dataset: str) -> sa.Select[Any]:
    """Return the query for the records of the dataset in pairs that name the first dataset of their rule."""
    return sa.select(table.c[column]).where(is_of_dataset(table.c[column], table.c.dataset, dataset))


def is_of_dataset(record: sa.ColumnElement[str], first: sa.ColumnElement[str], dataset: str) -> sa.ColumnElement[bool]:
    """Match the records of the dataset by their names; `first` is the first dataset of their rule."""
    is_first = (first == dataset) & ~record.startswith(beginning(), autoescape=True)
    return sa.or_(is_first, record.startswith(beginning(dataset), autoescape=True))


def members(tx: Transaction, dataset: str) -> Iterator[tuple[str, str]]:
    """Yield each record of the dataset with each finding that holds it, by the findings' ids."""
    query = sa.select(finding_members.c.finding, finding_members.c.record).select_from(MEMBERS)
    query = query.where(is_record_of(dataset)).order_by(finding_members.c.finding)
    yield from map(tuple, tx.connection.execute(query.execution_options(yield_per=_BATCH)))


def all_members(tx: Transaction, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all records of these findings, of any dataset, each with its finding."""
    query = sa.select(finding_members.c.finding, finding_members.c.record)
    query = query.where(bulk.one_of(finding_members.c.finding, "ids"))
    yield from map(tuple, tx.connection.execute(query, {"ids": list(ids)}))


def findings_with_names(tx: Transaction, ids: Sequence[str]) -> list[FindingNames]:
    query = sa.select(*(findings.c[name] for name in FindingNames._fields)).where(bulk.one_of(findings.c.id, "ids"))
    return [FindingNames(*row) for row in tx.connection.execute(query, {"ids": list(ids)})]


def rename_members(tx: Transaction, names: Mapping[str, Names]) -> None:
    """Rename records of findings, by finding."""
    is_exchange = {finding for finding, new in names.items() if not new.keys().isdisjoint(new.values())}
    aside = [(finding, old, _ASIDE + new) for finding in is_exchange for old, new in names[finding].items()]
    last = [
        (finding, _ASIDE + new if finding in is_exchange else old, new)
        for finding, renamed in names.items()
        for old, new in renamed.items()
    ]
    for changes in (aside, last):
        which = [{"finding": finding, "record": old} for finding, old, _ in changes]
        bulk.update(tx, finding_members, which, [{"record": new} for _, _, new in changes])


def set_findings(tx: Transaction, changed: Sequence[FindingNames]) -> None:
    """Write what depends on the ids of records; the digest of a group does too."""
    values = [{"key": finding.key, "payload": finding.payload, "digest": None} for finding in changed]
    bulk.update(tx, findings, [{"id": finding.id} for finding in changed], values)


# Judged pairs


def pairs(tx: Transaction, dataset: str, rename: Callable[[str], str | None]) -> tuple[list[Any], list[Any]]:
    """Return the judged pairs that hold a record with another name now, as stored and as they will be."""
    first = sa.func.coalesce(findings.c.dataset, not_same.c.dataset).label("of_rule")
    query = sa.select(not_same, first).outerjoin(findings, findings.c.id == not_same.c.finding)
    before, after = [], []
    for row in tx.connection.execute(query.execution_options(yield_per=_BATCH)).mappings():
        pair = [row["record_a"], row["record_b"]]
        renamed = [named_in(record, row["of_rule"], dataset, rename) or record for record in pair]
        if renamed != pair:
            kept = {name: row[name] for name in not_same.c.keys()}  # noqa: SIM118 - a collection of columns, not a dict
            before.append(kept)
            after.append(kept | dict(zip(("record_a", "record_b"), sorted(renamed), strict=True)))
    return before, after


def replace_pairs(tx: Transaction, before: Sequence[Any], after: Sequence[Any]) -> None:
    """Replace judged pairs; of two about the same records one stays."""
    columns = ("rule", "record_a", "record_b")
    this = [not_same.c[name] == sa.bindparam(f"the_{name}") for name in columns]
    for at in range(0, len(before), _BATCH):
        rows = [{f"the_{name}": row[name] for name in columns} for row in before[at : at + _BATCH]]
        tx.connection.execute(sa.delete(not_same).where(*this), rows)
    insert = insert_for(tx, not_same).on_conflict_do_nothing()
    for at in range(0, len(after), _BATCH):
        tx.connection.execute(insert, [dict(row) for row in after[at : at + _BATCH]])


def named_in(record: str, first: str, dataset: str, rename: Callable[[str], str | None]) -> str | None:
    """Return what `named` does for a record in a finding whose rule reads the dataset `first`; None for a record of
    another dataset."""
    return named(record, dataset, rename) if (dataset_of(record) or first) == dataset else None


def named(record: str, dataset: str, rename: Callable[[str], str | None]) -> str | None:
    """Return the new name of a record of the dataset, or None, as `rename` does for its name without the dataset."""
    new = rename(without_dataset(record))
    return new if new is None or dataset_of(record) is None else f"{beginning(dataset)},{new[1:]}"


def without_datasets(names: Names) -> Names:
    """Return the names as they are in rules that read their dataset first: plans have these."""
    return {without_dataset(old): without_dataset(new) for old, new in names.items()}


# Plans


def plans_of(tx: Transaction, of_findings: Sequence[str], dataset: str) -> list[StoredPlan]:
    """Return the plans of these findings that clean records of the dataset."""
    query = sa.select(*stored_plans.COLUMNS).where(
        bulk.one_of(plans.c.finding, "the_findings"), plans.c.dataset == dataset
    )
    rows = tx.connection.execute(query, {"the_findings": list(of_findings)})
    return [stored_plans.stored(tx, row) for row in rows]


def set_summaries(tx: Transaction, summaries: Mapping[str, Mapping[str, Any]]) -> None:
    """Replace the summaries of plans."""
    values = [{"summary": dict(summary)} for summary in summaries.values()]
    bulk.update(tx, plans, [{"id": plan} for plan in summaries], values)


def rename_in_journal(tx: Transaction, operations: Mapping[str, Names], held: Mapping[str, Names]) -> None:
    """Rename the records of plans, by plan: in operations by the journal's form of their names, in holds in clear."""
    keys: list[dict[str, str]] = []
    values: list[dict[str, str]] = []
    for chunk in chunks(operations):
        query = sa.select(effects.c.key, effects.c.plan, effects.c.record).where(bulk.one_of(effects.c.plan, "ids"))
        for key, plan, record in tx.connection.execute(query, {"ids": chunk}):
            if record in operations[plan]:
                keys.append({"key": key})
                values.append({"record": operations[plan][record]})
    bulk.update(tx, effects, keys, values)
    for chunk in chunks(held):
        of_plans = bulk.one_of(holds.c.plan, "ids")
        rows = [dict(row) for row in tx.connection.execute(sa.select(holds).where(of_plans), {"ids": chunk}).mappings()]
        if rows:
            tx.connection.execute(sa.delete(holds).where(of_plans), {"ids": chunk})
            bulk.insert(
                tx, holds, [row | {"record": held[row["plan"]].get(row["record"], row["record"])} for row in rows]
            )


def read_anew(tx: Transaction, dataset: str) -> None:
    """Let the next run of each rule that has findings of the dataset, or remembers its records, read all records."""
    rules = sa.select(findings.c.rule).distinct().where(is_about(dataset))
    for rule in {*tx.connection.execute(rules).scalars(), *remembered.rules_of(tx, dataset)}:
        watermarks.forget(tx, rule)


MEMBERS = sa.join(finding_members, findings, findings.c.id == finding_members.c.finding)
"""Records with their findings."""
