"""A base that is read and changed through the ports of a source and a target, as detection and cleaning do."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from connectors.airtable.cleaning.receipts import notes_in
from connectors.airtable.client import AirtableClient
from connectors.airtable.connector import AirtableDataset, AirtableSettings
from connectors.airtable.source import AirtableSource
from connectors.errors import ConnectorError
from connectors.pace import Pace
from connectors.target import Change, Receipt, ReceiptStands, Row, TargetError, TransactionOutcome, Undecided
from tests.support.airtable import BASE, TOKEN, FakeAirtable, FakeTable

STORE = ("st_ours", 1)
FAST = 10_000
CHOICES = {"choices": [{"id": "selA", "name": "active"}, {"id": "selB", "name": "duplicate"}]}
MEMBERS = {
    "Name": "singleLineText",
    "Email": "email",
    "Fee": ("currency", {"precision": 2, "symbol": "€"}),
    "Status": ("singleSelect", CHOICES),
    "Note": "multilineText",
    "Paid": "checkbox",
}


@dataclass
class Clock:
    """A clock that does not wait: pauses after 429 only move it."""

    offset: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return time.monotonic() + self.offset

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds > 1.0:
            self.offset += seconds
        else:
            time.sleep(min(seconds, 0.02))


@dataclass
class Members:
    """A table `Members` of a fake base, opened anew for each call of `source`, as processes do."""

    fake: FakeAirtable
    address: str
    settings: dict[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def of(cls, fake: FakeAirtable, address: str) -> Members:
        fake.add_table("Members", MEMBERS)
        return cls(fake, address)

    @property
    def table(self) -> FakeTable:
        return next(table for table in self.fake.tables.values() if table.name == "Members")

    @property
    def dataset(self) -> AirtableDataset:
        return AirtableDataset(table="Members", **self.settings)

    @property
    def source(self) -> AirtableSource:
        settings = AirtableSettings(type="airtable", token=TOKEN, base=BASE, endpoint=self.address)
        source = AirtableSource("club", settings, Path())
        source.client = AirtableClient("club", settings, Pace(FAST, self.clock.now), self.clock.sleep)
        return source

    @property
    def target(self) -> AirtableSource:
        """Another process's target, ready to clean."""
        target = self.source
        target.catalogue(self.dataset)
        return target

    def ready(self) -> Members:
        """Let a target create what it needs in the base."""
        target = self.target
        target.remembers("Members")
        assert target.adopt(*STORE, 1, target.owned("Members").owner, "Members")
        return self

    def rows(self, *ids: str) -> list[Row]:
        rows = self.target.rows(self.dataset, ["_record"], [(identifier,) for identifier in ids])
        return [row for row in rows if row is not None]

    def changes(self, after: Mapping[str, Mapping[str, str | None]], *guards: str) -> list[Change]:
        """Changes of records by id: the texts to set; `guards` must stay as they are."""
        changes = []
        for row in self.rows(*after):
            texts = after[str(row.values["_record"])]
            cells = {name: None if text is None else ("t", text) for name, text in texts.items()}
            changes.append(Change(row.name, row.cells, cells, "surplus"))
        return [*changes, *(Change(row.name, row.cells, {}, "keeper") for row in self.rows(*guards))]

    def make(self, changes: Sequence[Change], *keys: str, seconds: float = 20) -> None:
        """Make the changes in one transaction, with receipts of these keys."""
        with self.target.work(seconds) as work:
            work.receive([self.receipt(key) for key in keys])
            work.lock([change.row for change in changes])
            work.apply_all(changes)
            work.commit()

    def receipt(self, key: str) -> Receipt:
        return Receipt(key, f"of {key}", *STORE, 3, "P-1", table="Members")

    def carry_out(self, changes: Sequence[Change], key: str, attempts: int = 8) -> str:
        """Do what execution does with a plan, until it is settled: returns how it ended.

        After an unknown outcome the receipt is asked for; a plan whose rows differ ends.
        """
        for _ in range(attempts):
            try:
                with self.target.work(20) as work:
                    work.receive([self.receipt(key)])
                    rows = work.lock([change.row for change in changes])
                    if any(change.row not in rows or rows[change.row].cells != change.before for change in changes):
                        return "drifted"
                    work.apply_all(changes)
                    work.commit()
            except ReceiptStands:
                return "done before"
            except Undecided:
                return "undecided"
            except TargetError as error:
                if error.outcome not in (TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN):
                    return error.outcome.value
            except ConnectorError as error:
                return error.reaction.value
            else:
                return "done"
        return "given up"

    def effects(self, column: str = "Status") -> list[tuple[str, str, Any]]:
        """What programs made of a column, change by change: the record, its former and its new value."""
        name = self.table.field_named(column)["id"]
        return [
            (key, _value(change["previous"], name), _value(change["current"], name))
            for source, table, changed in self.fake.history
            if source == "publicApi" and table == "Members"
            for key, change in changed.items()
            if name in change["current"]["cellValuesByFieldId"]
        ]

    def receipts(self, key: str) -> list[str]:
        """The keys of the receipts that a record holds."""
        text = self.table.values(key).get("Reconcile", "")
        return [receipt.key for note in notes_in(text) for receipt in note.receipts]


def _value(part: Mapping[str, Any], name: str) -> Any:
    value = part["cellValuesByFieldId"][name]
    return value["name"] if isinstance(value, dict) else value
