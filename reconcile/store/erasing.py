"""Rows that may hold data to erase, and their changes. `reconcile.upkeep.erasure` decides which data that is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from reconcile.documents import JsonObject
from reconcile.findings.states import OVER, PlanState
from reconcile.store import plans as stored_plans
from reconcile.store.columns import Json, OrderedJson
from reconcile.store.database import Transaction
from reconcile.store.finding_memory import chunks
from reconcile.store.record_names import MEMBERS, is_about, is_of_dataset, is_record_of
from reconcile.store.tables import (
    approvals,
    audit,
    erasures,
    finding_aliases,
    finding_members,
    findings,
    metadata,
    not_same,
    outbox,
    plans,
    uncertain_pairs,
)

_BATCH = 1_000


class RecordedErasure(NamedTuple):
    """`subjects` are HMACs of the erased records and values, `reached` the number of erased items by kind."""

    id: str
    at: dt.datetime
    by: str
    subjects: JsonObject
    reached: Mapping[str, int]


class FindingData(NamedTuple):
    id: str
    fingerprint: str
    key: Any
    payload: Mapping[str, Any]
    note: str | None


class JudgedPair(NamedTuple):
    """Two records that a person judged to be different, with the values that the judgement is about."""

    finding: str
    rule: str
    record_a: str
    record_b: str
    values_a: Any
    values_b: Any


class PairData(NamedTuple):
    """Two records that were compared or judged outside a finding, by their names, with their values."""

    rule: str
    dataset: str
    record_a: str
    record_b: str
    values_a: Any
    values_b: Any
    pair: str


Member = tuple[str, str, Sequence[Any]]
"""A finding, a record of it, and the record's normalised values by column."""


# Erasures


def recorded(tx: Transaction) -> list[RecordedErasure]:
    """Return every recorded erasure, oldest first."""
    query = sa.select(*(erasures.c[name] for name in RecordedErasure._fields)).order_by(erasures.c.seq)
    return [RecordedErasure(*row) for row in tx.connection.execute(query)]


def record(tx: Transaction, erasure: RecordedErasure, subject: str) -> None:
    """Record an erasure with the number of the newest entry about this subject."""
    newest = sa.select(sa.func.max(audit.c.seq)).where(audit.c.subject == subject)
    tx.connection.execute(sa.insert(erasures).values(**erasure._asdict(), seq=newest.scalar_subquery()))


def overwrite_deleted(tx: Transaction) -> None:
    """On SQLite, overwrite deleted data with zeros instead of only marking it as free."""
    if not tx.store.is_shared:
        tx.connection.exec_driver_sql("PRAGMA secure_delete = ON").close()


# Findings of a dataset, streamed


def members(tx: Transaction, dataset: str) -> Iterator[Member]:
    query = sa.select(*_MEMBER).select_from(MEMBERS).where(is_record_of(dataset))
    yield from map(tuple, _streamed(tx, query))


def findings_of(tx: Transaction, dataset: str) -> Iterator[FindingData]:
    for row in _streamed(tx, sa.select(*_of(findings, FindingData)).where(is_about(dataset))):
        yield FindingData(*row)


def keys(tx: Transaction, dataset: str) -> Iterator[tuple[str, Any]]:
    """Yield the id and the key of each finding."""
    query = sa.select(findings.c.id, findings.c.key).where(is_about(dataset))
    yield from map(tuple, _streamed(tx, query))


def uncertain_pairs_of(tx: Transaction, dataset: str) -> Iterator[PairData]:
    """Yield the uncertain pairs with a record of the dataset."""
    yield from _pairs_in(tx, uncertain_pairs, dataset)


def judged_pairs_of(tx: Transaction, dataset: str) -> Iterator[PairData]:
    """Yield the pairs with a record of the dataset that were judged by themselves."""
    yield from _pairs_in(tx, not_same, dataset)


def _pairs_in(tx: Transaction, table: sa.Table, dataset: str) -> Iterator[PairData]:
    held = (is_of_dataset(record, table.c.dataset, dataset) for record in (table.c.record_a, table.c.record_b))
    query = sa.select(*_of(table, PairData)).where(table.c.pair.is_not(None), sa.or_(*held))
    yield from (PairData(*row) for row in _streamed(tx, query))


def plans_with_rows(tx: Transaction, dataset: str) -> Iterator[stored_plans.StoredPlan]:
    """Yield the plans of the dataset that still hold rows."""
    query = sa.select(*stored_plans.COLUMNS).where(plans.c.dataset == dataset, plans.c.content.is_not(None))
    for row in _streamed(tx, query):
        yield stored_plans.stored(tx, row)


# Some findings, and what belongs to them


def some_findings(tx: Transaction, ids: Collection[str]) -> list[FindingData]:
    return [FindingData(*row) for row in _among(tx, sa.select(*_of(findings, FindingData)), findings.c.id, ids)]


def members_of(tx: Transaction, ids: Collection[str]) -> list[Member]:
    return [tuple(row) for row in _among(tx, sa.select(*_MEMBER), finding_members.c.finding, ids)]


def judgements_of(tx: Transaction, ids: Collection[str]) -> list[JudgedPair]:
    return [JudgedPair(*row) for row in _among(tx, sa.select(*_of(not_same, JudgedPair)), not_same.c.finding, ids)]


def aliases_of(tx: Transaction, finding: str) -> list[str]:
    query = sa.select(finding_aliases.c.fingerprint).where(finding_aliases.c.finding == finding)
    return list(tx.connection.execute(query).scalars())


def plans_of(
    tx: Transaction, of_findings: Collection[str], ids: Collection[str]
) -> list[tuple[str, str | None, str | None, Any]]:
    """Return id, content, outcome and summary of the plans of these findings, and of the plans with these ids."""
    query = sa.select(plans.c.id, plans.c.content, plans.c.outcome, plans.c.summary)
    return [tuple(row) for row in _of_plans(tx, query, of_findings, ids)]


def live_plans_of(tx: Transaction, of_findings: Collection[str], ids: Collection[str]) -> list[str]:
    """Return the ids of those of these plans that are not over, or are being undone."""
    over = [state.value for state in OVER if state is not PlanState.COMPENSATING]
    query = sa.select(plans.c.id).where(plans.c.state.not_in(over))
    return [row.id for row in _of_plans(tx, query, of_findings, ids)]


def set_finding(tx: Transaction, finding: str, values: Mapping[str, Any]) -> None:
    tx.connection.execute(sa.update(findings).where(findings.c.id == finding).values(values))


def forget_digests(tx: Transaction, ids: Collection[str]) -> None:
    """Delete the digests of these findings: a digest of personal data could be compared with guesses."""
    for chunk in chunks(sorted(ids)):
        tx.connection.execute(sa.update(findings).where(findings.c.id.in_(chunk)).values(digest=None))


def set_member(tx: Transaction, finding: str, record: str, new_record: str, values: Sequence[Any]) -> None:
    """Rename a record and write its values. What people chose to take from it ends: proofs are digests of values."""
    this = (finding_members.c.finding == finding, finding_members.c.record == record)
    tx.connection.execute(
        sa.update(finding_members).where(*this).values({"record": new_record, "values": values, "gives": None})
    )


def delete_uncertain(tx: Transaction, pair: str) -> None:
    tx.connection.execute(sa.delete(uncertain_pairs).where(uncertain_pairs.c.pair == pair))


def delete_judgement(tx: Transaction, pair: JudgedPair | PairData) -> None:
    tx.connection.execute(sa.delete(not_same).where(*_is_judgement_of(pair)))


def set_judged_values(tx: Transaction, pair: JudgedPair, values_a: Sequence[Any], values_b: Sequence[Any]) -> None:
    changed = sa.update(not_same).where(*_is_judgement_of(pair)).values(values_a=values_a, values_b=values_b)
    tx.connection.execute(changed)


def _is_judgement_of(pair: JudgedPair | PairData) -> tuple[sa.ColumnElement[bool], ...]:
    columns = not_same.c
    return columns.rule == pair.rule, columns.record_a == pair.record_a, columns.record_b == pair.record_b


def empty_plan(tx: Transaction, plan: str, summary: Any) -> None:
    """Delete the rows of a plan before and after; `summary` replaces the one it has."""
    erased = {"content": None, "outcome": None, "summary": summary}
    tx.connection.execute(sa.update(plans).where(plans.c.id == plan).values(erased))


def delete_notes(tx: Transaction, plan: str) -> None:
    """Delete people's notes on a plan."""
    tx.connection.execute(sa.update(approvals).where(approvals.c.plan == plan).values(note=None))


# Texts


def messages(tx: Transaction) -> list[tuple[str, str, Any]]:
    """Return name, status and content of every message."""
    query = sa.select(outbox.c.message, outbox.c.status, outbox.c.notice)
    return [tuple(row) for row in _streamed(tx, query)]


def text_columns() -> Iterator[tuple[str, str]]:
    """Yield table and column of every free text and JSON of the state."""
    for table in metadata.sorted_tables:
        yield from ((table.name, column.name) for column in table.c if isinstance(column.type, _TEXT_TYPES))


def texts(
    tx: Transaction, table: str, column: str, things: Sequence[str]
) -> Iterator[tuple[Sequence[Any], Sequence[str | None], Any]]:
    """Yield every text of a column, streamed: the key of its row, what that belongs to, and the text.

    `things` are the columns that name what the row belongs to.
    """
    columns, parts = metadata.tables[table].c, len(_key(table))
    about = (columns[thing].label(f"about_{number}") for number, thing in enumerate(things))
    query = sa.select(*_key(table), *about, columns[column]).where(columns[column].is_not(None))
    for *names, content in _streamed(tx, query):
        yield names[:parts], names[parts:], content


def set_text(tx: Transaction, table: str, column: str, key: Sequence[Any], content: Any) -> None:
    """Replace a text in the row with this primary key."""
    this_row = [key_column == value for key_column, value in zip(_key(table), key, strict=True)]
    tx.connection.execute(sa.update(metadata.tables[table]).where(*this_row).values({column: content}))


# Statements


_MEMBER = (finding_members.c.finding, finding_members.c.record, finding_members.c["values"])
_TEXT_TYPES = (sa.Text, Json, OrderedJson)


def _of(table: sa.Table, row: type[Any]) -> list[sa.Column[Any]]:
    """The columns of the fields of a kind of row."""
    return [table.c[name] for name in row._fields]


def _key(table: str) -> list[sa.Column[Any]]:
    return list(metadata.tables[table].primary_key.columns)


def _streamed(tx: Transaction, query: sa.Select[Any]) -> Iterator[Any]:
    return iter(tx.connection.execute(query.execution_options(yield_per=_BATCH)))


def _among(
    tx: Transaction, query: sa.Select[Any], column: sa.ColumnElement[str], names: Collection[str]
) -> Iterator[Any]:
    listed = sorted(names)
    for at in range(0, len(listed), _BATCH):
        yield from tx.connection.execute(query.where(column.in_(listed[at : at + _BATCH]))).all()


def _of_plans(
    tx: Transaction, query: sa.Select[Any], of_findings: Collection[str], ids: Collection[str]
) -> Collection[Any]:
    rows = {row.id: row for row in _among(tx, query, plans.c.finding, of_findings)}
    return (rows | {row.id: row for row in _among(tx, query, plans.c.id, ids)}).values()
