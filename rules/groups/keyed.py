"""Groups of records with equal keys, from the rows of an engine's answer: exact, and the same for every engine."""

from __future__ import annotations

import gc
from abc import abstractmethod
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from rules.engines import answers
from rules.engines.base import Positions
from rules.groups import agreeing, encoded, splitting
from rules.groups.builder import GroupBuilder
from rules.groups.group import DuplicateGroup, Group, Member, Nearby, in_order
from rules.groups.ids import Keyed
from rules.groups.recognised import Digests, PartlyBuilt, Recognition
from rules.groups.repetition import Repetition
from rules.groups.sample import Sample
from rules.groups.settings import KeySettings
from rules.groups.share import ShareLimit
from rules.pairs.record import Record, by_key, connected, once
from rules.values import Value, order_key
from rules.values.packed import Packed

AT_ONCE = 5_000
"""Records that are Python objects at the same time; all records of a key come together, so it may be more."""
FEW = 5_000
"""Records; so few are grouped faster than the functions that recognise groups are loaded."""
_NO_PART = -1
_NEAREST = 10  # records near a group that it names
Key = tuple[Value, ...]
SortableKey = tuple[Any, ...]
"""A key in a form that sorts, equal exactly for equal keys."""


@dataclass(frozen=True)
class Grouping(GroupBuilder):
    """Build exact groups from the records that an engine returned, each a row of its answer."""

    bound: KeySettings

    @abstractmethod
    def sources(self, parts: Iterable[int]) -> Sequence[str]:
        """Return the columns of a row from which these parts of the key are computed."""

    @abstractmethod
    def completed(self, row: Mapping[str, Value]) -> dict[str, Value]:
        """Return a row's record with its derived columns, as far as their sources are there."""

    @abstractmethod
    def values(self, completed: Mapping[str, Value], parts: Iterable[int]) -> Key:
        """Return the normalised values of these parts of the key of a completed row."""

    @abstractmethod
    def identified(self, keyed: Iterable[Keyed]) -> list[Record]:
        """Return the records with their ids, from keys and completed rows."""

    @abstractmethod
    def values_of(self, record: Record, parts: Iterable[int]) -> Key:
        """Return the normalised values of these parts of the key of a record."""

    def groups(self, members: pa.Table, limit: ShareLimit, instead_of: pa.Table | None = None) -> Sequence[Group]:
        """Group the members, and those records of `instead_of` whose key no member has. Raises KeyTooCommon."""
        tables = [table.combine_chunks() for table in (members, instead_of) if table is not None]
        with no_collections():
            keys, numbers = self._numbered(tables)
            sizes = np.bincount(numbers[numbers != _NO_PART], minlength=len(keys) + 1)  # the last one is that of -1
            limit.check(sizes, lambda n: self._key_at(tables, numbers, n))
            if limit.keeps_all and self.bound.rule.recognition is not None and len(numbers) >= FEW:
                return self._recognised(tables, keys, numbers, sizes, self.bound.rule.recognition)
            parts = self._by_key(tables, *_in_order(keys, numbers))
            return Packed(limit.watched(group for rows in parts for group in self.of_rows(rows)))

    def _recognised(
        self,
        tables: Sequence[pa.Table],
        keys: list[SortableKey],
        numbers: Positions,
        sizes: Positions,
        recognition: Recognition,
    ) -> Sequence[Group]:
        """Build the groups whose digests are not known; every key with enough records has exactly one."""
        from rules.groups.digests import digests  # noqa: PLC0415 - loads functions of pyarrow

        enough = np.where((numbers != _NO_PART) & (sizes[numbers] >= self.bound.minimum), numbers, _NO_PART)
        ends = np.cumsum([len(table) for table in tables])[:-1]
        of_tables = zip(tables, np.split(enough, ends), strict=True)
        content, digest_numbers = bytearray(), array("q")
        for table, of_table in of_tables:
            for number, digest in digests(table, of_table, keys, recognition.salt):
                content += digest
                digest_numbers.append(number)
        current, with_digest = Digests(content), np.array(digest_numbers, np.int64)

        def digest_of(number: int) -> str:
            return current[int(np.searchsorted(with_digest, number))]

        def build(chosen: Collection[int]) -> Sequence[DuplicateGroup]:
            number_of = {keys[number]: number for number in chosen}
            is_chosen = np.zeros(len(keys) + 1, np.bool_)
            is_chosen[list(chosen)] = True
            parts = self._by_key(tables, *_in_order(keys, np.where(is_chosen[enough], enough, _NO_PART)))
            groups = ((group, _sortable(group.key.values())) for rows in parts for group in self.of_rows(rows))
            return Packed(replace(group, digest=digest_of(number_of[key])) for group, key in groups)

        is_known = recognition.digests.places_of(current) >= 0
        built = build(with_digest[~is_known].tolist())
        unbuilt, keeps_records = current.where(is_known), bool(is_known.any())
        return PartlyBuilt(built, unbuilt, with_digest[is_known], build if keeps_records else _no_groups)

    def _key_at(self, tables: Sequence[pa.Table], numbers: Positions, number: int) -> dict[str, Value]:
        """Return the key of this number."""
        rows = rows_at(tables, np.flatnonzero(numbers == number)[:1])
        [(key, _)] = self.with_keys(rows)
        return dict(zip(self.bound.key_names, key or (), strict=True))

    def _by_key(
        self, tables: Sequence[pa.Table], order: Positions, ranks: Positions
    ) -> Iterator[list[dict[str, Value]]]:
        """Yield the records in parts and in the order of their keys; records of one key are in one part."""
        begin = 0
        while begin < len(order):
            last = min(begin + AT_ONCE, len(order)) - 1
            end = int(np.searchsorted(ranks, ranks[last], side="right"))
            yield list(rows_at(tables, np.sort(order[begin:end])))
            begin = end

    def _numbered(self, tables: Sequence[pa.Table]) -> tuple[list[SortableKey], Positions]:
        """Return the different keys in sortable form, and for each record the number of its key.

        A record takes no part if an earlier table has its key.
        """
        columns = list(self.sources(range(len(self.bound.parts))))
        key_numbers: dict[SortableKey, int] = {}
        numbers_by_table = [np.empty(0, np.int64)]
        for table in tables:
            first_new = len(key_numbers)
            different, places = encoded.different(table.select(columns))
            numbers = [
                _number(self._common(key), key_numbers)
                for begin in range(0, len(different), AT_ONCE)
                for key, _ in self.with_keys(answers.rows(different.slice(begin, AT_ONCE)))
            ]
            numbers_by_table.append(np.array([n if n >= first_new else _NO_PART for n in numbers], np.int64)[places])
        return list(key_numbers), np.concatenate(numbers_by_table)

    def _common(self, key: Key | None) -> Key | None:
        """Return the parts of a key in which all records of a group are equal."""
        return key if key is None or not self.bound.open_parts else tuple(key[n] for n in self.bound.equal_parts)

    def of_rows(self, rows: Iterable[Mapping[str, Value]]) -> tuple[DuplicateGroup, ...]:
        """Group records that meet the rule's conditions."""
        return self.of_records(self.records(rows))

    def of_records(self, records: Iterable[Record]) -> tuple[DuplicateGroup, ...]:
        """Group records that have a key and meet the rule's conditions."""
        alike = by_key(records, self.bound.equal_parts if self.bound.open_parts else None)
        return in_order(group for records in alike for group in self._of_key(records))

    def records(self, rows: Iterable[Mapping[str, Value]]) -> list[Record]:
        """Return the records that have a key."""
        return self.identified((key, record) for key, record in self.with_keys(rows) if key is not None)

    def with_keys(self, rows: Iterable[Mapping[str, Value]]) -> Iterator[tuple[Key | None, Mapping[str, Value]]]:
        """Yield the key of each row (None if it takes no part), and the completed row."""
        every_part = range(len(self.bound.parts))
        for row in rows:
            record = self.completed(row)
            key = self.values(record, every_part)
            yield key if None not in key or self._is_complete(key) else None, record

    def samples(self, rows: Iterable[Mapping[str, Value]]) -> list[Sample]:
        """Return how each of these records is compared; all of them take part unless a part of their key is empty."""
        columns = [part.column for part in self.bound.parts]
        return [
            Sample(
                record.id,
                {name: record.values[name] for name in self.bound.shown},
                tuple(zip(columns, (record.values[name] for name in columns), record.key, strict=True)),
                record.dataset,
            )
            for record in self.records(rows)
        ]

    def _of_key(self, alike: list[Record]) -> Iterator[DuplicateGroup]:
        if self.bound.rule.repeats is not None:
            yield from self._repetitions(self.bound.rule.repeats, alike)
            return
        if self.bound.open_parts:
            of_group = agreeing.split(alike, self.bound.open_parts)
            parts = [once(sorted(records, key=lambda record: record.place)) for records in of_group]
            groups = (self._group(part) for each in parts for part in connected(each, self.bound.excepted))
            yield from (group for group in groups if group is not None)
            return
        window, nearby = self.bound.rule.window, None
        parts = self.bound.split(alike)
        for number, records in enumerate(parts):
            for part in connected(once(records), self.bound.excepted):
                group = self._group(part)
                if group is not None and window is not None:
                    nearby = nearby or splitting.nearby(window, parts, self.bound.excepted)
                    yield self._with_nearby(group, nearby(part, number), window.column)
                elif group is not None:
                    yield group

    def _repetitions(self, column: str, alike: list[Record]) -> Iterator[DuplicateGroup]:
        for number, counted in enumerate(splitting.numbered(column, alike), 1):
            of_record = {record.name: records for record, records in counted}
            for part in connected([record for record, _ in counted], self.bound.excepted):
                if (group := self._group(part)) is not None:
                    counts = [of_record[record.name] for record in part]
                    yield replace(group, repetition=Repetition(column, number, min(counts), max(counts)))

    def _with_nearby(self, group: DuplicateGroup, near: list[Record], column: str) -> DuplicateGroup:
        members = ((Member.of(record, self.bound.shown), record.values[column]) for record in near[:_NEAREST])
        nearest = tuple(Nearby(member.id, member.values, member.dataset, at=at) for member, at in members)
        return replace(group, nearby=nearest, nearby_records=len(near))

    def _is_complete(self, key: Key) -> bool:
        """Return True if the key, or one of several, has no empty part that excludes the record."""
        parts = self.bound.parts
        return any(all(key[n] is not None or self.bound.matches_null(parts[n]) for n in of) for of in self.bound.keys)

    def _group(self, records: list[Record]) -> DuplicateGroup | None:
        ordered = self.ordered(records)
        values = records[0].key
        if self.bound.open_parts:  # the values that the records agree in
            values = tuple(
                next((v for v in of_part if v is not None), None)
                for of_part in zip(*(r.key for r in records), strict=True)
            )
        key = dict(zip(self.bound.key_names, values, strict=True))
        return self.group(ordered, key) if ordered else None


def _no_groups(_: Collection[int]) -> Sequence[DuplicateGroup]:
    return ()


def _number(key: Key | None, key_numbers: dict[SortableKey, int]) -> int:
    return _NO_PART if key is None else key_numbers.setdefault(_sortable(key), len(key_numbers))


def _sortable(key: Iterable[Value]) -> SortableKey:
    return tuple(map(order_key, key))


def _in_order(keys: list[SortableKey], numbers: Positions) -> tuple[Positions, Positions]:
    """Return the positions of records that take part, in the order of their keys, and the rank of each key."""
    positions = np.flatnonzero(numbers != _NO_PART)
    present = np.unique(numbers[positions]).tolist()
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(present, key=keys.__getitem__)] = np.arange(len(present))
    record_ranks = ranks[numbers[positions]]
    order = np.argsort(record_ranks, kind="stable")
    return positions[order], record_ranks[order]


def rows_at(tables: Sequence[pa.Table], positions: Positions) -> Iterator[dict[str, Value]]:
    """Yield the rows at these ascending positions, counted through all tables."""
    begin = 0
    for table in tables:
        local = positions[(positions >= begin) & (positions < begin + len(table))] - begin
        yield from _picked(table, local)
        begin += len(table)


def _picked(table: pa.Table, positions: Positions) -> Iterable[dict[str, Value]]:
    if len(table) > AT_ONCE:
        return answers.rows(table.take(pa.array(positions)))
    rows = list(answers.rows(table))  # `take` loads functions of pyarrow, which takes longer than a small file
    return (rows[position] for position in positions.tolist())


@contextmanager
def no_collections() -> Iterator[None]:
    """Pause garbage collection: groups are many lasting objects without cycles, and a third of the time went there."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
