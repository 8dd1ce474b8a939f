"""The cleaning part of a message: first the open decisions, at the end the results."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from notifications.base import NOT_UNDONE, CleaningNotice, GroupNotice, Notice
from notifications.wording import words
from notifications.wording.document import Line, Section, TextSpan, what_to_do

_RULES = 10
_RUNS = 5
"""Runs that are listed with their undo; more than one only if runs were killed before they reported."""
_GROUPS = 3
_BEGINNING = 12
"""Characters of a plan's hash that identify it."""

_Drawn = Callable[[GroupNotice], tuple[Line, ...]]


def needs_in_short(notice: Notice) -> list[str]:
    """Return the headline's part about open decisions."""
    asking = [rule for rule in notice.cleaning if rule.asks]
    stopped = [words.visible(rule.rule, 40) for rule in notice.cleaning if rule.stopped]
    if asking:
        needs = words.plural(
            sum(rule.asks for rule in asking), "cleaning needs your decision", "cleanings need your decision"
        )
        risk = words.money(words.total(rule.money for rule in asking))
        return [f"{needs}, {risk} at risk" if risk else needs]
    if stopped:
        of = stopped[0] if len(stopped) == 1 else words.plural(len(stopped), "rule", "rules")
        return [f"cleaning of {of} stopped"]
    return []


def results_in_short(notice: Notice) -> list[str]:
    """Return the headline's parts about what was cleaned, and what could not be."""
    cleaned, missed = sum(rule.cleaned for rule in notice.cleaning), not_done(notice)
    parts = [words.plural(cleaned, "finding cleaned", "findings cleaned")] if cleaned else []
    could_not = words.plural(missed, "cleaning could not be done", "cleanings could not be done")
    return [*parts, could_not] if missed else parts


def not_done(notice: Notice) -> int:
    """Count attempts that failed without needing a person; stale ones count only if nothing was cleaned."""
    cleaned = any(rule.cleaned for rule in notice.cleaning)
    return sum(rule.waiting + (0 if cleaned else rule.stale) for rule in notice.cleaning)


def decisions(notice: Notice, drawn: _Drawn) -> Iterator[Section]:
    """Yield a section for each rule with open decisions, and the commands to decide."""
    rules = [rule for rule in notice.cleaning if rule.asks or rule.stopped]
    for rule in rules[:_RULES]:
        shown = rule.findings[:_GROUPS]
        yield Section(
            "rule",
            (_heading(rule), *_pending(rule)),
            tuple(drawn(group) for group in shown),
            tuple(_commands(rule, shown)),
            tuple(shown),
        )
    if len(rules) > _RULES:
        more = words.plural(len(rules) - _RULES, "more rule needs a decision", "more rules need a decision")
        yield Section("rule", ((TextSpan(f"And {more}: "), TextSpan("reconcile findings", "code")),))


def _heading(rule: CleaningNotice) -> Line:
    owner = (TextSpan(" · "), TextSpan(words.visible(rule.owner, 60), mention=rule.owner)) if rule.owner else ()
    return (TextSpan("✋ "), TextSpan(words.visible(rule.rule, 80), "bold"), TextSpan(" · needs a decision"), *owner)


def _pending(rule: CleaningNotice) -> Iterator[Line]:
    risk = words.money(rule.money)
    if rule.awaiting:
        awaiting = words.plural(rule.awaiting, "cleaning awaits approval", "cleanings await approval")
        yield (TextSpan(f"{awaiting}{f', {risk} at risk' if risk else ''}."),)
    if rule.quarantined:
        unknown = words.plural(rule.quarantined, "cleaning has", "cleanings have")
        yield (TextSpan(f"{unknown} an unknown outcome: "), TextSpan("reconcile quarantine", "code"))
    if rule.failed:
        yield (TextSpan(f"{words.plural(rule.failed, 'cleaning', 'cleanings')} failed and will not be retried."),)
    if rule.not_undone:
        yield (TextSpan(f"{words.plural(rule.not_undone, 'undo', 'undos')} did not complete."),)
    if rule.stopped:
        yield (TextSpan(words.visible(rule.stopped, 500)),)


def _commands(rule: CleaningNotice, shown: Sequence[GroupNotice]) -> Iterator[Line]:
    rest = rule.asks - len(shown)
    if rest > 0:
        every = f"reconcile findings --rule {words.visible(shlex.quote(rule.rule), 80)}"
        yield (TextSpan(f"And {rest:,} more: " if shown else "All of them: "), TextSpan(every, "code"))
    if waiting := next((group for group in shown if group.state == "awaiting_approval"), None):
        finding = words.visible(shlex.quote(waiting.finding), 40)
        plan = (
            f" --plan-hash {words.visible(shlex.quote(waiting.plan_hash[:_BEGINNING]), 40)}"
            if waiting.plan_hash
            else ""
        )
        yield (
            TextSpan("Review: "),
            TextSpan(f"reconcile plan --finding {finding}", "code"),
            TextSpan(" · approve: "),
            TextSpan(f"reconcile approve {finding}{plan}", "code"),
            TextSpan(" · reject: "),
            TextSpan(f"reconcile reject {finding}{plan}", "code"),
        )
    if failed := next((group.finding for group in shown if group.state == "failed"), None):
        finding = words.visible(shlex.quote(failed), 40)
        yield (
            TextSpan("Review: "),
            TextSpan(f"reconcile plan --finding {finding}", "code"),
            TextSpan(" · retry: "),
            TextSpan(f"reconcile retry {finding}", "code"),
        )
    if unfinished := next((group.finding for group in shown if group.state == NOT_UNDONE), None):
        yield (
            TextSpan("Details of the undo: "),
            TextSpan(f"reconcile show {words.visible(shlex.quote(unfinished), 40)}", "code"),
        )
    if rule.runbook:
        yield what_to_do(rule.runbook)


def completed(notice: Notice) -> Iterator[Section]:
    """Yield the results, and the commands to undo them."""
    lines = [_result(rule) for rule in notice.cleaning if rule.cleaned or rule.stale or rule.waiting or rule.next_run]
    more = len(lines) - _RULES
    undos = ((rule.undo or "").split("; ") for rule in notice.cleaning if rule.cleaned)
    undo = dict.fromkeys(command for commands in undos for command in commands if command)
    last: list[Line] = (
        [(TextSpan(f"And cleanings of {words.plural(more, 'more rule', 'more rules')}"),)] if more > 0 else []
    )
    last += [(TextSpan("Undo: "), TextSpan(words.visible(rule, 120), "code")) for rule in list(undo)[:_RUNS]]
    if lines:
        yield Section("note", (*lines[:_RULES], *last))


def _result(rule: CleaningNotice) -> Line:
    facts = [f"{rule.cleaned:,} cleaned"] if rule.cleaned else []
    facts += [f"{rule.stale:,} skipped because records changed"] if rule.stale else []
    facts += [f"{rule.waiting:,} will be retried"] if rule.waiting else []
    facts += [words.visible(rule.next_run, 500)] if rule.next_run else []
    return (TextSpan("🧹 "), TextSpan(words.visible(rule.rule, 80), "bold"), TextSpan(f": {words.listed(facts)}"))
