"""Store the findings of a run: one transaction per rule, every transition with its audit entry."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from reconcile.audit import facts, log
from reconcile.findings import payload as stored_parts
from reconcile.findings.identity import Existing, RuleIdentity, fingerprint_of, key_text, member_name
from reconcile.findings.judgement import NOT_CLEAN, FindingChange, Judgement, Verdict, judge
from reconcile.findings.known import NotSame, Outline, parts
from reconcile.findings.states import Event, State, after
from reconcile.journal import effects
from reconcile.store import Transaction, carried, judgements, recognised
from reconcile.store import finding_memory as memory
from reconcile.store.carried import Carried
from reconcile.store.finding_memory import Entered, Memory, Row
from reconcile.store.recognised import Recognised
from reconcile.tracking.names import Names, assign
from reconcile.tracking.scoped import KeyTexts
from rules import values
from rules.engines.base import Group
from rules.engines.scope import Scope
from rules.packed import Packed
from rules.recognised import PartlyBuilt

ACTOR = "reconcile"
_KNOWN = (FindingChange.KNOWN, FindingChange.SHRUNK)
_BACK = (FindingChange.REOPENED, FindingChange.WOKEN)
_DECIDED = (FindingChange.SETTLED, FindingChange.RESOLVED, FindingChange.IN_HAND)
_PLANNED = (State.AWAITING, State.APPROVED)


@dataclass(frozen=True)
class RuleOutcome:
    """The result of one rule's detection.

    Every group is one of new, known, grown, reopened (ended snoozes included) and settled (groups in a running
    cleaning included); resolved and merged count findings that ended. `money` is the sum per currency over the
    undecided groups, and `forms` their number by form, without duplicates. `news` are the findings with news. `missed`
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
    log.touch(tx, facts.FINDING, memory.renamed_with(tx, rule))
    entered = memory.enter(tx, rule, run, read_at or tx.now)
    effects.lock_standing(tx, rule.name)
    complete = complete and not entered.overtaken
    if entered.renamed:
        body = {"run": run, "rule": rule.name, "was": rule.was, "findings": entered.renamed}
        log.append(tx, ACTOR, "rule.renamed", rule.name, body)
    not_same = judgements.load_not_same(tx, (rule.name,))
    followed = _followed(rule, entered)
    writer, tally = _Writer(tx, run, rule, entered), _Tally(expected)
    if isinstance(groups, PartlyBuilt) and scope is None and _are_comparable(followed, entered, complete=complete):
        findings = recognised.recognise(tx, rule.name, groups.unbuilt, not_same.records)
        memory.touch(tx, findings.unchanged.values(), run)
        tally.add_unchanged(findings)
        groups = groups.without(findings.unchanged)
        outlines = memory.outlines_of(tx, findings.others)
    else:
        outlines = memory.outlines(tx, (rule.name,), by_records=followed.by_records, lock=scope is None)
    keys = None if scope is None else KeyTexts(scope)
    if keys is not None:
        outlines = keys.inside(tx, outlines)
    for part in parts(groups, outlines, by_records=followed.by_records):
        stored = memory.load(tx, part.findings)
        judgement = judge(
            followed,
            [groups[number] for number in part.groups],
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


def preview(
    tx: Transaction, rule: RuleIdentity, groups: Sequence[Group], *, complete: bool = True
) -> tuple[RuleOutcome, Sequence[Verdict]]:
    """Return what `record` would, with the verdict on each finding, in a read-only transaction: a dry run."""
    entered = memory.standing(tx, rule)
    former = memory.former_name(tx, rule)
    names = (rule.name, former) if former else (rule.name,)
    not_same = judgements.load_not_same(tx, names)

    def judged(part_groups: Sequence[Group], findings: Sequence[str]) -> Judgement:
        known = memory.load(tx, findings).known
        return judge(followed, part_groups, known, not_same, tx.now, edited=entered.edited, complete=complete)

    followed = _followed(rule, entered)
    outlines = memory.outlines(tx, names, by_records=followed.by_records, lock=False)
    tally, verdicts = _judged_in_parts(followed, groups, outlines, judged)
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
    tally, verdicts = _judged_in_parts(rule, groups, (), lambda part, _: judge(rule, part, (), NotSame(), at))
    return tally.outcome(rule, Entered(first=True, edited=False, renamed=0)), verdicts


def _judged_in_parts(
    rule: RuleIdentity,
    groups: Sequence[Group],
    outlines: Iterable[Outline],
    judge_part: Callable[[Sequence[Group], Sequence[str]], Judgement],
) -> tuple[_Tally, Sequence[Verdict]]:
    tally, verdicts = _Tally(), Packed[Verdict]()
    for part in parts(groups, outlines, by_records=rule.by_records):
        judgement = judge_part([groups[number] for number in part.groups], part.findings)
        tally.add(judgement)
        for verdict in judgement.verdicts:
            verdicts.append(verdict)
    return tally, verdicts


class _Tally:
    """Sums over judgements."""

    def __init__(self, expected: Scope | None = None) -> None:
        self._expected = None if expected is None else KeyTexts(expected)
        self._missed = 0
        self.carried = Carried()
        """Findings that the run did not look at."""
        self._changes: Counter[FindingChange] = Counter()
        self._of_groups: Counter[FindingChange] = Counter()
        self._money: dict[str, Decimal] = {}
        self._forms: Counter[str] = Counter()

    def add(self, judgement: Judgement) -> None:
        self._changes.update(verdict.change for verdict in judgement.verdicts)
        for verdict in judgement.verdicts:
            if verdict.group is not None:
                self._of_groups[verdict.change] += 1
                if verdict.change not in _DECIDED:
                    values.add(self._money, verdict.group.at_risk)
                    self._forms[verdict.group.form] += 1

    def add_unchanged(self, findings: Recognised) -> None:
        """Add findings whose groups are known and were not judged."""
        self._changes[FindingChange.KNOWN] += len(findings.unchanged)
        self._of_groups[FindingChange.KNOWN] += len(findings.unchanged)
        for money in findings.money:
            values.add(self._money, values.sizes({currency: Decimal(amount) for currency, amount in money.items()}))

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
            news=tuple(sorted(news)),
            missed=self._missed,
        )

    def _count(self, *changes: FindingChange) -> int:
        return sum(self._changes[change] for change in changes)


class _Writer:
    """Turn judgements into rows, and write the rows of each with a few bulk statements."""

    def __init__(self, tx: Transaction, run: str, rule: RuleIdentity, entered: Entered) -> None:
        self._tx = tx
        self._run = run
        self._rule = rule
        found_at_once = entered.first or entered.edited
        self._summary = found_at_once and rule.existing is Existing.SUMMARY
        self._silent = found_at_once and rule.existing is Existing.IGNORE
        self.news: list[str] = []
        """Findings with news."""
        self.planless: list[str] = []
        """Findings that changed after their plan was made."""

    def write(self, stored: Memory, judgement: Judgement, names: Names) -> None:
        """Write the judgement's changes; `known` holds the findings as they were before."""
        self._known = stored
        self._by_key = Counter(key_text(finding.key) for finding in stored.known)
        self._new: list[Row] = []
        self._changed: list[Row] = []
        self._seen: list[str] = []
        self._new_members: list[Row] = []
        self._changed_members: list[Row] = []
        numbered = enumerate(judgement.verdicts)
        for number, verdict in sorted(numbered, key=lambda item: names.ids.get(item[0]) or item[1].finding or ""):
            self._apply(verdict, names.ids.get(number), names.marks.get(number, ""))
        touched = [row["id"] for row in (*self._new, *self._changed)]
        touched += [row["finding"] for row in (*self._new_members, *self._changed_members)]
        log.touch(self._tx, facts.FINDING, [*touched, *names.aliases.values()])
        memory.write(self._tx, new=self._new, changed=self._changed, aliases=names.aliases)
        memory.write_members(self._tx, new=self._new_members, changed=self._changed_members)
        memory.touch(self._tx, self._seen, self._run)

    def _apply(self, verdict: Verdict, new_id: str | None, mark: str) -> None:
        if verdict.change is FindingChange.SETTLED:
            self._on_settled(verdict)
        elif verdict.change is FindingChange.IN_HAND:
            self._seen.append(verdict.finding or "")
        elif verdict.event in (Event.VANISHED, Event.ABSORBED):
            self._on_ended(verdict)
        elif verdict.group is not None and new_id is not None:
            self._on_new(verdict, verdict.group, new_id, mark)
        elif verdict.group is not None and verdict.finding is not None:
            self._on_found(verdict, verdict.group, verdict.finding, mark)

    def _on_settled(self, verdict: Verdict) -> None:
        """Keep the finding as decided; a resolved one was not found again."""
        if verdict.finding and self._known.rows[verdict.finding]["state"] in _SETTLED:
            self._seen.append(verdict.finding)

    def _on_ended(self, verdict: Verdict) -> None:
        stored = self._known.rows[verdict.finding or ""]
        row = stored | {"payload": stored["payload"] | {"reason": verdict.reason}, "merged_into": verdict.into}
        self._changed.append(self._moved(row, stored, verdict))

    def _on_new(self, verdict: Verdict, group: Group, new_id: str, mark: str) -> None:
        fixed = {"id": new_id, "rule": self._rule.name, "kind": self._rule.kind, "dataset": self._rule.dataset}
        first_seen = {"first_run": self._run, "first_seen": self._tx.now, "version": 0, "state": None}
        undecided = dict.fromkeys(("snoozed_until", "assigned_to", "decided_by", "note", "merged_into"))
        row = fixed | first_seen | undecided | self._facts(group, mark) | {"payload": self._payload(verdict, group)}
        self._new.append(self._moved(row, row, verdict))
        self._new_members.extend(_member(new_id, n, row, self._tx.now) for n, row in enumerate(_member_rows(group)))

    def _on_found(self, verdict: Verdict, group: Group, finding: str, mark: str) -> None:
        before = self._known.rows[finding]
        row = before | self._facts(group, mark, finding) | {"payload": self._payload(verdict, group, before)}
        self._members(finding, group)
        if verdict.reason == NOT_CLEAN:
            log.touch(self._tx, facts.FINDING, [finding])
            memory.settle(self._tx, finding, None)
        if verdict.event is not None:
            self._changed.append(self._moved(row, before, verdict))
        elif any(row[name] != before[name] for name in _SHOWN):
            self._changed.append(row)
        else:
            self._seen.append(finding)

    def _facts(self, group: Group, mark: str, finding: str | None = None) -> Row:
        return {
            "dataset": self._rule.dataset,
            "fingerprint": mark,
            "severity": int(self._rule.severity),
            "key": stored_parts.encoded(group.key),
            "money": {currency: str(amount) for currency, amount in group.money.items()},
            "records": len(group.members),
            "last_run": self._run,
            "last_seen": self._tx.now,
            "digest": self._digest(group, mark, finding),
        }

    def _digest(self, group: Group, mark: str, finding: str | None) -> str | None:
        """Return the digest of the group if no other finding can continue it, nor a decision cover it."""
        if group.digest is None or mark != fingerprint_of(self._rule, group):
            return None
        others = self._by_key[key_text(group.key)] - (finding is not None) if self._by_key else 0
        settled = finding is not None and any(row["settled_at"] for row in self._known.members[finding].values())
        return None if others or settled else group.digest

    def _payload(self, verdict: Verdict, group: Group, before: Row | None = None) -> dict[str, Any]:
        kept = before["payload"] if before else {}
        payload = {name: value for name, value in kept.items() if name not in stored_parts.PARTS}
        goes_on = verdict.change is FindingChange.GROWN or not verdict.change.is_told
        former = stored_parts.peaks(kept, before["money"]) if before and goes_on else {}
        payload |= stored_parts.with_peaks(stored_parts.written(group, self._rule.datasets), group, former)
        if verdict.change.is_told:
            payload |= {"change": verdict.change.value, "summary": self._summary, "reason": verdict.reason}
        return payload

    def _moved(self, row: Row, before: Row, verdict: Verdict) -> Row:
        """Return the row after its event, and write the audit entry."""
        assert verdict.event is not None  # noqa: S101 - only called for a verdict with an event
        earlier = State(before["state"]) if before["state"] else None
        state = after(earlier, verdict.event)
        row = row | {"state": state.value}
        if earlier in _PLANNED and state is not earlier:
            self.planless.append(row["id"])
        if state is not earlier:
            row |= {"state_since": self._tx.now, "snoozed_until": None}
        if verdict.change.is_told and not self._silent:
            row["version"] += 1
            self.news.append(row["id"])
        body = {"finding": row["id"], "rule": self._rule.name, "run": self._run, "to": state.value}
        body |= {"from": earlier.value if earlier else None, "records": row["records"], "version": row["version"]}
        details = {name: value for name, value in (("why", verdict.reason), ("into", verdict.into)) if value}
        log.append(self._tx, ACTOR, verdict.event.value, row["id"], body | details)
        return row

    def _members(self, finding: str, group: Group) -> None:
        stored = self._known.members[finding]
        wanted = {member["record"]: member for member in _member_rows(group)}
        for position, (name, member) in enumerate(wanted.items()):
            before = stored.get(name)
            row = _member(finding, position, member, self._tx.now)
            if before is None:
                self._new_members.append(row)
            elif any(row[column] != before[column] for column in ("position", "role", "values")):
                self._changed_members.append(row)
        for name, before in stored.items():
            if name not in wanted and before["role"] != memory.FORMER:
                self._changed_members.append(before | {"role": memory.FORMER})


_SETTLED = (State.DISMISSED.value, State.UNDONE.value)
_SHOWN = ("fingerprint", "dataset", "severity", "key", "payload", "money", "records", "digest")


def _member_rows(group: Group) -> Iterator[Row]:
    """Yield each record once, in order: records with the same id, which a run reports, are indistinguishable."""
    names: set[str] = set()
    for role, member in group.roles:
        if (name := member_name(member)) not in names:
            names.add(name)
            yield {"record": name, "role": role, "values": stored_parts.encoded(member.values)}


def _member(finding: str, position: int, written: Row, now: dt.datetime) -> Row:
    return {"finding": finding, "position": position, "first_seen": now, "settled_at": None} | written
