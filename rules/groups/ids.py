"""Records with their ids, from the rows of an engine's answer."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rules.engines.base import Relation
from rules.pairs.record import Record
from rules.values import PLACE, Value, canonical_json, order_key, sameness

Keyed = tuple[tuple[Value, ...], Mapping[str, Value]]
"""A key and its record."""


def identified(keyed: Iterable[Keyed], relation: Relation, content: Sequence[str]) -> list[Record]:
    """Return records with their id: the dataset's, or (hash of the `content` columns, number of equal ones before).
    Records with an empty part in the dataset's id are left out: nothing tells them apart.

    Records sort by id and then by content; without an id by file and row, if there are any, and then by content.
    """
    if relation.id:
        return _named(keyed, relation.id, content)
    rows = [(_content(row, content), key, row) for key, row in keyed]
    rows.sort(key=lambda item: (item[0], *(order_key(item[2].get(name)) for name in PLACE)))
    count_by_text: dict[str, int] = defaultdict(int)
    records = []
    for text, key, row in rows:
        digest = _digest(text)
        place = (*(row.get(name) for name in PLACE), *(row[name] for name in content), count_by_text[text])
        records.append(Record((digest, count_by_text[text]), key, row, place))
        count_by_text[text] += 1
    return records


def _named(keyed: Iterable[Keyed], id_columns: Sequence[str], content: Sequence[str]) -> list[Record]:
    named = ((tuple(row[name] for name in id_columns), key, row) for key, row in keyed)
    identified = [(name, key, row) for name, key, row in named if None not in name]
    has_repeats = len({sameness(name) for name, _, _ in identified}) < len(identified)
    extra = content if has_repeats else ()
    return [Record(name, key, row, (*name, *(row[column] for column in extra))) for name, key, row in identified]


def content_digest(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    """Return the hash that names a record without id, together with the number of equal ones before it."""
    return _digest(_content(row, columns))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _content(row: Mapping[str, Value], columns: Sequence[str]) -> str:
    return canonical_json([row.get(name) for name in columns])
