"""Groups of records that are alike, from the records of each dataset."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rules.binding.sided import SidedBuilder
from rules.engines import answers
from rules.engines.base import Skipped
from rules.groups.detection import UncertainPair
from rules.groups.group import DuplicateGroup, Member, place_of
from rules.groups.ids import identified
from rules.groups.learning import Learnt
from rules.kinds.similar import texts, uncertain
from rules.kinds.similar.bound import BoundSimilar, SimilarSide
from rules.kinds.similar.candidates.choice import Candidates
from rules.kinds.similar.decided import Decided, record_place
from rules.kinds.similar.encoded import Places
from rules.kinds.similar.evidence import evidence
from rules.kinds.similar.index import names
from rules.kinds.similar.learning import learn
from rules.kinds.similar.linking import batches, linked
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.model.judged import Judged
from rules.kinds.similar.model.model import Model
from rules.kinds.similar.question import compared
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Compared, Settings
from rules.kinds.similar.statistics import Statistics
from rules.pairs import links
from rules.pairs.record import Record, once
from rules.values import Type, Value, canonical_json

_Key = Mapping[str, Value]


@dataclass(frozen=True)
class SimilarGrouping(SidedBuilder):
    """Build the groups. `tables` holds the answer of each dataset, whole."""

    bound: BoundSimilar
    slot: dt.datetime
    tables: tuple[pa.Table, ...]
    statistics: Statistics | None = None
    """Those of all records, if the tables hold only some;"""
    chosen: Callable[[Records], Candidates] | None = None
    """then it returns the pairs to compare."""

    @cached_property
    def matching(self) -> Matching:
        rule = self.bound.rule
        settings = Settings(
            tuple(Compared(name, semantic_type, (name,)) for name, semantic_type in rule.compare.items()),
            one_to_one=rule.one_to_one,
            veto=rule.veto,
            block=rule.block,
            threshold=None if rule.threshold is None else float(rule.threshold),
            max_block=rule.max_block,
            weights=rule.weights,
            levels=rule.levels,
        )
        answers_of = list(zip(self.bound.sides, self.tables, strict=True))
        tables = _of_one_type([compared(side, table) for side, table in answers_of])
        ids = [_ids(side, table) for side, table in answers_of]
        if not rule.one_to_one:
            tables, ids = [pa.concat_tables(tables)], [pa.chunked_array(ids)]
        model = None if rule.model is None else Model.of(rule.model)
        records = Records.of(tables, settings, ids)
        chosen = None if self.chosen is None else self.chosen(records)
        return Matching(records, settings, model, self.statistics, chosen)

    @property
    def ids(self) -> pa.Table | None:
        """The ids of the records of one dataset, by place; None if they cannot be looked up."""
        [side], [table] = self.bound.sides, self.tables
        ids = names.columns(table, side.relation.id)
        return None if ids is None else ids.take(pa.array(self.matching.records.rows))

    def joined(self) -> tuple[Places, Places]:
        """Return the pairs that hold groups together: probable ones, and those that people judged to be the same."""
        first, second, _ = self.matching.probable
        together = np.asarray(sorted(self._decided.constraints.together), dtype=np.int64).reshape(-1, 2)
        return np.concatenate([first, together[:, 0]]), np.concatenate([second, together[:, 1]])

    def groups(self) -> Iterator[DuplicateGroup]:
        """Yield the groups in order."""
        matching = self.matching
        clusters = list(matching.clusters(self._decided.constraints))
        records = self._records(np.concatenate(clusters) if clusters else np.zeros(0, np.int64))
        ordered = filter(None, (self._ordered(cluster, records) for cluster in clusters))
        keyed = [(*self._keys(group), group) for group in ordered]
        keyed.sort(key=lambda item: place_of(item[0], item[2][0]))
        for batch in batches(keyed, lambda item: len(item[2])):
            yield from self._of_batch(batch)

    def learnt(self) -> Learnt | None:
        """Return what the rule learns from the records, if it is to learn."""
        rule = self.bound.rule
        if rule.precision is None:
            return None
        answers_of = dict.fromkeys(rule.judged, False) | dict.fromkeys(rule.judged_same, True)
        return learn(rule, self.matching, rule.precision, self._judged(answers_of))

    def _judged(self, answers_of: Mapping[frozenset[tuple[str | None, str]], bool]) -> Judged:
        """Return the judged pairs whose records are still here, each with whether they are the same."""
        named = self._decided.named if answers_of else {}
        places = {(record.dataset, canonical_json(record.id)): place for place, record in named.items()}
        pairs = {
            links.pair(*(places[name] for name in names)): is_same
            for names, is_same in answers_of.items()
            if len(names) == 2 and all(name in places for name in names)
        }
        return Judged.of(pairs, self.matching.records)

    @cached_property
    def _decided(self) -> Decided:
        return Decided(self.bound, self.matching, self.tables, self._records, self._compared)

    def uncertain(self) -> Iterator[UncertainPair]:
        """Yield the pairs whose judgement would teach the rule most, the first ones most."""
        chosen = uncertain.pairs(self.matching, self._decided.constraints)
        records = self._records(np.unique(np.asarray(chosen, np.int64)))
        named = [pair for pair in chosen if len(once(records[place] for place in pair if place in records)) == 2]
        named = named[: uncertain.MOST]
        for (first, second), why in zip(named, evidence(self.matching, named), strict=True):
            left, right = (Member.of(records[place], self.bound.shown) for place in (first, second))
            yield UncertainPair(left, right, why.probability, why.words)

    def left_out(self) -> Iterator[Skipped]:
        """Yield how many records a list of `block` did not bring together, because too many share its values.

        What one of the automatic passes leaves out, others find.
        """
        lists = {f"key {number} of block": ", ".join(names) for number, names in enumerate(self.bound.rule.block, 1)}
        reason = f"shared by more than {self.bound.rule.max_block:,} records"
        for each in self.matching.candidates.left_out:
            if each.name in lists:
                yield Skipped(lists[each.name], reason, each.records, whole=False)

    def _ordered(self, cluster: Places, records: Mapping[int, Record]) -> tuple[Record, ...]:
        """Return the records of a cluster, keeper first; empty if they are no group."""
        named = (records[place] for place in cluster.tolist() if place in records)
        return self.ordered(once(sorted(named, key=lambda record: record.place)))

    def _of_batch(self, batch: Sequence[tuple[_Key, _Key, Sequence[Record]]]) -> Iterator[DuplicateGroup]:
        """Yield the groups of some records that belong together, each with its key as compared and as read."""
        places = [np.array([record_place(record) for record in ordered]) for *_, ordered in batch]
        for (as_compared, as_read, ordered), joined_by in zip(batch, linked(self.matching, places), strict=True):
            yield replace(self.group(ordered, as_read, joined_by), compared_key=as_compared)

    def _keys(self, ordered: Sequence[Record]) -> tuple[_Key, _Key]:
        """Return the values in which two of the records agree, or those of the keeper if there are none.

        First as they are compared, then as the first record that has each of them was read.
        """
        as_compared: dict[str, Value] = {}
        as_read: dict[str, Value] = {}
        for column, encoded in zip(self.bound.rule.compare, self.matching.records.columns, strict=True):
            codes = [int(encoded.codes[record_place(record)]) for record in ordered]
            shared = [code for code in dict.fromkeys(codes) if code >= 0 and codes.count(code) > 1]
            for number, code in enumerate(shared, 1):
                name = column if number == 1 else f"{column} ({number})"
                as_compared[name] = _value(encoded.values[code])
                as_read[name] = ordered[codes.index(code)].values[column]
        if as_compared:
            return as_compared, as_read
        first = next(name for name in self.bound.rule.compare if ordered[0].values[name] is not None)
        return {first: ordered[0].values[first]}, {first: ordered[0].values[first]}

    def _compared(self, place: int) -> dict[str, Value]:
        """Return the values of a record as they are compared, for decisions: without empty ones and instants."""
        columns = zip(self.bound.rule.compare, self.matching.records.columns, strict=True)
        codes = ((name, encoded, int(encoded.codes[place])) for name, encoded in columns if name not in self._instants)
        return {name: _value(encoded.values[code]) for name, encoded, code in codes if code >= 0}

    @cached_property
    def _instants(self) -> frozenset[str]:
        columns = ((side, name, own) for side in self.bound.sides for name, own in side.own_columns.items())
        return frozenset(name for side, name, own in columns if side.columns.schema[own].type is Type.INSTANT)

    def _records(self, places: Places) -> dict[int, Record]:
        """Return the records at these places that have an id; the key of each is its place."""
        rows = self.matching.records.rows[places]
        begin, by_place = 0, {}
        for number, (side, table) in enumerate(zip(self.bound.sides, self.tables, strict=True)):
            inside = (rows >= begin) & (rows < begin + len(table))
            picked = answers.rows(table.select(side.needed).take(pa.array(rows[inside] - begin)))
            keyed = (
                ((place,), side.columns.complete(row, self.slot))
                for place, row in zip(places[inside].tolist(), picked, strict=True)
            )
            for record in identified(keyed, side.relation, side.content):
                by_place[record_place(record)] = record if len(self.tables) == 1 else self.seen(number, record)
            begin += len(table)
        return by_place


def _value(value: pa.Scalar) -> Value:
    plain: Value = value.as_py()
    return plain


def _ids(side: SimilarSide, table: pa.Table) -> pa.Array:
    """Return the id of each record as one text; records without id that are equal need no order."""
    parts = [table[name].cast(pa.string()).combine_chunks() for name in side.relation.id]
    if not parts:
        return pa.nulls(len(table), pa.string())
    return pc.binary_join_element_wise(*parts, "\x1f", null_handling="replace")


def _of_one_type(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return the tables with each column as text whose types differ, instants and dates as days."""
    alike = {name for name in tables[0].column_names if len({table.schema.field(name).type for table in tables}) == 1}
    return [
        pa.table({name: table[name] if name in alike else texts.as_text(table[name]) for name in table.column_names})
        for table in tables
    ]
