"""The first line of a message: what a phone shows on its lock screen.

The gravest severity, the count and the amount come first, then the project, then results and failed checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from notifications.base import CleaningNotice, Notice, RuleNotice
from notifications.wording import cleaning, trouble, words

SEVERITIES = ("info", "low", "medium", "high", "critical")
SIGNS = {"critical": "🔴", "high": "🟠", "medium": "🟡", "low": "🔵", "info": "⚪"}
_VERBS = {"grown": "grew", "reopened": "came back"}
_NAMED = 2
"""So many rules are named; of more only the first one, and the others are counted."""


def headline(notice: Notice) -> str:
    """Like "🔴 Critical: 3 new double charges, 60.00 EUR at risk · shop-production · ⚠️ could not check bank"."""
    urgent, rest = _parts(notice)
    project = [words.visible(notice.project, 60)] if notice.project else []
    return " · ".join([*urgent, *project, *rest])


def _parts(notice: Notice) -> tuple[list[str], list[str]]:
    """Return the parts before the project, and those after it."""
    if notice.test:
        return ["Test message from Reconcile: this channel works"], []
    if notice.trouble is not None:
        return [trouble.headline(notice.trouble)], []
    failed, results = list(_could_not(notice)), cleaning.results_in_short(notice)
    if needs := _needs(notice):
        return [f"{_lead(notice)}: {needs[0]}", *needs[1:]], [
            *results,
            *(f"⚠️ could not check {text}" for text in failed),
        ]
    if failed:
        return [f"⚠️ Could not check {failed[0]}"], results
    if results:
        return [f"{'✅' if cleaning.is_complete(notice) else '⚠️'} {results[0]}"], results[1:]
    return [f"✅ {_nothing_new(notice)}"], []


def _needs(notice: Notice) -> list[str]:
    """Return what people are to look at, the gravest first: decisions before findings of the same severity."""
    rules, asking = with_news(notice), [rule for rule in notice.cleaning if rule.needs_people]
    decisions, findings = cleaning.needs_in_short(notice), list(_findings(rules))
    are_graver = bool(rules) and all(_rank(rule) < _rank(rules[0]) for rule in asking)
    return [*findings, *decisions] if are_graver else [*decisions, *findings]


def with_news(notice: Notice) -> list[RuleNotice]:
    """Return the rules with news, the worst first."""
    return sorted((rule for rule in notice.rules if rule.news), key=lambda rule: (-_rank(rule), -rule.news, rule.rule))


def severity(notice: Notice) -> str | None:
    """Return the gravest severity of what the message reports; None if nothing is urgent."""
    urgent: list[RuleNotice | CleaningNotice] = [*with_news(notice)]
    urgent += [rule for rule in notice.cleaning if rule.needs_people]
    return max(urgent, key=_rank).severity if urgent else None


def _rank(rule: RuleNotice | CleaningNotice) -> int:
    return SEVERITIES.index(rule.severity) if rule.severity in SEVERITIES else -1


def _lead(notice: Notice) -> str:
    """Like "🔴 Critical", with the reason if all findings existed before; "✅ Done" once all of them are settled."""
    rules, gravest = with_news(notice), severity(notice) or ""
    if _is_settled(notice):
        return "✅ Done"
    label = ""
    if rules and all(rule.first_run for rule in rules):
        label = f", {first(rules)}"
        if label == ", first run" and not all(rule.first_run for rule in notice.rules):
            label += f" of the {'rule' if len(rules) == 1 else 'rules'}"
    return f"{SIGNS.get(gravest, '•')} {words.visible(gravest, 20).capitalize()}{label}"


def first(rules: Sequence[RuleNotice]) -> str:
    """Say what was first when these rules found what existed before: "first run", or why it is not the first."""
    if all(rule.edited for rule in rules):
        return "after an edit of the rule"
    return "first message to this channel" if all(rule.first_message for rule in rules) else "first run"


def _is_settled(notice: Notice) -> bool:
    """Return True if the message lists all its findings, and something became of each since."""
    listed = [group for rule in with_news(notice) for group in rule.largest]
    listed += [group for rule in notice.cleaning for group in rule.findings]
    number = sum(rule.news for rule in notice.rules) + sum(rule.asks for rule in notice.cleaning)
    return 0 < number <= len(listed) and all(group.outcome for group in listed)


def _findings(rules: Sequence[RuleNotice]) -> Iterator[str]:
    named = rules if len(rules) <= _NAMED else rules[:1]
    for rule in named:
        yield f"{counted(rule)}{at_risk(rule.money)}"
    if others := rules[len(named) :]:
        count = words.plural(sum(rule.news for rule in others), "more finding", "more findings")
        yield f"{count} of {len(others)} rules"  # without a sum: rules may count the same money


def _could_not(notice: Notice) -> Iterator[str]:
    """Yield the names of what could not be checked, as one text."""
    failed = [failure for failure in notice.failures if not failure.ended]
    names = [words.visible(failure.subject, 40) for failure in failed[:2]]
    more = [f"{len(failed) - len(names):,} more"] if len(failed) > len(names) else []
    if names:
        yield words.listed([*names, *more])


def _nothing_new(notice: Notice) -> str:
    recovered = [words.visible(failure.subject, 40) for failure in notice.failures if failure.ended]
    if recovered:
        return f"Checked again: {words.listed(recovered[:3])}; nothing new"
    resolved, still_open = sum(rule.resolved for rule in notice.rules), sum(rule.open for rule in notice.rules)
    facts = [f"Nothing new in {words.plural(len(notice.rules), 'rule', 'rules')}"]
    facts += [words.plural(resolved, "finding resolved", "findings resolved")] if resolved else []
    facts += [words.plural(still_open, "finding still open", "findings still open")] if still_open else []
    return "; ".join(facts)


# Shared with the body of the message


def counted(rule: RuleNotice) -> str:
    """Like "3 new double charges", or "3 new groups of duplicates in tracks" if the rule's name is no noun."""
    singular, plural = words.nouns(rule.rule, rule.kind, rule.nouns)
    named = [name for name, number in changes(rule).items() if number]
    change = named[0] if len(named) == 1 and not rule.first_run else ""
    adjective, verb = ("", f" {_VERBS[change]}") if change in _VERBS else (f"{change} " if change else "", "")
    place = "" if singular.split()[0] in rule.rule.lower() else _place(rule)
    return words.plural(rule.news, f"{adjective}{singular}", f"{adjective}{plural}") + place + verb


def changes(rule: RuleNotice) -> Mapping[str, int]:
    return {"new": rule.new, "grown": rule.grown, "reopened": rule.reopened, "undecided": rule.undecided}


def at_risk(money: Mapping[str, Decimal]) -> str:
    """Like ", 312.40 EUR at risk"; empty without an amount."""
    risk = words.money(money)
    return f", {risk} at risk" if risk else ""


def _place(rule: RuleNotice) -> str:
    datasets = words.listed([words.visible(name, 40) for name in rule.datasets or (rule.dataset,)])
    return f" {'between' if rule.forms and len(rule.datasets) > 1 else 'in'} {datasets}"
