"""The wording of a message: a notice becomes a document of lines, which each channel renders in its own way.

Everything that comes from data passes `words.visible`, so a line stays one line and shows its real characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from notifications.base import FailureNotice, GroupNotice, Notice, RuleNotice
from notifications.wording import cleaning, groups, trouble, words
from notifications.wording.document import Document, Line, Section, TextSpan, is_address, what_to_do
from notifications.wording.headline import SIGNS, at_risk, changes, counted, first, headline, with_news

_FAILURES = 8
_RULES = 15
_SUMMED_UP = 2
"""So many rules that found what existed before are one list with a line for each."""
_CURRENCIES = 4
_ONCE = "You'll see this summary once; later runs report only new findings."
_MARGIN = 200  # units kept free for the line that counts what did not fit


@dataclass(frozen=True)
class ChannelRoom:
    """The room in a channel: groups for each rule, more groups in details, units of text in each part."""

    groups: int = 3
    details: int = 30
    units: int = 10_000


SLACK = ChannelRoom()
SLACK_WEBHOOK = ChannelRoom(groups=5, details=0)
PAPER = ChannelRoom(groups=20, details=0, units=60_000)


def document(notice: Notice, room: ChannelRoom) -> Document:
    """Build the message within the available room; omitted parts are counted, with a command to see them."""
    if notice.trouble is not None:
        about = trouble.about(notice, notice.trouble)
        return Document(headline(notice), about, (trouble.section(notice, notice.trouble), *_rest(notice, ())))
    reported = with_news(notice)
    existing = [rule for rule in reported if rule.first_run]
    is_summed_up = len(existing) >= _SUMMED_UP
    rules = [rule for rule in reported if not (is_summed_up and rule.first_run)]
    failures = tuple(_failures(notice))
    decisions = tuple(cleaning.decisions(notice, lambda group: groups.lines(group, notice)))
    summary = [_summary(existing)] if is_summed_up else []
    rest = (*summary, *cleaning.completed(notice), *_rest(notice, reported))
    details = _details(notice, rules, room)
    room_left = room.units - sum(section.size() for section in (*failures, *decisions, *rest))
    return Document(
        headline=headline(notice),
        about=_about(notice),
        sections=(*failures, *decisions, *_fitting(notice, rules, room, room_left, details), *rest),
        details=tuple(details.values()),
    )


def _about(notice: Notice) -> str:
    job, run = words.visible(notice.job or "", 60), words.visible(notice.run or "", 40)
    parts = [words.visible(notice.project, 60)] if notice.project else []
    slot = words.moment(notice.slot, notice.timezone)
    if (escalation := notice.escalation) is not None:
        channel, waited = words.visible(escalation.channel, 60), words.span(escalation.seconds)
        parts.append(f"{channel} was notified at least {waited} ago, and nobody has decided · {slot}")
    elif notice.run is None and not notice.test:
        parts.append(f"job {job} · between runs · {slot}")
    else:
        parts.append(f"job {job} · slot {slot} · run {run}")
    if notice.fallback_of:
        parts.append(f"could not be delivered to {words.visible(notice.fallback_of, 60)}")
    return " · ".join(parts)


def _failures(notice: Notice) -> Iterator[Section]:
    """Yield the failed checks: they come first and never look like a finding or a clean result."""
    going = [failure for failure in notice.failures if not failure.ended]
    for failure in going[:_FAILURES]:
        reason = [(TextSpan.of(failure.sentence, 500),)] if failure.sentence else []
        yield Section(
            "failure",
            (
                (TextSpan("⚠️ Could not check "), TextSpan.of(failure.subject, 80, "bold")),
                *reason,
                (TextSpan(_next_check(failure, notice)),),
            ),
        )
    if len(going) > _FAILURES:
        more = words.plural(len(going) - _FAILURES, "more subject", "more subjects")
        yield Section("failure", ((TextSpan(f"⚠️ Could not check {more}: "), TextSpan("reconcile runs", "code")),))


def _next_check(failure: FailureNotice, notice: Notice) -> str:
    since = f" since {words.moment(failure.since, notice.timezone)}" if failure.since else ""
    again = "The next run checks it again."
    if failure.again is not None:
        at = words.clock(failure.again, notice.created or notice.slot, notice.timezone)
        again = f"Reconcile tries again at {at}."
    return f"Not checked{since}, so this is not a clean result. {again}"


def _rest(notice: Notice, rules: Sequence[RuleNotice]) -> Iterator[Section]:
    """Yield the improvements, last: checks that work again and resolved findings."""
    recovered = [failure for failure in notice.failures if failure.ended]
    lines: list[Line] = []
    for failure in recovered[:_FAILURES]:
        since = f", not checked since {words.moment(failure.since, notice.timezone)}" if failure.since else ""
        lines.append((TextSpan("✅ Works again: "), TextSpan.of(failure.subject, 80, "bold"), TextSpan(since)))
    if len(recovered) > _FAILURES:
        more = words.plural(len(recovered) - _FAILURES, "more subject works", "more subjects work")
        lines.append((TextSpan(f"✅ {more} again"),))
    if ended := [rule for rule in notice.rules if rule.resolved and (rule not in rules or rule.news)]:
        lines.append(
            (TextSpan(f"✅ Resolved{words.since(notice.since, notice.slot, notice.timezone)}: {_counts(ended)}"),)
        )
    if notice.test:
        example = " The content above is an example." if notice.rules or notice.failures else ""
        lines.append((TextSpan(f"This is a test of the channel; nothing was checked.{example}"),))
    if notice.link and is_address(notice.link):
        lines.append((TextSpan("Open in the console", link=notice.link),))
    if lines:
        yield Section("note", tuple(lines))


def _counts(rules: Sequence[RuleNotice]) -> str:
    shown = [f"{rule.resolved:,} of {words.visible(rule.rule, 60)}" for rule in rules[:5]]
    more = sum(rule.resolved for rule in rules[5:])
    return words.listed([*shown, *([f"{more:,} of other rules"] if more else [])])


def _fitting(
    notice: Notice, rules: Sequence[RuleNotice], room: ChannelRoom, room_left: int, details: Mapping[str, Section]
) -> Iterator[Section]:
    """Yield each rule as fully as the room allows, the worst first; a rule without room is still counted."""

    def drawn(rule: RuleNotice, most: int) -> Section:
        threaded = details.get(rule.rule)
        return _rule(rule, notice, most, len(threaded.groups) if threaded else 0)

    room_left -= _MARGIN
    bare = [drawn(rule, 0) for rule in rules[:_RULES]]
    while bare and sum(section.size() for section in bare) > room_left:
        bare.pop()
    spare = room_left - sum(section.size() for section in bare)
    for rule, least in zip(rules, bare, strict=False):
        full = least
        for most in range(1, room.groups + 1):
            if (more := drawn(rule, most)).size() - least.size() <= spare:
                full = more
        spare -= full.size() - least.size()
        yield full
    if uncounted := rules[len(bare) :]:
        count = words.plural(sum(rule.news for rule in uncounted), "finding", "findings")
        of = words.plural(len(uncounted), "more rule", "more rules")
        yield Section("rule", ((TextSpan(f"And {count} of {of}: "), TextSpan("reconcile findings", "code")),))


def _rule(rule: RuleNotice, notice: Notice, most: int, in_thread: int) -> Section:
    shown = rule.largest[: min(most, rule.news)]
    return Section(
        "rule",
        (*_heading(rule, notice), *_largest(rule, shown)),
        tuple(groups.lines(group, notice) for group in shown),
        tuple(_after(rule, shown, in_thread)),
        tuple(shown),
    )


def _summary(rules: Sequence[RuleNotice]) -> Section:
    """List rules that found what existed before."""
    lines: list[Line] = [
        (TextSpan(f"{first(rules).capitalize()}: {len(rules)} rules report findings that already exist. {_ONCE}"),)
    ]
    for rule in rules[:_RULES]:
        lines.append((*_name(rule), TextSpan(f": {counted(rule)}{_in_brackets(rule)}{at_risk(rule.money)}")))
        lines += [*_cause(rule), *((TextSpan.of(reason, 200),) for reason in rule.skipped[:3])]
    if others := rules[_RULES:]:
        count = words.plural(sum(rule.news for rule in others), "finding", "findings")
        lines.append((TextSpan(f"And {count} of {words.plural(len(others), 'more rule', 'more rules')}"),))
    command = TextSpan(f"reconcile findings --rule {words.argument(rules[0].rule, 80)}", "code")
    return Section("rule", tuple(lines), after=((TextSpan("Next: "), command),))


def _name(rule: RuleNotice) -> Line:
    """Return the sign, the name, the severity and the owner of a rule."""
    name = TextSpan.of(rule.rule, 80, "bold")
    severity = words.visible(rule.severity, 20)
    owner = (TextSpan(" · "), TextSpan.of(rule.owner, 60, mention=rule.owner)) if rule.owner else ()
    return (TextSpan(f"{SIGNS.get(severity, '•')} "), name, TextSpan(f" · {severity}"), *owner)


def _heading(rule: RuleNotice, notice: Notice) -> Iterator[Line]:
    yield _name(rule)
    yield (TextSpan(_sentence(rule, notice)),)
    left, right = (*rule.datasets, "left", "right")[:2]
    for line in rule.balance[:_CURRENCIES]:
        yield (TextSpan(f"Balance in {words.balance(line, left, right)}"),)
    if len(rule.balance) > _CURRENCIES:
        more = words.plural(len(rule.balance) - _CURRENCIES, "more currency", "more currencies")
        yield (TextSpan(f"Balance in {more}: see the report of the run"),)
    if rule.trend:
        yield (TextSpan("Trend: "), TextSpan.of(rule.trend, 200))
    yield from _cause(rule)


def _cause(rule: RuleNotice) -> Iterator[Line]:
    if rule.why:
        yield (TextSpan("Probable cause: "), TextSpan.of(rule.why, 400))


def _largest(rule: RuleNotice, shown: Sequence[GroupNotice]) -> Iterator[Line]:
    if 0 < len(shown) < rule.news:
        yield (TextSpan(f"The largest {'finding' if len(shown) == 1 else len(shown)}:"),)


def _sentence(rule: RuleNotice, notice: Notice) -> str:
    risk, in_brackets = at_risk(rule.money), _in_brackets(rule)
    if rule.first_run:
        exist = "exists" if rule.news == 1 else "exist"
        label = "First run after an edit of the rule" if rule.edited else first([rule]).capitalize()
        return f"{label}: {counted(rule)}{in_brackets} already {exist}{risk}. {_ONCE}"
    in_total = f" {rule.open:,} open in total." if rule.known else ""
    parts = [f"{number:,} {name}" for name, number in changes(rule).items() if number]
    split = f": {words.listed(parts)}" if len(parts) > 1 else ""
    when = words.since(notice.since, notice.slot, notice.timezone)
    if in_brackets and _says_it_all(notice):
        lead = f"Since{when.removeprefix(' since')}: " if when else ""
        return f"{lead}{_detail(rule)}{f' ({words.listed(parts)})' if split else ''}.{in_total}"
    return f"{counted(rule)}{in_brackets}{when}{split}{risk}.{in_total}"


def _detail(rule: RuleNotice) -> str:
    """Like "3 surplus records", or the forms of discrepancies; empty if there is neither, or if they say no more than
    the number of findings."""
    surplus = words.plural(rule.records, "surplus record", "surplus records") if rule.records else ""
    forms = ", ".join(words.visible(form, 80) for form in rule.in_words)
    return surplus or ("" if forms == words.plural(rule.news, *rule.nouns) else forms)


def _in_brackets(rule: RuleNotice) -> str:
    detail = _detail(rule)
    return f" ({detail})" if detail else ""


def _says_it_all(notice: Notice) -> bool:
    """Return True if the headline already counts the only rule with news."""
    alone = sum(1 for rule in notice.rules if rule.news) == 1
    return alone and not notice.test and all(failure.ended for failure in notice.failures)


def _after(rule: RuleNotice, shown: Sequence[GroupNotice], in_thread: int) -> Iterator[Line]:
    """Yield the omitted groups, the skipped records and the next commands."""
    every = TextSpan(f"reconcile findings --rule {words.argument(rule.rule, 80)}", "code")
    rest = rule.news - len(shown)
    if rest and shown:
        place = (
            ""
            if not in_thread
            else " (in the thread)"
            if in_thread >= rest
            else f" (the next {in_thread} in the thread)"
        )
        yield (TextSpan(f"And {rest:,} more{place}: "), every)
    elif rest:
        yield (TextSpan("All of them: "), every)
    for reason in rule.skipped[:3]:
        yield (TextSpan.of(reason, 200),)
    if len(rule.skipped) > 3:
        others = words.plural(len(rule.skipped) - 3, "other reason", "other reasons")
        yield (TextSpan(f"More records were skipped, for {others}"),)
    if undecided := [group for group in shown if not group.outcome]:
        finding = words.argument(undecided[0].finding, 80)
        not_twice = TextSpan(f'reconcile dismiss {finding} --note "…"', "code")
        yield (
            TextSpan("Next: "),
            TextSpan(f"reconcile show {finding}", "code"),
            TextSpan(f" · {'accept' if rule.forms else 'not a duplicate'}: "),
            not_twice,
        )
    if rule.runbook:
        yield what_to_do(rule.runbook)


def _details(notice: Notice, rules: Sequence[RuleNotice], room: ChannelRoom) -> dict[str, Section]:
    """Return for each rule the groups that follow those in the message, the worst rule first, as many as fit."""
    sections: dict[str, Section] = {}
    room_left, places = room.units - _MARGIN, room.details
    for rule in rules[:_RULES]:
        section = Section("rule", ((TextSpan.of(rule.rule, 80, "bold"), TextSpan(f": more {_nouns(rule)[1]}")),))
        room_left -= section.size() + _MARGIN
        for group in rule.largest[room.groups : min(rule.news, room.groups + places)]:
            more = replace(section, groups=(*section.groups, groups.lines(group, notice)))
            if (size := more.size() - section.size()) > room_left:
                break
            room_left -= size
            section = more
        places -= len(section.groups)
        if section.groups:
            after = tuple(_remaining(rule, room.groups + len(section.groups)))
            sections[rule.rule] = replace(section, after=after)
    return sections


def _remaining(rule: RuleNotice, shown: int) -> Iterator[Line]:
    if (rest := rule.news - shown) > 0:
        command = TextSpan(f"reconcile findings --rule {words.argument(rule.rule, 80)}", "code")
        singular, plural = _nouns(rule)
        yield (TextSpan(f"And {words.plural(rest, f'more {singular}', f'more {plural}')}: "), command)


def _nouns(rule: RuleNotice) -> tuple[str, str]:
    """Return what the rule finds, one and several."""
    return ("finding", "findings") if rule.forms else ("group", "groups")
