"""Slack's documented limits, and a checker that names everything Slack would refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from notifications.wording.words import units

BLOCKS = 50
HEADER = 150
SECTION = 3_000
FIELDS = 10
FIELD = 2_000
CONTEXT_ELEMENTS = 10
ACTIONS = 25
ID = 255
TOTAL = 12_000  # Slack says `msg_blocks_too_long` a little above 13,000
FALLBACK = 4_000
URL = 3_000
METADATA = 8_000

_TOKEN = re.compile(
    r"<(?:@[UW][A-Z0-9]+|#[CGD][A-Z0-9]+|!(?:here|channel|everyone)|!subteam\^S[A-Z0-9]+|!date\^\d+\^[^<>|]+"
    r"|(?:https?://|mailto:|tel:)[^<>|\s]+)(?:\|[^<>|]*)?>"
)
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_STYLES = {"bold", "italic", "strike", "code", "underline"}
_LEAVES = {
    "text": "text",
    "link": "url",
    "user": "user_id",
    "usergroup": "usergroup_id",
    "channel": "channel_id",
    "broadcast": "range",
    "emoji": "name",
    "date": "timestamp",
}

Problems = Iterator[str]


def escape_stray(mrkdwn: str) -> str:
    """The text with every `<`, `>` and `&` escaped that is neither an escape nor part of a token of Slack's."""
    plain = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    return re.sub(rf"{_TOKEN.pattern}|{_ENTITY.pattern}|[<>&]", lambda match: plain.get(match[0], match[0]), mrkdwn)


def check(message: Mapping[str, Any]) -> list[str]:
    """List everything in this message that Slack would refuse or show wrongly."""
    problems: list[str] = []
    fallback, blocks = message.get("text"), message.get("blocks") or []
    if not isinstance(fallback, str) or not fallback.strip():
        problems.append("text: empty; notifications and screen readers show it")
    else:
        problems += _mrkdwn("text", fallback, FALLBACK)
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        return [*problems, "blocks: not a list of objects"]
    if len(blocks) > BLOCKS:
        problems.append(f"blocks: {len(blocks)}, Slack takes {BLOCKS}")
    for number, block in enumerate(blocks):
        problems += _block(f"blocks[{number}]", block)
    problems += _unique(blocks, "block_id")
    problems += _unique([e for block in blocks if block.get("type") == "actions" for e in _list(block)], "action_id")
    if (size := total(blocks)) > TOTAL:
        problems.append(f"blocks: {size} characters together, Slack takes about {TOTAL}")
    return problems


def _list(block: Mapping[str, Any]) -> list[Any]:
    elements = block.get("elements")
    return elements if isinstance(elements, list) else []


def total(node: Any) -> int:
    """Return the units of all texts, values and addresses in a tree of blocks."""
    if isinstance(node, Mapping):
        own = sum(units(v) for k, v in node.items() if k in ("text", "url", "value") and isinstance(v, str))
        return own + sum(total(value) for value in node.values())
    return sum(map(total, node)) if isinstance(node, list) else 0


def _unique(items: list[Any], name: str) -> Problems:
    values: set[str] = set()
    for item in items:
        value = item.get(name) if isinstance(item, Mapping) else None
        if value is None:
            continue
        if not isinstance(value, str) or not 0 < units(value) <= ID:
            yield f"{name}: {value!r} is not 1 to {ID} characters"
        elif value in values:
            yield f"{name}: {value!r} twice"
        else:
            values.add(value)


def _block(at: str, block: Mapping[str, Any]) -> Problems:
    kind = block.get("type")
    checker = _CHECKS.get(kind) if isinstance(kind, str) else None
    if checker is None:
        yield f"{at}: type {kind!r} is not a block we know"
    else:
        yield from checker(f"{at} ({kind})", block)


def _divider(_at: str, _block: Mapping[str, Any]) -> Problems:
    return iter(())


def _header(at: str, block: Mapping[str, Any]) -> Problems:
    yield from _text(at, block.get("text"), HEADER, plain=True)


def _section(at: str, block: Mapping[str, Any]) -> Problems:
    fields = block.get("fields", [])
    if "text" not in block and not fields:
        yield f"{at}: neither text nor fields"
    if "text" in block:
        yield from _text(at, block["text"], SECTION)
    if not isinstance(fields, list) or len(fields) > FIELDS:
        yield f"{at}: fields are not a list of at most {FIELDS}"
        return
    for number, field in enumerate(fields):
        yield from _text(f"{at}.fields[{number}]", field, FIELD)


def _context(at: str, block: Mapping[str, Any]) -> Problems:
    elements = _list(block)
    if not 1 <= len(elements) <= CONTEXT_ELEMENTS:
        yield f"{at}: {len(elements)} elements, Slack takes 1 to {CONTEXT_ELEMENTS}"
    for number, element in enumerate(elements):
        yield from _text(f"{at}[{number}]", element, FIELD)


def _actions(at: str, block: Mapping[str, Any]) -> Problems:
    elements = _list(block)
    if not 1 <= len(elements) <= ACTIONS:
        yield f"{at}: {len(elements)} elements, Slack takes 1 to {ACTIONS}"
    for number, element in enumerate(elements):
        if not isinstance(element, Mapping) or not isinstance(element.get("type"), str):
            yield f"{at}[{number}]: not an element"
        elif element["type"] == "button":
            yield from _button(f"{at}[{number}]", element)


def _button(at: str, button: Mapping[str, Any]) -> Problems:
    yield from _text(at, button.get("text"), 75, plain=True)
    if not isinstance(button.get("action_id"), str):
        yield f"{at}: no action_id"
    if units(str(button.get("value", ""))) > FIELD:
        yield f"{at}: a value longer than {FIELD}"
    if "url" in button and (units(str(button["url"])) > URL or not re.match(r"https?://", str(button["url"]))):
        yield f"{at}: {str(button['url'])[:40]!r} is not an address"
    if button.get("style", "primary") not in ("primary", "danger"):
        yield f"{at}: style {button['style']!r} is not known"
    if isinstance(confirm := button.get("confirm"), Mapping):
        for name, limit in (("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)):
            yield from _text(f"{at}.confirm.{name}", confirm.get(name), limit, plain=True)


def _rich_text(at: str, block: Mapping[str, Any]) -> Problems:
    elements = _list(block)
    if not elements:
        yield f"{at}: no elements"
    for number, element in enumerate(elements):
        yield from _rich(f"{at}[{number}]", element)


def _rich(at: str, element: Any) -> Problems:
    kind = element.get("type") if isinstance(element, Mapping) else None
    if kind not in ("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"):
        yield f"{at}: type {kind!r} is not a part of rich_text"
        return
    inside = _list(element)
    if not inside:
        yield f"{at}: no elements"
    if kind == "rich_text_list" and element.get("style") not in ("bullet", "ordered"):
        yield f"{at}: a list is bullet or ordered"
    for number, part in enumerate(inside):
        yield from (_rich if kind == "rich_text_list" else _leaf)(f"{at}[{number}]", part)


def _leaf(at: str, element: Any) -> Problems:
    kind = element.get("type") if isinstance(element, Mapping) else None
    if kind not in _LEAVES:
        yield f"{at}: type {kind!r} is not text of rich_text"
        return
    content = element.get(_LEAVES[kind])
    if not content or (kind != "date" and not isinstance(content, str)):
        yield f"{at}: {kind} without {_LEAVES[kind]}"
    elif isinstance(content, str) and units(content) > SECTION:
        yield f"{at}: {units(content)} characters, Slack takes {SECTION}"
    if kind == "link" and not re.match(r"https?://|mailto:", str(content)):
        yield f"{at}: {content!r} is not an address"
    style = element.get("style", {})
    if not isinstance(style, Mapping) or set(style) - _STYLES:
        yield f"{at}: style {style!r} is not known"


def _text(at: str, text: Any, limit: int, *, plain: bool = False) -> Problems:
    kind = text.get("type") if isinstance(text, Mapping) else None
    if kind not in ("plain_text", "mrkdwn") or (plain and kind != "plain_text"):
        yield f"{at}: text of type {kind!r}"
        return
    content = text.get("text")
    if not isinstance(content, str) or not content:
        yield f"{at}: an empty text"
    elif kind == "mrkdwn":
        yield from _mrkdwn(at, content, limit)
    elif units(content) > limit:
        yield f"{at}: {units(content)} characters, Slack takes {limit}"


def _mrkdwn(at: str, text: str, limit: int) -> Problems:
    """Length, and that every `<`, `>` and `&` is either escaped or part of a token of Slack's."""
    if units(text) > limit:
        yield f"{at}: {units(text)} characters, Slack takes {limit}"
    bare = re.sub(r"(?m)^>+ ?", "", _ENTITY.sub("", _TOKEN.sub("", text)))
    if stray := sorted(set(re.findall(r"[<>&]", bare))):
        yield f"{at}: {' '.join(stray)} neither escaped nor part of a token"


_CHECKS: dict[str, Callable[[str, Mapping[str, Any]], Problems]] = {
    "divider": _divider,
    "header": _header,
    "section": _section,
    "context": _context,
    "actions": _actions,
    "rich_text": _rich_text,
}
