"""The text of a bank's file: decoded strictly, its lines as every program ends them."""

from __future__ import annotations

import re

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable

LARGEST = 100_000_000
"""Bytes of one file that is read at once; a statement of a day has some thousand."""
_LINE_END = re.compile("\r\n|\r|\n")


def decoded(file: OpenedFile, encoding: str | None) -> str:
    """Return the whole text, UTF-8 unless `encoding` is set. Raises FileUnreadable."""
    data = whole(file)
    try:
        return data.decode("utf-8-sig" if encoding in (None, "utf-8") else encoding)
    except (UnicodeError, LookupError) as error:
        reason = f"it is not {encoding or 'UTF-8'} text"
        raise FileUnreadable(file.name, reason, "set `encoding`; many banks write cp1252 or cp850") from error


def whole(file: OpenedFile) -> bytes:
    """Return the bytes of a file of at most LARGEST. Raises FileUnreadable."""
    try:
        with file.bytes() as content:
            data = content.read(LARGEST + 1)
    except (EOFError, OSError) as error:
        raise FileUnreadable(file.name, "it is truncated or damaged", "fetch it again") from error
    if len(data) > LARGEST:
        raise FileUnreadable(file.name, f"it is larger than {LARGEST:,} bytes", "split it by statement")
    return data


def lines_of(text: str) -> list[str]:
    """Return the lines of a text. No other character ends one, as `str.splitlines` would have it."""
    return _LINE_END.split(text)


def squeezed(text: str | None) -> str | None:
    """Return the text with single blanks; None if nothing is left."""
    return " ".join(text.split()) or None if text is not None else None
