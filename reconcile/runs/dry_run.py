"""The dry run: a run that writes nothing. It stores nothing, sends no messages and takes no lease."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reconcile.detection.detect import Detected
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.judgement import Verdict
from reconcile.findings.results import Outcome, RuleFailure, RuleResult
from reconcile.findings.shown import Foreseen
from reconcile.runs import plausible
from reconcile.runs.check import Order, Readers, check, result_of
from reconcile.runs.report import RunReport
from reconcile.runs.shared import SharedReads
from reconcile.store import Store
from reconcile.tracking import apart, remember
from rules.kinds.base import Rule
from rules.packed import Packed


def rehearse(order: Order, tools: Readers, store: Store | None) -> RunReport:
    """Report what a run would find. `store` is None if there is no state yet: then everything is new."""
    dry_run = _DryRun(order, tools, store)
    findings = Packed[Foreseen]()
    outcomes: list[Outcome] = []
    with SharedReads.of(order, tools) as share:
        for name in order.chosen:
            rule = tools.project.rules[name]
            checked = check(dry_run.keeping_apart(rule), order, tools, dry_run.judge, share=share)
            if isinstance(checked, RuleFailure):
                outcomes.append(checked)
                continue
            outcomes.append(dry_run.cleaned(rule, *checked))
            for finding in _foreseen(rule, checked[-1]):
                findings.append(finding)
    failed = any(isinstance(outcome, RuleFailure) for outcome in outcomes)
    return RunReport(
        run=None,
        job=order.job.name,
        slot=order.slot,
        status="failed" if failed else "dry_run",
        release=tools.project.release,
        rules=tuple(outcomes),
        findings=findings,
    )


_Judged = tuple[RuleResult, Detected, Sequence[Verdict]]


@dataclass(frozen=True)
class _DryRun:
    order: Order
    tools: Readers
    store: Store | None

    def keeping_apart(self, rule: Rule) -> Rule:
        if self.store is None:
            return rule
        with self.store.read() as tx:
            return apart.keeping_apart(tx, rule)

    def judge(self, rule: Rule, identity: RuleIdentity, answer: Detected) -> _Judged:
        groups = answer.detection.groups
        if self.store is None:
            plausible.refuse(rule, identity, answer, None)
            outcome, verdicts = remember.of_the_first_run(identity, groups, self.order.slot)
        else:
            with self.store.read() as tx:
                plausible.refuse(rule, identity, answer, tx)
                outcome, verdicts = remember.preview(tx, identity, groups)
        return result_of(rule, answer, outcome), answer, verdicts

    def cleaned(self, rule: Rule, result: RuleResult, answer: Detected, verdicts: Iterable[Verdict]) -> RuleResult:
        """Add what cleaning would do."""
        target, scanned = self.tools.target, answer.detection.of(rule.cleaned).scanned
        if rule.clean is None or target is None:
            return result
        from reconcile.cleaning import rehearsal  # noqa: PLC0415 - most runs clean nothing

        project, slot = self.tools.project, self.order.slot
        would = rehearsal.would(project, rule, verdicts, answer.subjects, target, self.store, slot, scanned)
        return replace(result, cleaning=would)


def _foreseen(rule: Rule, verdicts: Iterable[Verdict]) -> Iterator[Foreseen]:
    for verdict in verdicts:
        if (group := verdict.group) is not None:
            fixed = (rule.name, rule.kind, rule.dataset, rule.severity)
            phrase = rule.form_words(group.form).phrase
            yield Foreseen(verdict.finding, *fixed, verdict.change, group, rule.member_datasets, phrase)
