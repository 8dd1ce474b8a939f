"""Rules over several datasets in memory, and an oracle in plain Python that says what they find."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rules.engines.base import Readable, Relation, Streamed
from rules.groups.detection import Detection
from rules.groups.group import DuplicateGroup, Member
from rules.kinds.base import DoesNotFit
from rules.kinds.duplicates import Duplicates, DuplicatesRule
from rules.values import Value
from tests.support.rules import Rows

SLOT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Dataset:
    """A dataset in memory: its rows, and its own names of the rule's columns."""

    name: str
    rows: Rows
    names: Mapping[str, str]

    @property
    def relation(self) -> Relation:
        return replace(self.rows.relation(), dataset=self.name)

    def value(self, row: Row, column: str) -> Value:
        """What the rule sees in a column; null where the dataset has no such one."""
        value = row.get(self.names.get(column, column))
        return None if isinstance(value, str) and not value.strip() else value


def rule(datasets: Sequence[Dataset], **settings: Any) -> DuplicatesRule:
    columns = {dataset.name: dict(dataset.names) for dataset in datasets if dataset.names}
    names = [dataset.name for dataset in datasets]
    return DuplicatesRule.model_validate({"name": "twins", "datasets": names, "columns": columns, **settings})


def relations(datasets: Sequence[Dataset]) -> dict[str, Relation]:
    return {dataset.name: dataset.relation for dataset in datasets}


def mistakes(over: DuplicatesRule, datasets: Sequence[Dataset]) -> list[str]:
    """What keeps the rule from running on these datasets."""
    try:
        Duplicates().fit(over, relations(datasets))
    except DoesNotFit as misfit:
        return list(misfit.mistakes)
    return []


def detect(over: DuplicatesRule, datasets: Sequence[Dataset], folder: Path | None = None) -> Detection:
    """The rule's groups: DuckDB reads the records itself with a folder, else they stream."""
    records: dict[str, Streamed | Readable] = {
        dataset.name: dataset.rows.readable(folder) if folder else dataset.rows.streamed() for dataset in datasets
    }
    return Duplicates().fit(over, relations(datasets)).detect(records, SLOT)


def name_of(over: DuplicatesRule, member: Member) -> tuple[str, Any]:
    """A record: its dataset, and its id or, of a dataset without one, its tag."""
    dataset = member.dataset or over.dataset
    return dataset, member.values["tag"] if len(str(member.id[0])) == 32 else member.id


def members(over: DuplicatesRule, detection: Detection) -> list[list[tuple[str, Any]]]:
    """The records of each group, keeper first."""
    return [[name_of(over, member) for member in group.members] for group in detection.groups]


# The oracle


@dataclass(frozen=True)
class Case:
    """Datasets and a rule over them; `passes` are the conditions of the rule, by dataset."""

    datasets: tuple[Dataset, ...]
    settings: Mapping[str, Any]
    passes: Mapping[str, Callable[[Row], bool | None]]

    @property
    def rule(self) -> DuplicatesRule:
        return rule(self.datasets, **self.settings)


@dataclass(frozen=True)
class Answer:
    """What a rule finds: each group's records, keeper first, and what it counts of each dataset."""

    groups: list[tuple[list[tuple[str, Any]], int]]
    read: Mapping[str, int]
    scanned: Mapping[str, int]
    skipped: Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class _Record:
    dataset: Dataset
    number: int
    row: Row
    key: tuple[Value, ...] = ()

    @property
    def name(self) -> tuple[str, Any]:
        id_columns = self.dataset.rows.id
        return self.dataset.name, tuple(self.row[c] for c in id_columns) if id_columns else self.row["tag"]

    def __getitem__(self, column: str) -> Any:
        return self.dataset.name if column == "dataset" else self.dataset.value(self.row, column)


def answer(case: Case) -> Answer:
    """What docs/rules.md says about the case."""
    skipped: Counter[tuple[str, str, str]] = Counter()
    scanned: Counter[str] = Counter()
    by_key: dict[tuple[Value, ...], list[_Record]] = {}
    for number, dataset in enumerate(case.datasets):
        for row in dataset.rows.rows:
            record = _Record(dataset, number, row)
            passes = case.passes.get(dataset.name, lambda _: True)(row)
            scanned[dataset.name] += passes is True
            reason = ("where", "unknown") if passes is None else _reason(case, record) if passes else None
            if reason is not None:
                skipped[(dataset.name, *reason)] += 1
            elif passes:
                record = replace(record, key=_key(case, record))
                by_key.setdefault(record.key, []).append(record)
    groups = [group for key in by_key for group in _groups(case, by_key[key])]
    read = {dataset.name: len(dataset.rows.rows) for dataset in case.datasets}
    return Answer(sorted(groups, key=repr), read, {name: scanned[name] for name in read}, skipped)


def _reason(case: Case, record: _Record) -> tuple[str, str] | None:
    for column in (*(_column(part) for part in case.settings["key"]), *_span(case)[:1]):
        if record[column] is None and column not in case.settings.get("nulls", {}):
            return record.dataset.names.get(column, column), "null"
    return None


def _column(part: Any) -> str:
    return part if isinstance(part, str) else next(iter(part))


def _span(case: Case) -> tuple[str, Any] | tuple[()]:
    [item] = (case.settings.get("window") or case.settings.get("gap") or {"": None}).items()
    return item if item[0] else ()


def _key(case: Case, record: _Record) -> tuple[Value, ...]:
    return tuple(_normalised(record, part) for part in case.settings["key"])


def _normalised(record: _Record, part: Any) -> Any:
    value = record[_column(part)]
    if isinstance(part, dict) and value is not None:
        [(_, steps)] = part.items()
        for step in steps:
            value = _step(value, step, record.dataset.rows.timezone)
    return _exactly(value)


def _step(value: Any, step: Any, zone: str) -> Any:
    if step == "lower":
        return value.lower()
    if step == "day":
        return value.astimezone(ZoneInfo(zone)).date() if isinstance(value, dt.datetime) else value
    return abs(value)


def _exactly(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _groups(case: Case, alike: list[_Record]) -> list[tuple[list[tuple[str, Any]], int]]:
    windows = _cut(case, alike)
    collected = []
    for window in windows:
        for part in _connected(case, window):
            if _counts(case, part):
                ordered = _ordered(case, part)
                near = _nearby(
                    case,
                    part,
                    [record for other_window in windows if other_window is not window for record in other_window],
                )
                collected.append(([record.name for record in ordered], near))
    return collected


def _cut(case: Case, alike: list[_Record]) -> list[list[_Record]]:
    if not _span(case):
        return [alike]
    column, by = _span(case)
    against = 0 if case.settings.get("window") else -1
    groups: list[list[_Record]] = []
    for record in sorted(alike, key=lambda record: (_exactly(record[column]), _place(record))):
        if groups and _exactly(record[column]) - _exactly(groups[-1][against][column]) <= by:
            groups[-1].append(record)
        else:
            groups.append([record])
    return groups


def _place(record: _Record) -> tuple[Any, ...]:
    return record.number, _sortable(record.name[1])


def _sortable(name: Any) -> Any:
    """Numbers come before texts."""
    return [(isinstance(part, str), part) for part in name] if isinstance(name, tuple) else name


def _pairs(case: Case) -> set[frozenset[tuple[str, tuple[str, ...]]]]:
    def named(record: Any) -> tuple[str, tuple[str, ...]]:
        [(dataset, of_dataset)] = record.items() if isinstance(record, dict) else [(case.datasets[0].name, record)]
        return dataset, tuple(of_dataset) if isinstance(of_dataset, list) else (of_dataset,)

    return {frozenset(map(named, pair)) for pair in case.settings.get("except", ())}


def _differ(case: Case, first: _Record, second: _Record) -> bool:
    names = ((record.name[0], tuple(map(str, record.name[1]))) for record in (first, second) if record.dataset.rows.id)
    return frozenset(names) in _pairs(case)


def _connected(case: Case, records: list[_Record]) -> list[list[_Record]]:
    parts: list[list[_Record]] = []
    for record in records:
        joined = [part for part in parts if any(not _differ(case, record, member) for member in part)]
        parts = [part for part in parts if part not in joined] + [[m for part in joined for m in part] + [record]]
    return parts


def _counts(case: Case, records: list[_Record]) -> bool:
    distinct = case.settings.get("distinct")
    if distinct and len({_exactly(record[distinct]) for record in records} - {None}) < 2:
        return False
    if case.settings.get("having") and len({record["dataset"] for record in records}) < 2:
        return False  # the only one: count_distinct(dataset) > 1
    return len(records) >= case.settings.get("minimum", 2)


def _ordered(case: Case, records: list[_Record]) -> list[_Record]:
    ordered = sorted(records, key=_place)
    span = _span(case)
    for line in reversed(case.settings.get("keep", [{"first": span[0]}] if span else [])):
        [(how, argument)] = line.items()
        if how == "prefer":
            [(_, listed)] = argument.items()
            ordered.sort(key=lambda record, listed=listed: listed.index(record["dataset"]))  # type: ignore[misc]
            continue
        filled = [record for record in ordered if record[argument] is not None]
        filled.sort(key=lambda record, column=argument: _exactly(record[column]), reverse=how == "last")  # type: ignore[misc]
        ordered = [*filled, *(record for record in ordered if record[argument] is None)]
    return ordered


def _nearby(case: Case, part: list[_Record], others: list[_Record]) -> int:
    if not case.settings.get("window"):
        return 0
    column, by = _span(case)
    return sum(
        any(
            abs(_exactly(record[column]) - _exactly(member[column])) <= by and not _differ(case, record, member)
            for member in part
        )
        for record in others
    )


def told(case: Case, detection: Detection) -> Answer:
    """A detection in the form of the oracle's answer."""
    over = case.rule
    groups = [group for group in detection.groups if isinstance(group, DuplicateGroup)]
    reasons = {"the condition is unknown: a value in it is null": "unknown"}
    return Answer(
        sorted((([name_of(over, m) for m in g.members], g.nearby_records) for g in groups), key=repr),
        detection.read_of,
        detection.scanned_of,
        Counter({(s.dataset or "", s.column, reasons.get(s.reason, s.reason)): s.records for s in detection.skipped}),
    )
