"""A link to a record in another system: `https://crm.example/customers/{{ record.id }}`.

Only `{{ record.column }}` exists. A value is escaped, and can neither choose the host nor leave its part of the path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote

from rules.document.mistakes import listed, short
from rules.values import Value

_FIELD = re.compile(r"\{\{\s*record\.([^{}|]*?[^{}|\s])\s*\}\}")
_BEGINNING = re.compile(r"https?://[A-Za-z0-9.\-]+(:[0-9]{1,5})?[/?#]")
_PLAIN = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]!$&'()*+,;=%@]*")
_LEAVES = frozenset(("", ".", ".."))
"""Values that would lead to another page than the record's."""


def parse_link(text: str) -> str:
    """Validate a link; raises ValueError with a clause."""
    shown = f"`{short(text)}`"
    literal = _FIELD.sub("", text)
    if "{" in literal or "}" in literal:
        raise ValueError(f"{shown} may contain only {{{{ record.column }}}} in braces")
    if not _BEGINNING.match(text):
        raise ValueError(f"{shown} is not a link; begin it with https:// or http://, a host and a slash")
    if not _PLAIN.fullmatch(literal):
        raise ValueError(f"{shown} has a character that links cannot contain; write it as %XX")
    if not _FIELD.search(text):
        raise ValueError(f"{shown} gives every record the same page; add {{{{ record.column }}}} with its id")
    return text


def columns_of(link: str) -> tuple[str, ...]:
    """Return the columns whose values the link holds, each once."""
    return tuple(dict.fromkeys(_FIELD.findall(link)))


def refusal(link: str, pii: Collection[str]) -> Iterator[str]:
    """Yield why a link would show personal data, as a clause."""
    if personal := [column for column in columns_of(link) if column in pii]:
        yield (
            f"`link` would show {listed(personal)}, which is personal data (`pii`), in every address; "
            "use a column that identifies the record but no person"
        )


def address(link: str, values: Mapping[str, Value]) -> str | None:
    """Return the link to a record with these values; None if one of them is missing or leads nowhere."""
    texts = {column: _text(values.get(column)) for column in columns_of(link)}
    if not _LEAVES.isdisjoint(text.strip() for text in texts.values()):
        return None
    return _FIELD.sub(lambda field: quote(texts[field[1]], safe=""), link)


def _text(value: Value) -> str:
    from reconcile.findings.identity import public  # noqa: PLC0415 - a configuration is read without the engines

    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(public(value))
