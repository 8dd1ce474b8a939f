"""Equal keys of several datasets as one question over the table of all their records.

Each dataset's keys are computed from its own columns, in its own time zone, and only then compared.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import sqlalchemy as sa

from rules.binding.names import DATASET
from rules.binding.sided import NamedSide, SidedSettings
from rules.binding.united import DIALECT, PART, Functions, United, all_of, part_number
from rules.engines.base import Key, Near, RecordCounts, Repeats
from rules.engines.compile import Columns, Compiler, column_type, part_exactness
from rules.groups import question as of_one
from rules.groups.settings import AskedSettings, KeySettings
from rules.normalise import chain_type
from rules.values import Column, Schema, Type


class AskedSide(NamedSide, AskedSettings, Protocol):
    """One of several datasets, with the settings in its own columns."""


class SeveralSettings(SidedSettings, KeySettings, Protocol):
    """The settings of a rule over several datasets."""

    @property
    def sides(self) -> Sequence[AskedSide]:
        """The datasets."""

    @property
    def united(self) -> United:
        """The table of all records."""

    def typed(self, column: str) -> Sequence[tuple[AskedSide, Type]]:
        """Return each dataset that has this column of the rule, with its type there."""


def question(bound: SeveralSettings, records: sa.FromClause, slot: dt.datetime) -> Repeats:
    """Compile the rule over the table of all records, or over some of them."""
    functions: Functions = {}
    united = bound.united
    compilers = [united.compiler(number, records, slot, functions) for number in range(len(bound.sides))]
    keyed = all_of([_keyed(bound, number, compiler) for number, compiler in enumerate(compilers)]).subquery("keyed")
    ids = [select for number in range(len(bound.sides)) for select in united.ids_of(number, records, slot)]
    return Repeats(
        keyed=keyed,
        columns=united.columns,
        key=tuple(keyed.c[f"key_{n}"] for n in bound.equal_parts),
        takes_part=keyed.c.takes_part,
        state=keyed.c.state,
        minimum=2 if bound.joins else bound.minimum,
        id=(PART, *united.ids) if united.ids else (),
        ids=all_of(ids) if ids else None,
        outside=tuple(_outside(bound)),
        near=_near(bound, keyed, records, slot) if bound.span_columns else None,
        differ=keyed.c.differing if _tells_different(bound) else None,
        keys=tuple(_keys(bound, keyed)) if bound.joins else (),
        most=bound.rule.max_shared if bound.joins and not any(map(_has_doubles, _parts(bound))) else None,
        over=partial(question, bound, slot=slot),
        python=functions,
    )


def tally_of(bound: SeveralSettings, number: int, tally: RecordCounts) -> RecordCounts:
    """Return the states of a dataset's records, from those of all records."""
    first = _first_state(bound, number)
    states = ((state - first, records) for state, records in tally.states.items())
    return RecordCounts(
        {state: records for state, records in states if 0 <= state < of_one.states(bound.sides[number])}
    )


def _keyed(bound: SeveralSettings, number: int, compiler: Compiler) -> sa.Select[Any]:
    """Select the records of one dataset with everything that is computed for each, comparable across datasets."""
    side = bound.sides[number]
    keyed, c = of_one.computed_columns(side, compiler)
    computed = {f"key_{n}": _comparable(part, c[f"key_{n}"]) for n, part in enumerate(_parts(bound))}
    computed["takes_part"] = of_one.takes_part(side, c)
    computed["state"] = of_one.state(side, c) + part_number(_first_state(bound, number))
    if bound.joins:
        computed |= {f"complete_{n}": of_one.is_complete(side, parts, c) for n, parts in enumerate(bound.keys)}
    for name, column in zip(of_one.PLACES, bound.span_columns, strict=False):
        computed[name] = c[name] if _alike(bound, column) else _as_double(c[name])
    if _tells_different(bound):
        computed["differing"] = (
            part_number(number) if bound.rule.differing == DATASET else c.get("differing", sa.null())
        )
    labelled = (element.label(name) for name, element in computed.items())
    return sa.select(*bound.united.row(number, keyed), *labelled)


def _first_state(bound: SeveralSettings, number: int) -> int:
    """Return the number that a dataset adds to its states, so that each state tells its dataset."""
    return sum(of_one.states(side) for side in bound.sides[:number])


def _outside(bound: SeveralSettings) -> Iterator[int]:
    """Yield the states of records whose id is not checked: outside their dataset, or of a dataset without an id."""
    for number, side in enumerate(bound.sides):
        first = _first_state(bound, number)
        if not side.relation.id:
            yield from range(first, first + of_one.states(side))
        elif side.relation.where is not None:
            yield from (first + of_one.OUTSIDE, first + of_one.OUTSIDE_UNKNOWN)


def _keys(bound: SeveralSettings, keyed: sa.FromClause) -> Iterator[Key]:
    for number, (parts, column) in enumerate(zip(bound.keys, bound.shared_columns, strict=True)):
        yield Key(tuple(keyed.c[f"key_{n}"] for n in parts), keyed.c[f"complete_{number}"], column)


@dataclass(frozen=True)
class _Part:
    """A part of the key in all datasets: its types after normalising; `is_text` if DuckDB gets one of them as text."""

    types: frozenset[Type]
    is_text: bool


def _parts(bound: SeveralSettings) -> Iterator[_Part]:
    for parts in zip(*([(side, part) for part in side.parts] for side in bound.sides), strict=True):
        types = frozenset(chain_type(side.columns.schema[part.column].type, part.steps) for side, part in parts)
        zones = ((side.columns, part, DIALECT, side.relation.timezone) for side, part in parts)
        yield _Part(types, any(part_exactness(*zone) == "never" for zone in zones))


def _has_doubles(part: _Part) -> bool:
    """Return True if numbers become doubles, which may be equal too often: then Python decides."""
    return len(part.types) > 1 or Type.DECIMAL in part.types or (part.is_text and any(t.is_number for t in part.types))


def _comparable(part: _Part, key: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a part of the key in a form that is equal for equal values of every dataset."""
    if _has_doubles(part):
        return _as_double(key)
    [type_] = part.types
    return sa.cast(key, column_type(type_)) if part.is_text and type_ is not Type.TEXT else key


def _as_double(number: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a number as the double nearest to its decimal digits, the same for every type."""
    return sa.cast(sa.cast(number, sa.Text()), sa.Double())


def _alike(bound: SeveralSettings, column: str) -> bool:
    """Return True if a column has one type in all datasets that have it."""
    return len({type_ for _, type_ in bound.typed(column)}) == 1


def _near(bound: SeveralSettings, keyed: sa.FromClause, records: sa.FromClause, slot: dt.datetime) -> Near | None:
    columns = []
    for column in bound.span_columns:
        [(_, type_), *_] = bound.typed(column)
        columns.append(Column(column, type_ if _alike(bound, column) else Type.FLOAT))
    compiler = Compiler(Columns(Schema(tuple(columns))), records, DIALECT, slot)
    return of_one.near(bound.rule, compiler, {name: keyed.c[name] for name in of_one.PLACES if name in keyed.c})


def _tells_different(bound: SeveralSettings) -> bool:
    """Return True if DuckDB can leave out keys whose records do not differ in the column `differing`."""
    differing = bound.rule.differing
    if differing is None or differing == DATASET or bound.joins:
        return differing == DATASET and not bound.joins
    types = {type_ for _, type_ in bound.typed(differing)}
    return len(types) == 1 and types.isdisjoint((Type.BOOLEAN, Type.BYTES))
