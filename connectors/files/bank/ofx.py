"""OFX (versions 1 and 2): the transactions of bank and credit card statements, with the signs that the bank gives them.

A statement has no opening balance, so nothing proves the sum of its transactions; they are counted a second time.
"""

from __future__ import annotations

import codecs
import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.bank.amounts import amount_of
from connectors.files.bank.ofx_elements import AGAIN, Element, elements
from connectors.files.bank.statement import BankEntry
from connectors.files.bank.text import lines_of, squeezed, whole

_ENTRY = re.compile(rb"<STMTTRNP?\s*>", re.IGNORECASE)
_CHARSET = re.compile(rb"\bCHARSET:\s*([\w-]+)|<\?xml[^>]*\bencoding=[\"']([\w-]+)")
_DAY = re.compile(r"(?P<day>\d{8})(?:\d{2}(?:\d{2}(?:\d{2}(?:\.\d{1,6})?)?)?)?\s*(?:\[[^\]]*\]|[+-]\d{2}:?\d{2}|Z)?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_RATE = re.compile(r"\d{1,20}(?:[.,]\d{0,12})?|[.,]\d{1,12}")
_STATEMENTS = ("STMTRS", "CCSTMTRS")
_LISTS = (("BANKTRANLIST", "STMTTRN", "booked"), ("BANKTRANLISTP", "STMTTRNP", "pending"))
_HEADER = 2_000


def count(file: OpenedFile) -> int:
    """Count the transactions by their tags."""
    return len(_ENTRY.findall(whole(file).replace(b"\0", b"")))


def read(file: OpenedFile, *, encoding: str | None = None, decimal: str | None = None) -> Iterator[BankEntry]:
    """Yield the transactions of all statements. Raises FileUnreadable and FileRefused with file, line and field."""
    text = "\n".join(lines_of(_decoded(file, encoding)))
    number = 0
    start = text.find("<")
    if start < 0:
        raise FileUnreadable(file.name, "this is not OFX, which begins with `<OFX>`", "correct `path`")
    above = "\n" * text.count("\n", 0, start)  # keeps the numbers of lines
    for element in elements(file.name, above + text[start:], _is_wanted):
        if element.name == "INVSTMTRS":
            reason = "it has the statement of an investment account"
            remedy = "export bank and credit card accounts only"
            raise FileUnreadable(f"{file.name}:{element.line}", reason, remedy)
        if element.name == "STATUS":
            _refuse_error(file.name, element)
        else:
            number += 1
            yield from _entries(_Statement.of(file.name, element, number, decimal), element)
    if not number:
        raise FileUnreadable(file.name, "it has no statement of a bank account or credit card", "correct `path`")


def _is_wanted(name: str) -> bool:
    return name in _STATEMENTS or name in ("INVSTMTRS", "STATUS")


def _decoded(file: OpenedFile, encoding: str | None) -> str:
    """The text in the encoding that is set; else as UTF-8, or what the file says if it is not that."""
    data = whole(file)
    head = _CHARSET.search(data[:_HEADER])
    charset = (head[1] or head[2]).decode() if head else ""
    if charset.isdigit():
        charset = f"cp{charset}"
    is_wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for name in [encoding] if encoding else ["utf-16" if is_wide else "utf-8-sig", charset]:
        try:
            return data.decode(name)
        except (UnicodeError, LookupError):
            continue  # try the next one; without one, it is reported below
    reason = f"it is not {encoding or charset or 'UTF-8'} text"
    raise FileUnreadable(file.name, reason, "set `encoding`; many banks write cp1252")


def _refuse_error(file: str, status: Element) -> None:
    """Raise FileUnreadable if the bank answered with an error instead of a statement."""
    if (status.value("SEVERITY") or "").upper() == "ERROR":
        code = status.value("CODE") or ""
        reason = f"the bank answered with an error{f' (code {code})' if code.isdigit() else ''}"
        raise FileUnreadable(f"{file}:{status.line}", reason, "fetch it again; its `MESSAGE` may say what is wrong")


@dataclass(frozen=True)
class _Statement:
    """The fields that all transactions of one account share."""

    file: str
    name: str
    account: str | None
    currency: str | None
    closing: Decimal | None
    decimal: str | None

    @classmethod
    def of(cls, file: str, element: Element, number: int, decimal: str | None) -> _Statement:
        """Read what a statement says of itself. Raises FileUnreadable."""
        bank, account = element.value("BANKACCTFROM/BANKID"), element.value("BANKACCTFROM/ACCTID", "CCACCTFROM/ACCTID")
        currency = _code(element, "CURDEF")
        if currency is not None and not _CURRENCY.fullmatch(currency):
            raise FileUnreadable(f"{file}:{element.line}", "`CURDEF` is not a currency like `EUR`", AGAIN)
        period = element.first("BANKTRANLIST") or element
        days = [day for name in ("DTSTART", "DTEND") if (day := _day(file, period, name))]
        name = "/".join(day.isoformat() for day in days) or str(number)
        balance = element.first("LEDGERBAL/BALAMT")
        closing = None
        if balance is not None and balance.text:
            closing = amount_of(f"{file}:{balance.line}", "BALAMT", balance.text, decimal, rounds=True)
        return cls(file, name, "/".join(filter(None, (bank, account))) or None, currency, closing, decimal)


def _entries(statement: _Statement, element: Element) -> Iterator[BankEntry]:
    number = 0
    entries: list[BankEntry] = []
    for transactions, name, status in _LISTS:
        for part in (*element.all(transactions), element):  # without its closing tag, a list is not around them
            for transaction in part.all(name):
                number += 1
                entries.append(_entry(statement, transaction, number, status))
    _refuse_unsigned(statement, entries)
    yield from entries


def _refuse_unsigned(statement: _Statement, entries: list[BankEntry]) -> None:
    """Raise FileUnreadable if debits have no minus: then no amount has a sign that can be believed."""
    debits = [entry for entry in entries if entry.code == "DEBIT" and entry.amount > 0]
    if debits and all(entry.amount >= 0 for entry in entries):
        reason = "`TRNAMT` of its debits (`TRNTYPE`) has no minus sign"
        remedy = "ask the bank, or export CSV with debits and credits in two columns"
        raise FileUnreadable(f"{statement.file}:{debits[0].line}", reason, remedy)


def _entry(statement: _Statement, element: Element, number: int, status: str) -> BankEntry:
    place = f"{statement.file}:{element.line}"
    amount = element.first("TRNAMT")
    if amount is None or not amount.text:
        raise FileUnreadable(place, "a transaction has no amount (`TRNAMT`)", AGAIN)
    posted = _day(statement.file, element, "DTPOSTED" if status == "booked" else "DTTRAN")
    if posted is None and status == "booked":
        raise FileUnreadable(place, "a transaction has no date (`DTPOSTED`)", AGAIN)
    currency, original, rate = _currencies(statement, element)
    return BankEntry(
        statement=statement.name,
        account=statement.account,
        entry=number,
        booked=posted,
        valued=_day(statement.file, element, "DTAVAIL"),
        amount=amount_of(f"{statement.file}:{amount.line}", "TRNAMT", amount.text, statement.decimal),
        currency=currency,
        status=status,
        reversal=(element.value("CORRECTACTION") or "").upper() == "DELETE",
        transactions=1,
        code=(element.value("TRNTYPE") or "").upper() or None,
        reference=element.value("REFNUM", "CHECKNUM"),
        bank_reference=element.value("FITID"),
        name=element.value("NAME", "PAYEE/NAME"),
        iban=element.value("BANKACCTTO/ACCTID", "CCACCTTO/ACCTID"),
        purpose=element.value("MEMO"),
        line=element.line,
        transaction_reference=element.value("SRVRTID"),
        details=squeezed(element.value("EXTDNAME")),
        original_currency=original,
        exchange_rate=rate,
        closing_balance=statement.closing,
    )


def _currencies(statement: _Statement, element: Element) -> tuple[str | None, str | None, Decimal | None]:
    """The currency of `TRNAMT`, the one that was paid if that differs, and the rate between it and the account's."""
    own, original = element.first("CURRENCY"), element.first("ORIGCURRENCY")
    stated = own or original
    if statement.currency is None and own is None:
        reason = "neither this transaction nor its statement has a currency (`CURDEF`)"
        raise FileUnreadable(f"{statement.file}:{element.line}", reason, "ask the bank, or export another format")
    if stated is None:
        return statement.currency, None, None
    currency, rate = _code(stated, "CURSYM") or "", stated.value("CURRATE") or ""
    if not _CURRENCY.fullmatch(currency):
        raise FileUnreadable(f"{statement.file}:{stated.line}", "`CURSYM` is not a currency like `EUR`", AGAIN)
    exchange = Decimal(rate.replace(",", ".")) if _RATE.fullmatch(rate) else None
    return (currency, None, exchange) if own else (statement.currency, currency, exchange)


def _code(element: Element, name: str) -> str | None:
    """The code of a currency; some programs write it in small letters."""
    text = element.value(name)
    return text.upper() if text is not None else None


def _day(file: str, element: Element | None, name: str) -> dt.date | None:
    """The day as the bank writes it, in its own zone."""
    date = element.first(name) if element is not None else None
    if date is None or not date.text:
        return None
    match = _DAY.fullmatch(date.text)
    try:
        if match:
            return dt.datetime.strptime(match["day"], "%Y%m%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        pass  # reported below, like a text of another form
    raise FileUnreadable(f"{file}:{date.line}", f"`{name}` is not a date like `20260131`", AGAIN)
