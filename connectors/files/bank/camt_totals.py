"""The totals (`TxsSummry`) of a CAMT statement, compared with the entries that were read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from connectors.errors import FileUnreadable
from connectors.files.bank.camt_nodes import AGAIN, Node, first_at, number_of, place, sum_in, text_at
from connectors.files.bank.statement import EXACT, BankEntry

_TOTALS: dict[str, Callable[[BankEntry], bool]] = {
    "TtlNtries": lambda entry: True,  # noqa: ARG005 - every entry counts
    "TtlCdtNtries": lambda entry: entry.amount >= 0,
    "TtlDbtNtries": lambda entry: entry.amount < 0,
}


class _Total:
    """Entries of one sign. Banks count all of them, only those that are booked, or their transactions."""

    def __init__(self) -> None:
        self.counts = [0, 0, 0]
        self.sums = [Decimal(0), Decimal(0)]

    def add(self, entry: BankEntry) -> None:
        is_booked = entry.status == "booked"
        for index, number in enumerate((1, int(is_booked), entry.transactions)):
            self.counts[index] += number
        self.sums[0] = EXACT.add(self.sums[0], abs(entry.amount))
        if is_booked:
            self.sums[1] = EXACT.add(self.sums[1], abs(entry.amount))


class StatementTotals:
    """The totals of a statement's entries. The totals of a page (`is_page`) are those of all pages: not compared."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._place = file
        self._read = {name: _Total() for name in _TOTALS}
        self._counts: dict[str, int] = {}
        self._sums: dict[str, Decimal] = {}
        self.is_page = False

    def say(self, node: Node) -> None:
        """Remember the totals in this element. Raises FileUnreadable."""
        self._place = place(self._file, node)
        for name in _TOTALS:
            total = first_at(node, name)
            if total is None:
                continue
            if (number := number_of(text_at(total, "NbOfNtries"))) is not None:
                self._counts[name] = number
            if (amount := sum_in(self._file, total, "Sum")) is not None:
                self._sums[name] = amount

    def add(self, entry: BankEntry) -> None:
        for name, is_counted in _TOTALS.items():
            if is_counted(entry):
                self._read[name].add(entry)

    def check(self) -> None:
        """Raise FileUnreadable if the totals are those of other entries than the ones that were read."""
        if self.is_page:
            return
        for name, number in self._counts.items():
            if number not in self._read[name].counts:
                read = self._read[name].counts[0]
                reason = f"`{name}` counts {number:,} entries, but {read:,} {'was' if read == 1 else 'were'} read"
                raise FileUnreadable(self._place, reason, AGAIN)
        for name, amount in self._sums.items():
            if amount not in self._read[name].sums:
                raise FileUnreadable(self._place, f"the entries do not add up to the sum in `{name}`", AGAIN)
