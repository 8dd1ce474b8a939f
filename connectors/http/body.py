"""The body of an answer as text: of the type JSON, unpacked within a limit, complete, in its declared encoding."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from connectors.errors import FileUnreadable
from connectors.http.errors import ApiTooLarge
from connectors.outbound import Exchange, Interrupted

_PIECE = 65_536
_JSON = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json", re.IGNORECASE)
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_BY_US = "check `path` and `params`; perhaps it came from a proxy or a login page"


def text_of(exchange: Exchange, where: str, most: int, setting: str = "max_page") -> str:
    """Read the text of an answer. Raises Interrupted, FileUnreadable, ApiTooLarge."""
    kind = exchange.headers.get("content-type", "")
    if not _JSON.fullmatch(kind.partition(";")[0].strip()):
        if not exchange.read(1):
            raise Interrupted("its answer is empty")  # its headers may be cut
        raise FileUnreadable(where, "the answer is not of the type JSON", _BY_US)
    encoding = _encoding(kind, where)
    content = _unpacked(exchange, where, most, setting)
    try:
        return content.decode(encoding)
    except UnicodeError:
        name = encoding.removesuffix("-sig")
        raise FileUnreadable(where, f"the answer is not {name} text", "the API declares another `charset`") from None


def _encoding(kind: str, where: str) -> str:
    charset = _CHARSET.search(kind)
    encoding = charset[1].lower() if charset else "utf-8"
    try:
        " ".encode(encoding)  # fails for codecs like rot13, which do not encode text
    except LookupError:
        raise FileUnreadable(where, "the answer has an unknown `charset`", "ask the API's owner for UTF-8") from None
    return "utf-8-sig" if encoding in ("utf-8", "utf8", "us-ascii", "ascii") else encoding


def _unpacked(exchange: Exchange, where: str, most: int, setting: str) -> bytes:
    coding = exchange.headers.get("content-encoding", "").strip().lower()
    unpacking: Any = None
    if coding in ("gzip", "x-gzip"):
        unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    elif coding == "deflate":
        unpacking = zlib.decompressobj()
    elif coding not in ("", "identity"):
        raise FileUnreadable(where, "the answer has a compression that was not asked for", _BY_US)
    body = bytearray()
    while piece := exchange.read(_PIECE):
        try:
            body += piece if unpacking is None else unpacking.decompress(piece, most + 1 - len(body))
        except zlib.error:
            raise Interrupted("its compressed answer is damaged") from None
        if len(body) > most:
            raise ApiTooLarge(where, most, setting)
    exchange.confirm_end()
    if unpacking is not None and not unpacking.eof:
        raise Interrupted("its compressed answer was cut short")
    return bytes(body)


def etag_of(headers: Mapping[str, str]) -> str | None:
    """The tag by which an answer is known again, if it has one that a header can carry."""
    tag = headers.get("etag", "").strip()
    return tag if re.fullmatch(r'(?:W/)?"[!#-~]{1,200}"', tag) else None
