"""The tables and fields of a base, as its schema describes them, and the columns that we read them as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.airtable.connector import AirtableDataset
from connectors.errors import ColumnMissing, ConnectorError, DatasetMissing
from connectors.headers import stable_names
from connectors.target import ColumnFacts, ColumnLimits

RECORD = "_record"
"""The column with Airtable's own id of a record."""
NOTES = "Reconcile"
"""The name of the field in which a cleaned table keeps our receipts, and of the table with the base's owner."""

TEXTS = frozenset({"singleLineText", "email", "url", "multilineText", "phoneNumber", "richText"})
DECIMALS = frozenset({"number", "percent", "currency", "duration"})
COMPUTED = frozenset(
    {
        *("formula", "rollup", "count", "multipleLookupValues", "createdTime", "lastModifiedTime", "createdBy"),
        *("lastModifiedBy", "autoNumber", "button", "aiText", "externalSyncSource"),
    }
)
"""Types of fields that Airtable writes itself."""
WRITABLE = TEXTS | DECIMALS | {"rating", "checkbox", "date", "dateTime", "singleSelect", "multipleSelects"}
WRITABLE |= {"multipleRecordLinks"}


class SchemaUnknown(ConnectorError):
    """The answer about the schema of a base is not as documented."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"The fields of source {source!r} are unknown: Airtable described its base in a form that we do not know. "
            "Nothing was read; update reconcile-runner"
        )


@dataclass(frozen=True)
class AirtableField:
    """A field of a table. `kind` is Airtable's name of its type, `options` what it says about the type."""

    id: str
    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    column: str = ""

    @property
    def is_computed(self) -> bool:
        return self.kind in COMPUTED

    @property
    def result(self) -> AirtableField:
        """The field that gives the type of a computed value: itself, unless Airtable names the type of the result."""
        result = self.options.get("result")
        if self.kind not in ("formula", "rollup", "multipleLookupValues") or not isinstance(result, dict):
            return self
        return AirtableField(self.id, self.name, str(result.get("type", "")), result.get("options") or {}, self.column)

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(str(choice["name"]) for choice in self.options.get("choices", ()))

    @property
    def places(self) -> int | None:
        """The digits behind the decimal point that the field shows; None if it does not say."""
        precision = self.options.get("precision")
        return precision if isinstance(precision, int) else None

    @property
    def facts(self) -> ColumnFacts:
        is_writable = self.kind in WRITABLE
        fixed = "" if is_writable or self.is_computed else f"is a field of type {self.kind}, which is not written to"
        return ColumnFacts(
            self.column,
            self.kind,
            nullable=self.kind != "checkbox",
            generated=self.is_computed,
            limits=self._limits if is_writable else None,
            fixed=fixed,
        )

    @property
    def _limits(self) -> ColumnLimits | None:
        if self.kind in DECIMALS:
            return ColumnLimits("number", digits=(15, 8 if self.places is None else self.places))
        if self.kind == "rating":
            return ColumnLimits("integer", least=1, greatest=int(self.options.get("max", 5)))
        if self.kind == "checkbox":
            return ColumnLimits("boolean")
        if self.kind in ("date", "dateTime"):
            return ColumnLimits("time")
        if self.kind == "singleSelect":
            return ColumnLimits("label", labels=self.choices)
        if self.kind in TEXTS:
            return ColumnLimits("text", length=100_000)
        return None


@dataclass(frozen=True)
class AirtableTable:
    """A table of a base with its fields; the columns have the names that a dataset gives them."""

    id: str
    name: str
    fields: tuple[AirtableField, ...]
    notes: AirtableField | None = None
    """The field with our receipts, which is no column."""

    def field(self, column: str) -> AirtableField:
        """The field of a column. Raises ColumnMissing."""
        for item in self.fields:
            if item.column == column:
                return item
        raise ColumnMissing(self.name, column, [RECORD, *(item.column for item in self.fields)])

    @property
    def stored(self) -> tuple[AirtableField, ...]:
        """The fields that people fill in: those that a change is compared by."""
        return tuple(item for item in self.fields if not item.is_computed)

    @property
    def digest(self) -> str:
        """Digest of all fields. It changes if a field is added, removed, renamed or gets another type."""
        facts = [[item.id, item.name, item.column, item.kind, item.options] for item in self.fields]
        return hashlib.sha256(json.dumps([self.id, facts], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class BaseSchema:
    """The tables of a base by name. Our own table is not among them."""

    source: str
    tables: tuple[AirtableTable, ...]
    own: AirtableTable | None = None
    """The table of ours with the owner."""

    @classmethod
    def of(cls, source: str, answer: Mapping[str, Any]) -> BaseSchema:
        """Read Airtable's answer. Raises SchemaUnknown."""
        try:
            tables = [_table(described) for described in answer["tables"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise SchemaUnknown(source) from error
        own = next((table for table in tables if table.name == NOTES), None)
        return cls(source, tuple(table for table in tables if table is not own), own)

    def table(self, name: str, remedy: str = "") -> AirtableTable:
        """The table of that name or id, its columns named as its fields. Raises DatasetMissing with the remedy."""
        by_name = next((table for table in self.tables if table.name == name), None)
        table = by_name or next((table for table in self.tables if table.id == name), None)
        if table is None:
            existing = [f"table {table.name}" for table in self.tables]
            raise DatasetMissing(self.source, f"table {name}", existing, remedy)
        return table

    def of_dataset(self, dataset: AirtableDataset) -> AirtableTable:
        """The dataset's table with the columns that it names. Raises DatasetMissing, ColumnMissing."""
        table = self.table(dataset.table)
        by_field: dict[str, str] = {}
        for column, name in dataset.fields.items():
            existing = next((item for item in table.fields if name in (item.id, item.name)), None)
            if existing is None:
                raise ColumnMissing(f"table {table.name}", name, [item.name for item in table.fields])
            by_field[existing.id] = column
        return AirtableTable(table.id, table.name, _named(table.fields, by_field), table.notes)


def _table(described: Mapping[str, Any]) -> AirtableTable:
    fields = [
        AirtableField(item["id"], item["name"], item["type"], item.get("options") or {}) for item in described["fields"]
    ]
    notes = next((item for item in fields if item.name == NOTES and item.kind == "multilineText"), None)
    kept = tuple(item for item in fields if item is not notes)
    return AirtableTable(described["id"], described["name"], _named(kept, {}), notes)


def _named(fields: Sequence[AirtableField], by_field: Mapping[str, str]) -> tuple[AirtableField, ...]:
    """Give each field its column: that of the dataset, else its own name, made unique in any case."""
    free = [item.name for item in fields if item.id not in by_field]
    own = iter(stable_names([*by_field.values(), *free], (RECORD,))[len(by_field) :])
    columns = [by_field.get(item.id) or next(own) for item in fields]
    return tuple(
        AirtableField(item.id, item.name, item.kind, item.options, column)
        for item, column in zip(fields, columns, strict=True)
    )
