"""Digests of the state, which commit the audit log to it: the columns covered, and those that verify cannot check.

A *thing* is a finding, a plan, the counters of a limit, a rule, a user, or a judged pair, with all its rows. Its digest
is an HMAC under the store's key over those rows as stored. The table `facts` holds the digest of each thing; an audit
entry of the same transaction records every change of one as [kind, name, digest before, digest after].

`NOT_COVERED` says what every other column holds, in words for people: a test compares both with the schema.
"""

from __future__ import annotations

import hmac
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reconcile.store import Transaction, evidence
from reconcile.store.bulk import StoredRows
from reconcile.store.evidence import Covered
from rules.values.compact import encoder

FINDING, PLAN, LIMITS, RULE, USER, PAIR = "finding", "plan", "limits", "rule", "user", "pair"
CHUNK = 500

Changed = tuple[str, str, str | None, str | None]
"""Kind, name, the digest before (None: not recorded) and after (None: deleted)."""


_JUDGED = (
    *("rule", "record_a", "record_b", "values_a", "values_b", "decided_by", "decided_at", "note"),
    "decision",
)

KINDS: Mapping[str, tuple[Covered, ...]] = {
    FINDING: (
        Covered(
            "findings",
            "id",
            (
                *("fingerprint", "rule", "kind", "dataset", "severity", "version", "key", "payload", "money"),
                *("records", "first_run", "first_seen", "snoozed_until", "assigned_to", "decided_by"),
                *("note", "merged_into", "digest"),
            ),
        ),
        Covered(
            "finding_members",
            "finding",
            (
                *("record", "position", "role", "values", "first_seen", "settled_at"),
                *("chosen_by", "chosen_at", "gives"),
            ),
        ),
        Covered("finding_aliases", "finding", ("fingerprint", "since")),
        Covered(
            "not_same",
            "finding",
            (
                *_JUDGED,
                *("pair", "kind", "dataset"),  # null: only a pair that was judged by itself has them
            ),
        ),
    ),
    PAIR: (Covered("not_same", "pair", (*_JUDGED, "kind", "dataset")),),
    PLAN: (
        Covered(
            "plans",
            "id",
            (
                *("finding", "rule", "dataset", "source", "target", "action", "run", "release", "plan_hash"),
                *("undoes", "reason", "content", "outcome", "summary", "records", "rows", "money", "reversible"),
                *("policy", "proposed_by", "created_at", "expires_at", "sent_at", "ended_at"),
            ),
        ),
        Covered("approvals", "plan", ("by", "decision", "plan_hash", "at", "note")),
        Covered(
            "effects", "plan", ("key", "target", "effect", "record", "generation", "fingerprint", "outcome_unknown")
        ),
        Covered("limit_uses", "plan", ("rule", "target", "run", "at", "records", "money")),
    ),
    LIMITS: (
        Covered(
            "limits",
            "scope",
            (
                *("stopped_at", "reason", "counted_at", "day_records", "day_money", "run", "run_records"),
                "run_money",
            ),
        ),
    ),
    RULE: (Covered("rule_state", "rule", ("definition", "first_run", "first_run_at", "renamed_from", "cleaning")),),
    USER: (
        Covered("users", "name", ("role", "password", "sees_personal", "disabled_at", "created_at")),
        Covered("tokens", "user", ("name", "id", "role", "created_at", "expires_at")),
    ),
}

_BY_ITSELF = "states, which are compared separately"
_LOG = "the audit log itself"
_DUE = "due times of jobs"
_WORK = "work in progress and retries"
_RUNS = "records and reports of runs"
_SIGN_INS = "sign-ins"
_ORDER = "the order in which findings are listed"
_KEYS = "keys that programs claimed"  # the log tells of refusals, take-overs, and what people changed
_RENEWED = "when a finding or rule was last seen"
NOT_COVERED: Mapping[str, str | Mapping[str, str]] = {
    "anchors": _LOG,
    "audit": _LOG,
    "audit_bodies": _LOG,
    "audit_head": _LOG,
    "attempts": _SIGN_INS,
    "awaited": _DUE,
    "breakers": _WORK,
    "plans": {
        "state": _BY_ITSELF,
        **dict.fromkeys(("fence", "owner", "lease_until", "attempts", "next_at", "give_up_at", "transaction"), _WORK),
    },
    "checkpoints": _LOG,
    "cleaning_news": "messages",
    "clock": _WORK,
    "dataset_schemas": _RUNS,
    "dataset_stats": _RUNS,
    "effects": {"state": _BY_ITSELF, "sent_at": _WORK, "ended_at": _WORK},
    "erasures": "erasures to repeat after a restore",  # the log has an entry of each erasure
    "expectations": _DUE,
    "facts": _LOG,  # the digests, compared with the log
    "failures": _RUNS,
    "findings": {
        "state": _BY_ITSELF,
        "state_since": _RENEWED,  # the log says when
        "last_run": _RENEWED,
        "last_seen": _RENEWED,
        "amount_rank": _ORDER,
        "probability": _ORDER,
    },
    "guard_counts": _KEYS,
    "guarded_keys": _KEYS,
    "holds": _WORK,
    "keyed_requests": _WORK,
    "leases": _WORK,
    "meta": "the identity of the state",  # its id is in every hash; epoch and schema are compared when it is opened
    "outbox": "messages",
    "presses": "messages",
    "shown_findings": "messages",
    "pauses": "pauses",
    "promotion": "releases",
    "record_ids": _RUNS,
    "remembered": _RUNS,
    "releases": "releases",
    "rule_state": {"last_run": _RENEWED, "last_run_at": _RENEWED},
    "run_rules": _RUNS,
    "runs": _RUNS,
    "schedules": _DUE,
    "sessions": _SIGN_INS,
    "slots": _DUE,
    "tokens": {"used_at": _SIGN_INS},
    "targets": "the cleaned databases",  # each holds the same number and is compared before a run cleans there
    "notified": "messages",
    "troubles": "trouble",
    "uncertain_pairs": _RUNS,
    "unchanged_runs": _RUNS,
    "watches": "files seen",
    "watermarks": _RUNS,
}


def left_out() -> list[str]:
    """The tables, and columns as `table.column`, that verify does not check."""
    return [name for name, _ in _not_covered()]


def left_out_in_words() -> list[str]:
    """Facts that `verify` does not check, in words."""
    return list(dict.fromkeys(words for _, words in _not_covered() if words != _LOG))


def _not_covered() -> Iterator[tuple[str, str]]:
    for table, why in NOT_COVERED.items():
        if isinstance(why, str):
            yield table, why
        else:
            yield from ((f"{table}.{column}", words) for column, words in why.items() if words != _BY_ITSELF)


def digests(tx: Transaction, kind: str, names: Sequence[str]) -> dict[str, str]:
    """The current digest of each of these things; things without a row of their own are left out."""
    return _digests(tx, kind, (evidence.rows(tx, part, names) for part in KINDS[kind]))


def record_new(tx: Transaction, kind: str, tables: Mapping[str, StoredRows]) -> dict[str, Changed]:
    """Record the digests of new things, whose rows, by table, are exactly these; return the change of each by its name.

    The rows are not read again: what is written is what is stored.
    """
    rows = (evidence.rows_of(part, tables[part.table]) if part.table in tables else () for part in KINDS[kind])
    digest_of = _digests(tx, kind, rows)
    evidence.add_digests(tx, kind, digest_of)
    return {name: (kind, name, None, digest) for name, digest in digest_of.items()}


def _digests(tx: Transaction, kind: str, rows_by_part: Iterable[Iterable[Sequence[Any]]]) -> dict[str, str]:
    """The digest of each thing, from its rows in each part; the first part has the thing's own row."""
    main, *parts = map(_by_name, rows_by_part)
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
    recorded, current = evidence.digests(tx, kind, names), digests(tx, kind, names)
    return {name: hmac.compare_digest(digest, current.get(name, "")) for name, digest in recorded.items()}


def current_digests(tx: Transaction) -> Iterator[tuple[str, str, str]]:
    """Every thing with a recorded digest: kind, name, and its current digest; streamed.

    If that differs from the recorded one, or the rows are gone, the text is one that no entry of the log holds.
    """
    for kind in KINDS:
        last = ""
        while recorded := evidence.digests_after(tx, kind, last, CHUNK):
            last = recorded[-1][0]
            now = digests(tx, kind, [name for name, _ in recorded])
            for name, recorded_digest in recorded:
                digest = now.get(name, "gone")
                yield kind, name, digest if digest == recorded_digest else f"{digest}, recorded as {recorded_digest}"


def unrecorded(tx: Transaction) -> Iterator[tuple[str, str]]:
    """Yield kind and name of a thing without a recorded digest, one for each of its tables: no entry is about it."""
    for kind, parts in KINDS.items():
        for part in parts:
            name = evidence.without_digest(tx, kind, part)
            if name is not None:
                yield kind, name


def _record(tx: Transaction, kind: str, names: Sequence[str]) -> Iterator[Changed]:
    before, after = evidence.digests(tx, kind, names), digests(tx, kind, names)
    changed = [name for name in names if before.get(name) != after.get(name)]
    evidence.add_digests(tx, kind, {name: after[name] for name in changed if name in after and name not in before})
    evidence.change_digests(tx, kind, {name: after[name] for name in changed if name in after and name in before})
    deleted = [name for name in changed if name not in after]
    if deleted:
        evidence.delete_digests(tx, kind, deleted)
    for name in changed:
        yield kind, name, before.get(name), after.get(name)


_by_key = operator.itemgetter(slice(3))
"""The first three columns of a part identify a row of a thing, and none of them is null."""
_text = encoder()
