"""The records of a finding side by side: their values by field, marked where they differ from the first record's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from notifications.base import MASK, RecordNotice
from notifications.wording import words
from reconcile.config.link import address, columns_of
from reconcile.config.settings import DatasetConfig, Project
from reconcile.documents import JsonObject
from reconcile.findings.identity import is_erased, public
from reconcile.findings.shown import Finding, Foreseen, NamedRecord
from reconcile.masking.personal import Masking
from rules.kinds.base import Rule
from rules.normalise.times import PERIODS, day
from rules.values import Value, canonical

_IN_MESSAGES = 2
"""The records of each role that a message shows with their values."""


@dataclass(frozen=True)
class CellView:
    """A value as public JSON and as text, empty for none; `differs` from that of the first record with this field."""

    value: Any
    text: str
    differs: bool


@dataclass(frozen=True)
class RecordView:
    """A record of a finding in its role. `cells` are its values by field; `link` leads to it in another system."""

    role: str
    name: str
    dataset: str
    id: tuple[Any, ...]
    link: str | None
    cells: Mapping[str, CellView]


@dataclass(frozen=True)
class SideBySide:
    """Records, keeper or left side first, with the fields to show: those of `display`, or first those that differ.

    A field that no record has a value for is left out.
    """

    fields: tuple[str, ...] = ()
    records: tuple[RecordView, ...] = ()


def local(shown: Any, value: Value, timezone: str, period: str | None = None) -> Any:
    """Return a value as people see it, from its masked public form and itself: an instant in that time zone.

    The first day of a `period` is shown as the period: 2026-03.
    """
    if shown == MASK or not isinstance(value, dt.date):
        return shown
    if period is not None and (first := day(value, timezone)) is not None:
        return PERIODS[period](first)
    return words.instant(value, timezone) if isinstance(value, dt.datetime) else shown


def rule_of(project: Project, finding: Finding | Foreseen) -> Rule | None:
    """Return the finding's rule, if it still exists and is of the same kind."""
    rule = project.rules.get(finding.rule)
    return rule if rule is not None and rule.kind == finding.kind else None


def is_configured(project: Project, finding: Finding | Foreseen) -> bool:
    """Return True if a dataset of the finding says which columns to show."""
    names = finding.datasets or (finding.dataset,)
    return any((dataset := project.datasets.get(name)) and dataset.display for name in names)


def side_by_side(project: Project, finding: Finding | Foreseen, hidden: Masking) -> SideBySide:
    """Return the records of a finding, or of one that a dry run foresees, as they may be shown."""
    layout = _Layout(project, finding, hidden)
    values = [layout.values(role, member) for role, member in layout.members]
    records = tuple(layout.records(values))
    names = dict.fromkeys(name for row in values for name in row)
    fields = [name for name in names if any(record.cells[name].text for record in records if name in record.cells)]
    if not is_configured(project, finding):
        fields.sort(key=lambda name: not any(record.cells[name].differs for record in records if name in record.cells))
    return SideBySide(tuple(fields), records)


def displayed(project: Project, finding: Finding, hidden: Masking) -> tuple[RecordNotice, ...]:
    """Return the first records of each role with the values of `display` for a message; none without `display`."""
    if not is_configured(project, finding):
        return ()
    first = [
        member
        for role in dict.fromkeys(member.role for member in finding.members)
        for member in finding.in_role(role)[:_IN_MESSAGES]
    ]
    view = side_by_side(project, replace(finding, members=tuple(first)), hidden)
    rows = [(record.name, _readable(record, view.fields)) for record in view.records]
    return tuple(RecordNotice(name, values) for name, values in rows if values)


def _readable(record: RecordView, fields: Sequence[str]) -> dict[str, str]:
    texts = {name: record.cells[name].text for name in fields if name in record.cells}
    return {name: text for name, text in texts.items() if text not in ("", MASK)}


def to_json(view: SideBySide) -> JsonObject:
    """Return the records as public JSON."""
    return {"fields": list(view.fields), "records": [_record_json(record, view.fields) for record in view.records]}


def _record_json(record: RecordView, fields: Sequence[str]) -> JsonObject:
    cells = {name: record.cells[name] for name in fields if name in record.cells}
    shown: JsonObject = {"role": record.role, "dataset": record.dataset, "id": list(record.id)}
    if record.link is not None:
        shown["link"] = record.link
    values = {name: cell.value for name, cell in cells.items()}
    return shown | {"values": values, "differs": [name for name, cell in cells.items() if cell.differs]}


@dataclass(frozen=True)
class _Layout:
    project: Project
    finding: Finding | Foreseen
    hidden: Masking

    @cached_property
    def members(self) -> Sequence[tuple[str, NamedRecord]]:
        """Each record with its role."""
        if isinstance(self.finding, Finding):
            return [(member.role, member) for member in self.finding.members]
        return self.finding.group.roles

    @property
    def rule(self) -> Rule | None:
        return rule_of(self.project, self.finding)

    def dataset(self, member: NamedRecord) -> DatasetConfig | None:
        return self.project.datasets.get(member.dataset or self.finding.dataset)

    def values(self, role: str, member: NamedRecord) -> dict[str, tuple[str, Value]]:
        """Return the member's column and value for each field."""
        dataset = self.dataset(member)
        columns: Iterable[str | None] = member.values
        if dataset is not None and dataset.display:
            columns = map(self._namer(dataset), dataset.display)
        held = (name for name in columns if name is not None and name in member.values)
        return {self._field(role, name): (name, member.values[name]) for name in held}

    def _namer(self, dataset: DatasetConfig) -> Callable[[str], str | None]:
        """Return the function that gives the name of a dataset's column in findings of the rule, if it has one."""
        rule = self.rule
        return lambda name: name if rule is None else next(iter(rule.shown_as(dataset.name, (name,))), None)

    def _field(self, role: str, column: str) -> str:
        """Return the name of a field: of both columns, where another one of the other side means the same."""
        place = {"left": 0, "right": 1}.get(role)
        pairs = () if self.rule is None or place is None else self.rule.aligned
        pair = next((pair for pair in pairs if pair[place or 0] == column), (column, column))
        return column if pair[0] == pair[1] else " / ".join(pair)

    def records(self, values: Sequence[Mapping[str, tuple[str, Value]]]) -> Iterator[RecordView]:
        firsts: dict[str, Value] = {}
        for row in values:
            firsts = {field: value for field, (_, value) in row.items()} | firsts
        names = self.hidden.names([member for _, member in self.members], self.finding.datasets)
        for name, (role, member), row in zip(names, self.members, values, strict=True):
            side = self.hidden.side(member.dataset)
            cells = {field: self._cell(side, column, value, firsts[field]) for field, (column, value) in row.items()}
            dataset = member.dataset or self.finding.dataset
            yield RecordView(role, name, dataset, tuple(side.record(member.id)), self._link(member), cells)

    def _cell(self, side: Masking, column: str, value: Value, first: Value) -> CellView:
        shown = side.value(column, public(value))
        text = local(shown, value, self.project.timezone)
        return CellView(shown, "" if text is None else str(text), canonical(value) != canonical(first))

    def _link(self, member: NamedRecord) -> str | None:
        dataset = self.dataset(member)
        if dataset is None or dataset.link is None or is_erased(member.id):
            return None
        values: dict[str, Value] = dict(zip(dataset.id, member.id, strict=False))
        named = self._namer(dataset)
        for column in columns_of(dataset.link):
            values.setdefault(column, member.values.get(named(column) or column))
        return address(dataset.link, values)
