"""One message instead of several: what held messages said, and what is new. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from notifications.base import CleaningNotice, FailureNotice, Notice, RuleNotice


def combined(held: Sequence[Notice], notice: Notice, rules: Collection[str]) -> Notice:
    """Return the notice with what the held ones of its job said, oldest first.

    Findings of these `rules` are in the notice already. Of the other rules the last word counts; a check that failed
    and works again is told as working again.
    """
    if not held:
        return notice
    earlier = [*held, notice]
    return replace(
        notice,
        rules=tuple(_rules(earlier, rules)),
        failures=tuple(_failures(earlier)),
        cleaning=tuple(_cleanings(earlier, rules)),
        since=held[0].since,
    )


def _rules(notices: Sequence[Notice], rules: Collection[str]) -> Iterable[RuleNotice]:
    by_name: dict[str, RuleNotice] = {}
    for notice in notices[:-1]:
        for rule in notice.rules:
            resolved = rule.resolved + (by_name[rule.rule].resolved if rule.rule in by_name else 0)
            by_name[rule.rule] = replace(rule, resolved=resolved)
    for rule in notices[-1].rules:
        resolved = rule.resolved + (by_name[rule.rule].resolved if rule.rule in by_name else 0)
        by_name[rule.rule] = replace(rule, resolved=resolved)
    told = {rule.rule for rule in notices[-1].rules}
    return [rule for rule in by_name.values() if rule.rule in told or rule.rule not in rules]


def _failures(notices: Sequence[Notice]) -> Iterable[FailureNotice]:
    """Return the last word about each subject."""
    return {failure.subject: failure for notice in notices for failure in notice.failures}.values()


def _cleanings(notices: Sequence[Notice], rules: Collection[str]) -> Iterable[CleaningNotice]:
    """Return what waits now, and everything that was cleaned since."""
    by_rule: dict[str, CleaningNotice] = {}
    for notice in notices:
        for cleaning in notice.cleaning:
            is_last = notice is notices[-1] or cleaning.rule not in rules
            before = by_rule.get(cleaning.rule)
            now = (
                cleaning
                if is_last
                else replace(cleaning, awaiting=0, quarantined=0, failed=0, not_undone=0, findings=())
            )
            by_rule[cleaning.rule] = now if before is None else _added(before, now)
    return [cleaning for cleaning in by_rule.values() if cleaning.is_told]


_SUMMED = ("cleaned", "undone", "stale", "expired", "void", "withdrawn")


def _added(before: CleaningNotice, now: CleaningNotice) -> CleaningNotice:
    undo = "; ".join(each.undo for each in (before, now) if each.cleaned and each.undo)
    sums = {name: getattr(before, name) + getattr(now, name) for name in _SUMMED}
    return replace(
        now,
        **sums,
        waiting=now.waiting + max(0, before.waiting - now.cleaned - now.not_done),
        undos_waiting=now.undos_waiting + max(0, before.undos_waiting - now.undone),
        waits_for=now.waits_for or before.waits_for,
        stopped=now.stopped or before.stopped,
        doubt=now.doubt or before.doubt,
        plans=tuple({plan.finding: plan for plan in (*before.plans, *now.plans)}.values()),
        undo=undo or now.undo,
    )
