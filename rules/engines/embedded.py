"""The reference engine: DuckDB in this process, in bounded memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.engines import crowded, hashed, windowed
from rules.engines.base import IdentityProblem, Readable, RecordCounts, Repeats, Stop, Streamed
from rules.engines.session import Session
from rules.functions import render

SLICE = 16_000_000  # hashes in memory at a time
_BYTES = 8  # of a hash
SPREAD = 4
"""Ids that are whole numbers are ticked off in a table of one byte for each number between the least and the greatest,
unless it has more than so many numbers for each id, or takes more memory than a slice."""
_BATCH = 1_000_000


@dataclass(frozen=True)
class Several:
    """Records of several datasets, each in a table of its own; `select` makes one table of them."""

    tables: tuple[tuple[sa.TableClause, Streamed | Readable], ...]
    select: sa.Select[Any]


class Embedded(Session):
    """DuckDB over one set of records, inside a `with`.

    `table` has the columns to read; for several datasets, those of their `select`.
    """

    def __init__(
        self,
        table: sa.TableClause,
        records: Streamed | Readable | Several,
        memory: str | None = None,
        temp: Path | None = None,
        stop: Stop | None = None,
    ) -> None:
        super().__init__(memory, temp, stop)
        self._table = table
        self._records = records
        self._marked: Repeats | None = None
        self._numbered = False

    @property
    def table(self) -> sa.FromClause:
        return self._table

    def append(self, reader: pa.RecordBatchReader) -> None:
        """Add batches with the columns of the schema to the streamed records."""
        self.take(reader, tuple(column.name for column in self._table.c), "insert into records by name")
        self._marked = None

    def tally(self, question: Repeats) -> RecordCounts:
        """Count all records by state. Raises OutOfMemory."""
        self._mark(question)
        states = {int(state): int(records) for state, records in self.rows(hashed.states())}
        left_out = self.fitting(functools.partial(self._leave_out, question)) if question.most else ()
        if question.ids is None:
            return RecordCounts(states, crowded=left_out)
        if not question.id:
            return RecordCounts(states, self.identity(question.ids), left_out)
        inside = sum(records for state, records in states.items() if state not in question.outside)
        return RecordCounts(states, self._identity(question.ids, inside), left_out)

    def members(self, question: Repeats) -> pa.Table:
        """Return the columns of the records whose key repeats. Raises OutOfMemory when every way failed."""
        self._mark(question)
        return self.fitting(functools.partial(self._find, question))

    def identity(self, ids: sa.Select[Any]) -> IdentityProblem:
        """Count the ids that are empty or repeat. Raises OutOfMemory."""
        [(records, named, different)] = self.fitting(functools.partial(self.rows, windowed.identity(ids)))
        return IdentityProblem(records - named, named - different)

    def load(self) -> None:
        if not isinstance(self._records, Several):
            self._load_table(self._table, self._records)
            return
        for table, records in self._records.tables:
            self._load_table(table, records)
        self.execute(_together(self._records))

    def _load_table(self, table: sa.TableClause, records: Streamed | Readable) -> None:
        columns = tuple(column.name for column in table.c)
        if isinstance(records, Readable):
            self.execute(f"create temp view {table.name} as {records.sql(columns)}")
        else:
            self.take(records.open(columns), columns, f"create temp table {table.name} as")

    def _mark(self, question: Repeats) -> None:
        if self._marked is question:
            return
        self.define(question.python)
        self._numbered = self._is_numbered(question)
        marks = hashed.marks(question, numbered=self._numbered)
        self.execute("create or replace temp table marks as " + render(marks, self.dialect))
        self._marked = question

    def _is_numbered(self, question: Repeats) -> bool:
        """Return True if the handle is one column of whole numbers of at most 64 bits."""
        if len(question.handle) != 1:
            return False
        [name] = question.handle
        [type_] = self._db.sql(render(sa.select(self.table.c[name]).limit(sa.literal_column("0")), self.dialect)).types
        return str(type_) in hashed.WHOLE_NUMBERS

    def _find(self, question: Repeats) -> pa.Table:
        if question.is_of_every_record:
            return self.query(windowed.repeated(question))
        if not question.most:  # otherwise `tally` did it
            self._repeat(question)
        if not question.handle or question.over is None:
            return self.query(hashed.members(question))
        nameless = self._number(hashed.nameless(question)) > 0
        select = hashed.candidates(question, self.table, numbered=self._numbered, nameless=nameless)
        self.run(f"create or replace temp table {hashed.CANDIDATES} as {render(select, self.dialect)}")
        candidates = _candidates(self.table)
        return self.query(hashed.members(question.over(candidates)))

    def _repeat(self, question: Repeats) -> None:
        """Fill the table of repeated hashes."""
        into = "create or replace temp table repeated as "
        for column in hashed.key_hashes(question):
            for hashes in self._repeating(column, question.minimum):
                with self.shown("hashes", pa.table({"key_hash": hashes})):
                    self.run(into + render(hashed.repeated(question), self.dialect))
                into = "insert into repeated "

    def _leave_out(self, question: Repeats) -> tuple[int, ...]:
        """Fill the table of repeated hashes, without those that too many records share; count these records by key."""
        self._repeat(question)
        left_out = []
        for key, (column, key_hash) in zip(question.keys, hashed.key_hashes(question).items(), strict=True):
            hashes = render(crowded.hashes(hashed.MARKS, hashed.REPEATED, column, question.most or 0), self.dialect)
            self.run(f"create or replace temp table crowded as {hashes}")
            if self._number(crowded.count()):
                collisions = render(crowded.collisions(question, key, key_hash), self.dialect)
                self.run(f"delete from crowded where key_hash in ({collisions})")
                self.run("delete from repeated where key_hash in (select key_hash from crowded)")
            left_out.append(self._number(crowded.total()))
        return tuple(left_out)

    def _identity(self, ids: sa.Select[Any], inside: int) -> IdentityProblem:
        nulls = inside - self._number(hashed.marked("handle"))
        if self._numbered:
            [(named, least, greatest)] = self.rows(hashed.span())
            if named and greatest - least < min(SPREAD * named, _BYTES * SLICE):
                return IdentityProblem(nulls, named - self._different(least, greatest))
        if not any(len(hashes) for hashes in self._repeating("handle", 2, numbered=self._numbered)):
            return IdentityProblem(nulls)
        return self.identity(ids)  # two ids may share a hash, so equal hashes are only a hint

    def _different(self, least: int, greatest: int) -> int:
        """Return how many different whole numbers the handles are."""
        is_used = np.zeros(greatest - least + 1, np.bool_)
        for numbers in self._arrays(hashed.handles()):
            is_used[numbers - least] = True
        return int(np.count_nonzero(is_used))

    def _repeating(self, column: str, minimum: int, *, numbered: bool = False) -> Iterator[hashed.Hashes]:
        """Yield, slice by slice, the hashes that at least `minimum` marks have in that column."""
        records = self._number(hashed.marked(column))
        slices = 1 + records // SLICE
        for number in range(slices):
            statement = hashed.hashes_in(column, slices, number, numbered=numbered)
            yield hashed.repeating_hashes(self._hashes(statement, records // slices + 1), minimum)

    def _hashes(self, statement: sa.Select[Any], likely: int) -> hashed.Hashes:
        """Return the hashes that a statement selects, about `likely` of them, without a second copy."""
        hashes, count = np.empty(likely, np.uint64), 0
        for part in self._arrays(statement):
            if count + len(part) > len(hashes):
                hashes = np.concatenate([hashes[:count], np.empty(likely // 8 + len(part), np.uint64)])
            hashes[count : count + len(part)] = part
            count += len(part)
        return hashes[:count]

    def _arrays(self, statement: sa.Select[Any]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the only column of the answer in parts."""
        for batch in self._db.sql(render(statement, self.dialect)).to_arrow_reader(_BATCH):
            yield batch.column(0).to_numpy()

    def _number(self, statement: sa.Select[Any]) -> int:
        [(number,)] = self.rows(statement)
        return int(number)


def statements(question: Repeats, table: sa.FromClause, several: Several | None = None) -> tuple[str, ...]:
    """Return the SQL for display."""
    texts = {} if several is None else {"records of several datasets": _together(several)}
    texts["marks"] = "create temp table marks as\n" + _text(hashed.marks(question))
    if question.is_of_every_record:
        texts["members"] = _text(windowed.repeated(question))
        return _named(texts)
    texts |= {
        "repeated, where hashes are the key hashes that repeat among the marks, found by sorting": (
            "create temp table repeated as\n" + _text(hashed.repeated(question))
        ),
    }
    if question.handle and question.over is not None:
        candidates = _text(hashed.candidates(question, table))
        texts["candidates"] = f"create temp table {hashed.CANDIDATES} as\n{candidates}"
        question = question.over(_candidates(table))
    texts["members"] = _text(hashed.members(question))
    return _named(texts)


def _named(texts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"-- {name}\n{text}" for name, text in texts.items())


def _together(several: Several) -> str:
    return f"create temp view records as\n{_text(several.select)}"


def _candidates(table: sa.FromClause) -> sa.TableClause:
    return sa.table(hashed.CANDIDATES, *(sa.column(column.name, column.type) for column in table.c))


def _text(statement: sa.Select[Any]) -> str:
    return render(statement, Embedded.dialect)
