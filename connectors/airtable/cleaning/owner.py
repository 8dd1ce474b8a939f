"""The owner of a base: one record of the table `Reconcile`, which any state that cleans the base finds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from connectors.airtable import pages
from connectors.airtable.client import AirtableClient
from connectors.airtable.errors import AirtableUnanswered
from connectors.airtable.failures import Failure, of_change
from connectors.airtable.schema import NOTES, AirtableTable
from connectors.target import TargetRefused

Owner = tuple[str, int, int]
_NAME, _NOTE = "Name", "Note"
TABLE: Mapping[str, Any] = {
    "name": NOTES,
    "description": "Reconcile notes here which of its states cleans this base. Do not edit.",
    "fields": [{"name": _NAME, "type": "singleLineText"}, {"name": _NOTE, "type": "multilineText"}],
}
FIELD: Mapping[str, Any] = {
    "name": NOTES,
    "type": "multilineText",
    "description": "Reconcile notes its changes of a record here. Do not edit.",
}


class BaseOwner:
    """The record with the owner, in a table that exists."""

    def __init__(self, client: AirtableClient, table: AirtableTable) -> None:
        """Raises TargetRefused if the table is not as we create it."""
        self._client, self._table = client, table
        columns = {field.name: field for field in table.fields}
        name, note = columns.get(_NAME), columns.get(_NOTE)
        if name is None or note is None or name.kind != "singleLineText" or note.kind != "multilineText":
            raise TargetRefused(
                f"Table {NOTES!r} of source {client.name!r} is not as Reconcile creates it: it needs the fields "
                f"{_NAME!r} (single line text) and {_NOTE!r} (long text). Rename it, or correct its fields"
            )
        self._name, self._note = name.id, note.id

    def get(self) -> Owner | None:
        """The owner. Raises TargetRefused for a note that is not ours, ConnectorError."""
        record = self._record()
        return None if record is None else self._owner(record[1])

    def replace(self, former: Owner | None, owner: Owner) -> bool:
        """Make it the owner instead of the former one; False if another one was first. Raises a ConnectorError.

        Airtable compares nothing: of two states that do this in the same moment, each transaction of the one that is
        not the owner afterwards is refused, because each asks for the owner.
        """
        record = self._record()
        if (None if record is None else self._owner(record[1])) != former:
            return False
        note = json.dumps({"store": owner[0], "epoch": owner[1], "ratchet": owner[2]})
        try:
            if record is None:
                answer = self._client.create(self._table.id, {self._name: "owner", self._note: note})
                return self._is_first(_created(self._client.name, answer))
            fields = {self._note: note}
            self._client.change(self._table.id, [{"id": record[0], "fields": fields}], "note the change")
        except Failure as failure:
            raise of_change(self._client.name, failure) from None
        return self.get() == owner

    def _is_first(self, created: str) -> bool:
        first = self._record()
        if first is not None and first[0] == created:
            return True
        self._client.delete(self._table.id, created)
        return False

    def _record(self) -> tuple[str, Mapping[str, Any]] | None:
        """The record with the owner; of several, that with the least id."""
        formula = f"{{{_NAME}}}='owner'"
        return min(pages.matching(self._client, self._table, formula, [self._name, self._note]), default=None)

    def _owner(self, filled: Mapping[str, Any]) -> Owner:
        try:
            content = json.loads(filled.get(self._note) or "")
            return str(content["store"]), int(content["epoch"]), int(content["ratchet"])
        except (KeyError, TypeError, ValueError) as error:
            raise TargetRefused(
                f"The note about the owner in table {NOTES!r} of source {self._client.name!r} was edited. Nothing is "
                "cleaned; restore it from the record's history, or delete the record and run "
                f"`reconcile target adopt {self._client.name}`"
            ) from error


def _created(source: str, answer: Mapping[str, Any]) -> str:
    try:
        return str(answer["records"][0]["id"])
    except (LookupError, TypeError):
        raise AirtableUnanswered(source, "note the change", "the answer is not one of Airtable's") from None
