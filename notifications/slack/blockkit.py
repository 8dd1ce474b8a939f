"""Slack's Block Kit: a document as blocks, and a checker of Slack's limits.

Text from data stands in `plain_text` and in text elements of `rich_text`, which Slack shows as they are: nothing in
them is read as a mention, a link or formatting. `mrkdwn`, where `<`, `&` and `*` mean something, holds only what a
user's own template wrote.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from notifications.slack.buttons import actions as buttons_of
from notifications.slack.limits import BLOCKS, FIELD, HEADER, SECTION, TOTAL, check, escape_stray, total
from notifications.wording import words
from notifications.wording.document import Document, Line, Section, TextSpan

_MARGIN = 1_000
"""Characters kept free for heading and context."""

__all__ = ["Message", "as_text", "check", "escape", "inert", "message", "templated", "thread"]

Block = dict[str, Any]
Message = dict[str, Any]


def message(shown: Document, mentions: Mapping[str, str], name: str = "") -> Message:
    """The message of a document: `text` for notifications, and blocks. `mentions` gives owners their Slack ids.

    `name` is the id of the notice, which buttons carry.
    """
    top = _top(shown)
    body = _with_buttons(shown.sections, mentions, name, BLOCKS - len(top))
    blocks = [*top, *(body or _body(shown.sections, mentions))]
    return {"text": inert(words.visible(shown.headline, 700)), "blocks": _numbered(blocks, "notice")}


def templated(shown: Document, mrkdwn: str) -> Message:
    """The message whose body is the text of a user's template, cut where it is longer than Slack takes."""
    blocks = [*_top(shown), *map(_section, _pieces(mrkdwn))]
    return {"text": inert(words.visible(shown.headline, 700)), "blocks": _numbered(blocks, "notice")}


def thread(shown: Document, mentions: Mapping[str, str]) -> Message | None:
    """Return the reply in the message's thread with more groups; None without any."""
    if not shown.details:
        return None
    return {"text": "More groups", "blocks": _numbered(_body(shown.details, mentions), "details")}


def escape(text: str) -> str:
    """Text for `mrkdwn` with the three characters escaped that Slack asks for."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inert(text: str) -> str:
    """Text for `mrkdwn` that shows as it is: escaped, its formatting marks and emoji names held apart by a joiner."""
    apart = re.sub(r"([*_~`]|:(?=[\w+-]*[a-z][\w+-]*:)|@(?=\w))", "\\1\u2060", text)
    return escape(apart)


def _top(shown: Document) -> list[Block]:
    head = {"type": "plain_text", "text": words.visible(shown.headline, HEADER), "emoji": False}
    about = {"type": "plain_text", "text": words.visible(shown.about, FIELD), "emoji": False}
    return [{"type": "header", "text": head}, {"type": "context", "elements": [about]}]


def _body(sections: Sequence[Section], mentions: Mapping[str, str]) -> list[Block]:
    blocks: list[Block] = []
    for number, section in enumerate(sections):
        if number and "rule" in (section.kind, sections[number - 1].kind):
            blocks.append({"type": "divider"})
        blocks.append(_rich(section, mentions))
    return blocks


def _with_buttons(sections: Sequence[Section], mentions: Mapping[str, str], name: str, room: int) -> list[Block] | None:
    """Return the body with the buttons of its findings, the first ones if not all fit; None without buttons."""
    numbers = itertools.count()
    buttons = [[buttons_of(finding, name, next(numbers)) for finding in section.findings] for section in sections]
    plain = _body(sections, mentions)
    fitting = _fitting(itertools.chain.from_iterable(buttons), room - len(plain), TOTAL - _MARGIN - total(plain))
    if not fitting:
        return None
    blocks: list[Block] = []
    left = fitting
    for number, section in enumerate(sections):
        if number and "rule" in (section.kind, sections[number - 1].kind):
            blocks.append({"type": "divider"})
        own = []
        for block in buttons[number]:
            own.append(block if left > 0 else None)
            left -= block is not None
        blocks += _divided(section, own, mentions)
    return blocks


def _fitting(buttons: Iterable[Block | None], blocks: int, characters: int) -> int:
    """Return how many findings can have buttons: each takes its block, and one for what follows in its section."""
    number = 0
    for block in filter(None, buttons):
        characters -= total([block])
        if 2 * (number + 1) > blocks or characters < 0:
            break
        number += 1
    return number


def _divided(section: Section, buttons: Sequence[Block | None], mentions: Mapping[str, str]) -> Iterator[Block]:
    """Yield the section in parts, so that the buttons of a finding are below it."""
    lines, pending = section.lines, list[tuple[Line, ...]]()
    for group, block in itertools.zip_longest(section.groups, buttons):
        pending.append(group)
        if block is not None:
            yield _rich(Section(section.kind, lines, tuple(pending)), mentions)
            yield block
            lines, pending = (), []
    if pending or section.after or lines:
        yield _rich(Section(section.kind, lines, tuple(pending), section.after), mentions)


def _rich(section: Section, mentions: Mapping[str, str]) -> Block:
    """One section as one block: lines, a bulleted list of groups, lines."""
    elements: list[Block] = [_paragraph(section.lines, mentions)] if section.lines else []
    if section.groups:
        groups = [_paragraph(group, mentions) for group in section.groups]
        elements.append({"type": "rich_text_list", "style": "bullet", "indent": 0, "elements": groups})
    if section.after:
        elements.append(_paragraph(section.after, mentions))
    return {"type": "rich_text", "elements": elements}


def _paragraph(lines: Sequence[Line], mentions: Mapping[str, str]) -> Block:
    elements: list[Block] = []
    for number, line in enumerate(lines):
        if number:
            elements.append({"type": "text", "text": "\n"})
        elements += [_element(span, mentions) for span in line if span.text]
    return {"type": "rich_text_section", "elements": elements}


def _element(span: TextSpan, mentions: Mapping[str, str]) -> Block:
    if span.mention is not None and (ringing := _mention(span.mention, mentions)):
        return ringing
    element: Block = {"type": "text", "text": span.text}
    if span.link is not None:
        element = {"type": "link", "url": span.link, "text": span.text}
    if span.style != "plain":
        element["style"] = {span.style: True}
    return element


def _mention(owner: str, mentions: Mapping[str, str]) -> Block | None:
    """Return the mention that `mentions` says: of a user group, a user or a whole channel; None if it has none."""
    target = mentions.get(owner)
    if target is None:
        return None
    if target in ("!here", "!channel"):
        return {"type": "broadcast", "range": target[1:]}
    if target.startswith("S"):
        return {"type": "usergroup", "usergroup_id": target}
    return {"type": "user", "user_id": target}


def _section(mrkdwn: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}}


def _pieces(mrkdwn: str) -> Iterator[str]:
    """Split the text into sections of whole lines; a long line is cut before an escape, never inside it."""
    room, piece = TOTAL - 1_500, ""
    for line in escape_stray(mrkdwn).strip().splitlines():
        shown = cut(line, SECTION - 2)
        if words.units(shown) + 1 > room:
            piece += "\n…"
            break
        room -= words.units(shown) + 1
        if piece and words.units(piece) + words.units(shown) + 3 > SECTION:
            yield piece
            piece = shown
        else:
            piece = f"{piece}\n{shown}" if piece else shown
    if piece.strip():
        yield piece


def cut(mrkdwn: str, limit: int) -> str:
    """At most `limit` units, cut with "…" between whole characters, escapes and <…> tokens."""
    if words.units(mrkdwn) <= limit:
        return mrkdwn
    kept, used = "", 0
    for token in re.findall(r"&(?:amp|lt|gt);|<[^<>]*>|.", mrkdwn, re.DOTALL):
        used += words.units(token)
        if used > limit - 1:
            break
        kept += token
    return kept + "…"


def _numbered(blocks: list[Block], prefix: str) -> list[Block]:
    return [{**block, "block_id": f"{prefix}-{number}"} for number, block in enumerate(blocks)]


def as_text(sent: Message) -> str:
    """Render the blocks as text for a terminal."""
    return "\n".join(filter(None, (_shown(block) for block in sent.get("blocks", ())))) + "\n"


def _shown(block: Block) -> str:
    kind = block["type"]
    if kind == "divider":
        return "─" * 40
    if kind == "header":
        return str(block["text"]["text"])
    if kind == "context":
        return "  ".join(element["text"] for element in block["elements"])
    if kind == "section":
        return str(block["text"]["text"])
    if kind == "actions":
        return "  ".join(f"[{element['text']['text']}]" for element in block["elements"])
    return "\n".join(_shown_rich(element) for element in block["elements"])


def _shown_rich(element: Block) -> str:
    if element["type"] != "rich_text_list":
        return "".join(map(_shown_element, element["elements"]))
    items = (_shown_rich(item).replace("\n", "\n    ") for item in element["elements"])
    return "\n".join(f"  • {item}" for item in items)


def _shown_element(element: Block) -> str:
    kind = element["type"]
    if kind == "link":
        return str(element["url"] if element["text"] == element["url"] else f"{element['text']} {element['url']}")
    named = {"usergroup": "usergroup_id", "user": "user_id", "broadcast": "range"}.get(kind, "text")
    return f"@{element[named]}" if named != "text" else str(element["text"])
