"""A store of any released schema with something in every table, in every state: for upgrades, backups and compaction.

A new migration adds its rows to ROWS under its revision, as they are stored; the tests run over all of them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from alembic.script import ScriptDirectory

from reconcile.schedule.slots import parse_slot, run_id
from reconcile.store import copying, key, migrations, tables
from tests.support.runs import START

Row = dict[str, Any]
Rows = dict[str, list[Row]]

KEY = bytes(range(32))
STORE = "st_" + "5" * 32

AT = "2020-11-20T12:00:00.000000Z"
LATER = "2020-11-20T12:05:00.000000Z"
RUNNING = run_id("nightly", parse_slot(START, ZoneInfo("UTC")))
RELEASE = "ab" * 32
OWNER = json.dumps(
    {"boot": "a-former-boot", "boot_deadline": 1, "host": "h", "pid": 1, "pids": "pid:[1]", "started": 1}
)
ERASED = {"dataset": "charges", "records": ["aa" * 32], "values": [], "columns": []}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _outcome(**more: Any) -> Row:
    counts = dict.fromkeys(("grown", "known", "merged", "new", "reopened", "resolved", "settled"), 0)
    settings = {"rule": "old-rule", "dataset": "charges", "severity": "high", "engine": "embedded", "reason": "because"}
    settings |= {"read": 4, "scanned": 4, "groups": 1, "groups_before": [1], "money": {"EUR": "20.00"}, "seconds": 0.1}
    settings |= {"skipped": [{"column": "order_id", "reason": "null", "records": 1, "first": "row 7"}]}
    return settings | {"findings": counts, "first_run": False, "edited": False} | more


def summary(run: str, slot: str, status: str = "succeeded", **more: Any) -> str:
    """A run's report as it is stored."""
    row: Row = {"run": run, "job": "nightly", "slot": slot, "release": RELEASE, "status": status, "attempt": 1}
    return _json(row | {"rules": [_outcome(**more)], "messages": [], "checked": ["old-rule"]})


def run_row(run: str, slot: str, status: str, *, job: str = "nightly", fence: int = 1, ended: str = LATER) -> Row:
    over = status != "running"
    report = summary(run, slot, status) if status in ("succeeded", "failed") else None
    row = {"id": run, "job": job, "slot": slot, "release": RELEASE, "trigger": "slot", "status": status, "attempt": 1}
    return row | {"fence": fence, "started": AT, "finished": ended if over else None, "summary": report}


def finding_row(name: str, state: str, *, run: str = "run1_good", into: str | None = None) -> Row:
    payload = {"change": "new", "reason": None, "span": None, "summary": False}
    row = {"id": name, "fingerprint": f"mark-{name}", "rule": "old-rule", "kind": "duplicates", "dataset": "charges"}
    row |= {"state": state, "severity": 3, "version": 1, "key": _json([["order_id", ["t", name]]])}
    row |= {"payload": _json(payload), "money": _json({"EUR": "20.00"}), "records": 2, "first_run": run}
    row |= {"first_seen": AT, "last_run": run, "last_seen": LATER, "state_since": AT, "merged_into": into}
    row |= {"snoozed_until": "2025-12-24T00:00:00.000000Z" if state == "snoozed" else None, "assigned_to": "eve"}
    return row | {"decided_by": "eve" if state in ("dismissed", "snoozed") else None, "note": "she said so"}


def _members(finding: str) -> list[Row]:
    row = {"finding": finding, "values": _json([["order_id", ["t", finding]]]), "first_seen": AT}
    keeper = row | {"record": _json([["t", f"{finding}-1"]]), "position": 0, "role": "keeper", "settled_at": None}
    surplus = {"record": _json([["t", f"{finding}-2"]]), "position": 1, "role": "surplus", "settled_at": LATER}
    return [keeper, row | surplus]


def message_row(name: str, status: str, *, at: str = LATER, **more: Any) -> Row:
    notice = {"id": name, "job": "nightly", "run": "run1_good", "slot": "2020-11-20T11:00:00Z", "timezone": "UTC"}
    row = {"message": name, "channel": "team", "job": "nightly", "run": "run1_good", "notice": json.dumps(notice)}
    row |= {"version": 1, "status": status, "attempts": 1, "queued_at": AT, "next_at": at}
    row |= {"give_up_at": "2099-01-01T00:00:00.000000Z", "fence": 3, "owner": None, "lease_until": AT}
    row |= {"outcome_unknown": False, "problem": None, "receipt": None, "sent_at": None}
    if status == "sent":
        row |= {"receipt": _json({"details": {"ts": "1"}, "where": "file"}), "sent_at": at}
    return row | more


def slot_row(slot: str, status: str, **more: Any) -> Row:
    row = {"job": "nightly", "slot": slot, "cause": f"schedule:{slot}", "tzdata": "2025.2", "status": status}
    row |= {"reason": "because" if status == "missed" else None, "priority": 1, "start_at": slot, "attempts": 1}
    row |= {"sources": '["shop"]', "owner": OWNER if status == "running" else None, "fence": 5, "lease_until": AT}
    return row | {"created_at": AT, "ended_at": None if status in ("due", "running") else LATER} | more


def chain(bodies: list[Row]) -> Rows:
    """Entries of the audit log, computed as its first version is described."""
    head = hashlib.sha256(b"reconcile/audit/1/genesis\0" + STORE.encode()).hexdigest()
    rows: Rows = {"audit": [], "audit_bodies": [], "audit_head": []}
    for seq, output in enumerate(bodies, 1):
        body, salt = _json(output), f"{seq:064x}"
        proof = hashlib.sha256(b"reconcile/audit/1/body\0" + salt.encode() + b"\0" + body.encode()).hexdigest()
        fields = {"seq": seq, "at": AT, "actor": "eve", "event": "run.started", "subject": "aa" * 32}
        fields["body_commitment"] = proof
        leaf = hashlib.sha256(b"reconcile/audit/1/leaf\0" + _json(fields).encode()).digest()
        before, head = head, hashlib.sha256(b"reconcile/audit/1/head\0" + head.encode() + b"\0" + leaf).hexdigest()
        rows["audit"].append(fields | {"prev": before, "head": head})
        named = {"finding": output.get("finding"), "run": output.get("run")}
        rows["audit_bodies"].append({"seq": seq, "salt": salt, "body": body} | named)
    rows["audit_head"].append({"id": 1, "seq": len(bodies), "head": head})
    return rows


def plan_row(state: str, *, undoes: str | None = None, **more: Any) -> Row:
    """A plan in that state, `P-<state>`, for the finding F-OPEN."""
    sent = state not in ("awaiting_approval", "approved", "claimed", "skipped")
    over = state in ("succeeded", "failed", "skipped", "compensated", "compensating")
    row = {"id": f"P-{state}", "finding": "F-OPEN", "rule": "old-rule", "dataset": "charges", "source": "shop"}
    row |= {"target": TARGET, "action": "delete", "run": "run1_good", "release": RELEASE, "plan_hash": "ee" * 32}
    row |= {"undoes": undoes, "state": state, "reason": "because" if state in ("failed", "skipped") else None}
    row |= {"content": _json({"action": "delete", "changes": []}), "outcome": _json([]) if over and sent else None}
    row |= {"summary": _json({}), "records": 1, "rows": 1, "money": _json({"EUR": "20.00"}), "reversible": "yes"}
    row |= {"policy": "required", "proposed_by": "reconcile", "created_at": AT, "fence": 2, "attempts": int(sent)}
    row |= {"expires_at": "2020-11-27T12:00:00.000000Z", "lease_until": AT, "next_at": AT, "transaction": None}
    row |= {"owner": OWNER if state in ("claimed", "sent") else None, "give_up_at": LATER if sent else None}
    return row | {"sent_at": AT if sent else None, "ended_at": LATER if over else None} | more


def effect_row(state: str) -> Row:
    """The operation of that plan."""
    row = {"key": f"rk1.k.{state}", "plan": f"P-{state}", "target": TARGET, "effect": "delete", "record": "aa" * 32}
    row |= {"generation": 1, "fingerprint": "f" * 64, "state": state, "sent_at": AT}
    row["outcome_unknown"] = state == "failed"
    return row | {"ended_at": LATER if state in ("succeeded", "failed", "compensating", "compensated") else None}


def guarded_row(state: str, **more: Any) -> Row:
    """A key in that state, kept for 400 days."""
    row = {"key": f"gk1.abcdef.{state}", "namespace": "welcome", "state": state, "payload": "ab" * 32, "fence": 7}
    row |= {"attempts": 1, "refusals": 0, "claimed_by": "h/1/ab", "lease_until": LATER, "created_at": AT}
    row |= {"lease_boot": "a-former-boot 1" if state == "in_progress" else None, "changed_at": AT}
    row["keep_until"] = "2021-12-25T12:05:00.000000Z"
    row |= {"result": _json({"sent": True}) if state == "done" else None}
    return row | {"reason": "because" if state in ("failed", "released") else None} | more


TARGET = "postgresql:7300000000000000000:shop"
SENT = ("sent", "retry_wait", "unknown", "quarantined", "succeeded", "failed", "compensating", "compensated")
PLANS = ("awaiting_approval", "approved", "claimed", "skipped", *SENT)
STATES = {"F-OPEN": "open", "F-SNOOZED": "snoozed", "F-DISMISSED": "dismissed", "F-RESOLVED": "resolved"}

ROWS: Mapping[str, Rows] = {
    "0019": {
        "releases": [
            {"hash": RELEASE, "config": '{"jobs":{}}', "first_seen": AT},
            {"hash": "cd" * 32, "config": "{}", "first_seen": LATER, "files": '{"reconcile.yaml":"version: 1"}'},
        ],
        "runs": [
            run_row("run1_good", "2020-11-20T11:00:00.000000Z", "succeeded"),
            run_row("run1_bad", "2020-11-20T11:10:00.000000Z", "failed", fence=2),
            run_row("run1_left", "2020-11-20T11:20:00.000000Z", "interrupted", fence=3),
            run_row(RUNNING, "2026-11-21T05:15:00.000000Z", "running", fence=4),
        ],
        "run_rules": [
            {"run": "run1_good", "rule": "old-rule", "status": "done", "outcome": _json(_outcome()), "finished": AT},
            {"run": RUNNING, "rule": "old-rule", "status": "done", "outcome": _json(_outcome()), "finished": AT},
            {
                "run": "run1_bad",
                "rule": "old-rule",
                "status": "failed",
                "outcome": _json(
                    {"rule": "old-rule", "dataset": "charges", "failed": "no answer", "subject": "source x"}
                ),
                "finished": AT,
            },
        ],
        "leases": [
            {"name": "job:nightly", "owner": OWNER, "fence": 7, "lease_until": AT, "taken_at": AT},
            {"name": "job:other", "owner": None, "fence": 9, "lease_until": AT, "taken_at": AT},
        ],
        "rule_state": [
            {
                "rule": "old-rule",
                "definition": "d",
                "first_run": "run1_good",
                "first_run_at": AT,
                "last_run": "run1_bad",
                "last_run_at": AT,
                "renamed_from": "older-rule",
            }
        ],
        "dataset_stats": [
            {
                "dataset": "charges",
                "rule": "old-rule",
                "run": run,
                "at": AT,
                "read": 4,
                "scanned": 4,
                "skipped": 0,
                "groups": 1,
            }
            for run in ("run1_good", RUNNING)
        ],
        "failures": [
            {
                "job": "other",
                "subject": "source x",
                "sentence": "no answer",
                "since": AT,
                "first_run": "run1_bad",
                "last_run": "run1_bad",
            }
        ],
        "findings": [
            finding_row("F-MERGED", "merged_into", into="F-OPEN"),
            finding_row("F-HANDLED", "handled"),
            *(finding_row(name, state) for name, state in STATES.items()),
        ],
        "finding_aliases": [{"fingerprint": f"mark-{name}", "finding": name, "since": AT} for name in STATES],
        "finding_members": [row for name in (*STATES, "F-HANDLED") for row in _members(name)],
        "not_same": [
            {
                "rule": "old-rule",
                "record_a": '[["t","a"]]',
                "record_b": '[["t","b"]]',
                "values_a": "[]",
                "values_b": "[]",
                "finding": "F-DISMISSED",
                "decided_by": "eve",
                "decided_at": AT,
                "note": None,
            },
            {
                "rule": "old-rule",
                "record_a": '[["t","c"]]',
                "record_b": '[["t","d"]]',
                "values_a": "[]",
                "values_b": "[]",
                "finding": "F-HANDLED",
                "decided_by": "eve",
                "decided_at": AT,
                "note": "refunded",
                "decision": "handled",
            },
        ],
        "outbox": [
            message_row("m-queued", "queued"),
            message_row("m-sending", "sending", owner=OWNER),
            message_row("m-sent", "sent"),
            message_row("m-failed", "failed", outcome_unknown=True, problem="no answer"),
        ],
        "notified": [{"finding": "F-OPEN", "channel": "team", "version": 1, "message": "m-sent", "at": AT}],
        **chain([{"run": "run1_good", "job": "nightly"}, {"finding": "F-OPEN"}, {"run": RUNNING}]),
        "promotion": [
            {"id": 1, "release": RELEASE, "held": False, "since": AT, "by": "eve", "note": "after the audit"}
        ],
        "schedules": [{"job": "nightly", "revision": "r", "since": AT, "watermark": LATER}],
        "slots": [
            slot_row(f"2020-11-20T11:0{n}:00.000000Z", status)
            for n, status in enumerate(("due", "running", "succeeded", "failed", "missed"))
        ],
        "awaited": [{"job": "after", "other": "nightly", "fence": 4}],
        "watches": [
            {
                "job": "nightly",
                "dataset": "charges",
                "digest": "d",
                "seen_at": AT,
                "pending": "p",
                "pending_since": AT,
            }
        ],
        "pauses": [{"subject": "job:other", "reason": "a move", "by": "eve", "since": AT, "until": None}],
        "troubles": [
            {"subject": "late:nightly", "job": "nightly", "sentence": "late", "since": AT, "channels": '["team"]'}
        ],
        "expectations": [{"job": "nightly", "since": AT}, {"job": "other", "since": None}],
        "clock": [{"id": 1, "wall": AT, "boot": "a-former-boot", "boot_ns": 5, "held_since": None, "held_from": None}],
        "plans": [
            *(plan_row(state) for state in PLANS),
            plan_row("sent", id="P-undo", undoes="P-compensating"),
            plan_row("succeeded", id="P-purged", content=None, outcome=None, run=None),
        ],
        "effects": [effect_row(state) for state in SENT],
        "holds": [
            {"target": TARGET, "record": f'["F-OPEN-{role}"]', "plan": "P-sent", "role": role, "since": AT}
            for role in ("keeper", "surplus")
        ],
        "approvals": [
            {
                "plan": "P-approved",
                "by": "eve",
                "decision": "approved",
                "plan_hash": "ee" * 32,
                "at": AT,
                "note": "seen",
            },
            {
                "plan": "P-skipped",
                "by": "eve",
                "decision": "rejected",
                "plan_hash": "ee" * 32,
                "at": AT,
                "note": None,
            },
        ],
        "limits": [
            {
                "scope": "rule:old-rule",
                "stopped_at": AT,
                "reason": "a column went",
                "counted_at": LATER,
                "day_records": 1,
                "day_money": _json({"EUR": "20.00"}),
                "run": "run1_good",
                "run_records": 1,
                "run_money": _json({"EUR": "20.00"}),
            }
        ],
        "limit_uses": [
            {
                "plan": "P-succeeded",
                "rule": "old-rule",
                "target": TARGET,
                "run": "run1_good",
                "at": AT,
                "records": 1,
                "money": _json({"EUR": "20.00"}),
            }
        ],
        "breakers": [
            {
                "target": TARGET,
                "state": "open",
                "failures": 5,
                "requests": "[0,10,3]",
                "opened_at": AT,
                "probe_at": LATER,
                "fence": 1,
                "reason": "it did not answer",
            }
        ],
        "targets": [
            {"identity": TARGET, "source": "shop", "ratchet": 7, "confirmed": 7, "first_seen": AT, "moved_at": LATER}
        ],
        "dataset_schemas": [
            {"dataset": "charges", "rule": "old-rule", "digest": "dd" * 32, "facts": _json({"columns": []}), "at": AT}
        ],
        "checkpoints": [
            {"seq": 1, "epoch": 1, "head": "bb" * 32, "at": AT, "signer": "cc" * 32, "signature": "dd" * 64}
        ],
        "anchors": [
            {
                "anchor": f"{status}-log",
                "seq": 1,
                "status": status,
                "attempts": 1,
                "next_at": LATER,
                "at": AT if status == "written" else None,
                "receipt": _json({"line": 1}) if status == "written" else None,
                "problem": "no room" if status == "failed" else None,
            }
            for status in ("due", "written", "failed")
        ],
        "erasures": [{"id": "E-1", "at": AT, "by": "eve", "seq": 1, "subjects": _json(ERASED), "reached": _json({})}],
        "facts": [{"kind": "rule", "name": "twin", "digest": "aa" * 16}],
        "watermarks": [
            {
                "rule": "old-rule",
                "version": "ab" * 32,
                "mark": _json({"at": AT}),
                "run": "run1_good",
                "full_slot": AT,
                "increments": 3,
                "missed": 1,
            }
        ],
        "users": [
            {
                "name": "ada",
                "role": "admin",
                "password": "$argon2id$v=19$m=65536,t=3,p=4$AA$AA",
                "sees_personal": True,
                "disabled_at": None,
                "created_at": AT,
            }
        ],
        "tokens": [
            {
                "name": "nightly",
                "id": "ab" * 32,
                "user": "ada",
                "role": "viewer",
                "created_at": AT,
                "expires_at": LATER,
                "used_at": AT,
            }
        ],
        "sessions": [{"id": "cd" * 32, "user": "ada", "started_at": AT, "seen_at": AT, "ends_at": LATER}],
        "attempts": [{"scope": "ef" * 32, "count": 3, "since": AT}],
        "shown_findings": [{"message": "m-sent", "finding": "F-OPEN"}],
        "presses": [
            {
                "id": "press1_done",
                "channel": "team",
                "press": _json({"press": {"action": "dismiss"}, "mac": "ab" * 32}),
                "signature": "v0=" + "cd" * 32,
                "received_at": AT,
                "status": "done",
                "attempts": 1,
                "next_at": AT,
                "fence": 1,
                "owner": None,
                "lease_until": AT,
                "answer": "F-OPEN is dismissed",
            }
        ],
        "keyed_requests": [
            {"user": "ada", "key": "key-1", "digest": "ab" * 32, "received_at": AT, "answer": _json({"changed": True})}
        ],
        "cleaning_news": [{"plan": "P-approved", "rule": "old-rule", "what": "waiting", "run": None, "at": AT}],
        "unchanged_runs": [
            {
                "job": "nightly",
                "day": "2020-11-19",
                "release": RELEASE,
                "runs": 2,
                "slots": _json([[1605744000000000, 60000000, 2]]),
                "first_slot": "2020-11-19T00:00:00.000000Z",
                "last_slot": "2020-11-19T00:01:00.000000Z",
                "started": "2020-11-19T00:00:00.000000Z",
                "finished": AT,
                "summary": summary("run1_same", "2020-11-19T00:01:00.000000Z"),
            }
        ],
        "record_ids": [{"dataset": "orders", "columns": '["id"]', "types": '["integer"]', "at": AT}],
    },
    "0020": {
        "not_same": [
            {
                "rule": "old-rule",
                "record_a": '[["t","e"]]',
                "record_b": '[["t","f"]]',
                "values_a": '[["@not order_id",["t","e"]]]',
                "values_b": '[["@not order_id",["t","f"]]]',
                "finding": None,
                "decided_by": "eve",
                "decided_at": AT,
                "note": "she said so",
                "decision": "same",
                "pair": "aa" * 16,
                "kind": "duplicates",
                "dataset": "charges",
            }
        ],
        "uncertain_pairs": [
            {
                "pair": "bb" * 16,
                "rule": "old-rule",
                "kind": "duplicates",
                "dataset": "charges",
                "position": 0,
                "record_a": '[["t","g"]]',
                "record_b": '[["t","h"]]',
                "values_a": '[["order_id",["t","g"]]]',
                "values_b": '[["order_id",["t","h"]]]',
                "probability": "0.4321",
                "evidence": "order_id is one letter apart",
                "found_at": AT,
            }
        ],
    },
    "0021": {},  # a column of findings, which a run fills
    "0022": {
        "remembered": [
            {"rule": "old-rule", "name": "records", "number": 0, "dataset": "charges", "content": b"\x00\x01\xff"}
        ],
    },
    "0023": {
        "guarded_keys": [guarded_row(state) for state in ("in_progress", "done", "failed", "released")],
        "guard_counts": [{"namespace": "welcome", "event": "created", "count": 4}],
    },
}

REVISIONS = tuple(
    walk_revision.revision
    for walk_revision in reversed(list(ScriptDirectory.from_config(migrations._config()).walk_revisions()))
)


_BUILT: dict[str, bytes] = {}
"""SQLite files by schema: the same rows again are a copy."""


def build(url: str, root: Path, revision: str = tables.REVISION) -> None:
    """A store of that schema at the URL, as its migrations made it, with every row that schema could hold."""
    if url.startswith("postgresql"):
        _fill(url, root, revision)
        key.write(root / "reconcile.key", KEY, "here")
        return
    file = root / url.rsplit("/", 1)[1]
    if revision in _BUILT:
        file.write_bytes(_BUILT[revision])
    else:
        _fill(url, root, revision)
        _BUILT[revision] = file.read_bytes()
    key.write(file.with_name(f"{file.name}.key"), KEY, "here")


def _fill(url: str, root: Path, revision: str) -> None:
    with connected(url, root) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("CREATE SCHEMA reconcile"))
        else:
            connection.exec_driver_sql(f"PRAGMA application_id = {0x52434E4C}")
        if revision == tables.REVISION:
            copying.create(connection)  # the same tables, sooner
        else:
            migrations.upgrade(connection, revision)
        result = _reflected(connection)
        row = {"id": 1, "store_id": STORE, "epoch": 1, "revision": revision, "created_at": AT}
        connection.execute(sa.insert(result["meta"]).values(row | {"key_check": key.check(KEY, STORE)}))
        for name in sorted(result, key=[t.name for t in tables.metadata.sorted_tables if t.name in result].index):
            for remembered in (item for item in REVISIONS if item <= revision):
                if rows := ROWS[remembered].get(name):
                    fill(connection, name, rows)


def fill(connection: sa.Connection, table: str, rows: list[Row]) -> None:
    """Rows as they are stored; one that points at another of its own table comes after it."""
    into = sa.Table(table, sa.MetaData(), autoload_with=connection)
    for row in sorted(rows, key=lambda item: item.get("merged_into") is not None):
        connection.execute(sa.insert(into).values(row))


@contextmanager
def connected(url: str, root: Path) -> Iterator[sa.Connection]:
    """A connection to a store's tables from outside, in one transaction."""
    if url.startswith("postgresql"):
        engine = sa.create_engine(url, connect_args={"options": "-c search_path=reconcile"})
    else:
        engine = sa.create_engine(f"sqlite:///{root / url.rsplit('/', 1)[1]}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def _reflected(connection: sa.Connection) -> dict[str, sa.Table]:
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return {name: table for name, table in metadata.tables.items() if name != "alembic_version"}


def stored(url: str, root: Path) -> Rows:
    """Every row of every table, as it is stored."""
    with connected(url, root) as connection:
        return {
            name: sorted((dict(row) for row in connection.execute(sa.select(table)).mappings()), key=_by_its_values)
            for name, table in _reflected(connection).items()
        }


def _by_its_values(row: Row) -> str:
    return json.dumps(row, sort_keys=True, default=str)
