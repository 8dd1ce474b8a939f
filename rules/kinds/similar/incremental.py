"""Find the groups that may have changed since an earlier run: only records that changed are compared with all.

Pairs are weighed by the statistics of the last full run, so two records that did not change are joined as before. A
record that changed is looked up in the index of all records; those that may be the same are read by their ids, as are
all records that are joined with it, directly or through others: their groups are made anew. Records of groups that were
deleted are noticed, since all of them are looked up by their ids.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rules.engines.base import Streamed
from rules.engines.embedded import Embedded
from rules.expressions import parse
from rules.expressions.tree import FunctionCall, walk
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, in_order
from rules.groups.implausible import FEW as FEW_RECORDS
from rules.groups.incremental import AT_ONCE, FEW
from rules.groups.keyed import no_collections
from rules.groups.scope import Changed, KnownGroups, Scope, Unscoped
from rules.kinds.similar import contents
from rules.kinds.similar.bound import BoundSimilar
from rules.kinds.similar.candidates.choice import Candidates
from rules.kinds.similar.clusters import LARGEST
from rules.kinds.similar.decided import texts_of
from rules.kinds.similar.encoded import Places, distinct_in_place
from rules.kinds.similar.grouping import SimilarGrouping
from rules.kinds.similar.index import names
from rules.kinds.similar.index.coded import CodedPairs
from rules.kinds.similar.index.document import Unreadable, packed
from rules.kinds.similar.index.index import MOST_LATER, MOST_RECORDS, REFUSED, Index, Kind
from rules.kinds.similar.index.lookup import Lookup
from rules.kinds.similar.question import question
from rules.kinds.similar.records import Records
from rules.kinds.similar.types import WORDED, SemanticType
from rules.values import RecordId, Type

_BASE, _LATER = "records of the full run", "records of later runs"


def obstacle(bound: BoundSimilar) -> str | None:
    """Return the reason, as a clause, why only a full run of this rule is exact; None if an incremental one is."""
    rule = bound.rule
    if rule.clean is not None:
        return "it cleans, and its limits count all records"
    side = bound.sides[0]
    if len(bound.sides) > 1:
        return "it reads several datasets"
    worded = [f"`{name}`" for name, meaning in rule.compare.items() if meaning in WORDED]
    if worded:
        return f"{worded[0]} is compared by words, and how rare words are depends on all records"
    amounts = [f"`{name}`" for name, meaning in rule.compare.items() if meaning is SemanticType.AMOUNT]
    if amounts:
        return f"{amounts[0]} is compared as an amount, and how common amounts are depends on all records"
    relation = side.relation
    if not relation.id:
        return f"dataset `{relation.dataset}` has no `id`"
    if not set(relation.id).isdisjoint(relation.derived):
        return "its id is derived"
    if any(side.columns.schema[name].type not in (Type.INTEGER, Type.TEXT) for name in relation.id):
        return "its id is neither a whole number nor a text"
    texts = [text for text in (relation.where, rule.where) if isinstance(text, str)]
    roots = [parse(text).root for text in (*texts, *relation.derived.values())]
    if any(isinstance(node, FunctionCall) and node.function == "slot" for root in roots for node in walk(root)):
        return "`slot()` in a condition changes which records take part"
    return None


def remembered(grouping: SimilarGrouping) -> dict[str, bytes]:
    """Return what the next run needs to compare only new records, after a full one."""
    refusal = _refusal(grouping)
    ids = grouping.ids if refusal is None else None
    if refusal is None and (ids is None or not names.are_distinct(ids)):
        refusal = "ids are empty or not unique"
    if ids is None or refusal is not None:
        return {_BASE: packed({REFUSED: refusal}, {}), _LATER: b""}
    index = Index.of(grouping.matching, ids, grouping.joined())
    return {_BASE: index.base_document(), _LATER: index.later_document()}


def _refusal(grouping: SimilarGrouping) -> str | None:
    matching = grouping.matching
    if matching.candidates.is_every_pair:
        return "it has so few records that all pairs are compared"
    if matching.comparison.is_parted:
        return "some names end in a generation such as Jr, or several addresses are mailboxes of roles such as info@"
    if len(matching.records) > MOST_RECORDS:
        return f"it has more than {MOST_RECORDS:,} records"
    if any(left_out.name == "equal records" for left_out in matching.candidates.left_out):
        return f"more than {grouping.bound.rule.max_block:,} records are equal in every compared column"
    return None


def detect(bound: BoundSimilar, changed: Changed, findings: KnownGroups, slot: dt.datetime) -> Detection:
    """Return the groups that may have changed, with their records as scope. Raises Unscoped."""
    with no_collections():
        search = _Search(bound, changed, findings, slot)
        return search.detection()


class _Search:
    def __init__(self, bound: BoundSimilar, changed: Changed, findings: KnownGroups, slot: dt.datetime) -> None:
        self._bound, self._changed, self._findings, self._slot = bound, changed, findings, slot
        self._side = bound.sides[0]
        self._index = _read(changed)
        self._rows = changed.touched.slice(0, 0)
        """All records that were read, each once."""
        self._seeds = np.zeros(0, dtype=np.int64)
        """Positions of records, present or not, whose groups may have changed."""
        self._new = len(self._index)
        """The position of the first record that changed since the earlier run."""
        self._read = 0
        self._found: tuple[Index, tuple[Places, Places]] | None = None
        """The candidates that were found in an index."""

    def detection(self) -> Detection:
        self._take(self._changed.touched, is_change=True)
        self._add(self._gone(self._held()))
        self._add(self._positions(record for finding in self._findings.due() for record in finding.records))
        self._add(self._judged_same())
        while True:
            first, second = self._candidates()
            if self._take_missing(np.concatenate([first, second])):
                continue
            grouping = self._grouping(first, second)
            affected = self._affected(grouping)
            if self._take_missing(np.flatnonzero(affected)):
                continue
            groups = self._groups(grouping := self._grouping(first, second, affected))
            if not self._add_rivals(affected):
                return self._detected(grouping, affected, groups)

    def _take(self, rows: pa.Table, *, is_change: bool) -> None:
        """Add records to those that were read; with `is_change`, put those that take part in place of earlier ones."""
        self._read += len(rows)
        ids = self._ids(rows)
        first = pa.array(names.first_of_each(ids))
        rows, ids = rows.take(first), ids.take(first)
        if is_change:
            self._seeds = np.union1d(self._seeds, self._present_at(ids))
            grouping = SimilarGrouping(self._bound, self._slot, (self._answer(rows),), self._index.counting)
            own = grouping.ids
            if own is None:
                raise Unscoped("ids of changed records are empty")
            if len(ids) >= FEW and len(own) * 2 < len(ids) and not self._side.filters:
                raise Unscoped(f"{len(ids) - len(own):,} of {len(ids):,} changed records have no value to compare")
            kinds = [Kind.of(atoms) for atoms in grouping.matching.comparison.atoms()] if len(own) else None
            self._index = self._index.without(self._present_at(ids))
            self._index = self._index if kinds is None else self._index.extended(own, kinds)
            later = len(self._index) - self._index.base
            if later > MOST_LATER * self._index.base + FEW_RECORDS:
                raise Unscoped(f"{later:,} records changed since the last full run, whose statistics count")
        is_replaced = names.positions(self._ids(self._rows), ids) >= 0
        self._rows = pa.concat_tables([self._rows.filter(pa.array(~is_replaced)), rows])

    def _take_missing(self, places: Places) -> bool:
        """Read the present records at these places that were not read; return True if some are not as in the index."""
        present = distinct_in_place(places[self._index.present[places]])
        ids = self._index.ids.take(pa.array(present))
        missing = names.positions(ids, self._ids(self._rows)) < 0
        present, ids = present[missing], ids.filter(pa.array(missing))
        if not len(present):
            return False
        for begin in range(0, len(ids), AT_ONCE):
            part = names.tuples(ids.slice(begin, AT_ONCE))
            rows = self._changed.matching(tuple(self._side.relation.id), part)
            self._take(rows.filter(pa.array(names.positions(self._ids(rows), ids) >= 0)), is_change=False)
        return self._take_changed(present, ids)

    def _take_changed(self, places: Places, ids: pa.Table) -> bool:
        """Correct the index where records that were read are not as in it; return True if there are any."""
        rows = self._rows.filter(pa.array(names.positions(self._ids(self._rows), ids) >= 0))
        grouping = SimilarGrouping(self._bound, self._slot, (self._answer(rows),), self._index.counting)
        own = grouping.ids
        if own is None:
            raise Unscoped("ids of records are empty")
        at = names.positions(ids, own)
        is_same = at >= 0
        for number, encoded in zip(self._index.wholes, grouping.matching.records.columns, strict=True):
            kind = self._index.kinds[number]
            stored = np.append(kind.digests, contents.NULL)[kind.atoms[places]]
            read = np.append(contents.digests(encoded.values), contents.NULL)[encoded.codes]
            is_same[is_same] &= stored[is_same] == read[at[is_same]]
        if is_same.all():
            return False
        different = pa.array(~is_same)
        gone = places[~is_same]
        self._add(gone)
        self._index = self._index.without(gone)
        changed = rows.filter(pa.array(names.positions(self._ids(rows), ids.filter(different)) >= 0))
        if len(changed):
            self._take(changed, is_change=True)
        return True

    def _candidates(self) -> tuple[Places, Places]:
        """Return the pairs with a record that changed that may be probable, as far as the index tells."""
        if self._found is not None and self._found[0] is self._index:
            return self._found[1]
        pairs = self._looked_up()
        self._found = self._index, pairs
        return pairs

    def _looked_up(self) -> tuple[Places, Places]:
        later = np.arange(self._new, len(self._index))
        places = later[self._index.present[later]]
        if not len(places):
            return places, places
        first, second = Lookup(self._index, places, self._bound.rule.max_block).pairs()
        kept = CodedPairs(self._index, self._grouping(places[:0], places[:0]).matching).possible(first, second)
        return first[kept], second[kept]

    def _grouping(self, first: Places, second: Places, affected: NDArray[np.bool_] | None = None) -> SimilarGrouping:
        """Return the grouping of all records that were read and take part, by these pairs and earlier ones between
        affected records.
        """
        index = self._index
        if affected is not None:
            old = affected[index.first] & index.present[index.first] & index.present[index.second]
            first = np.concatenate([first, index.first[old]])
            second = np.concatenate([second, index.second[old]])

        def chosen(ids: pa.Table, _: Records) -> Candidates:
            place_of = names.positions(index.ids, ids)
            place_of[~index.present] = -1
            left, right = place_of[first], place_of[second]
            kept = (left >= 0) & (right >= 0)
            left, right = left[kept], right[kept]
            pairs = np.minimum(left, right) * max(len(ids), 1) + np.maximum(left, right)
            return Candidates(distinct_in_place(pairs), max(len(ids), 1), is_every_pair=False)

        plain = SimilarGrouping(self._bound, self._slot, (self._answer(self._rows),), index.counting)
        ids = plain.ids
        if ids is None:
            raise Unscoped("ids of records are empty")
        return replace(plain, chosen=partial(chosen, ids))

    def _affected(self, grouping: SimilarGrouping) -> NDArray[np.bool_]:
        """Return which records' groups may have changed: those of the records joined with a seed, also formerly."""
        index = self._index
        ids = grouping.ids
        assert ids is not None  # noqa: S101 - _grouping() checked it
        position = self._present_at(ids, every=True)
        left, right = (position[side] for side in grouping.joined())
        seeds = np.union1d(self._seeds, np.arange(self._new, len(index)))
        first, second = np.concatenate([index.first, left]), np.concatenate([index.second, right])
        graph = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), shape=(len(index), len(index)))
        _, labels = connected_components(graph, directed=False)
        is_affected = np.zeros(labels.max(initial=-1) + 1, dtype=bool)
        is_affected[labels[seeds]] = True
        affected: NDArray[np.bool_] = is_affected[labels]
        largest = int(np.bincount(labels[affected & index.present], minlength=1).max(initial=0))
        if largest > LARGEST:
            raise Unscoped(f"a record that changed is joined with {largest:,} others")
        return affected

    def _groups(self, grouping: SimilarGrouping) -> list[DuplicateGroup]:
        groups = in_order(list(grouping.groups()))
        grouped = len(self._held()) + sum(len(group.members) for group in groups)
        most = max(FEW_RECORDS, int(self._bound.max_share * int(self._index.present.sum())))
        if grouped > most:
            raise Unscoped(f"groups may hold more than {most:,} records, and `max_share` counts all")
        return list(groups)

    def _add_rivals(self, affected: NDArray[np.bool_]) -> bool:
        """Add the other records of the findings that the groups may continue; return True if there are any."""
        ids = names.tuples(self._index.ids.take(pa.array(np.flatnonzero(affected))))
        followed = self._positions(record for finding in self._findings.following(ids) for record in finding.records)
        rivals = followed[~affected[followed]]
        self._add(rivals)
        return bool(len(rivals))

    def _detected(
        self, grouping: SimilarGrouping, affected: NDArray[np.bool_], groups: Sequence[DuplicateGroup]
    ) -> Detection:
        in_scope = names.tuples(self._index.ids.take(pa.array(np.flatnonzero(affected))))
        touched = names.tuples(self._ids(self._changed.touched))
        return Detection(
            rule=self._bound.name,
            engine="pushdown",
            read=self._read,
            scanned=self._read,
            skipped=(),
            groups=groups,
            uncertain=tuple(grouping.uncertain()),
            scope=Scope(records=tuple(dict.fromkeys([*in_scope, *touched]))),
            remember=partial(self._remembered, grouping),
        )

    def _remembered(self, grouping: SimilarGrouping) -> dict[str, bytes]:
        index, ids = self._index, grouping.ids
        assert ids is not None  # noqa: S101 - _grouping() checked it
        position = self._present_at(ids, every=True)
        left, right = (position[side] for side in grouping.joined())
        kept = index.present[index.first] & index.present[index.second]
        first = np.concatenate([index.first[kept], np.minimum(left, right)])
        second = np.concatenate([index.second[kept], np.maximum(left, right)])
        pairs = distinct_in_place(np.minimum(first, second) * len(index) + np.maximum(first, second))
        newer = replace(index, first=pairs // len(index), second=pairs % len(index))
        return {_LATER: newer.later_document()}

    def _gone(self, places: Places) -> Places:
        """Return those of these places whose records do not exist any more, and take them out of the index."""
        gone, looked_up = [np.zeros(0, dtype=np.int64)], 0
        for begin in range(0, len(places), AT_ONCE):
            part = places[begin : begin + AT_ONCE]
            ids = self._index.ids.take(pa.array(part))
            existing = self._ids(self._changed.present(names.tuples(ids)))
            gone.append(part[names.positions(ids, existing) < 0])
            looked_up += len(part)
        absent = np.concatenate(gone)
        if looked_up >= FEW and len(absent) * 2 > looked_up:
            raise Unscoped(f"{len(absent):,} of {looked_up:,} known records are gone")
        self._index = self._index.without(absent)
        return absent

    def _held(self) -> Places:
        """Return the present records that are joined with another one."""
        held = np.zeros(len(self._index), dtype=bool)
        held[self._index.first] = held[self._index.second] = True
        return np.flatnonzero(held & self._index.present)

    def _judged_same(self) -> Places:
        """Return the positions of the records that people judged to be the same as another one."""
        named = {texts_of(name) for pair in self._bound.rule.judged_same for _, name in pair}
        if not named:
            return np.zeros(0, dtype=np.int64)
        ids = pa.table({name: self._index.ids[name].cast(pa.large_string()) for name in self._index.ids.column_names})
        at = names.positions(names.of_tuples(named, ids), ids)
        return at[at >= 0]

    def _add(self, places: Places) -> None:
        self._seeds = np.union1d(self._seeds, places)

    def _positions(self, records: Iterable[RecordId]) -> Places:
        """Return the positions of the present ones of these records."""
        ids = names.of_tuples(records, self._index.ids)
        return self._present_at(ids)

    def _present_at(self, ids: pa.Table, *, every: bool = False) -> Places:
        """Return the positions of the present ones of these records; with `every`, all are."""
        present = np.flatnonzero(self._index.present)
        at = names.positions(ids, self._index.ids.take(pa.array(present)))
        if every and (at < 0).any():
            raise Unscoped("records changed while they were read")
        return present[at[at >= 0]]

    def _ids(self, rows: pa.Table) -> pa.Table:
        ids = names.columns(rows, self._side.relation.id)
        if ids is None:
            raise Unscoped("ids of records are empty")
        return ids

    def _answer(self, rows: pa.Table) -> pa.Table:
        """Return those of the records that take part, as a full run reads them."""
        source = Streamed(lambda columns: rows.select(list(columns)).to_reader())
        with Embedded(self._side.table, source) as engine:
            return engine.members(question(self._side, engine.table, self._slot))


def _read(changed: Changed) -> Index:
    """Return the index that the last run left. Raises Unscoped."""
    stored = changed.remembered()
    if _BASE not in stored:
        raise Unscoped("the last full run left no index of its records")
    try:
        return Index.read(stored[_BASE], stored.get(_LATER, b""))
    except Unreadable:
        raise Unscoped("the index of the last full run is damaged, or another release wrote it") from None
