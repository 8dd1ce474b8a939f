"""The cleaning part of a message: first the open decisions, at the end the results."""

from __future__ import annotations

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
        return [f"cleaning of {_of(stopped)} stopped"]
    if doubted := [words.visible(rule.rule, 40) for rule in notice.cleaning if rule.doubt]:
        return [f"look at {_of(doubted)} before you approve"]
    return []


def _of(rules: Sequence[str]) -> str:
    return rules[0] if len(rules) == 1 else words.plural(len(rules), "rule", "rules")


def results_in_short(notice: Notice) -> list[str]:
    """Return the headline's parts about what was cleaned or undone, what waits, and what was not done."""
    rules = notice.cleaning
    numbers = {
        ("finding cleaned", "findings cleaned"): sum(rule.cleaned for rule in rules),
        ("cleaning undone", "cleanings undone"): sum(rule.undone for rule in rules),
        ("cleaning waits", "cleanings wait"): sum(rule.waiting for rule in rules),
        ("undo waits", "undos wait"): sum(rule.undos_waiting for rule in rules),
        ("cleaning expired", "cleanings expired"): sum(rule.expired for rule in rules),
        ("cleaning was not done", "cleanings were not done"): _missed(notice),
    }
    return [words.plural(number, *nouns) for nouns, number in numbers.items() if number]


def is_complete(notice: Notice) -> bool:
    """Return True if every cleaning that the message tells of was done."""
    waiting = sum(rule.waiting + rule.undos_waiting for rule in notice.cleaning)
    return not waiting and not _missed(notice) and not any(rule.expired for rule in notice.cleaning)


def _missed(notice: Notice) -> int:
    """Count cleanings that ended without a change, apart from expired ones; stale ones only if nothing was cleaned."""
    cleaned = any(rule.cleaned for rule in notice.cleaning)
    return sum(rule.not_done - rule.expired - (rule.stale if cleaned else 0) for rule in notice.cleaning)


def decisions(notice: Notice, drawn: _Drawn) -> Iterator[Section]:
    """Yield a section for each rule with open decisions, and the commands to decide."""
    rules = [rule for rule in notice.cleaning if rule.needs_people]
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
    owner = (TextSpan(" · "), TextSpan.of(rule.owner, 60, mention=rule.owner)) if rule.owner else ()
    return (TextSpan("✋ "), TextSpan.of(rule.rule, 80, "bold"), TextSpan(" · needs a decision"), *owner)


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
    for sentence in filter(None, (rule.stopped, rule.doubt)):
        yield (TextSpan.of(sentence, 500),)


def _commands(rule: CleaningNotice, shown: Sequence[GroupNotice]) -> Iterator[Line]:
    rest = rule.asks - len(shown)
    if rest > 0:
        every = f"reconcile findings --rule {words.argument(rule.rule, 80)}"
        yield (TextSpan(f"And {rest:,} more: " if shown else "All of them: "), TextSpan(every, "code"))
    if waiting := next((group for group in shown if group.state == "awaiting_approval" and not group.outcome), None):
        finding = words.argument(waiting.finding)
        plan = f" --plan-hash {words.argument(waiting.plan_hash[:_BEGINNING])}" if waiting.plan_hash else ""
        yield (
            TextSpan("Review: "),
            TextSpan(f"reconcile plan --finding {finding}", "code"),
            TextSpan(" · approve: "),
            TextSpan(f"reconcile approve {finding}{plan}", "code"),
            TextSpan(" · reject: "),
            TextSpan(f"reconcile reject {finding}{plan}", "code"),
        )
    if failed := next((group.finding for group in shown if group.state == "failed" and not group.outcome), None):
        finding = words.argument(failed)
        yield (
            TextSpan("Review: "),
            TextSpan(f"reconcile plan --finding {finding}", "code"),
            TextSpan(" · retry: "),
            TextSpan(f"reconcile retry {finding}", "code"),
        )
    if unfinished := next((group.finding for group in shown if group.state == NOT_UNDONE), None):
        yield (
            TextSpan("Details of the undo: "),
            TextSpan(f"reconcile show {words.argument(unfinished)}", "code"),
        )
    if rule.runbook:
        yield what_to_do(rule.runbook)


def completed(notice: Notice) -> Iterator[Section]:
    """Yield the results, and the commands to undo them."""
    rules = [rule for rule in notice.cleaning if rule.results or rule.next_run]
    lines = [
        line
        for rule in rules[:_RULES]
        for line in (_result(rule), *_plans(rule, _GROUPS if len(rules) <= _GROUPS else 1))
    ]
    more = len(rules) - _RULES
    undos = ((rule.undo or "").split("; ") for rule in notice.cleaning if rule.cleaned)
    undo = dict.fromkeys(command for commands in undos for command in commands if command)
    last: list[Line] = (
        [(TextSpan(f"And cleanings of {words.plural(more, 'more rule', 'more rules')}"),)] if more > 0 else []
    )
    last += [(TextSpan("Undo: "), TextSpan.of(rule, 120, "code")) for rule in list(undo)[:_RUNS]]
    if lines:
        yield Section("note", (*lines, *last))


def _plans(rule: CleaningNotice, most: int) -> Iterator[Line]:
    """Yield a line for each of the first plans: its finding, and what became of it."""
    for plan in rule.plans[:most]:
        does = f": {plan.does}" if plan.does else ""
        what = words.visible(words.state(plan.what), 20)
        why = f". {words.visible(plan.why, 200)}" if plan.why else ""
        yield (TextSpan("  • "), TextSpan.of(plan.finding, 40, "code"), TextSpan(f" {what}{does}{why}"))
    if rest := rule.results - len(rule.plans[:most]) if rule.plans else 0:
        yield (TextSpan(f"  and {rest:,} more"),)
    if rule.plans:
        finding = words.argument(rule.plans[0].finding)
        yield (TextSpan("  Details: "), TextSpan(f"reconcile show {finding}", "code"))


def _result(rule: CleaningNotice) -> Line:
    facts = [f"{rule.cleaned:,} cleaned"] if rule.cleaned else []
    facts += [f"{rule.undone:,} undone"] if rule.undone else []
    facts += [f"{rule.stale:,} skipped, and planned again by the next run"] if rule.stale else []
    facts += [f"{rule.expired:,} expired before approval and execution"] if rule.expired else []
    facts += [f"{rule.void:,} void because the configuration or a table changed"] if rule.void else []
    facts += [f"{rule.withdrawn:,} withdrawn by a person"] if rule.withdrawn else []
    facts += [_waiting(rule)] if rule.waiting or rule.undos_waiting else []
    facts += [words.visible(rule.next_run, 500)] if rule.next_run else []
    return (TextSpan("🧹 "), TextSpan.of(rule.rule, 80, "bold"), TextSpan(f": {words.listed(facts)}"))


def _waiting(rule: CleaningNotice) -> str:
    cleanings = [words.plural(rule.waiting, "cleaning", "cleanings")] if rule.waiting else []
    undos = [words.plural(rule.undos_waiting, "undo", "undos")] if rule.undos_waiting else []
    number = rule.waiting + rule.undos_waiting
    why = f" ({words.visible(rule.waits_for.rstrip('.'), 300)})" if rule.waits_for else ""
    return f"{words.listed([*cleanings, *undos])} {'waits' if number == 1 else 'wait'} and will be done later{why}"
