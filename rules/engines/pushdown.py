"""The source database as an engine: it runs our question and returns only the members of groups.

The fastest form of the question on PostgreSQL: a number for every record, then only records whose number repeats.

This number, the mark, is 8 bytes for any key length, and one pass over the marks also counts the skipped records by
reason. Sorting marks is several times faster than sorting records by their keys, and uses several processors.
Two keys may share a mark, so the result is a superset; `rules.grouping` compares the values.

Measured on 2,000,000 records: a dry run takes 5.6 s and 157 MB with marks, and 7.5 s and 188 MB with keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from rules.engines import crowded, windowed
from rules.engines.base import IdentityProblem, Key, Pushed, RecordCounts, Repeats
from rules.engines.embedded import Embedded
from rules.functions import exact, render

MOST = 200_000
"""Marks that are looked up in one statement; if more repeat, keys are compared instead."""
OLDEST = 140_000
"""PostgreSQL 14 looks marks up by hash; earlier versions would scan all of them for every record."""

_OTHERS = -1
_ADDED = 1  # row that `repeating` adds
_FIRST_STATE = -2
INCOMPLETE = _FIRST_STATE
"""The mark of a record in state 0 that takes no part."""
_REASONS = 1_000
_BITS = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True)
class Marked:
    """A table with marks: `mark` is never null, and not negative for a record that takes part."""

    table: sa.FromClause
    mark: sa.ColumnElement[int]


@dataclass(frozen=True)
class MarkCounts:
    """The result of the pass over the marks: records by state, those that are not ASCII, and the repeating marks.

    `marks` is None if there are more than MOST.
    """

    states: Mapping[int, int]
    non_ascii: int
    marks: tuple[int, ...] | None


def mark(
    takes_part: sa.ColumnElement[bool],
    hashes: Sequence[sa.ColumnElement[int]],
    non_ascii: sa.ColumnElement[bool],
    state: sa.ColumnElement[int],
) -> sa.ColumnElement[int]:
    """Combine all hashes into one number; a negative state if a hash is null or the record takes no part.

    `non_ascii` is true for records that are not ASCII where that matters; `state` is then ignored.
    """
    first, *more = hashes
    for hash_value in more:
        first = first.bitwise_xor(hash_value)
    hashed = sa.case((sa.and_(sa.not_(non_ascii), takes_part), first.bitwise_and(_number(_BITS))))
    return sa.func.coalesce(
        hashed, sa.case((non_ascii, _number(_OTHERS)), else_=_number(_FIRST_STATE) - state), type_=sa.BigInteger()
    )


def prepare() -> sa.Select[Any]:
    """Select the server's version and set, for this transaction only, sorting on several processors."""
    # It underestimates the number of marks and aggregates by hash: three times slower once that spills.
    settings = sa.select(
        sa.cast(sa.func.current_setting("server_version_num"), sa.Integer).label("version"),
        sa.func.set_config("enable_hashagg", "off", sa.true(), type_=sa.Text()).label("sorts"),
        sa.func.set_config("parallel_tuple_cost", "0.001", sa.true(), type_=sa.Text()).label("divides"),
    )
    return sa.select(*settings.selected_columns)


def repeating(marked: Marked, minimum: int) -> sa.Select[Any]:
    """Select the negative marks, then every repeating mark, with counts; one more than MOST if there are too many."""
    marks = sa.select(marked.mark.label("mark")).select_from(marked.table)
    # One more row makes the mark a column. An expression in HAVING would carry its inputs through the sort.
    rows = marks.union_all(sa.select(_number(_OTHERS))).subquery("each_record")
    counted: sa.Select[Any] = sa.select(rows.c.mark, sa.func.count().label("records")).group_by(rows.c.mark)
    counted = counted.having(sa.or_(sa.func.count() >= minimum, rows.c.mark < 0))
    return counted.order_by(rows.c.mark).limit(_number(MOST + _REASONS))


def every_record(marked: Marked) -> sa.Select[Any]:
    """Count the records of the table."""
    return sa.select(sa.func.count().label("records")).select_from(marked.table)


def mark_counts(rows: Iterable[tuple[int, int]], records: int) -> MarkCounts:
    """Compute the counts from the rows of `repeating`, each a mark and its count, and the number of records."""
    repeated = list(rows)
    states = {_FIRST_STATE - number: count for number, count in repeated if number <= _FIRST_STATE}
    non_ascii = sum(count for number, count in repeated if number == _OTHERS) - _ADDED
    marks = tuple(number for number, _ in repeated if number >= 0)
    taking_part = records - non_ascii - sum(states.values())
    states |= {0: taking_part} if taking_part else {}
    return MarkCounts(states, non_ascii, marks if len(marks) <= MOST else None)


def alike(marked: Marked, question: Repeats, marks: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select the records with these marks that also meet the question's other conditions."""
    table = marked.table
    members = sa.select(*(table.c[name] for name in question.columns)).where(marked.mark == sa.any_(marks))
    if (question.near is None and question.differ is None) or question.over is None:
        return members
    return windowed.repeated(question.over(members.subquery("alike")))


@dataclass(frozen=True)
class JoiningMarks:
    """The marks of a key that join records, and the number of records whose value too many share."""

    marks: Sequence[int]
    left_out: int


def any_alike(question: Repeats, marks: Sequence[Marked], joining: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    """Select the records that have, under any of several keys, one of its joining marks."""
    table = marks[0].table
    repeats = [marked.mark == sa.any_(few) for marked, few in zip(marks, joining, strict=True)]
    columns = (
        sa.case((is_repeated, 1), else_=0).label(key.column)
        for key, is_repeated in zip(question.keys, repeats, strict=True)
    )
    return sa.select(*(table.c[name] for name in question.columns), *columns).where(sa.or_(*repeats))


def constant(marks: Sequence[int]) -> sa.ColumnElement[Any]:
    """Return the marks as a constant, because PostgreSQL looks constants up by hash."""
    return sa.literal(list(marks), sa.ARRAY(sa.BigInteger()))


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.BigInteger())


_CHUNK = 400  # values in one IN list; SQLite takes 999 parameters in a statement


class Pushdown:
    """Answers questions inside the source, all in the one snapshot that its `query` reads."""

    name = "pushdown"

    def __init__(self, records: Pushed) -> None:
        self._records = records
        self.dialect = records.dialect

    @property
    def table(self) -> sa.FromClause:
        return self._records.table

    def stream(self, statement: sa.Select[Any]) -> pa.RecordBatchReader:
        return self._records.query(statement)

    def ask(self, question: Repeats, marked: Marked | None) -> SourceAnswer:
        """Return counts and members; by marks, if given and the server supports them."""
        if marked is None or self._version() < OLDEST:
            return SourceAnswer(self.states(question), self.members(question))
        repeats = self._whole(repeating(marked, question.minimum)).to_pydict()
        records = self._row(every_record(marked))["records"]
        counts = mark_counts(zip(repeats["mark"], repeats["records"], strict=True), records)
        too_many = counts.marks is None
        members = windowed.repeated(question) if too_many else alike(marked, question, constant(counts.marks or ()))
        return SourceAnswer(counts.states, self._whole(members), counts.non_ascii)

    def ask_any(self, question: Repeats, marks: Sequence[Marked]) -> SourceAnswer:
        """Return counts and members under any of several keys; by the marks of each key, if they can be used."""
        joining = self._joining(question, marks) if marks and self._version() >= OLDEST else None
        if joining is None:
            members, left_out = self.members(question), self._crowded(question, question.keys)
        else:
            members = self._whole(any_alike(question, marks, [constant(each.marks) for each in joining]))
            left_out = tuple(each.left_out for each in joining)
        return SourceAnswer(self.states(question), members, crowded=left_out)

    def _joining(self, question: Repeats, marks: Sequence[Marked]) -> list[JoiningMarks] | None:
        """Return the marks that join records under each key; None if they are too many, or one may have two values."""
        joining = []
        for key, marked in zip(question.keys, marks, strict=True):
            rows = self._whole(repeating(marked, question.minimum)).to_pydict()
            records = {mark: count for mark, count in zip(rows["mark"], rows["records"], strict=True) if mark >= 0}
            if len(records) > MOST:
                return None
            few: list[int] = [
                mark for mark, count in records.items() if question.most is None or count <= question.most
            ]
            many = sum(records.values()) - sum(records[mark] for mark in few)
            if many and self._crowded(question, [key]) != (many,):
                return None
            joining.append(JoiningMarks(few, many))
        return joining

    def members(self, question: Repeats) -> pa.Table:
        """Return the records of the answer."""
        return self._whole(windowed.repeated(question))

    def identity(self, question: Repeats) -> IdentityProblem:
        """Count the ids that are empty or repeat; skipped where the database itself prevents that."""
        return self.identity_of(question.id, question.ids)

    def identity_of(self, columns: tuple[str, ...], ids: sa.Select[Any] | None) -> IdentityProblem:
        """Count the ids that are empty or repeat; `columns` of the table are all that they consist of, or empty."""
        if ids is None:
            return IdentityProblem()
        if self._records.unique(columns):
            texts = any(isinstance(column.type, sa.Text) for column in ids.selected_columns)
            # An index accepts a text of white space, which identifies no record.
            return IdentityProblem(self._row(windowed.unnamed(ids))["records"] if texts else 0)
        row = self._row(windowed.identity(ids))
        return IdentityProblem(row["records"] - row["named"], row["named"] - row["different"])

    def _crowded(self, question: Repeats, keys: Sequence[Key]) -> tuple[int, ...]:
        """Count, for each of these keys, the records whose value the answer leaves out as shared by too many."""
        most = question.most
        if most is None:
            return ()
        return tuple(self._row(crowded.records(question, key, most))["records"] for key in keys)

    def _version(self) -> int:
        return int(self._whole(prepare()).column("version")[0].as_py())

    def states(self, question: Repeats) -> dict[int, int]:
        """Count all records by state."""
        rows = self._whole(windowed.states(question)).to_pylist()
        return {int(row["state"]): int(row["records"]) for row in rows}

    def _row(self, statement: sa.Select[Any]) -> dict[str, int]:
        [row] = self._whole(statement).to_pylist()
        return {name: int(value) for name, value in row.items()}

    def _whole(self, statement: sa.Select[Any]) -> pa.Table:
        return self._records.whole(statement)


@dataclass(frozen=True)
class SourceAnswer:
    """The source's answer: records by state, the members, and the number of records left out as not ASCII.

    `others` is None where these were not counted. `crowded` is as in `RecordCounts`.
    """

    states: Mapping[int, int]
    members: pa.Table
    others: int | None = None
    crowded: tuple[int, ...] = ()


def statements(question: Repeats, marked: Marked | None, dialect: str, marks: Sequence[Marked] = ()) -> tuple[str, ...]:
    """Return the SQL for display, each statement with its name; `marks` are those of several keys."""
    texts = {"states": windowed.states(question), "members": windowed.repeated(question)}
    if marks:
        few: list[sa.ColumnElement[Any]] = [
            sa.literal_column(f"'{{the marks of key {number}}}'::bigint[]") for number in range(1, len(marks) + 1)
        ]
        texts = {f"marks of key {number}": repeating(each, question.minimum) for number, each in enumerate(marks, 1)}
        texts |= {
            "states": windowed.states(question),
            f"members, for up to {MOST:,} marks of each key": any_alike(question, marks, few),
            "members, for more marks": windowed.repeated(question),
        }
    if marked is not None:
        texts = {
            "marks: a hash for every record that takes part, others by reason": repeating(marked, question.minimum),
            "records": every_record(marked),
            f"members, for up to {MOST:,} marks": alike(marked, question, sa.literal_column("'{the marks}'::bigint[]")),
            "members, for more marks": windowed.repeated(question),
        }
    for number, key in enumerate(question.keys if question.most else (), 1):
        name = f"records left out of key {number}: their value is shared by more than {question.most:,}"
        texts[name] = crowded.records(question, key, question.most or 0)
    if question.ids is not None:
        texts["identity, unless an index of the table keeps it unique"] = windowed.identity(question.ids)
    return tuple(f"-- {name}\n{render(text, dialect)}" for name, text in texts.items())


@dataclass(frozen=True)
class Guard:
    """The ASCII guard: folding text is the same on every engine only while the text is ASCII.

    `ascii` is true for a record whose folded columns are ASCII. `source` and `everything` are the question over the
    ASCII records and over all records of the source; `here` compiles it for DuckDB. `lookups` are the positions of the
    key parts whose values can be looked up in the source; `columns` are the columns read of a record.
    """

    ascii: sa.ColumnElement[bool]
    columns: tuple[sa.ColumnElement[Any], ...]
    source: Repeats
    everything: Repeats
    here: Callable[[sa.FromClause], Repeats]
    lookups: tuple[int, ...]
    marked: Marked | None = None

    def others(self) -> sa.Select[Any]:
        """Select the records that are not ASCII."""
        return sa.select(*self.columns).where(sa.not_(self.ascii))

    def joining(self, part: int, values: Sequence[Any]) -> sa.Select[Any]:
        """Select the ASCII records whose key part is one of the values."""
        column = self.source.key[part]
        non_null = [value for value in values if value is not None]
        matching = [column.in_([exact(sa.literal(v)) if isinstance(v, str) else sa.literal(v) for v in non_null])]
        if len(non_null) < len(values):
            matching.append(column.is_(None))
        return self.all_joining().where(sa.or_(*matching))

    def all_joining(self) -> sa.Select[Any]:
        """Select all ASCII records that take part."""
        names = [self.source.keyed.c[name] for name in self.source.columns]
        return sa.select(*names).where(self.source.takes_part)

    def statements(self, dialect: str) -> tuple[str, ...]:
        """Return the SQL for display; the statement for joining records depends on the values of the others."""
        non_ascii = render(self.others(), dialect)
        name = "others, where there are any: records that are not ASCII, compared here"
        return (*statements(self.source, self.marked, dialect), f"-- {name}\n{non_ascii}")


def guarded(source: Pushdown, embedded: Embedded, guard: Guard, answer: SourceAnswer) -> tuple[RecordCounts, pa.Table]:
    """Return counts, and the members that share a key with a record that is not ASCII.

    `embedded` holds the records that are not ASCII. Folding can give such a record an ASCII key (the Kelvin sign is a
    k), so the ASCII records with these keys join them. The table has all records of each of its keys, and replaces
    the same keys in `answer`.
    """
    question = guard.here(embedded.table)
    counted = embedded.tally(question)
    if counted.states.get(0):
        part, values = _most_selective(embedded, question, guard.lookups)
        for statement in _lookups(guard, part, values):
            embedded.append(source.stream(statement.execution_options(rereads=True)))
    states = (RecordCounts(answer.states) + RecordCounts(counted.states)).states
    return RecordCounts(states, source.identity(guard.everything)), embedded.members(question)


def _most_selective(embedded: Embedded, question: Repeats, lookups: Sequence[int]) -> tuple[int | None, list[Any]]:
    """Return the key part with most different values among the embedded records, and these values in order."""
    best: tuple[int | None, list[Any]] = (None, [])
    for part in lookups:
        values = sa.select(question.key[part].label("value")).where(question.takes_part).distinct()
        distinct = embedded.query(values.order_by("value")).column("value").to_pylist()
        if len(distinct) > len(best[1]):
            best = (part, distinct)
    return best


def _lookups(guard: Guard, part: int | None, values: Sequence[Any]) -> Iterator[sa.Select[Any]]:
    if part is None:
        yield guard.all_joining()
        return
    for begin in range(0, len(values), _CHUNK):
        yield guard.joining(part, values[begin : begin + _CHUNK])
