"""The JSON that each command prints, for its help; docs/cli.md describes that of `run`, `findings` and `plan`."""

from __future__ import annotations

from collections.abc import Mapping

_SEVERAL = '{"decided", "unchanged", "not_done", "findings": [{"finding", "status", "sentence"}]}'
_DECISION = '{"changed", "sentence", "finding"}'
_PLANNED = '{"sentence", "finding", "plan", "state"}'
_RELEASE = '{"release", "held", "changed", "before", "kept"}'
_USER = '{"user", "changed"}'
_KEY = (
    '{"key", "namespace", "state", "attempts", "refusals", "claimed_by", "until", "seconds", "created", "changed", '
    '"kept_until", "result_bytes", "reason"}'
)
_MESSAGE = '{"changed"} and the message'

SHAPES: Mapping[str, str] = {
    "init": '{"files": [...]}',
    "check": '{"checks": [{"subject", "ok", "sentence"}], "warnings": [...]}',
    "doctor": '{"state", "checks": [{"subject", "state", "sentence"}]}',
    "explain": (
        '{"rule", "kind", "datasets", "words": {"compares": [...], "takes part": [...], "groups": [...], '
        '"keeps": [...], "cleans": [...]}, "engine", "reason", "records": {"read", "outside", "scanned"}, '
        '"skipped": [...], "listed": {...}, "mapped": {...}, "groups", '
        '"samples": [{"dataset", "record", "compared": [{"column", "before", "after"}]}]}. '
        'A rule that reads replicas also has "replicas". '
        'With --sql: {"rule", "engine", "reason", "sql": [...]}'
    ),
    "suggest": (
        '{"yaml", "datasets": [{"dataset", "records", "settings", "columns", "open", '
        '"rules": [{"rule", "key", "groups", "records", "groups_as_written"}], "remarks"}], '
        '"skipped": [{"dataset", "reason"}]}'
    ),
    "learn": (
        '{"rule", "file", "written", "records", "matches", "judged", "doubt", '
        '"now" and "learnt": {"threshold", "pairs", "precision", "recall"}, "curve": [...], '
        '"levels": [{"column", "words", "match", "random", "weight", "now"}], "yaml"}'
    ),
    "version": '{"version"}',
    "status": (
        '{"needs_attention", "findings": {severity: number}, "at_risk", '
        '"facts": [{"topic", "sentence", "command"}], "jobs", "release"}. '
        "A topic is waits, failed, due or release."
    ),
    "runs": '[{"run", "job", "slot", "status"}]',
    "trigger": '{"job", "run", "slot", "status", "new", "paused"}',
    "jobs": '[{"job", "when", "next", "state", "due", "last_success", "paused"}]',
    "pause": '{"subject", "reason", "by", "until"}',
    "resume": '{"subject", "resumed"}, and with --clock "missed", by job',
    "releases": '[{"release", "first_seen", "current", "held", "file", "kept", "jobs", "rules", "last_run"}]',
    "releases show": '{"release", "files", "config"}',
    "releases diff": '{"from", "to", "diff"}',
    "keys": f"[{_KEY}]",
    "keys show": _KEY,
    "keys release": _KEY,
    "keys expire": _KEY,
    "hold": _RELEASE,
    "promote": f'{_RELEASE}, and "diff" without findings',
    "diff": (
        '{"from", "to", "slot", "rules": [{"rule", "was", "state", "appears", "vanishes", "changes", "same", '
        '"severity", "from", "to", "apart"}], "findings": [{"rule", "change", "differs", "from", "to"}]}. '
        "The state is compared, unchanged, added, removed or failed."
    ),
    "show": (
        'a finding as in docs/cli.md, and "history", "why", "plan" or "prospect" (what would happen), '
        '"undo": {"plan", "state", "why"}, "undone": {"at", "by", "note"}, '
        '"executed": {"at", "approved_by", "plan"} ("gone" says why rows are missing), '
        '"side_by_side": {"fields", "records": [{"role", "dataset", "id", "link", "values", "differs"}]}. '
        '"differs" names what differs from the first record.'
    ),
    "dismiss": f"{_DECISION}. For several: {_SEVERAL}",
    "handle": f"{_DECISION}. For several: {_SEVERAL}",
    "snooze": f"{_DECISION}. For several: {_SEVERAL}",
    "reopen": f"{_DECISION}. For several: {_SEVERAL}",
    "assign": f"{_DECISION}. For several: {_SEVERAL}",
    "keep": _DECISION,
    "judge": '{"changed", "sentence"}',
    "split": _DECISION,
    "export": '{"file", "findings"}',
    "decide": f'{_SEVERAL}. With --dry-run: {{"decisions": [...]}}',
    "approve": f"{_PLANNED}. For several: {_SEVERAL}",
    "reject": f"{_PLANNED}. For several: {_SEVERAL}",
    "retry": f"{_PLANNED}. For several: {_SEVERAL}",
    "allow": _PLANNED,
    "undo": (
        '{"undone", "failed": [{"finding", "why"}], "conflicts": [{"finding", "table", "columns", "why"}], '
        '"not_restored": [{"finding", "why"}]}'
    ),
    "quarantine": f'[{{"plan", "finding", "rule", "source", "action", "reason"}}]. With an ID: {_PLANNED}',
    "messages": (
        '[{"message", "channel", "job", "run", "status", "attempts", "outcome_unknown", "problem", "held", "next_at"}]'
    ),
    "messages requeue": _MESSAGE,
    "messages drop": _MESSAGE,
    "notify test": '{"channel", "where", "details"}',
    "audit": '[{"seq", "at", "actor", "event", "body", "head"}]',
    "audit verify": (
        '{"intact", "entries", "head", "public_key", "seq", "until", "problem", "signed", "anchored", "anchors", '
        '"remarks", "not_compared"}'
    ),
    "audit export": '{"place", "entries", "head", "public_key", "unread"}',
    "audit key": '{"store", "public_key"}',
    "erase": '{"erasure", "dry_run", "reached", "unreached"}. "unreached" are reasons by source',
    "users": '[{"user", "role", "personal_data", "disabled", "password"}]',
    "users add": _USER,
    "users role": _USER,
    "users password": _USER,
    "users disable": _USER,
    "users enable": _USER,
    "tokens": '[{"name", "user", "role", "expires_at", "used_at"}]',
    "tokens add": '{"name", "user", "token"}',
    "tokens revoke": '{"name", "changed"}',
    "backup": '{"file", "store", "schema", "bytes", "until", "entries", "head", "rows"}',
    "restore": '{"backup", "epoch", "gone", "slots_missed", "messages_unknown", "erased_again", "erased_left"}',
    "migrate": '{"from", "to", "upgraded"}, and after an upgrade "backup"',
    "compact": '{"dry_run", "counts"}',
    "seal": '{"sealed", "refused"}',
    "target": '[{"source", "target", "owner", "problem"}]',
    "target adopt": '{"source", "owner", "before", "undone"}',
}
"""By the words of the command: names are keys, and `...` stands for values that the command's tables show."""


def epilog(command: str) -> str | None:
    """Return the last paragraph of the command's help."""
    shape = SHAPES.get(command)
    return f"JSON: {shape}" if shape else None
