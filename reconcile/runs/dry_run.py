"""The dry run: a run that writes nothing. It stores nothing, sends no messages and takes no lease."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from reconcile.detection import plausible
from reconcile.detection.detect import Detected
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.judgement import FindingChange, Verdict
from reconcile.findings.results import Outcome, RuleFailure, RuleResult
from reconcile.findings.shown import Foreseen
from reconcile.runs import recognition, renaming
from reconcile.runs.check import Readers, RunOrder, check, result_of
from reconcile.runs.listing import Lists
from reconcile.runs.renaming import IdentifiedDataset
from reconcile.runs.report import RunReport
from reconcile.runs.shared import SharedReads
from reconcile.store import Store, Transaction
from reconcile.tracking import judged_pairs, remember
from reconcile.tracking.renaming import Renamed, Renaming
from rules.kinds.base import Rule
from rules.models import Severity
from rules.values.packed import Packed


def rehearse(order: RunOrder, tools: Readers, store: Store | None, lists: Lists = Lists.ALL) -> RunReport:
    """Report what a run would find. `store` is None if there is no state yet: then everything is new."""
    worst_open: Severity | None = None
    dry_run = _DryRun(order, tools, store)
    findings = Packed[Foreseen]()
    outcomes: list[Outcome] = []
    with SharedReads.of(order, tools) as share:
        for name in order.chosen:
            rule = tools.project.rules[name]
            checked = check(dry_run.prepared(rule, lists), order, tools, dry_run.judge, share=share)
            if isinstance(checked, Renamed):
                checked = check(dry_run.prepared(rule, lists), order, tools, dry_run.judge, share=share)
            assert not isinstance(checked, Renamed)  # noqa: S101 - only the first call of `judge` renames
            if isinstance(checked, RuleFailure):
                outcomes.append(checked)
                continue
            outcomes.append(dry_run.cleaned(rule, *checked))
            if checked[0].findings.known or any(_is_open(verdict) for verdict in checked[-1]):
                worst_open = max(rule.severity, worst_open or rule.severity)
            for finding in _foreseen(rule, checked[-1], lists):
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
        worst_open=worst_open,
    )


class _RolledBack(Exception):
    """Ends the transaction of a dry run."""


_Judged = tuple[RuleResult, Detected, Sequence[Verdict]]


@dataclass(frozen=True)
class _DryRun:
    order: RunOrder
    tools: Readers
    store: Store | None
    renamings: dict[str, tuple[IdentifiedDataset, Renaming]] = field(default_factory=dict)
    """Datasets whose records a run would rename."""

    def prepared(self, rule: Rule, lists: Lists) -> Rule:
        """Return the rule for a detection that follows what people judged. It may leave known groups
        unbuilt, unless the report lists all of them."""
        if self.store is None:
            return rule
        with self._renamed(self.store, rule) as (tx, _):
            with_pairs = judged_pairs.with_judged(tx, rule)
            if lists is Lists.ALL:
                return with_pairs
            tools = self.tools
            return recognition.recognising(tx, tools.project, with_pairs, self.order.slot, tools.version)

    def judge(self, rule: Rule, identity: RuleIdentity, answer: Detected) -> _Judged | Renamed:
        groups, sentences = answer.detection.groups, list[str]()
        if self.store is None:
            plausible.refuse(rule, identity, answer, None)
            outcome, verdicts = remember.of_the_first_run(identity, groups, self.order.slot)
        else:
            if self._finds_renamed(self.store, rule, answer):
                return Renamed()
            with self._renamed(self.store, rule) as (tx, sentences):
                plausible.refuse(rule, identity, answer, tx)
                outcome, verdicts = remember.preview(tx, identity, groups)
        return replace(result_of(rule, answer, outcome), renamed=tuple(sentences)), answer, verdicts

    def _finds_renamed(self, store: Store, rule: Rule, answer: Detected) -> bool:
        """Return True if a run would rename records of these datasets now."""
        with store.read() as tx:
            datasets = [named for named in renaming.outdated(tx, rule, answer) if named.former or named.has_records(tx)]
        new = [named for named in datasets if named.dataset.name not in self.renamings]
        for named in new:
            wanted = renaming.renaming_of(named, self.order, self.tools, rule, lambda: None)
            self.renamings[named.dataset.name] = (named, wanted)
        return bool(new)

    @contextmanager
    def _renamed(self, store: Store, rule: Rule) -> Iterator[tuple[Transaction, list[str]]]:
        """Begin a transaction that sees the records as a run would rename them, with sentences about them.

        It is rolled back, so that nothing is written.
        """
        pending = [self.renamings[name] for name in rule.member_datasets if name in self.renamings]
        if not pending:
            with store.read() as tx:
                yield tx, []
            return
        with suppress(_RolledBack), store.begin() as tx:
            sentences = [renaming.apply(tx, *each, run="")[1] for each in pending]
            yield tx, [sentence for sentence in sentences if sentence]
            raise _RolledBack

    def cleaned(self, rule: Rule, result: RuleResult, answer: Detected, verdicts: Iterable[Verdict]) -> RuleResult:
        """Add what cleaning would do."""
        target, scanned = self.tools.target, answer.detection.of(rule.cleaned).scanned
        if rule.clean is None or target is None:
            return result
        from reconcile.cleaning import rehearsal  # noqa: PLC0415 - most runs clean nothing

        project, slot = self.tools.project, self.order.slot
        would = rehearsal.would(project, rule, verdicts, answer.subjects, target, self.store, slot, scanned)
        return replace(result, cleaning=would)


_UNCHANGED = (FindingChange.KNOWN, FindingChange.SETTLED, FindingChange.IN_HAND)


def _is_open(verdict: Verdict) -> bool:
    return verdict.group is not None and verdict.change is not FindingChange.SETTLED


def _foreseen(rule: Rule, verdicts: Iterable[Verdict], lists: Lists) -> Iterator[Foreseen]:
    for verdict in verdicts:
        is_listed = lists is Lists.ALL or verdict.change not in _UNCHANGED
        if is_listed and (group := verdict.group) is not None:
            fixed = (rule.name, rule.kind, rule.dataset, rule.severity)
            phrase = rule.phrase(group.form, group.differences)
            yield Foreseen(verdict.finding, *fixed, verdict.change, group, rule.member_datasets, phrase)
