"""What a run came to, for people and as the public JSON of configuration.md. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reconcile.detection.detect import Detected
from reconcile.messages.delivery import Report as Delivery
from reconcile.schedule.slots import slot_text
from reconcile.tracking.remember import RuleOutcome
from rules.kinds.base import Rule
from rules.models import Severity

_NOT_CLEANED = ("refused", "not_planned", "failed", "quarantined")
_OPEN = ("open", "awaiting_approval", "stale", "failed", "quarantined")


def outcome_json(rule: Rule, found: Detected, outcome: RuleOutcome) -> dict[str, Any]:
    """One rule's part of the report: which engine, what it read, what it left out, what it found."""
    return {
        "rule": rule.name,
        "dataset": rule.dataset,
        "severity": rule.severity.name,
        "engine": found.choice.engine,
        "reason": found.choice.reason,
        "read": found.detection.read,
        "scanned": found.detection.scanned,
        "skipped": _skipped(found),
        **outcome.to_json(),
        "seconds": round(found.seconds, 3),
    }


def _skipped(found: Detected) -> list[dict[str, Any]]:
    """Records and cells that took no part, by column and reason; `first` is a place to look at."""
    records = [{"column": s.column, "reason": s.reason, "records": s.records} for s in found.detection.skipped]
    cells = [
        {"column": p.column, "reason": p.reason, "records": p.records, "first": p.first}
        | ({} if p.skipped else {"read_as": None})
        for p in found.problems
    ]
    identity = found.detection.identity
    wrong = [("null", identity.nulls), ("not unique", identity.repeated)]
    return [*records, *cells, *({"column": "id", "reason": why, "records": n} for why, n in wrong if n)]


@dataclass(frozen=True)
class RunReport:
    """One run's result. `rules` are JSON objects, one a rule; a rule that could not be checked has `failed`.
    `findings` is empty where nobody asked for them.

    `status`: succeeded, failed (some rule could not be checked), running (somebody else is at it), dry_run.
    `repeated`: the slot had been run before, and nothing was done now. `undelivered` are sentences on messages;
    `watchdog` is why the job's watchdog did not hear of the success, where it did not.
    """

    run: str | None
    job: str
    slot: dt.datetime
    status: str
    release: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()
    findings: Sequence[Mapping[str, Any]] = ()
    repeated: bool = False
    by: str | None = None
    sent: tuple[str, ...] = ()
    undelivered: tuple[str, ...] = ()
    watchdog: str | None = None

    @classmethod
    def of(cls, summary: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> RunReport:
        return cls(
            run=summary["run"],
            job=summary["job"],
            slot=dt.datetime.fromisoformat(summary["slot"]),
            status=summary["status"],
            release=summary["release"],
            rules=tuple(summary["rules"]),
            findings=findings,
        )

    @classmethod
    def again(cls, summary: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> RunReport:
        return replace(cls.of(summary, findings), repeated=True)

    @classmethod
    def under_way(cls, job: str, slot: dt.datetime, run: str, by: str) -> RunReport:
        return cls(run=run, job=job, slot=slot, status="running", by=by)

    def told(self, delivery: Delivery) -> RunReport:
        """The report with what became of messages, its own and those that waited from before."""
        stuck = [*delivery.failed, *delivery.waiting]
        return replace(
            self,
            sent=tuple(one.channel for one in delivery.sent),
            undelivered=tuple(f"{one.channel}: {one.problem or 'waits for its next attempt'}" for one in stuck),
        )

    @property
    def failed(self) -> bool:
        """Something could not be checked, cleaned or told."""
        held_up = any(rule.get("cleaning", {}).get("held_up") for rule in self.rules)
        return self.status == "failed" or held_up or bool(self.undelivered)

    @property
    def refused(self) -> bool:
        """Something was not cleaned: for safety, because no plan can be made for it, or because it failed."""
        return any(rule.get("cleaning", {}).get(name) for rule in self.rules for name in _NOT_CLEANED)

    def has_open(self, severity: Severity) -> bool:
        """Whether a finding at or above that severity is open."""
        return any(f["status"] in _OPEN and Severity[f["severity"]] >= severity for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return self.to_stream() | {"findings": [dict(finding) for finding in self.findings]}

    def to_stream(self) -> dict[str, Any]:
        """The same, with the findings as they are held, for who writes them one after the other."""
        optional = {
            "repeated": self.repeated or None,
            "by": self.by,
            "sent": list(self.sent) or None,
            "undelivered": list(self.undelivered) or None,
            "watchdog": self.watchdog,
        }
        return {
            "run": self.run,
            "job": self.job,
            "slot": slot_text(self.slot),
            "release": self.release,
            "status": self.status,
            "rules": [dict(rule) for rule in self.rules],
            "findings": self.findings or [],
        } | {name: value for name, value in optional.items() if value is not None}
