"""All records of a table, page by page, each once, also while people change the table.

Airtable promises nothing about pages of a table that changes. So a table of several pages is listed a second time,
with the records' ids alone, and records that the first listing missed are read by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from connectors.airtable.client import PAGE, AirtableClient
from connectors.airtable.errors import AirtableUnanswered, TableRestless
from connectors.airtable.failures import EXPIRED, Failure, in_words
from connectors.airtable.schema import AirtableTable

LISTINGS = 5
"""How often a listing begins again because Airtable forgot it."""
Record = tuple[str, Mapping[str, Any]]
"""The id of a record, and the values of its filled fields by the fields' ids."""


def records(
    client: AirtableClient, table: AirtableTable, fields: Sequence[str], view: str | None = None
) -> Iterator[list[Record]]:
    """Yield the records, with these fields, in lists of at most a page. Raises a ConnectorError."""
    options: dict[str, Any] = {"fields": list(fields) or _any_field(table)}
    if view is not None:
        options["view"] = view
    seen: set[str] = set()
    pages = 0
    for page in _listed(client, table, options):
        pages += 1
        new = {key: values for key, values in page if key not in seen}
        seen |= new.keys()
        yield list(new.items())
    if pages < 2:
        return
    again = {**options, "fields": _any_field(table)}
    missed = [key for page in _listed(client, table, again) for key, _ in page if key not in seen]
    yield from by_ids(client, table, list(dict.fromkeys(missed)), options)


def by_ids(
    client: AirtableClient, table: AirtableTable, ids: Sequence[str], options: Mapping[str, Any] | None = None
) -> Iterator[list[Record]]:
    """Yield the existing ones among these records, in lists of at most a page. Raises a ConnectorError."""
    for start in range(0, len(ids), PAGE):
        wanted = ids[start : start + PAGE]
        formula = "OR(" + ",".join(f"RECORD_ID()='{key}'" for key in wanted) + ")"
        values_of = {
            key: values
            for page in _listed(client, table, {**(options or {}), "filterByFormula": formula})
            for key, values in page
        }
        yield [(key, values_of[key]) for key in wanted if key in values_of]


def matching(client: AirtableClient, table: AirtableTable, formula: str, fields: Sequence[str]) -> list[Record]:
    """The records for which a formula is true. Raises a ConnectorError."""
    options = {"fields": list(fields), "filterByFormula": formula}
    return list({key: (key, v) for page in _listed(client, table, options) for key, v in page}.values())


def _any_field(table: AirtableTable) -> list[str]:
    """One field: an empty list would mean all."""
    return [table.fields[0].id] if table.fields else []


def _listed(client: AirtableClient, table: AirtableTable, options: Mapping[str, Any]) -> Iterator[list[Record]]:
    """Yield the pages of a listing; those of another one from the beginning if Airtable forgot the first."""
    offset: str | None = None
    begun = 1
    while True:
        try:
            answer = client.records(table.id, {**options, **({"offset": offset} if offset else {})})
        except Failure as failure:
            if failure.kind not in EXPIRED or offset is None:
                raise in_words(client.name, failure) from None
            if begun == LISTINGS:
                raise TableRestless(client.name, table.name) from None
            begun, offset = begun + 1, None
            continue
        yield _page(client, answer)
        following = answer.get("offset")
        if following is None:
            return
        if following == offset or not isinstance(following, str):
            raise AirtableUnanswered(client.name, "list the records", "its pages have no end")
        offset = following


def _page(client: AirtableClient, answer: Mapping[str, Any]) -> list[Record]:
    try:
        return [(str(record["id"]), dict(record["fields"])) for record in answer["records"]]
    except (KeyError, TypeError, ValueError):
        raise AirtableUnanswered(client.name, "list the records", "the answer is not one of Airtable's") from None
