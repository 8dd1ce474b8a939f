"""The lines of a message about one finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from notifications.base import GroupNotice, Notice, RecordNotice
from notifications.wording import words
from notifications.wording.document import Line, TextSpan

_COLUMNS = 6
_IDS = 5
_PAIRS = 3
_DISPLAYED = 4


def lines(group: GroupNotice, notice: Notice) -> tuple[Line, ...]:
    """Return the key, then the records, the distance in time and the money, and what else is known."""
    return tuple(_lines(group, notice))


def _lines(group: GroupNotice, notice: Notice) -> Iterator[Line]:
    if key := tuple(_key(group)):
        yield key
    when = f"on {words.lately(group.first, notice.slot, notice.timezone)}" if group.first else ""
    gap = " ".join(filter(None, (words.apart(group.seconds_apart), when)))
    facts = [*_records(group), *filter(None, (words.money(group.money), gap))]
    state = "" if group.state == "new" else f" ({words.visible(words.state(group.state), 20)})"
    yield TextSpan(" · ".join(facts) + " · "), TextSpan.of(group.finding, 40, "code"), TextSpan(state)
    yield from map(_displayed, group.display)
    if group.joined:
        added = words.money(group.added)
        adds = f", adds {added}" if added else ""
        yield (TextSpan(f"Joined since the last message: {_listed(group.joined, len(group.joined))}{adds}"),)
    if group.differences:
        yield tuple(_differences(group))
    yield from _evidence(group.evidence)
    if group.repetition:
        yield (TextSpan("Each is "), TextSpan.of(group.repetition, 80))
    if group.nearby:
        yield (TextSpan(f"Nearby, not in the group: {_listed(group.nearby, group.nearby_records)}"),)
    if group.plan_does and not group.outcome:
        yield (TextSpan(f"Cleaning: {group.plan_does}{_until(group, notice)}"),)
    if group.history:
        yield (TextSpan.of(group.history, 200),)
    if group.approvals:
        yield (TextSpan.of(group.approvals, 200, "bold"),)
    if group.outcome:
        yield (TextSpan("✅ "), TextSpan.of(group.outcome, 200, "bold"))


def _evidence(pairs: Sequence[str]) -> Iterator[Line]:
    """Yield by what the first pairs of records are alike, and the number of the others."""
    yield from ((TextSpan(words.visible(pair, 200)),) for pair in pairs[:_PAIRS])
    if len(pairs) > _PAIRS:
        yield (TextSpan(words.plural(len(pairs) - _PAIRS, "more pair", "more pairs")),)


def _until(group: GroupNotice, notice: Notice) -> str:
    if group.plan_expires is None:
        return ""
    until = words.clock(group.plan_expires, notice.created or notice.slot, notice.timezone)
    return f"; can be approved until {until}"


def _key(group: GroupNotice) -> Iterator[TextSpan]:
    for number, (name, cell) in enumerate(list(group.key.items())[:_COLUMNS]):
        yield from (TextSpan(" · " if number else ""), TextSpan.of(name, 40), TextSpan(" "))
        yield TextSpan(words.value(cell), "bold")
    if len(group.key) > _COLUMNS:
        yield TextSpan(f" · {words.plural(len(group.key) - _COLUMNS, 'more column', 'more columns')}")


def _displayed(record: RecordNotice) -> Line:
    """Return the values of one record that its dataset displays."""
    cells = list(record.values.items())
    shown = [f"{words.visible(name, 40)} {words.value(cell, 40)}" for name, cell in cells[:_DISPLAYED]]
    if len(cells) > _DISPLAYED:
        shown.append(words.plural(len(cells) - _DISPLAYED, "more column", "more columns"))
    return (TextSpan.of(record.record, 40), TextSpan(f": {' · '.join(shown)}"))


def _records(group: GroupNotice) -> Iterator[str]:
    """Yield the keeper with the surplus, or what is wrong with both sides or the only record."""
    if group.left or group.right:
        reason = f" ({words.visible(group.form_reason, 80)})" if group.form_reason else ""
        yield f"{words.visible(group.in_words, 80)}{reason}"
        yield from (_listed(side, len(side)) for side in (group.left, group.right) if side)
    elif group.surplus:
        by = f" (chosen by {words.visible(group.kept_by, 40)})" if group.kept_by else ""
        yield f"keep {words.visible(group.keeper, 40)}{by}, surplus {_listed(group.surplus, len(group.surplus))}"
    elif group.record:
        yield words.visible(group.in_words, 80)
        yield words.visible(group.record, 40)
    else:
        yield words.visible(group.keeper, 40)


def _listed(records: Sequence[str], number: int) -> str:
    """Return the first of so many records, and the number of the others."""
    shown = [words.visible(record, 40) for record in records[:_IDS]]
    more = number - len(shown)
    return ", ".join([*shown, *([f"{more:,} more"] if more else [])])


def _differences(group: GroupNotice) -> Iterator[TextSpan]:
    for number, difference in enumerate(group.differences[:_COLUMNS]):
        yield from (TextSpan(" · " if number else ""), TextSpan.of(difference.column, 40), TextSpan(" "))
        yield TextSpan(f"{words.value(difference.left, 40)} ≠ {words.value(difference.right, 40)}", "bold")
        yield TextSpan(f" ({difference.apart})" if difference.apart else "")
    if len(group.differences) > _COLUMNS:
        yield TextSpan(f" · {words.plural(len(group.differences) - _COLUMNS, 'more field', 'more fields')}")
