"""Store the findings of a run: one transaction per rule, every transition with its audit entry."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from reconcile.audit import facts, log
from reconcile.findings import payload as stored_parts
from reconcile.findings.identity import RuleIdentity
from reconcile.findings.judgement import FindingChange, Judgement, Verdict, judge
from reconcile.findings.known import NotSame, Outline, parts, slices
from reconcile.journal import effects
from reconcile.store import Transaction, carried, finding_states, judgements, recognised, renamed
from reconcile.store import finding_memory as memory
from reconcile.store.carried import FindingsTakenOver
from reconcile.store.finding_memory import Entered, Memory
from reconcile.store.recognised import Recognised
from reconcile.tracking.names import assign
from reconcile.tracking.scoped import InScope
from reconcile.tracking.writer import ACTOR, Writer
from rules import values
from rules.groups.group import Group
from rules.groups.recognised import PartlyBuilt
from rules.groups.scope import Scope
from rules.values.packed import Packed

_KNOWN = (FindingChange.KNOWN, FindingChange.SHRUNK)
_BACK = (FindingChange.REOPENED, FindingChange.WOKEN)
_DECIDED = (FindingChange.SETTLED, FindingChange.RESOLVED, FindingChange.IN_HAND)


@dataclass(frozen=True)
class RuleOutcome:
    """The result of one rule's detection.

    Every group is one of new, known, grown, reopened (ended snoozes included) and settled (groups in a running
    cleaning included); resolved and merged count findings that ended. `money` is the sum per currency over the
    undecided groups, `forms` their number by form, without duplicates, and `differing` the number in which each column
    differs. `news` are the findings with news. `missed`
    are those that changed outside of what incremental runs would have looked at.
    """

    rule: str
    groups: int
    new: int
    known: int
    grown: int
    reopened: int
    settled: int
    resolved: int
    merged: int
    first_run: bool
    edited: bool
    money: Mapping[str, Decimal] = field(default_factory=dict)
    forms: Mapping[str, int] = field(default_factory=dict)
    differing: Mapping[str, int] = field(default_factory=dict)
    news: tuple[str, ...] = ()
    missed: int = 0


def record(
    tx: Transaction,
    run: str,
    rule: RuleIdentity,
    groups: Sequence[Group],
    *,
    complete: bool = True,
    read_at: dt.datetime | None = None,
    scope: Scope | None = None,
    expected: Scope | None = None,
) -> RuleOutcome:
    """Update the rule's findings to the groups of the run. Never call it for a dataset that could not be read.

    `run` is in the store already. `complete` is False for a run that did not read every record. `read_at` is the
    start of the read, by default now: if another run recorded the rule's findings since then, findings that this run
    lacks may be newer than its read, and stay unchanged. The transaction keeps all or nothing; a second call for the
    same groups changes nothing and reports nothing.

    With a `scope`, the groups are all that the keys in it have; findings of other keys stay as the previous run left
    them, and count as known. `expected` is the scope that an incremental run would have had: see `RuleOutcome.missed`.
    """
    before = None if scope is None else carried.last_run(tx, rule.name)
    log.touch(tx, facts.RULE, {rule.name, rule.was or rule.name})
    _touch_renamed(tx, rule)
    entered = memory.enter(tx, rule, run, read_at or tx.now)
    effects.lock_standing(tx, rule.name)
    if rule.hides_amounts:
        finding_states.unrank(tx, [rule.name])
    complete = complete and not entered.overtaken
    if entered.renamed:
        body = {"run": run, "rule": rule.name, "was": rule.was, "findings": entered.renamed}
        log.append(tx, ACTOR, "rule.renamed", rule.name, body)
    not_same = judgements.load_not_same(tx, (rule.name,), rule.kind)
    followed = _followed(rule, entered)
    writer, tally = Writer(tx, run, rule, entered), _Tally(expected)
    have_own_keys = isinstance(groups, PartlyBuilt)
    if isinstance(groups, PartlyBuilt) and scope is None and _are_comparable(followed, entered, complete=complete):
        findings = recognised.recognise(tx, rule.name, groups.unbuilt, not_same.records)
        recognised.see_again(tx, rule.name, findings, run)
        tally.add_unchanged(findings)
        groups = groups.without(findings.is_unchanged)
        outlines = memory.outlines_of(tx, findings.others)
    else:
        by_records = followed.by_records and scope is None
        outlines = memory.outlines(tx, (rule.name,), by_records=by_records, lock=scope is None)
    keys = None if scope is None else InScope(scope)
    if keys is not None:
        outlines = keys.inside(tx, followed, groups, outlines)
    for part_groups, continued in _judgeable(groups, iter(outlines), followed, have_own_keys=have_own_keys):
        stored = memory.load(tx, continued)
        judgement = judge(
            followed,
            part_groups,
            stored.known,
            not_same,
            tx.now,
            edited=entered.edited,
            complete=complete,
            read_at=read_at,
        )
        writer.write(stored, judgement, assign(tx, rule, stored, judgement))
        tally.add(judgement)
        tally.add_missed(judgement, stored)
    if writer.planless:
        effects.void(tx, writer.planless, reason="its finding changed after it was planned")
    if keys is not None and before is not None:
        tally.carried = carried.carry_on(tx, rule.name, keys.findings, before=before, run=run)
    return tally.outcome(rule, entered, writer.news)


def _touch_renamed(tx: Transaction, rule: RuleIdentity) -> None:
    """Note what `memory.enter` changes for a rule with `was`."""
    if rule.was is None:
        return
    was = memory.former_name(tx, rule)
    log.touch(tx, facts.FINDING, renamed.findings_to_move(tx, rule, was))
    log.touch(tx, facts.PAIR, renamed.pairs_to_move(tx, rule, was))
    if was is not None:
        log.touch(tx, facts.PLAN, renamed.plans_to_move(tx, was))
        log.touch(tx, facts.LIMITS, renamed.scopes_to_move(was, rule.name))


def _judgeable(
    groups: Sequence[Group], outlines: Iterator[Outline], rule: RuleIdentity, *, have_own_keys: bool
) -> Iterator[tuple[Sequence[Group], Sequence[str]]]:
    """Yield the groups, with the findings that they may continue, in parts that can be judged one after the other."""
    first = next(outlines, None)
    if first is None and have_own_keys and not rule.by_records:
        yield from ((part, ()) for part in slices(groups))
        return
    all_outlines = itertools.chain(() if first is None else (first,), outlines)
    for part in parts(groups, all_outlines, by_records=rule.by_records):
        yield [groups[number] for number in part.groups], part.findings


def preview(
    tx: Transaction, rule: RuleIdentity, groups: Sequence[Group], *, complete: bool = True
) -> tuple[RuleOutcome, Sequence[Verdict]]:
    """Return what `record` would, with the verdict on each finding, in a read-only transaction: a dry run.

    Findings that are recognised as unchanged have no verdict; they are counted as known.
    """
    entered = memory.standing(tx, rule)
    former = memory.former_name(tx, rule)
    names = (rule.name, former) if former else (rule.name,)
    kind = memory.continued_kind(tx, rule)
    not_same = judgements.load_not_same(tx, names, kind)

    def judged(part_groups: Sequence[Group], findings: Sequence[str]) -> Judgement:
        stored = memory.load(tx, findings).known
        if kind is None:
            stored = tuple(replace(finding, kind=rule.kind) for finding in stored)
        return judge(followed, part_groups, stored, not_same, tx.now, edited=entered.edited, complete=complete)

    followed, tally = _followed(rule, entered), _Tally()
    if isinstance(groups, PartlyBuilt) and _are_comparable(followed, entered, complete=complete):
        findings = recognised.recognise(tx, rule.name, groups.unbuilt, not_same.records, lock=False)
        tally.add_unchanged(findings)
        groups = groups.without(findings.is_unchanged)
        outlines = memory.outlines_of(tx, findings.others)
    else:
        outlines = memory.outlines(tx, names, by_records=followed.by_records, lock=False)
    verdicts = _judged_in_parts(followed, groups, outlines, judged, tally)
    return tally.outcome(rule, entered), verdicts


def _are_comparable(rule: RuleIdentity, entered: Entered, *, complete: bool) -> bool:
    """Return True if a group with the digest of a known finding is known in this run, and nothing more."""
    is_other = entered.first or entered.edited or entered.renamed or entered.rewritten
    return complete and not is_other and not rule.by_records


def _followed(rule: RuleIdentity, entered: Entered) -> RuleIdentity:
    """Return the rule for matching in this run: by records if keys are written differently than before."""
    return replace(rule, by_records=True) if entered.rewritten else rule


def of_the_first_run(
    rule: RuleIdentity, groups: Sequence[Group], at: dt.datetime
) -> tuple[RuleOutcome, Sequence[Verdict]]:
    """Return what `preview` would if there is no store yet."""
    tally = _Tally()
    verdicts = _judged_in_parts(rule, groups, (), lambda part, _: judge(rule, part, (), NotSame(), at), tally)
    return tally.outcome(rule, Entered(first=True, edited=False, renamed=0)), verdicts


def _judged_in_parts(
    rule: RuleIdentity,
    groups: Sequence[Group],
    outlines: Iterable[Outline],
    judge_part: Callable[[Sequence[Group], Sequence[str]], Judgement],
    tally: _Tally,
) -> Sequence[Verdict]:
    """Return the verdicts, and add them to the tally."""
    verdicts = Packed[Verdict]()
    for part in parts(groups, outlines, by_records=rule.by_records):
        judgement = judge_part([groups[number] for number in part.groups], part.findings)
        tally.add(judgement)
        for verdict in judgement.verdicts:
            verdicts.append(verdict)
    return verdicts


class _Tally:
    """Sums over judgements."""

    def __init__(self, expected: Scope | None = None) -> None:
        self._expected = None if expected is None else InScope(expected)
        self._missed = 0
        self.carried = FindingsTakenOver()
        """Findings that the run did not look at."""
        self._changes: Counter[FindingChange] = Counter()
        self._of_groups: Counter[FindingChange] = Counter()
        self._money: dict[str, Decimal] = {}
        self._forms: Counter[str] = Counter()
        self._differing: Counter[str] = Counter()

    def add(self, judgement: Judgement) -> None:
        self._changes.update(verdict.change for verdict in judgement.verdicts)
        for verdict in judgement.verdicts:
            if verdict.group is not None:
                self._of_groups[verdict.change] += 1
                if verdict.change not in _DECIDED:
                    values.add(self._money, verdict.group.at_risk)
                    self._forms[verdict.group.form] += 1
                    if verdict.group.form == "mismatch":
                        self._differing.update({each.column for each in verdict.group.differences})

    def add_unchanged(self, findings: Recognised) -> None:
        """Add findings whose groups are known and were not judged."""
        self._changes[FindingChange.KNOWN] += findings.unchanged
        self._of_groups[FindingChange.KNOWN] += findings.unchanged
        values.add(self._money, findings.money)

    def add_missed(self, judgement: Judgement, stored: Memory) -> None:
        self._missed += 0 if self._expected is None else self._expected.missed(judgement, stored)

    def outcome(self, rule: RuleIdentity, entered: Entered, news: Iterable[str] = ()) -> RuleOutcome:
        money = dict(self._money)
        values.add(money, self.carried.money)
        return RuleOutcome(
            rule=rule.name,
            groups=self._of_groups.total() + self.carried.undecided + self.carried.decided,
            new=self._count(FindingChange.NEW),
            known=self._count(*_KNOWN) + self.carried.undecided,
            grown=self._count(FindingChange.GROWN),
            reopened=self._count(*_BACK),
            settled=sum(self._of_groups[change] for change in _DECIDED) + self.carried.decided,
            resolved=self._count(FindingChange.RESOLVED),
            merged=self._count(FindingChange.MERGED),
            first_run=entered.first,
            edited=entered.edited,
            money=dict(sorted(money.items())),
            forms={form: count for form, count in sorted(self._forms.items()) if form != stored_parts.DUPLICATE},
            differing=dict(sorted(self._differing.items())),
            news=tuple(sorted(news)),
            missed=self._missed,
        )

    def _count(self, *changes: FindingChange) -> int:
        return sum(self._changes[change] for change in changes)
