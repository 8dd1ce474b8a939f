"""MT940 (SWIFT customer statements) through the package mt-940, with every trap of it checked.

The package drops texts outside of a statement, joins two entries of which one has no type, moves days that do not exist
and guesses years and encodings. So the text is decoded strictly and cut into statements here, the lines of entries are
counted, dates are read from those lines, and the balances must be explained.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mt940 import Options
from mt940.models import Transactions

from connectors.disk.opened_file import OpenedFile
from connectors.errors import FileUnreadable
from connectors.files.bank.statement import Entry, Proof

# The package logs the text of an entry that it cannot read: names, accounts and amounts have no place in a log.
logging.getLogger("mt940").setLevel(logging.CRITICAL + 1)

NO_REFERENCE = ("NONREF", "NOTPROVIDED")
LARGEST = 100_000_000
"""Bytes of one file; a statement of a day has some thousand."""
_ENTRY = re.compile(r":61:(?P<value>\d{6})(?P<booked>\d{4})?(?P<mark>R?[CD])", re.IGNORECASE)
_END = re.compile(r":62[FM]:")
_TAG = re.compile(r":(?:\d{2}[A-Z]?|NS):")


def count(file: OpenedFile) -> int:
    """Count the lines that begin an entry."""
    with file.bytes() as content:
        return sum(line.lstrip(b"\xef\xbb\xbf").startswith(b":61:") for line in content)


@dataclass(frozen=True)
class _Block:
    """The lines of one statement with the number of the first one, up to its closing balance."""

    first: int
    lines: Sequence[str]


def read(file: OpenedFile, encoding: str | None = None) -> Iterator[Entry]:
    """Yield the entries of all statements. Raises FileUnreadable."""
    blocks = _blocks(file.name, _decoded(file, encoding).splitlines())
    for number, block in enumerate(blocks, start=1):
        yield from _entries(file.name, block, number)


def _decoded(file: OpenedFile, encoding: str | None) -> str:
    with file.bytes() as content:
        data = content.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FileUnreadable(file.name, f"it is larger than {LARGEST:,} bytes", "split it by statement")
    try:
        return data.decode(encoding or "utf-8-sig")
    except (UnicodeDecodeError, LookupError) as error:
        reason = f"it is not written in {encoding or 'UTF-8'}"
        raise FileUnreadable(file.name, reason, "set `encoding`; many banks write cp1252 or cp850") from error


def _blocks(name: str, lines: Sequence[str]) -> list[_Block]:
    starts = [number for number, line in enumerate(lines) if line.startswith(":20:")]
    outside = next((n for n, line in enumerate(lines[: starts[0] if starts else None]) if _TAG.match(line)), None)
    if outside is not None or not starts:
        place = name if outside is None else f"{name}:{outside + 1}"
        raise FileUnreadable(place, "this is not in an MT940 statement, which begins with `:20:`", "correct `path`")
    ends = [*starts[1:], len(lines)]
    return [_Block(start + 1, _statement(lines[start:end])) for start, end in zip(starts, ends, strict=True)]


def _statement(lines: Sequence[str]) -> Sequence[str]:
    """The lines up to the closing balance: the package adds texts behind it to the last entry."""
    end = next((number for number, line in enumerate(lines) if _END.match(line)), len(lines) - 1)
    return lines[: end + 1]


def _entries(name: str, block: _Block, number: int) -> Iterator[Entry]:
    at = [line for line, text in enumerate(block.lines, start=block.first) if text.startswith(":61:")]
    heads = [_head(name, line, block.lines[line - block.first]) for line in at]
    parsed = _parsed(name, block)
    if len(parsed.transactions) != len(at):
        place = f"{name}:{block.first}"
        raise FileUnreadable(place, "an entry of this statement has no type of transaction", "ask the bank")
    proof = _proof(name, block, parsed.data)
    for entry, (head, transaction) in enumerate(zip(heads, parsed.transactions, strict=True), start=1):
        row = _entry(head, transaction.data, parsed.data, (number, entry))
        proof.add(row.amount)
        yield row
    proof.check()


def _parsed(name: str, block: _Block) -> Transactions:
    transactions = Transactions(options=Options.all())
    try:
        transactions.parse("\n".join(block.lines))
    except (RuntimeError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise FileUnreadable(f"{name}:{block.first}", "this statement is not MT940", "ask the bank") from error
    return transactions


def _proof(name: str, block: _Block, data: dict[str, Any]) -> Proof:
    def balance(*names: str) -> Decimal | None:
        parsed_balance = next((data[key] for key in names if data.get(key) is not None), None)
        return None if parsed_balance is None else parsed_balance.amount.amount

    opening = balance("final_opening_balance", "intermediate_opening_balance")
    closing = balance("final_closing_balance", "intermediate_closing_balance")
    if opening is None or closing is None:
        reason = "this statement lacks its opening (`:60F:`) or closing balance (`:62F:`)"
        raise FileUnreadable(f"{name}:{block.first}", reason, "fetch it again: it may be cut")
    return Proof(f"{name}:{block.first}", opening=opening, closing=closing)


@dataclass(frozen=True)
class _Head:
    """The beginning of an entry's line: its days, and whether it takes an earlier booking back."""

    line: int
    valued: dt.date
    booked: dt.date
    reversal: bool


def _head(name: str, line: int, text: str) -> _Head:
    match = _ENTRY.match(text)
    if match is None:
        raise FileUnreadable(f"{name}:{line}", "this entry has no date with C or D", "ask the bank")
    valued = _day(name, line, match["value"])
    booked = _booked(name, line, match["booked"], valued)
    return _Head(line, valued, booked, match["mark"].upper().startswith("R"))


def _entry(head: _Head, data: dict[str, Any], statement: dict[str, Any], numbers: tuple[int, int]) -> Entry:
    own = _line_reference(data.get("customer_reference"))
    purpose = data.get("purpose") or data.get("transaction_details")
    return Entry(
        statement=_statement_name(statement, numbers[0]),
        account=_text(statement.get("account_identification")),
        entry=numbers[1],
        booked=head.booked,
        valued=head.valued,
        amount=data["amount"].amount,
        currency=data["amount"].currency,
        status="booked",
        reversal=head.reversal,
        transactions=1,
        code=_text(data.get("transaction_code")) or _text(data.get("id")),
        reference=_given(data.get("end_to_end_reference")) or own,
        bank_reference=_given(data.get("bank_reference")),
        name=_text(data.get("applicant_name")),
        iban=_text(data.get("applicant_iban")),
        purpose=_text(purpose) or _text(data.get("extra_details")),
        line=head.line,
    )


def _statement_name(data: dict[str, Any], number: int) -> str:
    """The statement's own number, which is the same when it is delivered again; else its place in the file."""
    parts = [data.get("transaction_reference"), data.get("statement_number"), data.get("sequence_number")]
    return "/".join(part for part in map(_text, parts) if part) or str(number)


def _line_reference(text: Any) -> str | None:
    """The reference of the entry's own line, or the KREF that the package appends to it."""
    return next((given for part in str(text or "").split("\n") if (given := _given(part))), None)


def _given(text: Any) -> str | None:
    reference = _text(text)
    return None if reference is None or reference.upper() in NO_REFERENCE else reference


def _text(value: Any) -> str | None:
    return " ".join(str(value).split()) or None if value is not None else None


def _day(name: str, line: int, digits: str) -> dt.date:
    try:
        return dt.datetime.strptime(digits, "%y%m%d").replace(tzinfo=dt.UTC).date()
    except ValueError:
        raise FileUnreadable(f"{name}:{line}", "its date does not exist", "ask the bank") from None


def _booked(name: str, line: int, digits: str | None, valued: dt.date) -> dt.date:
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
        raise FileUnreadable(f"{name}:{line}", "its booking date does not exist", "ask the bank")
    return min(days, key=lambda day: abs(day - valued))
