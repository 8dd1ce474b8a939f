"""Amounts as programs of banks write them: with a decimal point or comma, and perhaps groups of three digits."""

from __future__ import annotations

import re
from decimal import Decimal

from connectors.errors import FileUnreadable

_SIGNED = re.compile(r"(?P<sign>[-+\u2212]?)(?P<digits>\d[\d.,]*|[.,]\d+)")
_MOST_DIGITS, _MOST_PLACES = 18, 6


def amount_of(place: str, field: str, text: str, mark: str | None) -> Decimal:
    """Return the amount. `mark` is the decimal mark that the dataset sets; without it, `1,234` is ambiguous.

    Raises FileUnreadable at `place`, with the name of the field.
    """
    match = _SIGNED.fullmatch("".join(text.split()))
    if match is not None:
        digits = match["digits"]
        if mark is None and re.fullmatch(r"[1-9]\d{0,2},\d{3}", digits):
            reason = f"the comma in `{field}` may be a decimal mark or group thousands"
            raise FileUnreadable(place, reason, 'set `decimal` to "." or ","')
        plain = _plain(digits, mark or _mark_of(digits))
        if plain is not None:
            return Decimal(plain) if match["sign"] in ("", "+") else -Decimal(plain)
    remedy = "correct `decimal`, or fetch it again from the bank" if mark else "fetch it again from the bank"
    raise FileUnreadable(place, f"`{field}` is not an amount like `-1234.56`", remedy)


def _mark_of(digits: str) -> str:
    """The decimal mark: the last one, unless it occurs twice and so groups digits."""
    last = max(".,", key=digits.rfind)
    return last if digits.count(last) < 2 else ".,".replace(last, "")


def _plain(digits: str, mark: str) -> str | None:
    """The digits with a decimal point; None if other marks do not group them in threes."""
    group = "," if mark == "." else "."
    whole, _, places = digits.partition(mark)
    if not re.fullmatch(rf"\d*|\d{{1,3}}(?:{re.escape(group)}\d{{3}})+", whole) or not re.fullmatch(r"\d*", places):
        return None
    whole = whole.replace(group, "") or "0"
    if len(whole) > _MOST_DIGITS or len(places) > _MOST_PLACES:
        return None
    return f"{whole}.{places}".rstrip(".")
