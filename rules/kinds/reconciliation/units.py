"""The units that are matched if a rule has a `group`: the records of one document as one, with their sum.

Each side has a table of its units, which the statements read in the place of its records. A unit has the row of its
first record, until `records` puts all its records in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from rules.engines.compile import Compiler
from rules.kinds.reconciliation.bound import BoundReconciliation, Held
from rules.kinds.reconciliation.stored import LATER_KEY, REASONS, Element, SideTable, is_missing
from rules.kinds.reconciliation.workspace import Workspace
from rules.pairs.numbers import Integers
from rules.values import Type

_UNLIKE = 100
"""The first state of a unit whose records have different values where they must have one."""
_GIVEN = sa.table("given_units", sa.column("place", sa.BigInteger()), sa.column("row", sa.BigInteger()))


class UnitTable(SideTable):
    """The table of a side's units; its values have the names that they have in the table of `records`.

    Amounts are added up, and the date and the time of grace are the earliest: empty if one of them is. Compared values
    are texts: that of all records if they agree, or else all of them. A value that decides between partners is empty
    unless all records agree in it. Records must agree in their key and their currency; otherwise the unit matches
    nothing.
    """

    def __init__(self, records: SideTable) -> None:
        super().__init__(records.bound, records.side, records.slot, records.has_unique_ids)
        self.records = records

    @property
    def compiler(self) -> Compiler:
        return self.records.compiler

    @cached_property
    def computed(self) -> tuple[str, ...]:
        return tuple(self.parts)

    @property
    def name(self) -> str:
        return f"{self.side.name}_units"

    def held(self, name: str) -> Held:
        return Held(Type.TEXT, is_text=True) if name.startswith("compare_") else super().held(name)

    @cached_property
    def reasons(self) -> Mapping[int, str]:
        document = " and ".join(part.column for part in self.side.group)
        unlike = (self.parts[name].column for name in self._alike)
        sentences = (f"records of one {document} differ in {column}" for column in unlike)
        return {**REASONS, **dict(enumerate(sentences, _UNLIKE))}

    @cached_property
    def _alike(self) -> tuple[str, ...]:
        """The values that are the same in all records of a unit that can match."""
        return tuple(name for name in self.parts if name.startswith("key_") or name == "currency")

    @cached_property
    def places(self) -> sa.TableClause:
        """The table of the records that take part: their row, their place in order, that of their unit's first record.

        It also has the values of the records, so that no SQL is written twice.
        """
        numbers = [sa.column(name, sa.BigInteger()) for name in ("row", "place", "unit", "record_state")]
        values = [sa.column(name, self._type_of_records(name)) for name in self.parts]
        return sa.table(f"{self.side.name}_places", *numbers, *values)

    def _type_of_records(self, name: str) -> sa.types.TypeEngine[Any]:
        return sa.Text() if name.startswith("compare_") and not self._is_added(name) else self.records.type_of(name)

    def selects(self) -> Mapping[str, sa.Select[Any]]:
        """Return the tables to fill, in order, and what fills each."""
        return {self.places.name: self._placed(), self.name: self._united()}

    def _placed(self) -> sa.Select[Any]:
        records = self.records
        place = sa.func.row_number().over(order_by=records.order())
        groups = [name for name in self.parts if name.startswith("group_")]
        is_alone = [is_missing(records.value(name), records.held(name)) for name in groups]
        columns = [records.row.label("row"), place.label("place"), records.state.label("record_state")]
        columns.append((sa.or_(*is_alone) if groups else sa.true()).label("is_alone"))
        columns += [self._of_record(name).label(name) for name in self.parts]
        inner = sa.select(*columns).where(records.is_scanned).subquery("ordered")
        own = sa.case((inner.c.is_alone, inner.c.place))
        first = sa.func.min(inner.c.place).over(partition_by=[own, *(inner.c[name] for name in groups)])
        values = (inner.c[name] for name in self.parts)
        return sa.select(inner.c.row, inner.c.place, first.label("unit"), inner.c.record_state, *values)

    def _of_record(self, name: str) -> Element:
        """Return a value of a record; those of a group and those to compare as texts, equal for equal values."""
        value = self.records.value(name)
        is_text = name.startswith(("group_", "compare_")) and not self._is_added(name)
        return self._text(name, value) if is_text else value

    def _text(self, name: str, value: Element) -> Element:
        """Return a value as a text that equal values of both sides have; only floats need Python for it."""
        held = self.records.held(name)
        if held.is_text or held.type.is_number:
            return self.records.canonical(name, value)
        if held.type is Type.BYTES:
            return sa.func.hex(value)
        return sa.cast(sa.func.epoch_us(value) if held.type is Type.INSTANT else value, sa.Text())

    def _united(self) -> sa.Select[Any]:
        records, places, labels = self.records, self.places, self.labels
        summed = sa.select(places.c.unit, self._unit_state().label("unit_state"), *self._gathered())
        gathered = summed.group_by(places.c.unit).subquery("gathered")
        columns: list[Element] = [records.row.label("rowid")]
        columns += [records.table.c[name] for name in self.side.needed]
        columns += [self._of_unit(name, gathered).label(labels[name]) for name in self.parts]
        columns.append(gathered.c.unit_state.label(labels["state"]))
        columns.append(records.table.c[records.labels["part"]].label(labels["part"]))
        of_first = records.table.join(places, places.c.row == records.row)
        return sa.select(*columns).select_from(of_first.join(gathered, places.c.place == gathered.c.unit))

    def _gathered(self) -> Iterator[Element]:
        """Yield what is computed from the values of all records of a unit."""
        for name in self.parts:
            value = self.places.c[name]
            if self._is_added(name):
                yield self._sum(name, value).label(name)
            elif name in ("date", "grace"):
                yield sa.case((~_has_empty(value), sa.func.min(value))).label(name)
            elif name.startswith("compare_"):
                yield _multiset(value).label(name)
            elif name.startswith(("prefer_", "differ_")):
                yield _is_same(value).label(name)

    def _of_unit(self, name: str, gathered: sa.Subquery) -> Element:
        value: Element = self.places.c[name]
        if name not in gathered.c:
            return value
        result: Element = gathered.c[name]
        if self._is_added(name):
            return _tagged(self.records.canonical(name, result)) if name.startswith("compare_") else result
        return sa.case((result, value)) if name.startswith(("prefer_", "differ_")) else result

    def _is_added(self, name: str) -> bool:
        return name.startswith(("amount", "money", "compare_", "prefer_", "differ_")) and self.side.is_added(
            self.parts[name]
        )

    def _sum(self, name: str, value: Element) -> Element:
        """Return the sum of amounts; a side without groups adds nothing, so its floats stay exact."""
        if not self.side.group:
            return sa.func.min(value)
        total: Element = sa.func.sum(value)
        if self.records.held(name).type is Type.INTEGER:
            total = sa.cast(total, sa.Numeric(38, 0))
        return sa.case((~_has_empty(value), total))

    def _unit_state(self) -> Element:
        places, states = self.places, (*REASONS, LATER_KEY)
        whens: list[tuple[Element, int]] = [
            (~_is_same(places.c[name]), _UNLIKE + number) for number, name in enumerate(self._alike)
        ]
        whens += [(sa.func.bool_or(places.c.record_state == sa.literal_column(str(state))), state) for state in states]
        cases: list[tuple[Element, Element]] = [(when, sa.literal_column(str(state))) for when, state in whens]
        return sa.cast(sa.case(*cases, else_=sa.literal_column("0")), sa.SmallInteger())


def _tagged(text: Element) -> Element:
    """Mark a single text, so that it is unlike several."""
    return sa.literal_column("'='").op("||")(text)


def _multiset(text: Element) -> Element:
    """Return the text that all records have, or all texts in an order that depends on them alone."""
    size = sa.cast(sa.func.length(text), sa.Text())
    each = sa.func.coalesce(size.op("||")(sa.literal_column("':'")).op("||")(text), sa.literal_column("'-'"))
    texts = sa.func.array_to_string(sa.func.list_sort(sa.func.list(each)), sa.literal_column("','"))
    return sa.case((_is_same(text), _tagged(sa.func.min(text))), else_=texts)


def _has_empty(value: Element) -> Element:
    return sa.func.count(value) < sa.func.count()


def _is_same(value: Element) -> Element:
    """Return the condition that all records have the same value, or none."""
    is_one = sa.and_(sa.func.min(value) == sa.func.max(value), sa.func.count(value) == sa.func.count())
    return sa.or_(sa.func.count(value) == sa.literal_column("0"), is_one)


def tables(bound: BoundReconciliation, of_records: Sequence[SideTable]) -> Sequence[SideTable]:
    """Return the tables that statements read: those of the units if the rule has a `group`."""
    return [UnitTable(table) for table in of_records] if bound.rule.group else of_records


def fill(workspace: Workspace, of_units: Sequence[SideTable]) -> None:
    """Fill the tables of units, if there are some."""
    for table in of_units:
        if isinstance(table, UnitTable):
            selects = table.selects()
            workspace.define(table.compiler.python)
            for name, select in selects.items():
                workspace.execute(f"create temp table {name} as {workspace.text(select)}")


def records(workspace: Workspace, table: SideTable, rows: Integers) -> tuple[Integers, Integers]:
    """Return the rows of all records of these units in order, each with the place of its unit among the given rows."""
    own = np.arange(len(rows))
    if not isinstance(table, UnitTable) or not table.side.group or not len(rows):
        return own, rows
    first, every = table.places, table.places.alias("every")
    members = first.join(_GIVEN, _GIVEN.c.row == first.c.row).join(every, every.c.unit == first.c.place)
    columns = (_GIVEN.c.place.label("given"), every.c.row)
    with workspace.shown(_GIVEN.name, pa.table({"place": own, "row": rows})):
        select = sa.select(*columns).select_from(members).order_by(_GIVEN.c.place, every.c.place)
        joined = workspace.query(select)
    return joined["given"].to_numpy(), joined["row"].to_numpy()
