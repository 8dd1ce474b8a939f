"""QIF: the transactions of bank, cash, card and other accounts. The format has no currency, no balances and no ids."""

from __future__ import annotations

import codecs
import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.bank.amounts import amount_of
from connectors.files.bank.qif_days import ORDERS, day_of, needs_order, orders_of
from connectors.files.bank.statement import EXACT, BankEntry
from connectors.files.bank.text import decoded, lines_of, squeezed, whole

ACCOUNTS = ("bank", "cash", "ccard", "oth a", "oth l")
_INVESTMENTS = ("invst", "port", "401(k)", "401(k)/403(b)")
_LISTS = ("cat", "class", "memorized", "security", "prices", "budget", "tag", "template", "invitem")
_FIELDS = frozenset("DTUCNPMALSE$%FXKIYQOVRB")
"""The letters of fields; those of loans and invoices say nothing of the money that moved."""
_AGAIN = "export it again"
_NO_QIF = "this is not QIF, which begins with `!Type:`"


def count(file: OpenedFile) -> int:
    """Count the ends of records in the parts of the file that have transactions."""
    total, is_counted = 0, False
    data = whole(file).removeprefix(codecs.BOM_UTF8)
    for line in data.replace(b"\r", b"\n").split(b"\n"):
        if line[:1] == b"!":
            kind = line.partition(b":")[2].strip().lower().decode("latin-1")
            is_counted = line[:6].lower() == b"!type:" and kind in ACCOUNTS
        total += is_counted and line[:1] == b"^"
    return total


@dataclass(frozen=True)
class QifOptions:
    """The dataset's declarations: the file's encoding, its decimal mark and the order of its days."""

    encoding: str | None = None
    decimal: str | None = None
    order: str | None = None


@dataclass
class _Split:
    line: int
    category: str
    memo: str = ""
    amount: str = ""


@dataclass
class _Record:
    """The fields of one transaction by their letters, and its splits."""

    line: int
    fields: dict[str, str] = field(default_factory=dict)
    splits: list[_Split] = field(default_factory=list)

    def add(self, letter: str, value: str, line: int) -> bool:
        """Add a field; lines of an address and of a memo are joined. False for a split that `S` does not begin."""
        if letter in "E$%" and not self.splits:
            return False
        if letter == "S":
            self.splits.append(_Split(line, value))
        elif letter == "E":
            self.splits[-1].memo = value
        elif letter == "$":
            self.splits[-1].amount = value
        elif letter in "AM" and letter in self.fields:
            self.fields[letter] += f" {value}"
        elif letter not in "%":
            self.fields.setdefault(letter, value)
        return True


@dataclass(frozen=True)
class _Section:
    number: int
    account: str | None
    records: Sequence[_Record]


def read(file: OpenedFile, *, batches: bool = False, options: QifOptions | None = None) -> Iterator[BankEntry]:
    """Yield the transactions, with `batches` their splits. Raises FileUnreadable with file, line and field."""
    options = options or QifOptions()
    walk = _Walk(file.name)
    sections = list(_sections(walk, lines_of(decoded(file, options.encoding))))
    reader = _Reader(file.name, replace(options, order=options.order or walk.order), sections)
    for section in sections:
        for number, record in enumerate(section.records, start=1):
            entry = reader.entry(section, record, number)
            yield from reader.split(entry, record) if batches and record.splits else (entry,)


def dates(file: OpenedFile, encoding: str | None) -> list[str]:
    """Return the texts of the days of all transactions. Raises FileUnreadable."""
    walk = _Walk(file.name)
    return _dates(list(_sections(walk, lines_of(decoded(file, encoding)))))


def _dates(sections: Sequence[_Section]) -> list[str]:
    return [text for section in sections for record in section.records if (text := record.fields.get("D"))]


def _sections(walk: _Walk, lines: Sequence[str]) -> Iterator[_Section]:
    """Yield the parts of the file that have transactions. Raises FileUnreadable."""
    for number, raw in enumerate(lines, start=1):
        line = raw.strip("\ufeff\x1a").strip()
        if line[:1] == "!":
            yield from walk.finish()
            walk.header(line, number)
        elif line:
            walk.field(line, number)
    yield from walk.finish()
    if not walk.number and not walk.has_header:
        raise FileUnreadable(walk.name, _NO_QIF, "correct `path`")


class _Walk:
    """The state of one pass over the lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._kind = ""
        self._account: str | None = None
        self._records: list[_Record] = []
        self._record: _Record | None = None
        self.number = 0
        self.has_header = False
        self.order: str | None = None

    def finish(self) -> Iterator[_Section]:
        """Yield the part that ends here."""
        if self._record is not None:
            place = f"{self.name}:{self._record.line}"
            raise FileUnreadable(place, "this record does not end with `^`", f"{_AGAIN}: it may be truncated")
        if self._kind == "entries":
            self.number += 1
            yield _Section(self.number, self._account, self._records)
            self._records = []

    def header(self, line: str, number: int) -> None:
        """Begin the part that a line like `!Type:Bank` names. Raises FileUnreadable."""
        self.has_header = True
        word, _, kind = line[1:].lower().partition(":")
        kind = kind.strip()
        if word == "type" and kind in _INVESTMENTS:
            reason = "it has transactions of an investment account"
            raise FileUnreadable(f"{self.name}:{number}", reason, "export bank, cash and card accounts only")
        if word == "account":
            self._kind, self._account = "account", None
        elif word == "type" and kind in ACCOUNTS:
            self._kind = "entries"
        elif word == "type" and kind in _LISTS:
            self._kind = "list"
        elif word == "option" and kind in ORDERS:
            self.order = kind
        elif word in ("option", "clear"):
            self._kind, self._account = "list", None  # a list of accounts begins or ends here
        else:
            types = ", ".join(ACCOUNTS)
            raise FileUnreadable(f"{self.name}:{number}", f"this section has an unknown type (known: {types})", _AGAIN)

    def field(self, line: str, number: int) -> None:
        """Add a line to its record. Raises FileUnreadable."""
        if not self._kind:
            raise FileUnreadable(
                f"{self.name}:{number}", "this is not QIF, which begins with `!Type:`", "correct `path`"
            )
        if self._kind == "account" and line[0] == "N":
            self._account = squeezed(line[1:])
        if self._kind != "entries":
            return
        if line[0] == "^":
            if self._record is None:
                raise FileUnreadable(f"{self.name}:{number}", "this `^` ends an empty record", _AGAIN)
            self._records.append(self._record)
            self._record = None
            return
        self._record = self._record or _Record(number)
        if line[0] not in _FIELDS or not self._record.add(line[0], line[1:].strip(), number):
            reason = "this line does not begin with a field letter that is allowed here"
            raise FileUnreadable(f"{self.name}:{number}", reason, _AGAIN)


class _Reader:
    """Turns records into entries."""

    def __init__(self, name: str, options: QifOptions, sections: Sequence[_Section]) -> None:
        self._name, self._options, self._sections = name, options, sections

    def entry(self, section: _Section, record: _Record, number: int) -> BankEntry:
        fields = record.fields
        place = f"{self._name}:{record.line}"
        return BankEntry(
            statement=str(section.number),
            account=section.account,
            entry=number,
            booked=self._day(place, fields.get("D")),
            valued=None,
            amount=self._amount(place, fields),
            currency=None,
            status="booked",
            reversal=False,
            transactions=max(1, len(record.splits)),
            code=squeezed(fields.get("L")),
            reference=squeezed(fields.get("N")),
            bank_reference=None,
            name=squeezed(fields.get("P")),
            iban=None,
            purpose=squeezed(fields.get("M")),
            line=record.line,
            details=squeezed(fields.get("A")),
        )

    def split(self, entry: BankEntry, record: _Record) -> Iterator[BankEntry]:
        """Yield a record for each split; they must add up to the transaction. Raises FileUnreadable."""
        total = Decimal(0)
        amounts = [
            amount_of(f"{self._name}:{part.line}", "$", part.amount, self._options.decimal) for part in record.splits
        ]
        for amount in amounts:
            total = EXACT.add(total, amount)
        if total != entry.amount:
            reason = "the splits of this transaction do not add up to its amount"
            raise FileUnreadable(f"{self._name}:{record.line}", reason, "leave out `batches: split`, or correct it")
        for number, (part, amount) in enumerate(zip(record.splits, amounts, strict=True)):
            # A negative line marks the further records of an entry that is counted only once.
            line = entry.line if number == 0 else -entry.line
            purpose = squeezed(part.memo) or entry.purpose
            yield replace(
                entry, amount=amount, transactions=1, code=squeezed(part.category), purpose=purpose, line=line
            )

    def _amount(self, place: str, fields: dict[str, str]) -> Decimal:
        letter = "T" if "T" in fields else "U"
        if letter not in fields:
            raise FileUnreadable(place, "this record has no amount (`T`)", _AGAIN)
        return amount_of(place, letter, fields[letter], self._options.decimal)

    def _day(self, place: str, text: str | None) -> dt.date:
        if text is None:
            raise FileUnreadable(place, "this record has no date (`D`)", _AGAIN)
        day = day_of(text, self._options.order)
        if self._options.order is None and needs_order(text):
            raise FileUnreadable(place, "the order of day and month in `D` is not known", self._order())
        if day is None:
            order = f" in the order {self._options.order}" if self._options.order else ""
            raise FileUnreadable(place, f"`D` is not a date{order}", "correct `date_order` or the file")
        return day

    def _order(self) -> str:
        """The remedy for days of an unknown order; the whole file may leave only one order."""
        orders = orders_of(_dates(self._sections))
        if len(orders) == 1:
            return f"set `date_order: {orders[0]}`, the only order that fits all dates of this file"
        return "set `date_order` to `dmy`, `mdy` or `ymd`"
