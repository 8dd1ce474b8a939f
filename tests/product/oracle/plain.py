"""An oracle: the answer of one rule over one small table, in plain Python, written from docs/rules.md alone.

It imports nothing of the product. Where the docs were silent they were completed, not the oracle.
"""

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from tests.product.oracle.case import Answer, Case, Cell, Column, Cut, Group, Percent, named_columns, read_columns
from tests.product.oracle.expressions import EXACT, Expression
from tests.product.oracle.values import Unreadable, Value, in_utc, is_blank, normalised, read

Id = tuple[Value, ...]


@dataclass(frozen=True)
class Record:
    """A row as the rule sees it; `row` counts from 1."""

    row: int
    values: Mapping[str, Value]
    id: Id


def answer(case: Case) -> Answer | None:
    """What the rule says, by the docs; None where it compares nothing though there are records."""
    with localcontext(EXACT):
        return _answer(case)


def _answer(case: Case) -> Answer | None:
    unread: Counter[str] = Counter()
    skipped: Counter[tuple[str, str]] = Counter()
    records = [_record(case, number, row, unread) for number, row in enumerate(case.rows, 1)]
    inside = _passing(records, case.where, "dataset", skipped)
    scanned = _passing(inside, case.rule.where, "rule", skipped)
    keys = _by_key(case, scanned, skipped)
    are_nameless = len(inside) == len(records) and not any(map(_is_named, inside))
    if records and (not keys or are_nameless):
        return None
    positions = _positions(case, keys)
    groups = [
        _shown(case, key, counted, [m for m in members if _is_named(m) and m not in cut], number)
        for key, members in keys.items()
        for number, cut in enumerate(_cut(case, list(filter(_is_named, members)), positions), 1)
        for part in _apart(cut, case.rule.excepted)
        if _counts(case, counted := _once(case, part))
    ]
    return Answer(
        len(records),
        len(scanned),
        dict(skipped),
        {name: number for name, number in unread.items() if name in read_columns(case)},
        frozenset(groups),
    )


def _record(case: Case, number: int, row: Mapping[str, Cell], unread: Counter[str]) -> Record:
    values: dict[str, Value] = {}
    for column in case.columns:
        try:
            values[column.name] = _value(case, column, row[column.name])
        except Unreadable:
            values[column.name] = None
            unread[column.name] += 1
    for name, expression in case.derived.items():
        values[name] = expression.value(values)
    return Record(number, values, tuple(values[name] for name in case.id) if case.id else (Decimal(number),))


def _is_named(record: Record) -> bool:
    return None not in record.id


def _value(case: Case, column: Column, cell: Cell) -> Value:
    if isinstance(cell, str):
        empty = is_blank(cell) or cell in case.null_values
        return None if empty else read(cell, column.kind, column.formats, case.mark, case.zone)
    if isinstance(cell, dt.datetime):
        return in_utc(cell, case.zone)
    return Decimal(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else cell


def _passing(
    records: Sequence[Record], where: Expression | None, of: str, skipped: Counter[tuple[str, str]]
) -> list[Record]:
    if where is None:
        return list(records)
    answers = [where.value(record.values) for record in records]
    if unknown := answers.count(None):
        skipped["where", of] += unknown
    return [record for record, passes in zip(records, answers, strict=True) if passes is True]


def _by_key(
    case: Case, records: Sequence[Record], skipped: Counter[tuple[str, str]]
) -> dict[tuple[tuple[str, Value], ...], list[Record]]:
    rule = case.rule
    parts = rule.key or tuple((column.name, ()) for column in case.columns if column.name not in case.id)
    groups: dict[tuple[tuple[str, Value], ...], list[Record]] = {}
    for record in records:
        key = [(name, normalised(record.values[name], chain, case.zone)) for name, chain in parts]
        gaps = [name for name, value in key if value is None and name not in rule.nulls | rule.open and rule.key]
        if gaps:
            reason = "null" if record.values[gaps[0]] is None else "empty after normalising"
            skipped[gaps[0], reason] += 1
        elif rule.cut and (missing := [name for name in _needed(rule.cut) if record.values[name] is None]):
            skipped[missing[0], "null"] += 1
        elif rule.cut and rule.cut.way == "overlap" and not _lasts(case, record, record):
            skipped[rule.cut.columns[1], "empty period"] += 1
        elif rule.repeats and record.values[rule.repeats] is None:
            skipped[rule.repeats, "null"] += 1
        else:
            common = tuple((name, None if name in rule.open else value) for name, value in key)
            groups.setdefault(common, []).append(record)
    return groups


def _needed(cut: Cut) -> tuple[str, ...]:
    return cut.columns[:1] if cut.way == "overlap" else cut.columns


def _positions(case: Case, keys: Mapping[tuple[tuple[str, Value], ...], list[Record]]) -> dict[int, int]:
    """Under `consecutive`, the number of each row in the order of its partition; the rows of all keys count."""
    cut = case.rule.cut
    if cut is None or cut.way != "consecutive":
        return {}
    [(by, _, within)] = cut.limits
    partitions: dict[tuple[Any, ...], list[Record]] = {}
    for key, members in keys.items():
        part = tuple(pair for pair in key if pair[0] in within)
        partitions.setdefault(part, []).extend(filter(_is_named, members))
    ordered = (sorted(_in_order(case, records), key=_by(by)) for records in partitions.values())
    return {record.row: number for records in ordered for number, record in enumerate(records)}


def _follow(members: list[Record], positions: Mapping[int, int]) -> list[list[Record]]:
    """The records of a key in runs of numbers without a gap."""
    runs: list[list[Record]] = []
    for record in sorted(members, key=lambda member: positions[member.row]):
        if not runs or positions[record.row] != positions[runs[-1][-1].row] + 1:
            runs.append([])
        runs[-1].append(record)
    return runs


def _cut(case: Case, members: list[Record], positions: Mapping[int, int]) -> list[list[Record]]:
    """Under `repeats`, the n-th records of each value. Under `gap` and `overlap`, what is connected by near or
    overlapping pairs; under `window`, what is near the first record that is in no window yet."""
    cut = case.rule.cut
    if case.rule.open:
        return _agreeing(case, members)
    if case.rule.repeats:
        return _numbered(case, case.rule.repeats, members)
    if cut is None:
        return [members]
    if cut.way == "consecutive":
        return _follow(members, positions)
    groups: list[list[Record]] = []
    free = sorted(_in_order(case, members), key=_by(cut.columns[0]))
    while free:
        group = [free.pop(0)]
        for record in group if cut.way != "window" else group[:1]:
            group += [second for second in free if _belong(case, record, second)]
            free = [second for second in free if second not in group]
        groups.append(group)
    return groups


def _agreeing(case: Case, members: list[Record]) -> list[list[Record]]:
    """Records that agree; one that agrees with two that differ is only with those that have the same values."""
    values = {member.row: _open_values(case, member) for member in members}

    def agree(first: Record, second: Record) -> bool:
        pairs = zip(values[first.row], values[second.row], strict=True)
        return all(left is None or right is None or left == right for left, right in pairs)

    def is_certain(record: Record) -> bool:
        partners = [member for member in members if agree(record, member)]
        return all(agree(first, second) for first, second in itertools.combinations(partners, 2))

    certain = {member.row for member in members if is_certain(member)}
    parts: list[list[Record]] = []
    for record in members:
        for part in parts:
            are_certain = {record.row, part[0].row} <= certain
            if values[record.row] == values[part[0].row] or (are_certain and agree(record, part[0])):
                part.append(record)
                break
        else:
            parts.append([record])
    return parts


def _open_values(case: Case, record: Record) -> tuple[Value, ...]:
    parts = [(name, chain) for name, chain in case.rule.key or () if name in case.rule.open]
    return tuple(normalised(record.values[name], chain, case.zone) for name, chain in parts)


def _numbered(case: Case, column: str, members: list[Record]) -> list[list[Record]]:
    """The first record of each value, then the second ones, and so on; of those that share an id one counts."""
    parts: list[list[Record]] = []
    before: Counter[Value] = Counter()
    for record in _in_order(case, _once(case, members)) if members else []:
        number = before[record.values[column]]
        parts += [[]] if number == len(parts) else []
        parts[number].append(record)
        before[record.values[column]] += 1
    return parts


def _belong(case: Case, first: Record, second: Record) -> bool:
    cut = case.rule.cut
    assert cut is not None
    if cut.way == "overlap":
        return _lasts(case, first, second) and _lasts(case, second, first)
    return all(_near(reach, first.values[name], second.values[name]) for name, _, reach in cut.limits)


def _near(reach: Any, first: Any, second: Any) -> bool:
    if isinstance(reach, Percent):
        return bool(abs(first - second) * 100 <= reach * max(abs(first), abs(second)))
    return bool(abs(first - second) <= reach)


def _lasts(case: Case, first: Record, second: Record) -> bool:
    """Whether the first period lasts until the second begins; the day or number where it ends is part of it."""
    assert case.rule.cut is not None
    (name, ends, _), (end_name, _, _) = case.rule.cut.limits
    begin: Any = second.values[name]
    end: Any = first.values[end_name]
    included = ends == "included" or (not ends and case.kinds[name] != "instant")
    return bool(end is None or begin < end or (begin == end and included))


def _apart(members: list[Record], excepted: Sequence[tuple[Any, Any]]) -> list[list[Record]]:
    """The connected parts of a group's pairs that are not excepted."""
    pairs = {frozenset((_id(left), _id(right))) for left, right in excepted}
    parts: list[list[Record]] = []
    for record in members:
        joined = [part for part in parts if any(frozenset((record.id, member.id)) not in pairs for member in part)]
        parts = [part for part in parts if part not in joined] + [[*itertools.chain.from_iterable(joined), record]]
    return parts


def _id(written: Any) -> Id:
    values = written if isinstance(written, list) else [written]
    return tuple(Decimal(value) if isinstance(value, int) else value for value in values)


def _once(case: Case, members: list[Record]) -> list[Record]:
    """The records, keeper first; of those that share an id the one that counts."""
    rule = case.rule
    named = _named(case)
    first = ([rule.cut.columns[0]] if rule.cut else []) + named
    members = sorted(members, key=lambda member: [_empty_last(member.values[name]) for name in first])
    counted: dict[Any, Record] = {}
    for record in members:
        counted.setdefault(record.id, record)
    return _ordered(case, list(counted.values()))


def _named(case: Case) -> list[str]:
    return [column.name for column in case.columns if column.name in named_columns(case) | {*(case.money or ())}]


def _in_order(case: Case, members: list[Record]) -> list[Record]:
    """The records by id, those with the same one by their values; without id by their place, or by all values."""
    names = _named(case) if case.id else [] if case.is_file else [column.name for column in case.columns]
    ids = case.id or case.is_file
    return sorted(
        members,
        key=lambda record: [_empty_last(v) for v in (*(record.id if ids else ()), *(record.values[n] for n in names))],
    )


def _empty_last(value: Value) -> tuple[bool, Any]:
    return value is None, value if value is not None else 0


def _counts(case: Case, members: list[Record]) -> bool:
    rule = case.rule
    if len(members) < rule.minimum:
        return False
    if rule.distinct and len({record.values[rule.distinct] for record in members} - {None}) < 2:
        return False
    return rule.having is None or rule.having.value(_figures(case, members)) is True


def _figures(case: Case, members: list[Record]) -> dict[str, Value]:
    figures: dict[str, Value] = {"records": Decimal(len(members))}
    for name, kind in case.kinds.items():
        values: list[Any] = [record.values[name] for record in members if record.values[name] is not None]
        figures[f'count_distinct("{name}")'] = Decimal(len(set(values)))
        figures[f'min("{name}")'] = min(values, default=None)
        figures[f'max("{name}")'] = max(values, default=None)
        if kind in ("integer", "decimal", "float"):
            figures[f'sum("{name}")'] = sum(values) if values else None
    return figures


def _ordered(case: Case, members: list[Record]) -> list[Record]:
    """The members in the order that `keep` prefers; ties end at the id, and without one at the place in the file."""
    rule = case.rule
    lines = rule.keep or (({"first": rule.cut.columns[0]},) if rule.cut else ())
    ordered = sorted(members, key=lambda member: [_empty_last(value) for value in member.id])
    if not (case.id or case.is_file):
        ordered.sort(key=lambda member: [_empty_last(member.values[column.name]) for column in case.columns])
    for line in reversed(lines):
        if line == "most_complete":
            ordered.sort(key=lambda member: -sum(member.values[c.name] is not None for c in case.columns))
            continue
        [(way, argument)] = line.items()
        if way == "prefer":
            [(name, listed)] = argument.items()
            ordered.sort(key=_preference(name, listed))
        else:
            filled = [record for record in ordered if record.values[argument] is not None]
            filled.sort(key=_by(argument), reverse=way in ("last", "max"))
            ordered = filled + [record for record in ordered if record.values[argument] is None]
    return ordered


def _by(name: str) -> Callable[[Record], Any]:
    return lambda record: record.values[name]


def _preference(name: str, listed: Sequence[str]) -> Callable[[Record], int]:
    """The place in the list; what is not listed comes after it, and empty values last."""

    def place(record: Record) -> int:
        value = record.values[name]
        return listed.index(value) if value in listed else len(listed) + (value is None)

    return place


def _shown(
    case: Case, key: tuple[tuple[str, Value], ...], members: list[Record], others: list[Record], number: int
) -> Group:
    keeper, *surplus = (record.id for record in members)
    columns = zip(*(_open_values(case, member) for member in members), strict=True)
    agreed = iter([next((value for value in column if value is not None), None) for column in columns])
    key = tuple((name, next(agreed) if name in case.rule.open else value) for name, value in key)
    rest = _money(case, members[1:]), number if case.rule.repeats else 0, len(_nearby(case, members, others))
    if not (case.id or case.is_file):
        return Group((), tuple(() for _ in surplus), key, *rest)
    return Group(keeper, tuple(sorted(surplus, key=repr)), key, *rest)


def _nearby(case: Case, members: list[Record], others: list[Record]) -> set[Id]:
    """The records of other windows that are within reach of a record of the group and may be the same as it."""
    rule = case.rule
    if rule.cut is None or rule.cut.way != "window":
        return set()
    pairs = {frozenset((_id(left), _id(right))) for left, right in rule.excepted}
    return {
        other_other.id
        for other_other in others
        for member in members
        if _belong(case, member, other_other)
        if frozenset((other_other.id, member.id)) not in pairs
    }


def _money(case: Case, surplus: Sequence[Record]) -> tuple[tuple[str, Decimal], ...]:
    if case.money is None:
        return ()
    amount, currency = case.money
    sums: dict[str, Decimal] = {}
    for record in surplus:
        code = record.values[currency] if currency in case.kinds else currency
        value = record.values[amount]
        if isinstance(value, Decimal) and isinstance(code, str):
            sums[code] = sums.get(code, Decimal(0)) + value
    return tuple(sorted((code, abs(amount)) for code, amount in sums.items()))
