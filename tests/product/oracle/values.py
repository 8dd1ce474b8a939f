"""The oracle's reading of cells and its normalisers, written from docs/rules.md and docs/configuration.md alone."""

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

Kind = Literal["text", "integer", "decimal", "float", "boolean", "date", "instant"]
Value = str | Decimal | bool | dt.date | dt.datetime | None
"""A value as rules see it. Numbers of all kinds are exact; instants are in UTC; None is empty."""

WHITE = "".join(
    map(chr, [*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)])
) + "".join(map(chr, [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))
_UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point, as a class of a pattern."""
TRUE = {"true", "yes", "y", "t", "1"}
FALSE = {"false", "no", "n", "f", "0"}


class Unreadable(Exception):
    """A text is not a value of the declared type."""


def is_blank(text: str) -> bool:
    """Return True for a text without characters, or of white space only."""
    return not text.strip(WHITE)


def seen(text: str) -> str:
    """Return the text without characters that show nothing."""
    return re.sub(f"[{_UNSEEN}]", "", text)


# Reading


def read(text: str, kind: Kind, formats: Sequence[str], mark: str, zone: str) -> Value:
    """A text that is not empty, as the type its column is declared with; raises Unreadable."""
    if kind == "text":
        return text
    text = text.strip(WHITE)
    if kind == "boolean":
        if text.lower() not in TRUE | FALSE:
            raise Unreadable
        return text.lower() in TRUE
    if kind == "date":
        return _date(text, formats)
    if kind == "instant":
        return _instant(text, formats, zone)
    return _number(text, kind, mark)


def _number(text: str, kind: Kind, mark: str) -> Decimal:
    """A number; `mark` is the decimal mark that the dataset declares, or empty."""
    second = "." if mark == "," else ","
    if not mark and re.fullmatch(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}", text):
        raise Unreadable  # a thousand, or little more than one
    mark = re.escape(mark or ".")
    whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?P<group>[ '{second}])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)"
    pattern = {
        "integer": rf"[+-]?{whole}",
        "decimal": rf"[+-]?(?:{whole}(?:{mark}[0-9]{{0,12}})?|{mark}[0-9]{{1,12}})",
        "float": rf"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?",
    }[kind]
    if not re.fullmatch(pattern, text):
        raise Unreadable
    number = Decimal(re.sub(f"[ '{second}]", "", text).replace(",", "."))
    if (kind == "integer" and not -(2**63) <= number < 2**63) or (kind == "decimal" and abs(number) >= 10**26):
        raise Unreadable
    return number


def _date(text: str, formats: Sequence[str]) -> dt.date:
    for form in formats or ("%Y-%m-%d",):
        digits = "[0-9]{1,2}" if formats else "[0-9]{2}"
        pattern = re.escape(form).replace("%Y", "[0-9]{4}").replace("%m", digits).replace("%d", digits)
        try:
            if re.fullmatch(pattern, text):
                return dt.datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    raise Unreadable


def _instant(text: str, formats: Sequence[str], zone: str) -> dt.datetime:
    for form in formats:
        try:
            return in_utc(dt.datetime.strptime(text, form), zone)  # noqa: DTZ007 - the zone follows
        except ValueError:
            continue
    if formats or not re.match(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d|$)", text):
        raise Unreadable
    try:
        return in_utc(dt.datetime.fromisoformat(re.sub(r" (?=[+-])", "", text)), zone)
    except ValueError:
        raise Unreadable from None


def in_utc(time: dt.datetime, zone: str) -> dt.datetime:
    """A time in UTC. Without an offset it is of that zone: the earlier of two, or the first after a gap."""
    if time.tzinfo is not None:
        return time.astimezone(dt.UTC)
    local = ZoneInfo(zone)
    instant = time.replace(tzinfo=local, fold=0).astimezone(dt.UTC)
    if instant.astimezone(local).replace(tzinfo=None) == time:
        return instant
    while (instant - dt.timedelta(seconds=1)).astimezone(local).utcoffset() == instant.astimezone(local).utcoffset():
        instant -= dt.timedelta(minutes=30)  # the end of the gap is at a half hour in every zone used here
    return instant.replace(minute=instant.minute // 30 * 30, second=0, microsecond=0)


# Normalisers


def rounded(number: Decimal, places: int) -> Decimal:
    """So many decimals, half away from zero; a negative number of them rounds to tens, hundreds."""
    return number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _kept(*categories: str) -> Callable[[str], str]:
    return lambda text: "".join(c for c in seen(text) if unicodedata.category(c).startswith(categories))


def lower(text: str) -> str:
    """Lower case, character by character."""
    return "".join(character.lower() for character in text)


def upper(text: str) -> str:
    """Upper case, character by character; what would become several characters stays."""
    return "".join(character.upper() if len(character.upper()) == 1 else character for character in text)


SPELLED = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "ł": "l", "đ": "d"})


def _unaccent(text: str) -> str:
    apart = unicodedata.normalize("NFD", text.translate(SPELLED))
    return unicodedata.normalize("NFC", "".join(c for c in apart if unicodedata.category(c) != "Mn"))


def _german(text: str) -> str:
    """Umlauts and ß spelled out; a capital one in capitals if the letter beside it is one."""
    spelled, text = "", unicodedata.normalize("NFC", text)
    for place, character in enumerate(text):
        after, before = text[place + 1 : place + 2], text[:place][-1:]
        loud = (after if after.isalpha() else before).isupper()
        spelling = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ẞ": "SS"}.get(character)
        if spelling is None and character in "ÄÖÜ":
            spelling = {"Ä": "A", "Ö": "O", "Ü": "U"}[character] + ("E" if loud else "e")
        spelled += spelling or character
    return spelled


def _email(text: str) -> str | None:
    """One address; texts here have at most a display name, brackets, and ASCII domains."""
    text = seen(text)
    match = re.search(r"<([^<>]*)>\s*$", text)
    address = unicodedata.normalize("NFKC", match[1] if match else text).strip(WHITE).lower()
    return address if re.fullmatch(r"[a-z0-9.+_-]+@[a-z0-9-]+(\.[a-z0-9-]+)+", address) else None


def _mailbox(text: str) -> str | None:
    address = _email(text)
    if address is None:
        return None
    name, _, domain = address.partition("@")
    name = name.partition("+")[0]
    if domain in ("gmail.com", "googlemail.com"):
        return f"{name.replace('.', '')}@gmail.com"
    return f"{name}@{domain}"


def _phone(text: str) -> str | None:
    """A German number, or one that says its country, as E.164; a text with letters is none."""
    digits = re.sub(r"[ /-]", "", text.strip(WHITE))
    if not re.fullmatch(r"(\+|0)[0-9]{6,14}", digits):
        return None
    return digits if digits[0] == "+" else "+" + digits[2:] if digits.startswith("00") else "+49" + digits[1:]


def _words(text: str) -> str:
    """The words of a text, sorted, each once; what shows nothing is left out before."""
    result = "".join(c if unicodedata.category(c)[0] in "LMN" else "\n" for c in seen(text)).split("\n")
    return " ".join(sorted({word for word in result if word}))


def _docno(text: str) -> str:
    """Upper case; letters with their marks, and numbers; `-` between two numbers; no leading zeros."""
    kept, apart = "", False
    for character in seen(text).upper():
        if unicodedata.category(character)[0] not in "LMN":
            apart = True
            continue
        numbers = kept and {unicodedata.category(kept[-1])[0], unicodedata.category(character)[0]} == {"N"}
        kept += f"-{character}" if apart and numbers else character
        apart = False
    return _strip_zeros(kept)


def _strip_zeros(text: str) -> str:
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", text)


TEXT: Mapping[str, Callable[[str], str | None]] = {
    "trim": lambda text: seen(text).strip(WHITE),
    "squeeze": lambda text: re.sub(f"[{WHITE}]+", " ", seen(text).strip(WHITE)),
    "lower": lower,
    "upper": upper,
    "casefold": str.casefold,
    "nfkc": lambda text: unicodedata.normalize("NFKC", seen(text)),
    "unaccent": _unaccent,
    "alnum": _kept("L", "M", "N"),
    "digits": _kept("Nd"),
    "letters": _kept("L", "M"),
    "strip_zeros": _strip_zeros,
    "email": _email,
    "mailbox": _mailbox,
    "docno": _docno,
    "words": _words,
}
"""Normalisers of text without an argument."""


def normalised(value: Value, chain: Sequence[Any], zone: str) -> Value:
    """The value after each normaliser of the chain, which never sees an empty value."""
    for step in chain:
        if value is not None:
            value = _step(value, step, zone)
        if isinstance(value, str) and is_blank(value):
            value = None
    return value


def _step(value: Value, step: Any, zone: str) -> Value:
    name: str
    argument: Any
    name, argument = next(iter(step.items())) if isinstance(step, Mapping) else (step, None)
    if isinstance(value, str):
        return _text_step(value, name, argument)
    if isinstance(value, Decimal):
        return abs(value) if name == "abs" else rounded(value, argument)
    assert isinstance(value, dt.date)
    local = value.astimezone(ZoneInfo(zone)) if isinstance(value, dt.datetime) else value
    if name in ("year", "weekday"):
        return Decimal(local.year if name == "year" else local.weekday() + 1)
    if name == "hour":
        assert isinstance(local, dt.datetime)
        return local.replace(minute=0, second=0, microsecond=0).astimezone(dt.UTC)
    if name == "day":
        return dt.date(local.year, local.month, local.day)
    monday = dt.timedelta(days=local.weekday())
    first = (
        local - monday
        if name == "week"
        else local.replace(day=1, month=local.month if name == "month" else (1, 4, 7, 10)[(local.month - 1) // 3])
    )
    if isinstance(first, dt.datetime):
        return first.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(dt.UTC)
    return first


def _text_step(text: str, name: str, argument: Any) -> str | None:
    if name == "phone":
        return _phone(text)
    if name == "prefix":
        return text[:argument]
    if name == "suffix":
        return text[max(0, len(text) - argument) :]
    if name == "translit":
        return _german(text)
    if name == "map":
        replaced: str | None = argument.get(text, text)
        return replaced
    if name == "regex":
        return re.sub(argument[0], argument[1], text)
    return TEXT[name](text)
