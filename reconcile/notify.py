"""Step 4: findings become a notice for one channel, with personal data masked unless the channel may show it."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from notifications.base import MASK, CleaningNotice, FailureNotice, GroupNotice, Notice, RuleNotice
from notifications.words import plural
from reconcile.config.settings import DatasetConfig, Project
from reconcile.findings.identity import public
from reconcile.findings.judgement import Change
from reconcile.findings.shown import Finding, FindingMember
from reconcile.findings.states import State
from rules.forensics import retry_sentence
from rules.kinds.duplicates import DuplicatesRule
from rules.values import RecordId, Value

MOST_GROUPS = 40
"""A message shows three groups, its thread some more; the rest is a count and a command."""


@dataclass(frozen=True)
class FailureNews:
    """Something that could not be checked, since when, or that it can be again."""

    subject: str
    sentence: str
    since: dt.datetime
    ended: bool = False


@dataclass(frozen=True)
class Letter:
    """What every part of one message needs: whose it is, and which masked columns it may show."""

    project: Project
    job: str
    run: str
    slot: dt.datetime
    message: str
    since: dt.datetime | None
    created: dt.datetime
    show: tuple[str, ...]


def message_id(run: str, channel: str, attempt: int) -> str:
    """One id for one attempt's message to one channel, however often it is sent."""
    digest = hashlib.sha256(f"reconcile/message/1|{run}|{channel}|{attempt}".encode()).hexdigest()
    return f"msg1_{digest[:24]}"


def digest(
    letter: Letter,
    outcomes: Sequence[Mapping[str, Any]],
    untold: Sequence[Finding],
    news: Sequence[FailureNews],
    asking: Sequence[Finding] = (),
) -> Notice:
    """The one message of a run to a channel: what waits for a person (`asking`), what is new to the channel, what could
    not be checked, what was cleaned, and what got better."""
    by_rule = _by_rule(untold)
    return Notice(
        id=letter.message,
        job=letter.job,
        run=letter.run,
        slot=letter.slot,
        rules=tuple(_rule(letter, o, by_rule[o["rule"]]) for o in outcomes if "failed" not in o),
        failures=tuple(FailureNotice(n.subject, n.sentence, n.since, n.ended) for n in news),
        since=letter.since,
        created=letter.created,
        timezone=letter.project.timezone,
        cleaning=tuple(_cleanings(letter, outcomes, asking)),
    )


def _by_rule(told: Iterable[Finding]) -> dict[str, list[Finding]]:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in told:
        by_rule[finding.rule].append(finding)
    return by_rule


def says_something(outcomes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is something to tell of what was done, beyond findings."""
    said = (outcome.get("cleaning", {}) for outcome in outcomes)
    return any(one.get(name) for one in said for name in ("cleaned", "stale", "stopped"))


def _cleanings(
    letter: Letter, outcomes: Sequence[Mapping[str, Any]], asking: Sequence[Finding]
) -> Iterator[CleaningNotice]:
    """A notice for each rule that did something or asks something; rules that ask come first."""
    by_rule = _by_rule(asking)
    made = [_cleaning(letter, outcome, by_rule[outcome["rule"]]) for outcome in outcomes if "failed" not in outcome]
    yield from sorted((one for one in made if one.is_told), key=lambda one: not one.asks)


def _cleaning(letter: Letter, outcome: Mapping[str, Any], asking: Sequence[Finding]) -> CleaningNotice:
    rule = letter.project.rules[outcome["rule"]]
    assert isinstance(rule, DuplicatesRule)  # noqa: S101 - the only kind there is
    dataset = letter.project.datasets[rule.dataset]
    said = outcome.get("cleaning", {})
    states = Counter(finding.state for finding in asking)
    return CleaningNotice(
        rule=rule.name,
        severity=rule.severity.name,
        dataset=rule.dataset,
        awaiting=states[State.AWAITING],
        quarantined=states[State.QUARANTINED],
        failed=states[State.FAILED],
        cleaned=said.get("cleaned", 0),
        stale=said.get("stale", 0),
        waiting=said.get("waiting", 0),
        money=_money(asking),
        stopped=said.get("stopped"),
        undo=f"reconcile undo --run {letter.run}",
        findings=tuple(
            replace(_group(letter, finding, rule, dataset), state=finding.state.value) for finding in _largest(asking)
        ),
        owner=rule.owner,
    )


def _rule(letter: Letter, outcome: Mapping[str, Any], told: Sequence[Finding]) -> RuleNotice:
    rule = letter.project.rules[outcome["rule"]]
    assert isinstance(rule, DuplicatesRule)  # noqa: S101 - the only kind there is
    dataset = letter.project.datasets[rule.dataset]
    counts = outcome["findings"]
    still = counts["new"] + counts["known"] + counts["grown"] + counts["reopened"]
    return RuleNotice(
        rule=rule.name,
        kind=rule.kind,
        severity=rule.severity.name,
        dataset=rule.dataset,
        new=_count(told, Change.NEW),
        grown=_count(told, Change.GROWN),
        reopened=_count(told, Change.REOPENED, Change.WOKEN),
        known=max(0, still - len(told) - outcome.get("cleaning", {}).get("cleaned", 0)),
        resolved=counts["resolved"],
        records=sum(len(_undecided(finding)) for finding in told),
        money=_money(told),
        first_run=any(finding.summary for finding in told),
        owner=rule.owner,
        runbook=rule.runbook,
        why=_why(told, rule),
        trend=_trend(outcome),
        largest=tuple(_group(letter, finding, rule, dataset) for finding in _largest(told)),
        skipped=tuple(left_out(one) for one in outcome["skipped"]),
    )


def _count(told: Iterable[Finding], *changes: Change) -> int:
    return sum(finding.change in changes for finding in told)


def _undecided(finding: Finding) -> tuple[FindingMember, ...]:
    """Surplus records that no earlier decision covers."""
    return tuple(member for member in finding.surplus if member.settled_at is None)


def _money(told: Iterable[Finding]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = defaultdict(Decimal)
    for finding in told:
        for currency, amount in finding.money.items():
            total[currency] += amount
    return dict(sorted(total.items()))


def _largest(told: Sequence[Finding]) -> list[Finding]:
    """The most money first, then the most records, then the oldest."""

    def rank(finding: Finding) -> tuple[Decimal, int, dt.datetime, str]:
        return -max(finding.money.values(), default=Decimal(0)), -finding.records, finding.first_seen, finding.id

    return sorted(told, key=rank)[:MOST_GROUPS]


def _why(told: Iterable[Finding], rule: DuplicatesRule) -> str | None:
    return retry_sentence([gap for finding in told for gap in _gaps(finding, rule)])


def _gaps(finding: Finding, rule: DuplicatesRule) -> tuple[float, ...]:
    """Seconds between neighbours, in the order of time, where the rule orders by an instant."""
    if rule.span is None:
        return ()
    times = sorted(t for m in finding.members if isinstance(t := m.values.get(rule.span.column), dt.datetime))
    return tuple((later - earlier).total_seconds() for earlier, later in pairwise(times))


def _trend(outcome: Mapping[str, Any]) -> str | None:
    """How many groups the runs before found; said from the third run on."""
    before = outcome["groups_before"]
    if len(before) < 2:
        return None
    return f"{outcome['groups']:,} groups in all; the runs before found {', '.join(f'{n:,}' for n in before)}"


def _group(letter: Letter, finding: Finding, rule: DuplicatesRule, dataset: DatasetConfig) -> GroupNotice:
    hidden = set(dataset.pii) - set(letter.show)
    keeper = finding.keeper
    raw = keeper.values if keeper else {}
    first, last = finding.span or (None, None)
    return GroupNotice(
        finding=finding.id,
        state=finding.change.value,
        key={n: MASK if n in hidden else _text(raw.get(n, value)) for n, value in finding.key.items()},
        keeper=_record(keeper, dataset, hidden) if keeper else "",
        surplus=tuple(_record(member, dataset, hidden) for member in finding.surplus),
        records=finding.records,
        money=finding.money,
        first=first if isinstance(first, dt.datetime) else None,
        last=last if isinstance(last, dt.datetime) else None,
        seconds_apart=_gaps(finding, rule),
        history=_history(finding),
    )


def _history(finding: Finding) -> str | None:
    if finding.change not in (Change.REOPENED, Change.WOKEN, Change.GROWN):
        return None
    decided = f"; last decided by {finding.decided_by}" if finding.decided_by else ""
    return f"{finding.reason}{decided}" if finding.reason else None


def _record(member: FindingMember, dataset: DatasetConfig, hidden: set[str]) -> str:
    """A record's name for people: its id, or file and row where it has none."""
    if not dataset.id:
        file, row = member.values.get("_file"), member.values.get("_row")
        return f"{_text(file)}, row {_text(row)}" if row is not None else _name(member.id)
    return " / ".join(
        MASK if column in hidden else _text(value) for column, value in zip(dataset.id, member.id, strict=True)
    )


def _name(record: RecordId) -> str:
    digest, number = record
    return f"{_text(digest)[:8]}#{_text(number)}"


def _text(value: Value) -> str:
    return "" if value is None else str(public(value))


def left_out(one: Mapping[str, Any]) -> str:
    """One of `skipped` of a run's report, as a sentence for people without its end."""
    column, reason, records = one["column"], one["reason"], plural(one["records"], "record", "records")
    first = f", first at {one['first']}" if one.get("first") else ""
    if column == "id" and reason == "not unique":
        return f"{plural(one['records'], 'record shares its id', 'records share their id')} with another"
    if "read_as" in one:  # the record took part; it is counted once more if it is left out for that
        return f"{column} of {records} counts as empty, for it is {reason}{first}"
    return f"{records} left out, {reason if column == 'where' else f'{column} is {reason}'}{first}"
