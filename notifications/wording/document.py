"""A message before a channel renders it: sections of lines of text, and the same as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from notifications.base import GroupNotice
from notifications.wording.words import units, visible

Style = Literal["plain", "bold", "code"]


@dataclass(frozen=True)
class TextSpan:
    """A stretch of text. `mention` names an owner whom a chat may ring; `link` is an http(s) address."""

    text: str
    style: Style = "plain"
    link: str | None = None
    mention: str | None = None

    @classmethod
    def of(cls, data: str, limit: int, style: Style = "plain", *, mention: str | None = None) -> TextSpan:
        """Return a stretch of text that comes from data, made visible, of at most `limit` units."""
        return cls(visible(data, limit), style, mention=mention)


Line = tuple[TextSpan, ...]


@dataclass(frozen=True)
class Section:
    """One subject: lines, a list of groups (each of some lines), and lines after it.

    `findings` are what the groups are about, for a channel with buttons.
    """

    kind: Literal["failure", "rule", "note"]
    lines: tuple[Line, ...]
    groups: tuple[tuple[Line, ...], ...] = ()
    after: tuple[Line, ...] = ()
    findings: tuple[GroupNotice, ...] = ()

    def size(self) -> int:
        """Units of text, with some room for each line's marks."""
        lines = [*self.lines, *(line for group in self.groups for line in group), *self.after]
        return sum(units(span.text) + units(span.link or "") for line in lines for span in line) + len(lines)


@dataclass(frozen=True)
class Document:
    """A message before a channel renders it. `details` are more groups, for the thread if there is one."""

    headline: str
    about: str
    sections: tuple[Section, ...]
    details: tuple[Section, ...] = ()


def text(shown: Document, *, has_title: bool = True) -> str:
    """The document as plain text, for a terminal, a file or a summary; without a title the facts about it come last."""
    blocks = [*map(_plain, shown.sections)]
    if shown.details:
        blocks += ["In the thread:", *map(_plain, shown.details)]
    blocks = [f"{shown.headline}\n{shown.about}", *blocks] if has_title else [*blocks, shown.about]
    return "\n\n".join(blocks) + "\n"


def _plain(section: Section) -> str:
    lines = [line_text(line) for line in section.lines]
    for group in section.groups:
        lines += [("  • " if number == 0 else "    ") + line_text(line) for number, line in enumerate(group)]
    return "\n".join([*lines, *map(line_text, section.after)])


def line_text(line: Line) -> str:
    """Render a line as plain text, with the address of a link after its text."""
    return "".join(span.text if span.link in (None, span.text) else f"{span.text} {span.link}" for span in line)


def what_to_do(runbook: str) -> Line:
    """Return the line with a rule's runbook, as a link if it is an address."""
    shown = visible(runbook, 300)
    is_link = shown == runbook and is_address(runbook)
    return (TextSpan("What to do: "), TextSpan(shown, link=runbook) if is_link else TextSpan(shown))


def is_address(text: str) -> bool:
    """Return True for an http(s) address that a browser reads exactly as it is shown."""
    return len(text) <= 2_000 and re.fullmatch(r"https?://[!-~]+", text) is not None
