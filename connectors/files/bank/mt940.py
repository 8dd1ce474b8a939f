"""MT940 (SWIFT customer statements): fields by their tags, entries with the day and the money that the bank writes.

Envelopes of SWIFT (`{1:…}{4:`) and lines above the first field are skipped. All of a statement is read from its own
fields, and the entries must explain its balances.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.bank.mt940_details import Details, details, given
from connectors.files.bank.statement import BalanceProof, BankEntry
from connectors.files.bank.text import decoded, lines_of, squeezed, whole

_TAG = re.compile(r":(?P<tag>13D?|20|21|25P?|28C?|34F|60[FM]|61|62[FM]|64|65|86|90[CD]|NS):")
"""The fields that banks use. Text like `:26:` at the beginning of a line is a time of day that was broken in two."""
_ENTRY = re.compile(r"(?:\A|[\r\n]|\xef\xbb\xbf):61:".encode("latin-1"))
_DAYS = re.compile(r"(?P<value>\d{6})(?P<booked>\d{4})?(?P<rest>.*)")
_MARK = re.compile(r"(?P<mark>R?[CD])(?P<funds>[A-Z])?(?P<rest>[\d,].*)", re.IGNORECASE)
_AMOUNT = re.compile(r"(?P<amount>0*\d{1,15}(?:,\d{0,6})?|,\d{1,6})(?P<rest>.*)")
_TYPE = re.compile(r"\s*(?P<type>[A-Z][A-Z0-9 ]{3})(?P<rest>.*)", re.IGNORECASE)
_BALANCE = re.compile(r"(?P<mark>[CD])(?P<day>\d{6})(?P<currency>[A-Z]{3})(?P<amount>0*\d{1,15}(?:,\d{0,6})?|,\d{1,6})")
_END = ("62F", "62M")
_INTERIM = ("34F", "13", "13D", "90C", "90D")
"""Fields of an interim report (MT942), which are in no statement."""
_ONE_DAY = dt.timedelta(days=1)
_AGAIN = "correct the line, or fetch the statement again from the bank"
_NOISE = "\x01\x03\x1a\ufeff"
"""Marks of a SWIFT network and of DOS around a message."""


def count(file: OpenedFile) -> int:
    """Count the lines that begin an entry."""
    return len(_ENTRY.findall(whole(file)))


@dataclass(frozen=True)
class _Field:
    """A field with the number of its first line; its tag is not in `lines`."""

    tag: str
    line: int
    lines: Sequence[str]

    @property
    def text(self) -> str:
        return self.lines[0].strip()


@dataclass(frozen=True)
class _Balance:
    amount: Decimal
    currency: str
    day: str
    is_final: bool


@dataclass(frozen=True)
class _Statement:
    """The fields of one message and what is true of all of its entries."""

    file: str
    first: _Field
    name: str
    account: str | None
    opening: _Balance
    closing: _Balance
    entries: Sequence[tuple[_Field, Sequence[str]]]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.first.line}"


def read(file: OpenedFile, encoding: str | None = None) -> Iterator[BankEntry]:
    """Yield the entries of all statements. Raises FileUnreadable with file, line and field."""
    pages: dict[str | None, _Balance] = {}
    for fields in _messages(file.name, lines_of(decoded(file, encoding))):
        statement = _statement(file.name, fields)
        _refuse_missing_page(statement, pages.get(statement.account))
        pages[statement.account] = statement.closing
        proof = BalanceProof(statement.place, opening=statement.opening.amount, closing=statement.closing.amount)
        for number, (field, lines) in enumerate(statement.entries, start=1):
            entry = _entry(statement, number, field, details(lines))
            proof.add(entry.amount)
            yield entry
        proof.check()


def _messages(name: str, lines: Sequence[str]) -> Iterator[list[_Field]]:
    """Yield the fields of each message. Raises FileUnreadable for a field outside of one."""
    fields: list[_Field] = []
    for field in _fields(lines):
        if field.tag == "20":
            if fields:
                yield fields
            fields = [field]
        elif fields and field.tag:
            fields.append(field)
        elif field.tag or not fields:
            break
        else:  # the end of a message
            yield fields
            fields = []
    else:
        if fields:
            yield fields
        return
    raise FileUnreadable(
        f"{name}:{field.line}", "this line is outside an MT940 statement, which begins with `:20:`", "correct `path`"
    )


def _fields(lines: Sequence[str]) -> Iterator[_Field]:
    """Yield fields with their tags, and one without a tag for the end of a message; at least one."""
    texts: list[str] = []
    tag, first, is_inside, total = "", 0, False, 0
    for number, raw in enumerate(lines, start=1):
        line = raw.strip(_NOISE)
        if line.startswith("{") and "{4:" in line:
            line = line.rpartition("{4:")[2]
        match = _TAG.match(line)
        is_end = is_inside and (line.rstrip() == "-" or line.startswith("-}"))
        if (match or is_end) and tag:
            yield _Field(tag, first, texts)
            tag = ""
        if match:
            tag, first, texts, is_inside, total = match["tag"], number, [line[match.end() :]], True, total + 1
        elif is_end:
            is_inside = False
            yield _Field("", number, [])
        elif tag:
            texts.append(line)
    if tag:
        yield _Field(tag, first, texts)
    if not total:
        yield _Field("", 1, [])


def _statement(name: str, fields: Sequence[_Field]) -> _Statement:
    first = fields[0]
    _refuse_interim(name, fields)
    opening = _balance(name, fields, ("60F", "60M"), "opening")
    closing = _balance(name, fields, _END, "closing")
    if opening.currency != closing.currency:
        raise FileUnreadable(f"{name}:{first.line}", "its balances have different currencies", _AGAIN)
    account = next((squeezed(field.text) for field in fields if field.tag in ("25", "25P")), None)
    number = next((squeezed(field.text) for field in fields if field.tag in ("28C", "28")), None)
    parts = (squeezed(first.text), number or closing.day)
    entries = _entries(name, fields)
    return _Statement(name, first, "/".join(filter(None, parts)), account, opening, closing, entries)


def _refuse_interim(name: str, fields: Sequence[_Field]) -> None:
    """Raise FileUnreadable for an MT942: no balances prove its entries, and the statement repeats them."""
    tags = {field.tag for field in fields}
    if not tags.isdisjoint(_INTERIM) and tags.isdisjoint(("60F", "60M", *_END)):
        reason = "this is an interim report (MT942), which has no balances to check its entries"
        raise FileUnreadable(f"{name}:{fields[0].line}", reason, "fetch the statement of the day (MT940) from the bank")


def _balance(name: str, fields: Sequence[_Field], tags: Sequence[str], kind: str) -> _Balance:
    balances = [field for field in fields if field.tag in tags]
    if len(balances) != 1:
        line = balances[1].line if balances else fields[0].line
        reason = f"this statement lacks its {kind} balance (`:{tags[0]}:`)"
        if balances:
            reason = f"this statement has a second {kind} balance (`:{balances[1].tag}:`)"
        raise FileUnreadable(f"{name}:{line}", reason, "fetch it again: it may be truncated")
    [field] = balances
    match = _BALANCE.fullmatch(field.text)
    if match is None:
        reason = f"field `:{field.tag}:` needs C or D, a date, a currency and an amount like `1234,56`"
        raise FileUnreadable(f"{name}:{field.line}", reason, _AGAIN)
    amount = _decimal(match["amount"])
    signed = amount if match["mark"] == "C" else -amount
    return _Balance(signed, match["currency"], match["day"], field.tag.endswith("F"))


def _refuse_missing_page(statement: _Statement, before: _Balance | None) -> None:
    """Raise FileUnreadable if a statement goes on from another balance than the page before it ended with."""
    if before is None or statement.opening.is_final or before.is_final:
        return
    if statement.opening.amount != before.amount:
        reason = "field `:60M:` is not the closing balance of the previous page, so a page is missing"
        raise FileUnreadable(statement.place, reason, "fetch all pages of the statement from the bank")


def _entries(name: str, fields: Sequence[_Field]) -> list[tuple[_Field, Sequence[str]]]:
    """The fields `:61:`, each with the lines of the `:86:` that follow it."""
    entries: list[tuple[_Field, list[str]]] = []
    is_closed, is_entry = False, False
    for field in fields:
        if field.tag == "61":
            if is_closed:
                reason = "field `:61:` comes after the closing balance of its statement"
                raise FileUnreadable(f"{name}:{field.line}", reason, _AGAIN)
            entries.append((field, []))
        elif field.tag == "86" and is_entry:
            entries[-1][1].extend(field.lines)
        is_closed = is_closed or field.tag in _END
        is_entry = field.tag in ("61", "86", "NS") and bool(entries) and not is_closed
    return list(entries)


@dataclass(frozen=True)
class _Line:
    """The parts of field `:61:`."""

    valued: dt.date
    booked: dt.date
    amount: Decimal
    is_reversal: bool
    type: str
    reference: str | None
    bank_reference: str | None
    supplement: str | None


def _entry(statement: _Statement, number: int, field: _Field, text: Details) -> BankEntry:
    line = _line(statement.file, field)
    return BankEntry(
        statement=statement.name,
        account=statement.account,
        entry=number,
        booked=line.booked,
        valued=line.valued,
        amount=line.amount,
        currency=statement.opening.currency,
        status="booked",
        reversal=line.is_reversal,
        transactions=1,
        code=text.code or line.type,
        reference=text.end_to_end or line.reference or text.customer,
        bank_reference=line.bank_reference,
        name=text.name,
        iban=text.iban,
        purpose=text.purpose or line.supplement,
        line=field.line,
        end_to_end=text.end_to_end,
        details=line.supplement or text.text,
        closing_balance=statement.closing.amount,
    )


def _line(name: str, field: _Field) -> _Line:
    """Read `:61:`: days, mark, amount, type, then references of any length, then what the bank adds on more lines."""
    place = f"{name}:{field.line}"
    days = _part(_DAYS, field.lines[0].strip(), place, "does not begin with a date (YYMMDD)")
    mark = _part(_MARK, days["rest"], place, "needs C, D, RC or RD and an amount after its date")
    amount = _part(_AMOUNT, mark["rest"], place, "has no amount like `1234,56`")
    kind = _part(_TYPE, amount["rest"], place, "has no transaction type such as `NTRF` after its amount")
    valued = _day(place, days["value"])
    own, _, bank = kind["rest"].partition("//")
    supplement = [part.strip() for part in field.lines[1:]]
    if not bank and supplement and supplement[0].startswith("//"):
        bank = supplement.pop(0)[2:]  # a line that was full before its last part
    is_debit = mark["mark"].upper() in ("D", "RC")
    return _Line(
        valued=valued,
        booked=_booked(place, days["booked"], valued),
        amount=-_decimal(amount["amount"]) if is_debit else _decimal(amount["amount"]),
        is_reversal=mark["mark"].upper().startswith("R"),
        type=kind["type"].strip(),
        reference=given(own),
        bank_reference=given(bank),
        supplement=squeezed(" ".join(supplement)),
    )


def _part(pattern: re.Pattern[str], text: str, place: str, reason: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise FileUnreadable(place, f"field `:61:` {reason}", _AGAIN)
    return match


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ".").rstrip("."))


def _day(place: str, digits: str) -> dt.date:
    """The day. Banks that count 30 days a month write 30 February for the last day of that month."""
    try:
        if digits[2:] in ("0229", "0230"):
            return dt.datetime.strptime(f"{digits[:2]}0301", "%y%m%d").replace(tzinfo=dt.UTC).date() - _ONE_DAY
        return dt.datetime.strptime(digits, "%y%m%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise FileUnreadable(place, "the date of field `:61:` does not exist", _AGAIN) from None


def _booked(place: str, digits: str | None, valued: dt.date) -> dt.date:
    """The day in the year that is nearest to the value date: the entry says only month and day."""
    if digits is None:
        return valued
    days = []
    for year in (valued.year - 1, valued.year, valued.year + 1):
        try:
            days.append(dt.date(year, int(digits[:2]), int(digits[2:])))
        except ValueError:
            continue  # 29 February exists in one of the years
    if not days:
        raise FileUnreadable(place, "the booking date of field `:61:` does not exist", _AGAIN)
    return min(days, key=lambda day: abs(day - valued))
