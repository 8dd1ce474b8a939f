"""Bank statements of any format as records: one for each entry of the account, with typed columns.

What is read is proven: each format counts its entries a second time, and the entries of a statement must explain its
balances to the cent.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

import pyarrow as pa

from connectors.base import UnreadableCells
from connectors.disk.opened_file import OpenedFile
from connectors.errors import ConnectorError, FileUnreadable
from connectors.files.left_out import NONE, MalformedRecords, confirm_count

EXACT = decimal.Context(prec=1_000)
"""Sums of any number of amounts are exact."""


@dataclass(frozen=True)
class BankEntry:
    """A booking of an account. `amount` is negative for money that leaves it; `line` is the entry's line in the file.

    `reversal` says that it takes an earlier booking back; its amount has the sign of the money that moves now. `entry`
    is its number in its statement, from 1. `transactions` is the number of payments that a bank booked in one sum.

    `kind` is the message: `statement`, `report` (of a day that goes on) or `notification`. `reference` is the best of
    the references; `end_to_end` (of the payer), `bank_reference` (of the entry), `transaction_reference` (the bank's of
    a payment) and `batch_reference` (of the payer's order) are the same in every message about a payment. `details` is
    what the bank adds. `original_amount` in `original_currency` is what was paid, if in another currency than the
    account's; `exchange_rate` as the bank writes it. `closing_balance` is that of the statement.
    """

    statement: str
    account: str | None
    entry: int
    booked: dt.date | None
    valued: dt.date | None
    amount: Decimal
    currency: str | None
    status: str
    reversal: bool
    transactions: int
    code: str | None
    reference: str | None
    bank_reference: str | None
    name: str | None
    iban: str | None
    purpose: str | None
    line: int
    kind: str = "statement"
    end_to_end: str | None = None
    transaction_reference: str | None = None
    batch_reference: str | None = None
    details: str | None = None
    original_amount: Decimal | None = None
    original_currency: str | None = None
    exchange_rate: Decimal | None = None
    closing_balance: Decimal | None = None


SCHEMA = pa.schema(
    [
        pa.field("statement", pa.string(), nullable=False),
        pa.field("account", pa.string()),
        pa.field("entry", pa.int64(), nullable=False),
        pa.field("booked", pa.date32()),
        pa.field("valued", pa.date32()),
        pa.field("amount", pa.decimal128(24, 6), nullable=False),
        pa.field("currency", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("reversal", pa.bool_(), nullable=False),
        pa.field("transactions", pa.int64(), nullable=False),
        pa.field("code", pa.string()),
        pa.field("reference", pa.string()),
        pa.field("bank_reference", pa.string()),
        pa.field("name", pa.string()),
        pa.field("iban", pa.string()),
        pa.field("purpose", pa.string()),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("end_to_end", pa.string()),
        pa.field("transaction_reference", pa.string()),
        pa.field("batch_reference", pa.string()),
        pa.field("details", pa.string()),
        pa.field("original_amount", pa.decimal128(24, 6)),
        pa.field("original_currency", pa.string()),
        pa.field("exchange_rate", pa.decimal128(38, 12)),
        pa.field("closing_balance", pa.decimal128(24, 6)),
    ]
)
"""The columns of every format, named as the attributes of `BankEntry`."""

WITHOUT_CURRENCY = SCHEMA.set(SCHEMA.get_field_index("currency"), pa.field("currency", pa.string()))
"""The columns of a format that does not name the currency."""
WITH_FITID = SCHEMA.append(pa.field("FITID", pa.string()))
"""The columns of OFX, with its own name for `bank_reference`."""
_ATTRIBUTES = {"FITID": "bank_reference"}


@dataclass(frozen=True)
class BankFile:
    """One file of statements. `read` yields its entries in order, `count_entries` counts them without reading them.

    `is_split`: a record is one payment, unless the bank does not say what the payments of a batch are.
    """

    file: OpenedFile
    read: Callable[[OpenedFile], Iterator[BankEntry]]
    count_entries: Callable[[OpenedFile], int]
    left_out: MalformedRecords = NONE
    is_split: bool = False
    columns: pa.Schema = SCHEMA

    @property
    def name(self) -> str:
        return self.file.name

    def warnings(self, columns: Sequence[str] | None) -> Iterator[UnreadableCells]:  # noqa: ARG002 - of the port
        """Yield a warning about batches that stay one record; a statement that is not wholly plain is refused."""
        whole = [entry.line for entry in self.read(self.file) if entry.transactions > 1] if self.is_split else []
        if whole:
            entries = f"{len(whole):,} {'batch is' if len(whole) == 1 else 'batches are'}"
            reason = f"{entries} not split: the bank does not give all amounts in the account's currency"
            yield UnreadableCells("*", reason, 0, f"{self.name}:{whole[0]}")

    def batches(self, columns: Sequence[str], nulls: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The entries' columns, in the order of the file. Raises FileUnreadable with the line, RecordsLost."""
        schema = pa.schema([self.columns.field(name) for name in columns])
        entries, bookings = self.read(self.file), 0
        while part := list(islice(entries, rows)):
            bookings += sum(entry.line > 0 for entry in part)
            arrays = [_array([_value(entry, field.name) for entry in part], field, nulls) for field in schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        confirm_count(self.name, self.count_entries(self.file), bookings)

    def place(self, record: int) -> str:
        entry = next(islice(self.read(self.file), record, None))
        return f"{self.name}:{abs(entry.line)}"

    def failure(self, error: Exception) -> ConnectorError:
        return FileUnreadable(self.name, f"it cannot be read ({type(error).__name__})", "fetch it again")

    def confirm(self, returned: int) -> None:
        """Raise RecordsLost if it holds another number of records."""
        confirm_count(self.name, sum(1 for _ in self.read(self.file)), returned)


def _value(entry: BankEntry, column: str) -> object:
    return getattr(entry, _ATTRIBUTES.get(column, column))


def _array(values: list[object], field: pa.Field, nulls: Sequence[str]) -> pa.Array:
    if pa.types.is_string(field.type) and nulls:
        values = [None if value in nulls and field.nullable else value for value in values]
    return pa.array(values, field.type)


@dataclass
class BalanceProof:
    """The sums of one statement: its entries must explain the way from its opening to its closing balance."""

    place: str
    currency: str | None = None
    opening: Decimal | None = None
    closing: Decimal | None = None
    entries: Decimal = dataclasses.field(default=Decimal(0))

    def add(self, amount: Decimal) -> None:
        self.entries = EXACT.add(self.entries, amount)

    def check(self) -> None:
        """Raise FileUnreadable if both balances are there and the entries do not explain them."""
        if self.opening is None or self.closing is None:
            return
        if EXACT.add(self.opening, self.entries) != self.closing:
            reason = "its entries do not add up to the difference of its opening and closing balances"
            raise FileUnreadable(self.place, reason, "fetch the statement again from the bank")
