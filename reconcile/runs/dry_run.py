"""The dry run: detects, compares and plans, but stores nothing, sends no messages and takes no lease."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from connectors.errors import ConnectorError
from connectors.target import Target
from reconcile.config.settings import JobConfig, Project
from reconcile.detection.bounded import detected
from reconcile.detection.detect import Budget, Detected, RuleUnchecked, Subject
from reconcile.findings.identity import Existing, RuleIdentity, public
from reconcile.findings.judgement import Change, Verdict
from reconcile.findings.shown import nearby, places
from reconcile.runs import plausible
from reconcile.runs.report import RunReport, outcome_json
from reconcile.store import Store
from reconcile.tracking import remember
from reconcile.tracking.remember import RuleOutcome
from rules.engines.base import Unanswerable
from rules.kinds.base import Rule
from rules.packed import Packed


def rehearse(
    project: Project,
    job: JobConfig,
    rules: tuple[str, ...],
    slot: dt.datetime,
    *,
    store: Store | None,
    subject: Callable[[str], Subject],
    budget: Budget,
    watch: Callable[[str, int], None],
    stop: Callable[[str], None],
    target: Callable[[str], Target] | None = None,
) -> RunReport:
    """Report what a run would find. `store` is None if there is no state yet: then everything is new."""
    outcomes: list[dict[str, Any]] = []
    findings = Packed[dict[str, Any]]()
    failed = False
    for name in rules:
        rule = project.rules[name]
        try:
            answer = detected(rule, job, slot, budget, subject=subject, stop=stop, watch=watch)
            outcome, verdicts = _judged(rule, answer, store, Existing(job.existing), slot)
        except (ConnectorError, RuleUnchecked, Unanswerable) as error:
            failed = True
            outcomes.append(
                {"rule": name, "dataset": rule.dataset, "severity": rule.severity.name, "failed": str(error)}
            )
            continue
        result = outcome_json(rule, answer, outcome)
        if rule.clean is not None and target is not None:
            from reconcile.cleaning import rehearsal  # noqa: PLC0415 - most runs clean nothing

            scanned = answer.detection.scanned
            result["cleaning"] = rehearsal.would(project, rule, verdicts, answer.subjects, target, store, slot, scanned)
        outcomes.append(result)
        for finding in _findings(rule, verdicts):
            findings.append(finding)
    return RunReport(
        run=None,
        job=job.name,
        slot=slot,
        status="failed" if failed else "dry_run",
        release=project.release,
        rules=tuple(outcomes),
        findings=findings,
    )


def _judged(
    rule: Rule, answer: Detected, store: Store | None, existing: Existing, at: dt.datetime
) -> tuple[RuleOutcome, Sequence[Verdict]]:
    identity = RuleIdentity.of(rule, existing=existing, dataset_definition=answer.definition)
    groups = answer.detection.groups
    if store is None:
        plausible.refuse(rule, answer, None)
        return remember.of_the_first_run(identity, groups, at)
    with store.read() as tx:
        plausible.refuse(rule, answer, tx)
        return remember.preview(tx, identity, groups)


def _findings(rule: Rule, verdicts: Iterable[Verdict]) -> Iterator[dict[str, Any]]:
    for verdict in verdicts:
        if verdict.group is not None:
            yield {
                "id": verdict.finding,
                "rule": rule.name,
                "kind": rule.kind,
                "dataset": rule.dataset,
                "status": _status(verdict),
                "severity": rule.severity.name,
                "change": verdict.change.value,
                "keeper": [public(part) for part in verdict.group.keeper.id],
                "surplus": [[public(part) for part in member.id] for member in verdict.group.surplus],
                "key": {name: public(value) for name, value in verdict.group.key.items()},
                "records": len(verdict.group.members),
                "money": {currency: public(amount) for currency, amount in verdict.group.at_risk.items()},
                **places(verdict.group.members),
                **nearby(verdict.group.nearby, verdict.group.nearby_records),
            }


def _status(verdict: Verdict) -> str:
    return "dismissed" if verdict.change is Change.SETTLED else "open"
