"""Digests of the state, which commit the audit log to it: the columns covered, and those that verify cannot check.

A *thing* is a finding, a plan, the counters of a limit, or a rule, with all its rows. Its digest is an HMAC under the
store's key over those rows as stored. The table `facts` holds the digest of each thing; an audit entry of the same
transaction records every change of one as [kind, name, digest before, digest after].

`NOT_COVERED` gives the reason for every other column: a test compares both with the schema.
"""

from __future__ import annotations

import hmac
import json
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from reconcile.store import Transaction, bulk, tables

FINDING, PLAN, LIMITS, RULE = "finding", "plan", "limits", "rule"
CHUNK = 500

Changed = tuple[str, str, str | None, str | None]
"""Kind, name, the digest before (None: not recorded) and after (None: deleted)."""


@dataclass(frozen=True)
class Part:
    """Rows of a thing: those of `table` whose column `of` holds its name, with the columns that its digest covers.

    Append a new nullable column at the end: nulls at the end are left out, so existing digests stay the same.
    """

    table: sa.Table
    of: str
    columns: tuple[str, ...]


KINDS: Mapping[str, tuple[Part, ...]] = {
    FINDING: (
        Part(
            tables.findings,
            "id",
            (
                *("fingerprint", "rule", "kind", "dataset", "severity", "version", "key", "payload", "money"),
                *("records", "first_run", "first_seen", "snoozed_until", "assigned_to", "decided_by"),
                *("note", "merged_into"),
            ),
        ),
        Part(
            tables.finding_members,
            "finding",
            ("record", "position", "role", "values", "first_seen", "settled_at"),
        ),
        Part(tables.finding_aliases, "finding", ("fingerprint", "since")),
        Part(
            tables.not_same,
            "finding",
            ("rule", "record_a", "record_b", "values_a", "values_b", "decided_by", "decided_at", "note"),
        ),
    ),
    PLAN: (
        Part(
            tables.bundles,
            "id",
            (
                *("finding", "rule", "dataset", "source", "target", "action", "run", "release", "plan_hash"),
                *("undoes", "reason", "content", "outcome", "summary", "records", "rows", "money", "reversible"),
                *("policy", "proposed_by", "created_at", "expires_at", "sent_at", "ended_at"),
            ),
        ),
        Part(tables.approvals, "bundle", ("by", "decision", "plan_hash", "at", "note")),
        Part(
            tables.effects,
            "bundle",
            ("key", "target", "effect", "record", "generation", "fingerprint", "doubtful"),
        ),
        Part(tables.budget_uses, "bundle", ("rule", "target", "run", "at", "records", "money")),
    ),
    LIMITS: (
        Part(
            tables.budgets,
            "scope",
            (
                *("stopped_at", "reason", "counted_at", "day_records", "day_money", "run", "run_records"),
                "run_money",
            ),
        ),
    ),
    RULE: (Part(tables.rule_state, "rule", ("definition", "first_run", "first_run_at", "renamed_from", "cleaning")),),
}

_LOG = "the audit log itself: its hashes, signatures and anchors cover it"
_WORK = "who works on it, when it is tried next"
_RUNS = "what runs read and reported"
NOT_COVERED: Mapping[str, str | Mapping[str, str]] = {
    "anchors": _LOG,
    "audit": _LOG,
    "audit_bodies": _LOG,
    "audit_head": _LOG,
    "awaited": "what jobs wait for",
    "breakers": "which databases were away",
    "bundles": {
        "state": "compared with the log by itself",
        **dict.fromkeys(("fence", "owner", "lease_until", "attempts", "next_at", "give_up_at", "transaction"), _WORK),
    },
    "checkpoints": _LOG,
    "clock": "when the scheduler last ran",
    "dataset_schemas": "the columns a dataset had when it was last cleaned",
    "dataset_stats": _RUNS,
    "effects": {"state": "compared with the log by itself", "sent_at": _WORK, "ended_at": _WORK},
    "erasures": "the log has an entry of each erasure; that it is applied again after a restore is not covered",
    "expectations": "since when jobs are late",
    "facts": "the digests themselves: compared with the log",
    "failures": _RUNS,
    "findings": {
        "state": "compared with the log by itself",
        "state_since": "the log says when",
        "last_run": "renewed by every run",
        "last_seen": "renewed by every run",
    },
    "holds": "which records a cleaning has claimed now",
    "leases": "who works now",
    "meta": "the store's id is in every hash; epoch and schema are compared when it is opened",
    "outbox": "messages and their delivery",
    "pauses": "what people paused",
    "promotion": "which release runs",
    "releases": "configurations that ran",
    "rule_state": {"last_run": "renewed by every run", "last_run_at": "renewed by every run"},
    "run_rules": _RUNS,
    "runs": _RUNS,
    "schedules": "when jobs are due",
    "slots": "when jobs are due",
    "targets": "each cleaned database holds the same number and is compared before a run cleans there",
    "told": "which message told what",
    "troubles": "what is wrong with Reconcile itself",
    "watches": "files that were seen",
}


def left_out() -> list[str]:
    """The tables, and columns as `table.column`, that verify does not check."""
    names: list[str] = []
    for table, why in NOT_COVERED.items():
        names += [table] if isinstance(why, str) else [f"{table}.{column}" for column in why if column != "state"]
    return names


def digests(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    """The current digest of each of these things; things without a row of their own are left out."""
    bound = {"the_names": list(names)}
    main, *parts = [_by_name(tx.connection.execute(query, bound).all()) for query in _QUERIES[kind]]
    start = hmac.new(tx.store.key, f"reconcile/facts/1|{kind}|".encode(), "sha256")
    digest_of = {}
    for name, rows in main.items():
        digest = start.copy()
        digest.update(_text([name, rows, *(part.get(name, ()) for part in parts)]).encode())
        digest_of[name] = digest.hexdigest()[:32]
    return digest_of


def _by_name(rows: Iterable[Sequence[Any]]) -> dict[str, list[list[Any]]]:
    """The rows of each thing, sorted independently of the database, without nulls at the end of a row."""
    rows_of: dict[str, list[list[Any]]] = defaultdict(list)
    for name, *values in rows:
        while values and values[-1] is None:
            values.pop()
        rows_of[name].append(values)
    for thing_rows in rows_of.values():
        if len(thing_rows) > 1:
            thing_rows.sort(key=_by_key)
    return rows_of


def changes(tx: Transaction, touched: Mapping[str, Iterable[str]]) -> Iterator[Changed]:
    """Record the current digests of these things; yield those that changed."""
    for kind, listed_names in touched.items():
        names = sorted(listed_names)
        for at in range(0, len(names), CHUNK):
            yield from _record(tx, kind, names[at : at + CHUNK])


def as_recorded(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, bool]:
    """For each thing, True if it is as Reconcile last changed it; things never recorded are left out."""
    recorded, current = _recorded(tx, kind, names), digests(tx, kind, names)
    return {name: hmac.compare_digest(digest, current.get(name, "")) for name, digest in recorded.items()}


def current_digests(tx: Transaction) -> Iterator[tuple[str, str, str]]:
    """Every thing with a recorded digest: kind, name, and its current digest; streamed.

    If that differs from the recorded one, or the rows are gone, the text is one that no entry of the log holds.
    """
    query = sa.select(_FACTS.name, _FACTS.digest).order_by(_FACTS.name).limit(CHUNK)
    for kind in KINDS:
        last = ""
        while rows := tx.connection.execute(query.where(_FACTS.kind == kind, _FACTS.name > last)).all():
            last = rows[-1].name
            now = digests(tx, kind, [row.name for row in rows])
            for row in rows:
                digest = now.get(row.name, "gone")
                yield kind, row.name, digest if digest == row.digest else f"{digest}, recorded as {row.digest}"


def unrecorded(tx: Transaction) -> dict[str, int]:
    """Count the things of each kind without a recorded digest: they did not change since digests were introduced."""
    counts = {}
    for kind, (main, *_) in KINDS.items():
        has_digest = sa.exists().where(_FACTS.kind == kind, _FACTS.name == main.table.c[main.of])
        count = sa.select(sa.func.count()).select_from(main.table).where(~has_digest)
        counts[kind] = tx.connection.execute(count).scalar()
    return {kind: number for kind, number in counts.items() if number}


def _record(tx: Transaction, kind: str, names: Sequence[str]) -> Iterator[Changed]:
    before, after = _recorded(tx, kind, names), digests(tx, kind, names)
    changed = [name for name in names if before.get(name) != after.get(name)]
    rows = [{"kind": kind, "name": name, "digest": after[name]} for name in changed if name in after]
    inserted = [row for row in rows if row["name"] not in before]
    bulk.insert(tx, tables.facts, inserted)
    updated = [row for row in rows if row["name"] in before]
    keys = [{"kind": kind, "name": row["name"]} for row in updated]
    bulk.update(tx, tables.facts, keys, [{"digest": row["digest"]} for row in updated])
    deleted = [name for name in changed if name not in after]
    if deleted:
        tx.connection.execute(_FORGET, {"the_kind": kind, "the_names": deleted})
    for name in changed:
        yield kind, name, before.get(name), after.get(name)


def _recorded(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    return dict(tx.connection.execute(_RECORDED, {"the_kind": kind, "the_names": list(names)}).all())


def _query(part: Part) -> sa.Select[Any]:
    columns = (_as_stored(part.table.c[name]) for name in part.columns)
    name_column = part.table.c[part.of]
    return sa.select(name_column, *columns).where(bulk.one_of(name_column, "the_names"))


def _as_stored(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Read texts unparsed: equal bytes are equal values, on both databases."""
    return column if isinstance(column.type, sa.Integer | sa.Boolean) else sa.type_coerce(column, sa.Text)


_FACTS = tables.facts.c
_QUERIES = {kind: [_query(part) for part in parts] for kind, parts in KINDS.items()}
_by_key = operator.itemgetter(slice(3))
"""The first three columns of a part identify a row of a thing, and none of them is null."""
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, check_circular=False).encode
_MINE = (_FACTS.kind == sa.bindparam("the_kind"), bulk.one_of(_FACTS.name, "the_names"))
_RECORDED = sa.select(_FACTS.name, _FACTS.digest).where(*_MINE)
_FORGET = sa.delete(tables.facts).where(*_MINE)
