"""Formatting for people: counts, money, spans of time, and text that cannot break a message."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from notifications.base import BalanceNotice

_WHOLE_CURRENCIES = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"}
)
_THREE_DIGIT_CURRENCIES = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
_SAYS_TWICE = frozenset({"double", "duplicate", "duplicated", "twin", "repeated"})
_JOINS = frozenset({"and", "by", "for", "from", "in", "of", "or", "per", "same", "to", "with"})
_SHOWN_CURRENCIES = 4
_SUMS = Context(prec=60, traps=[])
"""Amounts come from data: no number and infinity are amounts, too."""
_EMPTY = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Letters and marks that are drawn as nothing."""


_STATES = {"awaiting_approval": "awaiting approval", "merged_into": "merged", "retry_wait": "waiting to retry"}


def state(name: str) -> str:
    """A state of a finding or a plan for people."""
    return _STATES.get(name, name.replace("_", " "))


def units(text: str) -> int:
    """The length in UTF-16 units, the strictest way a chat counts characters."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def visible(text: str, limit: int = 200) -> str:
    """Put the text on one line of at most `limit` units; invisible characters are written out, a cut shows as "…".

    Line breaks become ⏎ and tabs ⇥; marks that turn or hide text (right-to-left override, zero-width space) become
    ⟨U+202E⟩, so that two values that differ also look different.
    """
    pieces: list[str] = []
    used = 0
    head = text[: limit + 1].replace("\r\n", "\n")
    for character in head:
        piece = _written_out(character)
        pieces.append(piece)
        used += units(piece)
        if used > limit:
            break
    if used <= limit and len(text) <= limit + 1:
        return "".join(pieces)
    while pieces and used > limit - 1:
        used -= units(pieces.pop())
    return "".join([*pieces, "…"])


def argument(text: str, limit: int = 40) -> str:
    """Return data as an argument of a command that people copy."""
    return visible(shlex.quote(text), limit)


def _written_out(character: str) -> str:
    if character in "\n\r\v\f\x85\u2028\u2029":
        return "⏎"
    if character == "\t":
        return "⇥"
    if unicodedata.category(character) in {"Cc", "Cf", "Cs"} or character in _EMPTY:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def value(text: str, limit: int = 80) -> str:
    """Format a cell's value, in quotes if its blanks would be invisible."""
    shown = visible(text, limit)
    return shown if shown and shown == shown.strip() else f'"{shown}"'


def plural(number: int, singular: str, plural_form: str) -> str:
    """Like "1 group", "1,204 groups"."""
    return f"{number:,} {singular if number == 1 else plural_form}"


def nouns(rule: str, kind: str, others: tuple[str, str] = ("finding", "findings")) -> tuple[str, str]:
    """Return the singular and plural noun for findings of a rule; `others` are those of kinds other than duplicates.

    A rule whose name says that something is duplicated lends its name (double-charge: "double charge", "double
    charges"); other names cannot be counted.
    """
    words = re.split(r"[-_ ]+", rule.lower())
    if kind != "duplicates":
        return others
    counts = words[0] in _SAYS_TWICE and all(map(str.isalpha, words)) and not _JOINS & set(words)
    if counts and len(rule) <= 40 and 2 <= len(words) <= 3 and not words[-1].endswith("s"):
        return " ".join(words), " ".join([*words[:-1], _many(words[-1])])
    return "group of duplicates", "groups of duplicates"


def _many(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in set("aeiou"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "z", "ch", "sh")) else "s")


def listed(things: Sequence[str]) -> str:
    """Like "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(things[:-1]), things[-1]] if len(things) > 1 else things)


def money(amounts: Mapping[str, Decimal]) -> str:
    """Like "312.40 EUR and 1,200 JPY": a sum for each currency, never added across them. Empty when there is none."""
    shown = [_amount(amounts[currency], currency) for currency in sorted(amounts)]
    more = len(shown) - _SHOWN_CURRENCIES
    if more > 0:
        shown = [*shown[:_SHOWN_CURRENCIES], plural(more, "more currency", "more currencies")]
    return listed(shown) if shown else ""


def total(amounts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    """Return the sum for each currency."""
    sums: dict[str, Decimal] = {}
    for money_of in amounts:
        for currency, amount in money_of.items():
            sums[currency] = _SUMS.add(sums.get(currency, Decimal(0)), amount)
    return sums


def balance(line: BalanceNotice, left: str, right: str) -> str:
    """Like "EUR: bank 120.00, ledger 100.00, difference 20.00, explained by findings 20.00 (twice in bank 20.00)"."""
    parts = [(visible(left, 40), line.left), (visible(right, 40), line.right), ("difference", line.left - line.right)]
    amounts = [_named(name, amount, line) for name, amount in parts]
    if line.explained or line.by_form:
        forms = ", ".join(_named(visible(form, 60), amount, line) for form, amount in line.by_form.items())
        explained = _named("explained by findings", line.explained, line)
        amounts.append(f"{explained} ({forms})" if forms else explained)
    others = (
        ("in findings that the rule does not report", line.not_reported),
        ("not yet due", line.not_yet_due),
        ("in matched records", line.matched),
    )
    amounts += [_named(name, amount, line) for name, amount in others if amount]
    return f"{visible(line.currency, 12)}: {', '.join(amounts)}"


def _named(name: str, amount: Decimal, line: BalanceNotice) -> str:
    return f"{name} {_amount(amount, line.currency, show=False)}"


def _amount(amount: Decimal, currency: str, *, show: bool = True) -> str:
    name = visible(currency, 12) if show else ""
    if not amount.is_finite() or abs(amount.adjusted()) > 18:
        return f"{visible(str(amount), 30)} {name}".strip()
    digits = 0 if currency in _WHOLE_CURRENCIES else 3 if currency in _THREE_DIGIT_CURRENCIES else 2
    plain = amount.normalize()
    exponent = plain.as_tuple().exponent
    finer = -exponent if isinstance(exponent, int) else 0
    shown = plain.quantize(Decimal(1).scaleb(-min(max(digits, finer), 8)), rounding=ROUND_HALF_EVEN)
    return f"{shown:,f} {name}".strip()


def span(seconds: float) -> str:
    """Format a length of time: "0.4 s", "30 s", "12 min", "5 h", "3 days"."""
    for size, name, below in ((1, "s", 120), (60, "min", 7_200), (3_600, "h", 172_800)):
        if seconds < below:
            return f"{seconds / size:.2g} {name}" if seconds < 1 else f"{round(seconds / size)} {name}"
    return plural(round(seconds / 86_400), "day", "days")


def apart(gaps: Sequence[float]) -> str:
    """Like "30 s apart", "3 s to 2 min apart"; empty when no gap is known."""
    if not gaps:
        return ""
    if max(gaps) == 0:
        return "at the same instant"
    least, most = span(min(gaps)), span(max(gaps))
    return f"{least} apart" if least == most else f"{least} to {most} apart"


def local(moment: dt.datetime, timezone: str) -> dt.datetime:
    """Return the moment in that zone, or in UTC if the zone is unknown here."""
    try:
        return moment.astimezone(ZoneInfo(timezone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return moment


def day(moment: dt.datetime) -> str:
    """Like "Fri 21 Nov 2026"."""
    return f"{_DAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def moment(when: dt.datetime, timezone: str) -> str:
    """Like "Fri 21 Nov 2026, 06:15 CET"."""
    here = local(when, timezone)
    return f"{day(here)}, {here:%H:%M} {here.tzname() or ''}".strip()


def instant(when: dt.datetime, timezone: str) -> str:
    """Like "2026-03-01 11:00:30 CET", with the digits of a fraction of a second."""
    here = local(when, timezone)
    return f"{here.replace(tzinfo=None).isoformat(' ')} {here.tzname() or ''}".strip()


def to_the_second(when: dt.datetime, timezone: str) -> str:
    """Like "2026-03-01 11:00:30 CET"."""
    return instant(when.replace(microsecond=0), timezone)


def to_the_minute(when: dt.datetime, timezone: str) -> str:
    """Like "2026-03-01 11:00 CET"."""
    return f"{local(when, timezone):%Y-%m-%d %H:%M %Z}".strip()


def minute(when: dt.datetime, now: dt.datetime, timezone: str) -> str:
    """Like "20 Nov 06:15", with the year if it is not the current one."""
    here = local(when, timezone)
    year = "" if here.year == local(now, timezone).year else f" {here.year}"
    return f"{here.day} {_MONTHS[here.month - 1]}{year} {here:%H:%M}"


def clock(when: dt.datetime, now: dt.datetime, timezone: str) -> str:
    """Like "06:20", with the day if it is another one."""
    here = local(when, timezone)
    return f"{here:%H:%M}" if here.date() == local(now, timezone).date() else minute(when, now, timezone)


def lately(when: dt.datetime, now: dt.datetime, timezone: str) -> str:
    """Like "20 Nov, 23:14:03", with the year if it is not the current one."""
    here = local(when, timezone)
    year = "" if here.year == local(now, timezone).year else f" {here.year}"
    return f"{here.day} {_MONTHS[here.month - 1]}{year}, {here:%H:%M:%S}"


def since(when: dt.datetime | None, now: dt.datetime, timezone: str) -> str:
    """Like " since 06:15 yesterday", with its leading blank; empty when there was no run before."""
    if when is None:
        return ""
    then, today = local(when, timezone), local(now, timezone)
    days = (today.date() - then.date()).days
    near = {0: "today", 1: "yesterday"}.get(days)
    return f" since {then:%H:%M} {near}" if near else f" since {day(then)} {then:%H:%M}"
