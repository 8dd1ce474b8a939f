"""Elements of CAMT by paths of local names, in the namespace of any version."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from functools import cache
from typing import Any

from connectors.errors import FileUnreadable
from connectors.files.bank.text import squeezed

AGAIN = "fetch it again from the bank"
_AMOUNT = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,6})?|\.[0-9]{1,6}")
_RATE = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,12})?")
_CURRENCY = re.compile("[A-Z]{3}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
Node = Any


def all_at(node: Node, path: str) -> list[Node]:
    """Return the elements at a path."""
    return list(node.findall(_in_any_namespace(path)))


@cache
def _in_any_namespace(path: str) -> str:
    return "/".join(f"{{*}}{step}" for step in path.split("/"))


def first_at(node: Node, path: str) -> Node | None:
    return next(iter(all_at(node, path)), None)


def text_of(element: Node) -> str:
    return " ".join((element.text or "").split())


def text_at(node: Node, *paths: str) -> str | None:
    """Return the first text that is not empty at one of the paths."""
    return next((text for path in paths for element in all_at(node, path) if (text := text_of(element))), None)


def number_of(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else None


def place(file: str, node: Node) -> str:
    return f"{file}:{node.sourceline}"


def amount_in(file: str, amount: Node, sign: str | None, node: Node) -> tuple[Decimal, str]:
    """Return a signed amount and its currency. Raises FileUnreadable at the line of `node`."""
    text, currency = text_of(amount), amount.get("Ccy", "")
    if not _AMOUNT.fullmatch(text) or not _CURRENCY.fullmatch(currency) or sign not in ("CRDT", "DBIT"):
        reason = "its amount needs digits, a currency and `CRDT` or `DBIT`"
        raise FileUnreadable(place(file, node), reason, AGAIN)
    return (Decimal(text) if sign == "CRDT" else -Decimal(text)), currency


def sum_in(file: str, node: Node, path: str) -> Decimal | None:
    """Return a sum without currency and sign; None if it is not there. Raises FileUnreadable.

    Some banks write a minus before the sum of debits, whose element says already that they are.
    """
    text = text_at(node, path)
    text = text.removeprefix("-") if text is not None else None
    if text is not None and not _AMOUNT.fullmatch(text):
        raise FileUnreadable(place(file, node), f"`{path}` is not an amount", AGAIN)
    return Decimal(text) if text is not None else None


def rate_in(text: str | None) -> Decimal | None:
    return Decimal(text) if text is not None and _RATE.fullmatch(text) else None


def day_in(file: str, node: Node, name: str) -> dt.date | None:
    """Return the day of an element `Dt` or `DtTm`, as the bank writes it. Raises FileUnreadable."""
    text = text_at(node, f"{name}/Dt", f"{name}/DtTm")
    if text is None:
        return None
    try:
        if _DAY.match(text):
            return dt.date.fromisoformat(text[:10])
    except ValueError:
        pass  # reported below, like a text of another form
    raise FileUnreadable(place(file, node), f"`{name}` is not a date", AGAIN)


def reference_at(node: Node, *paths: str) -> str | None:
    """Return the first reference at one of the paths; words that say there is none are skipped."""
    texts = (squeezed(text_at(node, path)) for path in paths)
    return next((text for text in texts if text and text.upper() not in _NOT_PROVIDED), None)


_NOT_PROVIDED = ("NOTPROVIDED", "NONREF", "NOT PROVIDED")
