"""Digests of what the state says, so that the audit log commits to it: which columns, and what verify cannot see.

A *thing* is a finding, a plan, the counters of a limit or a rule, with all rows that belong to it. Its digest is an
HMAC under the store's key over those rows as they are stored. The table `facts` holds the digest of each thing; every
change of one is told by an audit entry of the same transaction as [kind, name, digest before, digest after].

`NOT_COVERED` says of every other column why it is left out: a test compares both with the schema.
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
"""Kind, name, the digest before (None: it was not recorded) and after (None: it is gone)."""


@dataclass(frozen=True)
class Part:
    """Rows of a thing: those of `table` whose column `of` holds its name, with the columns that its digest covers.

    A new nullable column goes to the end: nulls at the end are left out, so that it changes no digest of before.
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
    """The tables, and columns as `table.column`, that verify compares with nothing."""
    names: list[str] = []
    for table, why in NOT_COVERED.items():
        names += [table] if isinstance(why, str) else [f"{table}.{column}" for column in why if column != "state"]
    return names


def digests(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    """The digest of each of these things as its rows are now; those without a row of their own are left out."""
    bound = {"the_names": list(names)}
    main, *others = [_by_name(tx.connection.execute(query, bound).all()) for query in _QUERIES[kind]]
    begun = hmac.new(tx.store.key, f"reconcile/facts/1|{kind}|".encode(), "sha256")
    found = {}
    for name, rows in main.items():
        digest = begun.copy()
        digest.update(_text([name, rows, *(part.get(name, ()) for part in others)]).encode())
        found[name] = digest.hexdigest()[:32]
    return found


def _by_name(rows: Iterable[Sequence[Any]]) -> dict[str, list[list[Any]]]:
    """The rows of each thing in one order, whatever the database's; what a row ends with is left out where null."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for name, *values in rows:
        while values and values[-1] is None:
            values.pop()
        found[name].append(values)
    for some in found.values():
        if len(some) > 1:
            some.sort(key=_by_key)
    return found


def changes(tx: Transaction, touched: Mapping[str, Iterable[str]]) -> Iterator[Changed]:
    """What changed of these things since their digests were recorded; the new digests are recorded."""
    for kind, listed in touched.items():
        names = sorted(listed)
        for at in range(0, len(names), CHUNK):
            yield from _recorded(tx, kind, names[at : at + CHUNK])


def as_recorded(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, bool]:
    """Say of each thing whether it is as it was when Reconcile last changed it; nothing of those never recorded."""
    before, now = _before(tx, kind, names), digests(tx, kind, names)
    return {name: hmac.compare_digest(digest, now.get(name, "")) for name, digest in before.items()}


def standing(tx: Transaction) -> Iterator[tuple[str, str, str]]:
    """Every thing with a recorded digest: kind, name, and its digest now; streamed.

    Where that is not the one recorded, or its rows are gone, another text that no entry of the log holds.
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
    """How many things of each kind have no recorded digest: nothing changed them since digests are recorded."""
    found = {}
    for kind, (main, *_) in KINDS.items():
        mine = sa.exists().where(_FACTS.kind == kind, _FACTS.name == main.table.c[main.of])
        found[kind] = tx.connection.execute(sa.select(sa.func.count()).select_from(main.table).where(~mine)).scalar()
    return {kind: count for kind, count in found.items() if count}


def _recorded(tx: Transaction, kind: str, names: Sequence[str]) -> Iterator[Changed]:
    before, after = _before(tx, kind, names), digests(tx, kind, names)
    changed = [name for name in names if before.get(name) != after.get(name)]
    rows = [{"kind": kind, "name": name, "digest": after[name]} for name in changed if name in after]
    fresh = [row for row in rows if row["name"] not in before]
    bulk.insert(tx, tables.facts, fresh)
    older = [row for row in rows if row["name"] in before]
    which = [{"kind": kind, "name": row["name"]} for row in older]
    bulk.update(tx, tables.facts, which, [{"digest": row["digest"]} for row in older])
    gone = [name for name in changed if name not in after]
    if gone:
        tx.connection.execute(_FORGET, {"the_kind": kind, "the_names": gone})
    for name in changed:
        yield kind, name, before.get(name), after.get(name)


def _before(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    return dict(tx.connection.execute(_BEFORE, {"the_kind": kind, "the_names": list(names)}).all())


def _query(part: Part) -> sa.Select[Any]:
    columns = (_as_stored(part.table.c[name]) for name in part.columns)
    mine = part.table.c[part.of]
    return sa.select(mine, *columns).where(bulk.one_of(mine, "the_names"))


def _as_stored(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Texts are not parsed: equal bytes are equal values, on both databases."""
    return column if isinstance(column.type, sa.Integer | sa.Boolean) else sa.type_coerce(column, sa.Text)


_FACTS = tables.facts.c
_QUERIES = {kind: [_query(part) for part in parts] for kind, parts in KINDS.items()}
_by_key = operator.itemgetter(slice(3))
"""What tells rows of a thing apart is in the first three columns of its part, and none of them is null."""
_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, check_circular=False).encode
_MINE = (_FACTS.kind == sa.bindparam("the_kind"), bulk.one_of(_FACTS.name, "the_names"))
_BEFORE = sa.select(_FACTS.name, _FACTS.digest).where(*_MINE)
_FORGET = sa.delete(tables.facts).where(*_MINE)
