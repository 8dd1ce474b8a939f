"""Amounts as programs of banks write them: with a decimal point or comma, and perhaps groups of three digits."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal

from connectors.errors import FileUnreadable

_SIGNED = re.compile(r"(?P<sign>[-+\u2212]?)(?P<digits>\d[\d.,]*|[.,]\d+)")
_MOST_DIGITS, _MOST_PLACES = 18, 6
_LAST_PLACE = Decimal("0.000001")
_EXACT = Context(prec=1_000, rounding=ROUND_HALF_UP)


def amount_of(place: str, field: str, text: str, mark: str | None, *, rounds: bool = False) -> Decimal:
    """Return the amount. `mark` is the decimal mark that the dataset sets; without it, `1,234` is ambiguous.

    `rounds` is for amounts that are never added or compared by a reader: to six places, half away from zero. Raises
    FileUnreadable at `place`, with the name of the field.
    """
    match = _SIGNED.fullmatch("".join(text.split()))
    if match is not None:
        digits = match["digits"]
        if mark is None and re.fullmatch(r"[1-9]\d{0,2},\d{3}", digits):
            reason = f"the comma in `{field}` may be a decimal mark or group thousands"
            raise FileUnreadable(place, reason, 'set `decimal` to "." or ","')
        plain = _plain(digits, mark or _mark_of(digits))
        if plain is not None:
            size = _EXACT.quantize(Decimal(plain), _LAST_PLACE) if rounds else Decimal(plain)
            _refuse_size(place, field, format(size, "f"))
            return size if match["sign"] in ("", "+") else -size
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
    return f"{whole.replace(group, '') or '0'}.{places}".rstrip(".")


def _refuse_size(place: str, field: str, plain: str) -> None:
    whole, _, places = plain.partition(".")
    if len(whole.lstrip("0")) > _MOST_DIGITS or len(places.rstrip("0")) > _MOST_PLACES:
        reason = f"`{field}` has more than {_MOST_DIGITS} digits, or more than {_MOST_PLACES} after the decimal mark"
        raise FileUnreadable(place, reason, "ask the bank for amounts that are rounded")
