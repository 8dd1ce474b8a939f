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
    """Like "⚠️ Reconcile: job nightly has not succeeded since 20 Nov 06:15"."""
    sentence = words.visible(_within(_first(trouble)), _HEADLINE)
    return f"✅ Resolved: {sentence}" if trouble.ended else f"⚠️ Reconcile: {sentence}"


def about(notice: Notice, trouble: TroubleNotice) -> str:
    """Like "Reconcile itself · job nightly · noticed Fri 20 Nov 2026, 06:15 CET"."""
    job = f" · job {words.visible(notice.job, 60)}" if notice.job else ""
    return f"Reconcile itself{job} · noticed {words.moment(trouble.since, notice.timezone)}"


def section(notice: Notice, trouble: TroubleNotice) -> Section:
    """Return the rest of the sentence (all of it if the headline was cut), and the next step."""
    first = _first(trouble)
    whole = words.units(first) > _HEADLINE
    rest = trouble.sentence if whole else trouble.sentence.strip()[len(first) :]
    texts = [line.strip() for line in rest.splitlines() if line.strip()]
    lines: list[Line] = [] if trouble.ended else [(TextSpan(words.visible(text, _LINE)),) for text in texts[:_LINES]]
    if len(texts) > _LINES and not trouble.ended:
        lines.append((TextSpan(f"And {words.plural(len(texts) - _LINES, 'more line', 'more lines')}"),))
    return Section("note" if trouble.ended else "failure", (*lines, (TextSpan(_next(notice, trouble)),)))


def _next(notice: Notice, trouble: TroubleNotice) -> str:
    if not trouble.ended:
        return "You'll get another message when it is resolved."
    lasted = words.span(max((notice.slot - trouble.since).total_seconds(), 0))
    ending = f"{words.visible(trouble.end, _LINE)} " if trouble.end else ""
    return f"{ending}It was resolved {lasted} after it was noticed."


def _first(trouble: TroubleNotice) -> str:
    """Return the first sentence or line: the dot of an abbreviation is followed by a small letter or a digit."""
    match = _FIRST.match(trouble.sentence.strip())
    return match[0].split("\n")[0] if match else ""


def _within(sentence: str) -> str:
    """Fit a sentence after a colon: no full stop, and no capital at the start unless it may be a name."""
    is_word = sentence.startswith(_BEGINNINGS)
    return (sentence[:1].lower() + sentence[1:] if is_word else sentence).removesuffix(".")
