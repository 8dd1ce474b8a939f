"""The result of a run, for people and as the public JSON of configuration.md. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from reconcile.config.settings import Project
from reconcile.documents import JsonObject
from reconcile.findings.results import Outcome, RuleFailure, RuleResult, RunSummary
from reconcile.findings.shown import Finding, Foreseen
from reconcile.masking import records
from reconcile.masking.personal import Masking
from reconcile.masking.public import finding_json, foreseen_json, outcome_json
from reconcile.messages.delivery import DeliveryReport
from reconcile.schedule.slots import slot_text
from rules.models import Severity


def _show_all(_dataset: str, _rule: str) -> Masking:
    return Masking()


@dataclass(frozen=True)
class HeldMessage:
    """A message that waits until its channel may be told, by one of its settings."""

    channel: str
    until: dt.datetime
    why: str

    def to_json(self) -> dict[str, str]:
        return {"channel": self.channel, "until": slot_text(self.until), "why": self.why}


@dataclass(frozen=True)
class RunReport:
    """A run's result. `findings` are those requested; those of a dry run are Foreseen. `worst_open` is the gravest
    severity of all findings of the run that wait for a decision.

    `status`: succeeded, failed (some rule could not be checked, its cleaning waits for its target, or Reconcile
    itself failed), running (in another process), dry_run.
    `repeated`: the slot was run before, and nothing was done now. `undelivered` holds sentences about messages, and
    `held` about those that wait for their channel's time;
    `watchdog` is the reason why the job's watchdog could not be called after a success; `unanchored` has a sentence for
    each anchor of the audit log that failed, and `uncompacted` says why old data could not be deleted.
    """

    run: str | None
    job: str
    slot: dt.datetime
    status: str
    release: str = ""
    rules: tuple[Outcome, ...] = ()
    findings: Sequence[Finding] | Sequence[Foreseen] = ()
    repeated: bool = False
    by: str | None = None
    sent: tuple[str, ...] = ()
    undelivered: tuple[str, ...] = ()
    held: tuple[HeldMessage, ...] = ()
    watchdog: str | None = None
    unanchored: tuple[str, ...] = ()
    uncompacted: str | None = None
    worst_open: Severity | None = None

    @classmethod
    def of(
        cls,
        summary: RunSummary,
        findings: Sequence[Finding],
        worst_open: Severity | None = None,
        *,
        repeated: bool = False,
    ) -> RunReport:
        return cls(
            worst_open=worst_open,
            run=summary.run,
            job=summary.job,
            slot=summary.slot,
            status=summary.status,
            release=summary.release,
            rules=summary.rules,
            findings=findings,
            repeated=repeated,
        )

    @classmethod
    def under_way(cls, job: str, slot: dt.datetime, run: str, by: str) -> RunReport:
        return cls(run=run, job=job, slot=slot, status="running", by=by)

    def delivered(self, delivery: DeliveryReport) -> RunReport:
        """Return the report with the delivery of its messages and of those that waited already."""
        unsent = [*delivery.failed, *delivery.waiting]
        return replace(
            self,
            sent=tuple(message.channel for message in delivery.sent),
            undelivered=tuple(
                f"{message.channel}: {message.problem or 'waits for its next attempt'}" for message in unsent
            ),
            held=tuple(HeldMessage(each.channel, each.next_at, each.held) for each in delivery.held if each.held),
        )

    @property
    def checked(self) -> list[RuleResult]:
        return [rule for rule in self.rules if isinstance(rule, RuleResult)]

    @property
    def failures(self) -> list[RuleFailure]:
        return [rule for rule in self.rules if isinstance(rule, RuleFailure)]

    @property
    def failed(self) -> bool:
        """True if something could not be checked, cleaned or delivered."""
        is_held_up = any(rule.cleaning.held_up for rule in self.rules)
        return self.status == "failed" or is_held_up or bool(self.undelivered)

    @property
    def problems(self) -> Iterator[str]:
        """Why the run failed, as sentences."""
        yield from (failure.failed for failure in self.failures)
        for rule in self.checked:
            if rule.cleaning.defect or rule.cleaning.held_up:
                yield from filter(None, (rule.cleaning.stopped, *rule.cleaning.reasons))

    @property
    def misfits(self) -> bool:
        """True if rules do not fit their datasets, and nothing else failed that another run could put right."""
        others = any(rule.cleaning.held_up for rule in self.rules) or bool(self.undelivered)
        return bool(self.failures) and all(failure.misfit for failure in self.failures) and not others

    @property
    def has_defect(self) -> bool:
        """True if Reconcile itself failed in one of the rules, or in its cleaning."""
        return any(failure.defect for failure in self.failures) or any(rule.cleaning.defect for rule in self.rules)

    @property
    def refused(self) -> bool:
        """True if something was not cleaned: for safety, because no plan is possible, or because it failed."""
        return any(rule.cleaning.leaves_something for rule in self.rules)

    @property
    def is_partly_unreadable(self) -> bool:
        """True if a rule could not read some of the values that it compares."""
        return any(entry.unreadable for rule in self.checked for entry in rule.skipped)

    def has_open(self, severity: Severity) -> bool:
        """Return True if a finding at or above that severity is open."""
        return self.worst_open is not None and self.worst_open >= severity

    def to_json(self, hidden: Callable[[str, str], Masking] = _show_all, project: Project | None = None) -> JsonObject:
        """Return the report as plain JSON; `hidden` are the hidden columns of a dataset and rule.

        With the `project`, a dry run shows the records of datasets with `display` side by side.
        """
        return self.to_stream(hidden, project) | {"findings": list(self._findings(hidden, project))}

    def to_stream(
        self, hidden: Callable[[str, str], Masking] = _show_all, project: Project | None = None
    ) -> JsonObject:
        """Return the same with an iterator of findings, to write them one by one; it can be read once."""
        optional = {
            "repeated": self.repeated or None,
            "by": self.by,
            "sent": list(self.sent) or None,
            "undelivered": list(self.undelivered) or None,
            "held": [message.to_json() for message in self.held] or None,
            "watchdog": self.watchdog,
        }
        return {
            "run": self.run,
            "job": self.job,
            "slot": slot_text(self.slot),
            "release": self.release,
            "status": self.status,
            "rules": [outcome_json(rule, hidden(rule.dataset, rule.rule)) for rule in self.rules],
            "findings": self._findings(hidden, project) if self.findings else [],
        } | {name: value for name, value in optional.items() if value is not None}

    def _findings(self, hidden: Callable[[str, str], Masking], project: Project | None) -> Iterator[JsonObject]:
        hidden_of = cache(hidden)
        for finding in self.findings:
            masked = hidden_of(finding.dataset, finding.rule)
            if isinstance(finding, Finding):
                yield finding_json(finding, masked)
            elif project is not None and records.is_configured(project, finding):
                shown = records.to_json(records.side_by_side(project, finding, masked))
                yield foreseen_json(finding, masked) | {"side_by_side": shown}
            else:
                yield foreseen_json(finding, masked)
