"""The wording of a message about Reconcile itself: a problem and its start, or its end."""

from __future__ import annotations

import re

from notifications.base import Notice, TroubleNotice
from notifications.wording import words
from notifications.wording.document import Line, Section, TextSpan

_HEADLINE = 120  # units: with its beginning it stays below what a chat shows of a heading
_LINE = 500
_LINES = 12
_FIRST = re.compile(r".+?[.!?](?=\s+[^\sa-z0-9])|[^\n]+", re.DOTALL)
_BEGINNINGS = ("A ", "An ", "Dataset ", "Job ", "No ", "Source ", "The ")


def headline(trouble: TroubleNotice) -> str:
    """Like "⚠️ Reconcile: job nightly has not succeeded since 20 Nov 06:15"; at the end, what is true again."""
    if trouble.ended and trouble.end:
        return f"✅ {words.visible(_first(trouble.end).removesuffix('.'), _HEADLINE)}"
    sentence = words.visible(_within(_first(trouble.sentence)), _HEADLINE)
    return f"✅ Over: {sentence}" if trouble.ended else f"⚠️ Reconcile: {sentence}"


def about(notice: Notice, trouble: TroubleNotice) -> str:
    """Like "Reconcile itself · job nightly · noticed Fri 20 Nov 2026, 06:15 CET"."""
    job = f" · job {words.visible(notice.job, 60)}" if notice.job else ""
    return f"Reconcile itself{job} · noticed {words.moment(trouble.since, notice.timezone)}"


def section(notice: Notice, trouble: TroubleNotice) -> Section:
    """Return the rest of the sentence (all of it if the headline was cut), and the next step or what is over."""
    texts = _rest(trouble.end or "" if trouble.ended else trouble.sentence)
    lines: list[Line] = [(TextSpan.of(text, _LINE),) for text in texts[:_LINES]]
    if len(texts) > _LINES:
        lines.append((TextSpan(f"And {words.plural(len(texts) - _LINES, 'more line', 'more lines')}"),))
    last = _past(notice, trouble) if trouble.ended else "You'll get another message when it is over."
    return Section("note" if trouble.ended else "failure", (*lines, (TextSpan(last),)))


def _rest(text: str) -> list[str]:
    """Return the lines that the headline leaves out: all of them if it was cut."""
    first = _first(text)
    rest = text if words.units(first) > _HEADLINE else text.strip()[len(first) :]
    return [line.strip() for line in rest.splitlines() if line.strip()]


def _past(notice: Notice, trouble: TroubleNotice) -> str:
    lasted = words.span(max((notice.slot - trouble.since).total_seconds(), 0))
    was = words.visible(_first(trouble.sentence).removesuffix("."), _LINE)
    return f"The trouble lasted {lasted}: {was}."


def _first(text: str) -> str:
    """Return the first sentence or line: the dot of an abbreviation is followed by a small letter or a digit."""
    match = _FIRST.match(text.strip())
    return match[0].split("\n")[0] if match else ""


def _within(sentence: str) -> str:
    """Fit a sentence after a colon: no full stop, and no capital at the start unless it may be a name."""
    is_word = sentence.startswith(_BEGINNINGS)
    return (sentence[:1].lower() + sentence[1:] if is_word else sentence).removesuffix(".")
