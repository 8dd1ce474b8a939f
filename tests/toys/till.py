"""A target of another package that is called: a till, whose payments are read from a file and refunded by calls.

Its folder is the service: `payments.json` is what was paid, and each line of `calls.log` is a call that it made. It
makes every call that arrives, also one with a key that it knows, so the log has a call twice that is sent twice.
`line`, if it exists, says that the line is cut: `before` a call arrives, or `after` it was made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from connectors.base import DatasetSettings, Scan, SourceSettings
from connectors.calls import Answer, Call
from connectors.errors import DatasetMissing
from connectors.target import (
    Catalogue,
    Cell,
    Change,
    ColumnFacts,
    Owned,
    Promises,
    Receipt,
    Reference,
    Row,
    RowName,
    TableFacts,
    TargetError,
    TargetRefused,
    TransactionOutcome,
    Violation,
    Work,
)
from reconcile.cleaning.actions.base import ActionPlan, ActionTable, Effect, GroupMembers
from rules.cleaning import Clean, Verb

TABLE = "payments"
COLUMNS = ("id", "order", "amount", "refunded")


class Till:
    """Source `till`. `remembers`: it tells which calls it made."""

    promises = Promises(all_or_nothing=False, compare_and_set=False)

    class Settings(SourceSettings):
        folder: str
        remembers: bool = True

    class Dataset(DatasetSettings):
        pass

    def __init__(self, name: str, settings: Any, root: Path) -> None:
        self.name = name
        self._folder = root / settings.folder
        self._remembers = settings.remembers

    @staticmethod
    def obstacle(settings: Any, dataset: Any) -> str | None:
        return None

    @staticmethod
    def file(settings: Any, root: Path) -> Path | None:
        return None

    # Source

    def datasets(self) -> Sequence[str]:
        return (TABLE,)

    def describe(self, dataset: Any) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in COLUMNS])

    def scan(self, dataset: Any, columns: Sequence[str]) -> Scan:
        rows = [{name: payment[name] for name in columns} for payment in self._payments().values()]
        table = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in columns]))
        return Scan(table.to_reader())

    def close(self) -> None:
        pass

    def _payments(self) -> dict[str, dict[str, str]]:
        file = self._folder / "payments.json"
        if not file.exists():
            raise DatasetMissing(self.name, TABLE, ())
        payments = {payment["id"]: payment | {"refunded": "no"} for payment in json.loads(file.read_text("utf-8"))}
        for line in calls(self._folder):
            [(what, ident)] = ((name, text) for name, text in line["sends"].items() if name in ("refund", "charge"))
            payments[ident]["refunded"] = "yes" if what == "refund" else "no"
        return payments

    # What every target has

    def identity(self) -> str:
        return f"till:{self._folder.name}"

    def catalogue(
        self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None, key: Sequence[str] = ()
    ) -> Catalogue:
        facts = TableFacts(TABLE, tuple(ColumnFacts(name, "text") for name in COLUMNS), ("id",))
        return Catalogue(TABLE, {TABLE: facts}, (), hashlib.sha256(repr(COLUMNS).encode()).hexdigest())

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        payments = self._payments()
        return [_row(payments[ident]) if ident in payments else None for (ident,) in ids]

    def table(self, dataset: Any) -> str:
        return TABLE

    def owned(self, table: str) -> Owned:
        return Owned(self.identity(), None)

    # Rows, which nobody changes here

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        return []

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        return []

    def remembers(self, table: str = "") -> bool:
        return False

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        return {}

    def happened(self, transaction: str) -> bool | None:
        return None

    def work(self, seconds: float) -> AbstractContextManager[Work]:
        raise TargetRefused(f"Rows of source {self.name!r} cannot be changed")

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        return False

    # Calls

    def current(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        by_name = {row.name: row for row in map(_row, self._payments().values())}
        return {name: by_name[name] for name in rows if name in by_name}

    def call(self, call: Call, key: str, seconds: float) -> Answer:
        file = self._folder / "line"
        cut = file.read_text(encoding="utf-8") if file.exists() else ""
        lost = TargetError(f"Source {self.name!r} did not answer in time", TransactionOutcome.UNKNOWN)
        if cut == "before":
            raise lost
        answer = {"reference": f"re_{len(calls(self._folder)) + 1}"}
        line = {"key": key, "sends": dict(call.sends), "after": dict(call.answer or {}), "answer": answer}
        with (self._folder / "calls.log").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
            log.flush()
            os.fsync(log.fileno())
        if cut == "after":
            raise lost
        return answer

    def probe(self, call: Call, key: str, seconds: float) -> Answer | None:
        if not self._remembers:
            raise TargetError(f"Source {self.name!r} cannot tell which calls it made", TransactionOutcome.UNKNOWN)
        return next((line["answer"] for line in calls(self._folder) if line["key"] == key), None)


def calls(folder: Path) -> list[dict[str, Any]]:
    """Every call that the till made."""
    log = folder / "calls.log"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def _row(payment: dict[str, str]) -> Row:
    cells: dict[str, Cell] = {name: ("t", text) for name, text in payment.items()}
    return Row(RowName(TABLE, (("id", cells["id"]),)), cells, dict(payment))


class RefundSettings(Clean):
    calls: ClassVar[bool] = True
    removes: ClassVar[bool] = False
    verb: ClassVar[Verb] = Verb("refund", "refunded")

    action: Literal["refund"]
    final: bool = False


class Refund:
    """Action `refund`: pay the surplus back. Charging again takes that back, unless it is `final`."""

    name: ClassVar[str] = "refund"
    Settings: ClassVar[type[Clean]] = RefundSettings

    def check(self, settings: Any, place: ActionTable) -> list[str]:
        return []

    def changes(self, group: GroupMembers, settings: Any, place: ActionTable) -> ActionPlan:
        return ActionPlan(
            changes=(),
            effects=tuple(Effect(record.name, self.name) for record in group.surplus),
            calls=tuple(
                Call(
                    record.row.name,
                    {"refund": str(record.values["id"]), "amount": str(record.values["amount"])},
                    None if settings.final else {"charge": str(record.values["id"])},
                )
                for record in group.surplus
            ),
            reads=frozenset(),
        )
