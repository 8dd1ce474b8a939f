"""Airtable's own list of the changes of a table (a webhook without an address): what each change really replaced.

An update names no expected value, so an edit between our last look and our change would be overwritten. The list tells
it afterwards, in order, one entry or several for each transaction of the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from connectors.airtable import values
from connectors.airtable.client import AirtableClient
from connectors.airtable.failures import Failure, in_words
from connectors.airtable.schema import AirtableTable
from connectors.errors import ConnectorError
from connectors.target import TargetRefused

POLLS = (0.2, 0.3, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Seconds between looks for an entry, which Airtable writes a moment after the change."""
_PAGES = 40
_LEFT = timedelta(minutes=10)


class Forgotten(Exception):
    """Airtable no longer has, or will not tell, what a change replaced."""


@dataclass(frozen=True)
class Place:
    """A place in the list of changes: its webhook, and the number of the next entry."""

    webhook: str
    cursor: int


@dataclass(frozen=True)
class RecordChange:
    """An entry about one record: former and present values of the fields that changed, and values of the others."""

    previous: Mapping[str, Any]
    current: Mapping[str, Any]
    unchanged: Mapping[str, Any]

    @property
    def before(self) -> Mapping[str, Any]:
        return {**self.unchanged, **self.previous}

    @property
    def after(self) -> Mapping[str, Any]:
        return {**self.unchanged, **self.current}


History = Sequence[tuple[str, RecordChange | None]]
"""The changes of records by anybody, in order, each with the record's id; None if it was deleted."""


def specification(table: AirtableTable) -> dict[str, Any]:
    """The description of the list that we need: all values of a changed record of the table, the former ones too."""
    return {
        "options": {
            "filters": {"dataTypes": ["tableData"], "recordChangeScope": table.id},
            "includes": {"includeCellValuesInFieldIds": "all", "includePreviousCellValues": True},
        }
    }


def place_in_changes(client: AirtableClient, table: AirtableTable) -> Place | None:
    """Where our list of the table's changes is now; None if there is none, or we may not see it.

    Raises a ConnectorError if Airtable does not answer.
    """
    try:
        return _place(client, table)
    except Failure as failure:
        if failure.status in (401, 403, 404, 422):
            return None
        raise in_words(client.name, failure) from None


def following(client: AirtableClient, table: AirtableTable) -> Place:
    """Where the list of the table's changes is now; creates it if there is none. Raises Failure, TargetRefused."""
    place = _place(client, table)
    if place is None:
        created = client.add_webhook(specification(table))
        if not isinstance(created.get("id"), str):
            raise _strange()
        place = Place(created["id"], 1)
    return place


def _place(client: AirtableClient, table: AirtableTable) -> Place | None:
    answer = client.webhooks()
    try:
        return next((_place_of(hook) for hook in answer["webhooks"] if _follows(hook, table)), None)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _strange() from None


def _strange() -> Failure:
    return Failure("follow the changes", reason="the answer is not one of Airtable's", is_certain=False)


def _place_of(hook: Mapping[str, Any]) -> Place:
    return Place(str(hook["id"]), int(hook["cursorForNextPayload"]))


def _follows(hook: Mapping[str, Any], table: AirtableTable) -> bool:
    """Return True for a list of changes that is as we create it."""
    if not hook["isHookEnabled"] or hook.get("notificationUrl") or _ends_soon(hook.get("expirationTime")):
        return False
    options, wanted = hook["specification"]["options"], specification(table)["options"]
    return all(_has(options.get(part) or {}, wanted[part]) for part in ("filters", "includes"))


def _ends_soon(expires: str | None) -> bool:
    """Return True for a list that ends before a change could be found in it: a week after somebody last read it."""
    return expires is not None and values.instant(expires) - datetime.now(UTC) < _LEFT


def _has(options: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return True if the options are the wanted ones, and no filter narrows them."""
    return {name: value for name, value in options.items() if value not in (None, [])} == dict(wanted)


def history(client: AirtableClient, table: AirtableTable, place: Place, records: Sequence[str]) -> History:
    """The changes of these records since the place, by anybody. Raises Failure, Forgotten."""
    wanted = frozenset(records)
    known: list[tuple[str, RecordChange | None]] = []
    for entry in _entries(client, place):
        of_table = (entry.get("changedTablesById") or {}).get(table.id) or {}
        known += [(key, None) for key in of_table.get("destroyedRecordIds") or () if key in wanted]
        for key, record in (of_table.get("changedRecordsById") or {}).items():
            if key not in wanted:
                continue
            if record.get("previous") is None:
                raise Forgotten
            parts = (_values(record, part) for part in ("previous", "current", "unchanged"))
            known.append((key, RecordChange(*parts)))
    return known


def _values(record: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    values_by_field: Mapping[str, Any] = (record.get(part) or {}).get("cellValuesByFieldId") or {}
    return values_by_field


def _entries(client: AirtableClient, place: Place) -> Iterator[Mapping[str, Any]]:
    cursor = place.cursor
    for _ in range(_PAGES):
        answer = client.payloads(place.webhook, cursor)
        entries = answer.get("payloads")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise _strange()
        for entry in entries:
            if entry.get("error"):
                raise Forgotten
            yield entry
        following_cursor = answer.get("cursor")
        if not answer.get("mightHaveMore") or not isinstance(following_cursor, int) or following_cursor <= cursor:
            return
        cursor = following_cursor
    raise Forgotten


def refused(source: str, error: ConnectorError) -> TargetRefused:
    return TargetRefused(
        f"{str(error).rstrip('.')}. Without it an edit in the moment of a change could be lost, so source {source!r} "
        "is not cleaned"
    )


def image(table: AirtableTable, filled: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a record that a change is compared by, by field, without empty ones."""
    plain = ((field.id, values.plain(field, filled.get(field.id))) for field in table.stored)
    return {key: value for key, value in plain if value is not None}
