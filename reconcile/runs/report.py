"""The result of a run, for people and as the public JSON of configuration.md. Pure."""

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


def outcome_json(rule: Rule, detected: Detected, outcome: RuleOutcome) -> dict[str, Any]:
    """Return one rule's part of the report: its engine, the records it read and skipped, and its findings."""
    return {
        "rule": rule.name,
        "dataset": rule.dataset,
        "severity": rule.severity.name,
        "engine": detected.choice.engine,
        "reason": detected.choice.reason,
        "read": detected.detection.read,
        "scanned": detected.detection.scanned,
        "skipped": _skipped(detected),
        **outcome.to_json(),
        "seconds": round(detected.seconds, 3),
    }


def _skipped(detected: Detected) -> list[dict[str, Any]]:
    """Return the skipped records and cells by column and reason; `first` is the place of the first."""
    records = [{"column": s.column, "reason": s.reason, "records": s.records} for s in detected.detection.skipped]
    cells = [
        {"column": problem.column, "reason": problem.reason, "records": problem.records, "first": problem.first}
        | ({} if problem.skipped else {"read_as": None})
        for problem in detected.problems
    ]
    identity = detected.detection.identity
    id_problems = [("null", identity.nulls), ("not unique", identity.repeated)]
    return [*records, *cells, *({"column": "id", "reason": why, "records": n} for why, n in id_problems if n)]


@dataclass(frozen=True)
class RunReport:
    """A run's result. `rules` holds a JSON object per rule; a rule that could not be checked has `failed`.
    `findings` is empty unless requested.

    `status`: succeeded, failed (some rule could not be checked), running (in another process), dry_run.
    `repeated`: the slot was run before, and nothing was done now. `undelivered` holds sentences about messages;
    `watchdog` is the reason why the job's watchdog could not be called after a success.
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
        """Return the report with the delivery of its messages and of those that waited already."""
        unsent = [*delivery.failed, *delivery.waiting]
        return replace(
            self,
            sent=tuple(message.channel for message in delivery.sent),
            undelivered=tuple(
                f"{message.channel}: {message.problem or 'waits for its next attempt'}" for message in unsent
            ),
        )

    @property
    def failed(self) -> bool:
        """True if something could not be checked, cleaned or delivered."""
        is_held_up = any(rule.get("cleaning", {}).get("held_up") for rule in self.rules)
        return self.status == "failed" or is_held_up or bool(self.undelivered)

    @property
    def refused(self) -> bool:
        """True if something was not cleaned: for safety, because no plan is possible, or because it failed."""
        return any(rule.get("cleaning", {}).get(name) for rule in self.rules for name in _NOT_CLEANED)

    def has_open(self, severity: Severity) -> bool:
        """Return True if a finding at or above that severity is open."""
        return any(
            finding["status"] in _OPEN and Severity[finding["severity"]] >= severity for finding in self.findings
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return self.to_stream() | {"findings": [dict(finding) for finding in self.findings]}

    def to_stream(self) -> dict[str, Any]:
        """Return the same without copying the findings, to write them one by one."""
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
