"""What a message says of cleaning: first what waits for a person, at the end what was done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence

from notifications.base import NOT_UNDONE, CleaningNotice, GroupNotice, Notice
from notifications.wording import words
from notifications.wording.document import Line, Section, Span

_RULES = 10
_RUNS = 5
"""Runs that are named with what takes them back; there is one, but for those that were killed before they told."""
_GROUPS = 3
_BEGINNING = 12
"""So much of a plan's hash tells it from any other."""

_Drawn = Callable[[GroupNotice], tuple[Line, ...]]


def in_short(notice: Notice) -> list[str]:
    """The headline's parts: how much waits for a person, and how much was cleaned."""
    asked = sum(one.asks for one in notice.cleaning)
    cleaned = sum(one.cleaned for one in notice.cleaning)
    stopped = [words.visible(one.rule, 40) for one in notice.cleaning if one.stopped]
    parts = [words.plural(asked, "cleaning needs your decision", "cleanings need your decision")] if asked else []
    if stopped and not asked:
        parts.append(
            f"cleaning of {stopped[0] if len(stopped) == 1 else words.plural(len(stopped), 'rule', 'rules')} stopped"
        )
    parts += [words.plural(cleaned, "finding cleaned", "findings cleaned")] if cleaned else []
    left = not_done(notice)
    return parts + ([words.plural(left, "cleaning could not be done", "cleanings could not be done")] if left else [])


def not_done(notice: Notice) -> int:
    """How many cleanings were tried in vain and wait for nobody; what drifted while others were cleaned is usual."""
    cleaned = any(one.cleaned for one in notice.cleaning)
    return sum(one.waiting + (0 if cleaned else one.stale) for one in notice.cleaning)


def asked(notice: Notice, drawn: _Drawn) -> Iterator[Section]:
    """What waits for a person, a section a rule, with the command that answers."""
    told = [one for one in notice.cleaning if one.asks or one.stopped]
    for one in told[:_RULES]:
        shown = one.findings[:_GROUPS]
        yield Section(
            "rule",
            (_heading(one), *_what(one)),
            tuple(drawn(group) for group in shown),
            tuple(_next(one, shown)),
        )
    if len(told) > _RULES:
        more = words.plural(len(told) - _RULES, "more rule needs a decision", "more rules need a decision")
        yield Section("rule", ((Span(f"And {more}: "), Span("reconcile findings", "code")),))


def _heading(one: CleaningNotice) -> Line:
    owner = (Span(" · "), Span(words.visible(one.owner, 60), mention=one.owner)) if one.owner else ()
    return (Span("✋ "), Span(words.visible(one.rule, 80), "bold"), Span(" · needs a decision"), *owner)


def _what(one: CleaningNotice) -> Iterator[Line]:
    risk = words.money(one.money)
    if one.awaiting:
        awaiting = words.plural(one.awaiting, "cleaning awaits approval", "cleanings await approval")
        yield (Span(f"{awaiting}{f', {risk} at risk' if risk else ''}."),)
    if one.quarantined:
        unknown = words.plural(one.quarantined, "cleaning has", "cleanings have")
        yield (Span(f"{unknown} an unknown outcome: "), Span("reconcile quarantine", "code"))
    if one.failed:
        yield (Span(f"{words.plural(one.failed, 'cleaning', 'cleanings')} failed and will not be retried."),)
    if one.not_undone:
        yield (Span(f"{words.plural(one.not_undone, 'undo', 'undos')} did not complete."),)
    if one.stopped:
        yield (Span(words.visible(one.stopped, 500)),)


def _next(one: CleaningNotice, shown: Sequence[GroupNotice]) -> Iterator[Line]:
    rest = one.asks - len(shown)
    if rest > 0:
        every = f"reconcile findings --rule {words.visible(shlex.quote(one.rule), 80)}"
        yield (Span(f"And {rest:,} more: " if shown else "All of them: "), Span(every, "code"))
    if waits := next((group for group in shown if group.state == "awaiting_approval"), None):
        finding = words.visible(shlex.quote(waits.finding), 40)
        plan = f" --plan {words.visible(shlex.quote(waits.plan[:_BEGINNING]), 40)}" if waits.plan else ""
        yield (
            Span("Review: "),
            Span(f"reconcile plan --finding {finding}", "code"),
            Span(" · approve: "),
            Span(f"reconcile approve {finding}{plan}", "code"),
            Span(" · reject: "),
            Span(f"reconcile reject {finding}{plan}", "code"),
        )
    if failed := next((group.finding for group in shown if group.state == "failed"), None):
        finding = words.visible(shlex.quote(failed), 40)
        yield (
            Span("Review: "),
            Span(f"reconcile plan --finding {finding}", "code"),
            Span(" · retry: "),
            Span(f"reconcile retry {finding}", "code"),
        )
    if left := next((group.finding for group in shown if group.state == NOT_UNDONE), None):
        yield (
            Span("Details of the undo: "),
            Span(f"reconcile show {words.visible(shlex.quote(left), 40)}", "code"),
        )


def done(notice: Notice) -> Iterator[Section]:
    """What was done, and what takes it back."""
    lines = [_done(one) for one in notice.cleaning if one.cleaned or one.stale or one.waiting or one.next_run]
    more = len(lines) - _RULES
    undos = ((one.undo or "").split("; ") for one in notice.cleaning if one.cleaned)
    undo = dict.fromkeys(said for some in undos for said in some if said)
    last: list[Line] = (
        [(Span(f"And cleanings of {words.plural(more, 'more rule', 'more rules')}"),)] if more > 0 else []
    )
    last += [(Span("Undo: "), Span(words.visible(one, 120), "code")) for one in list(undo)[:_RUNS]]
    if lines:
        yield Section("note", (*lines[:_RULES], *last))


def _done(one: CleaningNotice) -> Line:
    facts = [f"{one.cleaned:,} cleaned"] if one.cleaned else []
    facts += [f"{one.stale:,} skipped because records changed"] if one.stale else []
    facts += [f"{one.waiting:,} will be retried"] if one.waiting else []
    facts += [words.visible(one.next_run, 500)] if one.next_run else []
    return (Span("🧹 "), Span(words.visible(one.rule, 80), "bold"), Span(f": {words.listed(facts)}"))
