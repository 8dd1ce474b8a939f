"""Rules and findings as a message shows them, with personal data masked unless the channel may show it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import TypedDict

from notifications.base import MASK, BalanceNotice, DifferenceNotice, GroupNotice, RuleNotice
from notifications.wording.words import plural
from reconcile.config.settings import Project
from reconcile.findings.approval import GivenApprovals
from reconcile.findings.identity import public
from reconcile.findings.judgement import FindingChange
from reconcile.findings.payload import apart
from reconcile.findings.results import RuleResult
from reconcile.findings.shown import Finding
from reconcile.masking import records
from reconcile.masking.linked import evidence
from reconcile.masking.personal import Masking
from reconcile.messages.joined import added_money, joined_records
from reconcile.messages.news import RuleNews, gaps
from reconcile.plugins import verb_of
from reconcile.store.plans import WaitingPlan
from rules.groups.detection import BalanceLine
from rules.groups.forms import FormWords, counted
from rules.kinds.base import Rule
from rules.values import Value

NO_ID = "F-NEW"
"""Stands for the id of a finding that only a run would give it."""
_MOST_VALUES = 6  # values that link the records of a group


@dataclass(frozen=True)
class MessageContext:
    """Data that every part of a message needs: its origin, and the masked columns it may show.

    `plans` holds the hashes of plans that wait for approval, by finding, and `approvals` those that several people must
    give and some gave. `again` is when failed checks are repeated.
    `tells_why`: it says why something could not be checked; otherwise another channel does.
    """

    project: Project
    job: str | None
    run: str | None
    slot: dt.datetime
    message: str
    since: dt.datetime | None
    created: dt.datetime
    show: tuple[str, ...]
    again: dt.datetime | None = None
    tells_why: bool = True
    plans: Mapping[str, WaitingPlan] = field(default_factory=dict)
    approvals: Mapping[str, GivenApprovals] = field(default_factory=dict)


def rule_notice(context: MessageContext, result: RuleResult, news: RuleNews) -> RuleNotice:
    """Describe the news about a rule that was checked."""
    rule = context.project.rules[result.rule]
    hidden = Masking.of(context.project, rule.dataset, rule.name, context.show)
    balance = () if hidden.hides_amounts else tuple(balance_notice(line, rule.form_words) for line in result.balance)
    return replace(
        _described(context, rule, news),
        new=news.changes[FindingChange.NEW],
        grown=news.changes[FindingChange.GROWN],
        reopened=news.changes[FindingChange.REOPENED] + news.changes[FindingChange.WOKEN],
        known=max(0, result.findings.undecided - news.changes.total() - (result.cleaning.cleaned or 0)),
        resolved=result.findings.resolved,
        first_run=news.summary,
        first_message=news.summary and not result.first_run and not result.edited,
        edited=result.edited,
        trend=_trend(result),
        skipped=tuple(entry.sentence for entry in result.skipped),
        datasets=result.datasets,
        balance=balance,
    )


def undecided_notice(context: MessageContext, rule: Rule, news: RuleNews) -> RuleNotice:
    """Describe findings of a rule that nobody decided about."""
    return replace(_described(context, rule, news), undecided=news.changes.total())


def _described(context: MessageContext, rule: Rule, news: RuleNews) -> RuleNotice:
    hidden = Masking.of(context.project, rule.dataset, rule.name, context.show)
    datasets = rule.member_datasets
    return RuleNotice(
        rule=rule.name,
        kind=rule.kind,
        severity=rule.severity.name,
        dataset=rule.dataset,
        new=0,
        grown=0,
        reopened=0,
        known=0,
        resolved=0,
        records=news.records,
        money=hidden.risk(dict(sorted(news.money.items()))),
        owner=rule.owner,
        runbook=rule.runbook,
        why=news.cause,
        largest=tuple(group_notice(context, finding, rule) for finding in news.largest()),
        datasets=datasets if len(datasets) > 1 else (),
        nouns=rule.nouns,
        forms=dict(sorted(news.forms.items())),
        in_words=counted(news.forms, rule.form_words),
    )


class PlanFacts(TypedDict):
    plan_hash: str | None
    plan_does: str | None
    plan_expires: dt.datetime | None


def plan_facts(plan: WaitingPlan | None) -> PlanFacts:
    """Return what a GroupNotice says of the plan that waits for approval."""
    if plan is None:
        return {"plan_hash": None, "plan_does": None, "plan_expires": None}
    does = verb_of(plan.action).does(plural(plan.records, "record", "records"))
    return {"plan_hash": plan.hash, "plan_does": does, "plan_expires": plan.expires}


def balance_notice(line: BalanceLine, phrase: Callable[[str], FormWords]) -> BalanceNotice:
    """Return the line with its forms in words; several forms may have the same."""
    by_form: dict[str, Decimal] = {}
    for form, amount in line.by_form.items():
        words = phrase(form).phrase
        by_form[words] = by_form.get(words, Decimal(0)) + amount
    return BalanceNotice(**vars(line) | {"by_form": by_form})


def _trend(result: RuleResult) -> str | None:
    """Return the numbers of groups in earlier runs as a sentence, from the third run on."""
    before = result.groups_before or ()
    if len(before) < 2:
        return None
    groups = plural(result.groups, *(("finding", "findings") if result.forms else ("group", "groups")))
    return f"{groups} in all; earlier runs found {', '.join(f'{n:,}' for n in before)}"


def group_notice(context: MessageContext, finding: Finding, rule: Rule) -> GroupNotice:
    """Describe a finding with what the channel may show."""
    hidden = Masking.of(context.project, finding.dataset, rule.name, context.show)
    datasets = finding.datasets
    raw = finding.members[0].values if finding.members else {}
    by_role = defaultdict[str, list[str]](list)
    names = hidden.names(finding.members, datasets)
    for member, name in zip(finding.members, names, strict=True):
        by_role[member.role].append(name)
    hides_span = finding.span is None or hidden.hides_of_key(hidden.span, datasets)
    first, last = (None, None) if finding.span is None or hides_span else finding.span
    joined, periods = joined_records(finding), rule.periods

    def as_written(column: str, value: Value) -> str:
        """Return a text as the first record has it, and other values as they are compared."""
        has_text = isinstance(value, str) and not finding.links and raw.get(column) is not None
        shown = raw[column] if has_text else value
        return str(records.local(_text(shown), shown, context.project.timezone, periods.get(column)))

    return GroupNotice(
        finding=finding.id,
        state=finding.change.value,
        key={
            column: MASK if hidden.hides_of_key(column, datasets) else as_written(column, value)
            for column, value in islice(finding.key.items(), None if not finding.links else _MOST_VALUES)
        },
        keeper=next(iter(by_role["keeper"]), ""),
        surplus=tuple(by_role["surplus"]),
        records=finding.records,
        money=hidden.risk(finding.money),
        first=first if isinstance(first, dt.datetime) else None,
        last=last if isinstance(last, dt.datetime) else None,
        seconds_apart=gaps(finding, rule),
        nearby=tuple(hidden.names(finding.nearby, datasets)),
        nearby_records=finding.nearby_records,
        repetition=None if finding.repetition is None else finding.repetition.in_words,
        history=_history(finding),
        form=finding.form,
        in_words=rule.phrase(finding.form, finding.differences),
        left=tuple(by_role["left"]),
        right=tuple(by_role["right"]),
        record=next(iter(by_role["record"]), ""),
        differences=tuple(_differences(finding, hidden)),
        form_reason=finding.form_reason,
        version=finding.version,
        joined=tuple(hidden.names(joined, datasets)),
        added=hidden.risk(added_money(context.project, finding, joined)),
        link=context.project.page(f"/findings/{finding.id}") if finding.id != NO_ID else None,
        kept_by=finding.kept_by,
        display=records.displayed(context.project, finding, hidden),
        evidence=evidence(finding, names),
    )


def in_words(given: GivenApprovals | None) -> str | None:
    """Return who approved a plan and what is missing; None before the first approval, or if one is enough."""
    return given.sentence if given is not None and given.by else None


def _differences(finding: Finding, hidden: Masking) -> Iterator[DifferenceNotice]:
    for each in finding.differences:
        left, right = hidden.compared(each, finding.datasets)
        far = None if MASK in (left, right) else apart(each.left, each.right)
        yield DifferenceNotice(each.column, "" if left is None else str(left), "" if right is None else str(right), far)


def _history(finding: Finding) -> str | None:
    if not finding.change.is_told:
        return None
    decided = f"; last decided by {finding.decided_by}" if finding.decided_by else ""
    return f"{finding.reason}{decided}" if finding.reason else None


def _text(value: Value) -> str:
    return "" if value is None else str(public(value))
