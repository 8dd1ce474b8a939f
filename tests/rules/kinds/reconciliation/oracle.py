"""An oracle of kind reconciliation: a few records, plain Python, every assignment tried; from docs/reconciliation.md.

It imports nothing of the product.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from tests.rules.kinds.reconciliation.assignment_oracle import _clusters, assignments

Row = Mapping[str, Any]
Ids = tuple[int, ...]
Finding = tuple[str, Ids, Ids, str | None]


@dataclass(frozen=True)
class Contained:
    """The first part of the key: `occurs` judges a text and a value; `side` is that of the values.

    `form` is a value as it is looked for.
    """

    side: int
    occurs: Callable[[str, str], bool]
    is_short: Callable[[str], bool]
    form: Callable[[str], str]

    def between(self, left: Any, right: Any) -> bool:
        return self.occurs(left, right) if self.side else self.occurs(right, left)


@dataclass(frozen=True)
class Case:
    """A rule, in the words of the oracle. Functions judge rows; `window` is (earlier, later).

    `parts` names the columns of the key, whose normalised values `key` returns. `others` are the same rule with its
    other keys.
    `documents` are the columns of `group`, whose normalised values `document` returns; `part` returns that of a part
    of the key.
    """

    key: Callable[[Row], Any]
    parts: tuple[str, ...] = ()
    date: str | None = None
    window: tuple[int, int] = (0, 0)
    business: bool = False
    by: Decimal | None = None
    percent: Decimal | None = None
    is_either: bool = False
    amounts: bool = False
    compare: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    many: tuple[bool, bool] = (False, False)
    search: int | None = None
    totals: bool = False
    where: Callable[[Row], bool | None] = lambda _: True
    grace: Mapping[str, dt.timedelta] = field(default_factory=dict)
    zones: tuple[str, str] = ("UTC", "UTC")
    slot: dt.datetime = dt.datetime(2026, 3, 10, 6, tzinfo=dt.UTC)
    money: bool = False
    others: tuple[Case, ...] = ()
    contained: Contained | None = None
    documents: tuple[str | None, str | None] = (None, None)
    document: Callable[[Any], Any] = lambda value: value
    part: Callable[[str, Row], Any] = lambda name, row: row[name]

    @property
    def every_key(self) -> tuple[Case, ...]:
        return self, *self.others

    @property
    def is_assigned(self) -> bool:
        return self.many == (False, False) and (self.date is not None or self.amounts)


@dataclass(frozen=True)
class Alone:
    """One record without a partner."""

    side: int
    row: Row
    is_due: bool
    reason: str | None


@dataclass
class Answer:
    findings: list[Finding] = field(default_factory=list)
    matched: int = 0
    waiting: int = 0
    alone: list[Alone] = field(default_factory=list, compare=False)

    def add(self, form: str, left: Sequence[Row], right: Sequence[Row], reason: str | None = None) -> None:
        ids = [tuple(sorted(number for row in rows for number in _ids(row))) for rows in (left, right)]
        self.findings.append((form, ids[0], ids[1], reason))


def answer(case: Case, left: Sequence[Row], right: Sequence[Row]) -> Answer:
    """What the rule finds."""
    given = Answer()
    keyed = _nothing_keyed()
    complete: list[tuple[int, Row]] = []
    for side, rows in enumerate((left, right)):
        for row in _units(case, side, [row for row in rows if case.where(row) is True]):
            reason = _lacks(case, row, side)
            if reason is None:
                complete.append((side, row))
                if not _has_key(case, side, row):
                    _alone(case, given, side, [row])
                else:
                    keyed[() if case.contained else _key(case, row)][side].append(row)
            elif not case.totals:
                _alone(case, given, side, [row], reason)
            else:
                keyed[(_key(case, row), side)][side].append(row)
    for component in [each for of_key in keyed.values() for each in _components(case, *of_key)]:
        _of_key(case, given, *component)
    if not case.totals:
        _open_records(case, given, complete)
    for each in given.alone:
        _tell_alone(given, each.side, [each.row], each.reason, is_due=each.is_due)
    given.findings.sort(key=repr)
    return given


def _units(case: Case, side: int, rows: Sequence[Row]) -> list[Row]:
    """The records in order, those of one document as one."""
    column, alone = case.documents[side], itertools.count()
    documents: dict[Any, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["id"]):
        value = None if column is None else case.document(row[column])
        documents[next(alone) if value is None else (value,)].append(row)
    return [_unit(case, column or "", members) if len(members) > 1 else members[0] for members in documents.values()]


def _unit(case: Case, column: str, members: list[Row]) -> Row:
    """Several records as one, with the values of the first where all must be alike."""
    values = {name: [row[name] for row in members] for name in members[0]}

    def combined(name: str, combine: Callable[[list[Any]], Any]) -> Any:
        return None if None in values[name] else combine(values[name])

    added = {"amount": combined("amount", sum)} if case.amounts or case.money else {}
    alike = {name: each[0] if each == each[:1] * len(each) else None for name, each in values.items()}
    unit = {**members[0], **added, "ids": tuple(values["id"]), "all": values, "alike": {**alike, **added}}
    unit["waits"] = combined("at", min)
    if case.date:
        unit[case.date] = combined(case.date, min)
    names = [name for each in case.every_key for name in each.parts] + ["currency"] * case.money
    unlike = [name for name in names if len({case.part(name, row) for row in members}) > 1]
    unit["unlike"] = f"records of one {column} differ in {unlike[0]}" if unlike else None
    return unit


def _ids(row: Row) -> tuple[int, ...]:
    return tuple(row.get("ids", (row["id"],)))


def _alike(row: Row, name: str) -> Any:
    """The value that all records of a row have, or None."""
    return row["alike"][name] if "alike" in row else row[name]


def _records(rows: Iterable[Row]) -> int:
    return sum(len(_ids(row)) for row in rows)


def _open_records(case: Case, given: Answer, complete: Sequence[tuple[int, Row]]) -> None:
    """What becomes of the records that the first key leaves alone; `complete` are all that can match."""
    for by_key in case.others:
        _by_other_key(by_key, given)
    for by_key in case.every_key:
        of_key = [(side, row) for side, row in complete if _has_key(by_key, side, row)]
        _near_misses(by_key, case, given, [[row for at, row in of_key if at == side] for side in (0, 1)])


def _nothing_keyed() -> dict[Any, tuple[list[Row], list[Row]]]:
    return defaultdict(lambda: ([], []))


def _by_other_key(case: Case, given: Answer) -> None:
    """Match the records that are still alone by another key."""
    keyed = _nothing_keyed()
    waiting = [each for each in given.alone if _has_key(case, each.side, each.row)]
    given.alone = [each for each in given.alone if not _has_key(case, each.side, each.row)]
    for each in waiting:
        keyed[() if case.contained else _key(case, each.row)][each.side].append(each.row)
    for left, right in [each for of_key in keyed.values() for each in _components(case, *of_key)]:
        _of_key(case, given, sorted(left, key=lambda row: row["id"]), sorted(right, key=lambda row: row["id"]))


def _has_key(case: Case, side: int, row: Row) -> bool:
    key = case.key(row)
    return key is not None and not (case.contained and case.contained.side == side and case.contained.is_short(key[0]))


def _linked(case: Case, left: Row, right: Row) -> bool:
    """Whether two records have the same key, or a text of one the value of the other."""
    if case.contained is None:
        return bool(_key(case, left) == _key(case, right))
    ours, theirs = case.key(left), case.key(right)
    return ours[1:] == theirs[1:] and case.contained.between(ours[0], theirs[0])


def _components(case: Case, left: list[Row], right: list[Row]) -> list[tuple[list[Row], list[Row]]]:
    """Records that are connected by links; those of one value are together even without a link."""
    if case.contained is None:
        return [(left, right)]
    groups: list[Group] = [([row], []) for row in left] + [([], [row]) for row in right]
    groups += [([ours], [theirs]) for ours, theirs in itertools.product(left, right) if _linked(case, ours, theirs)]
    side = case.contained.side
    for row, second in itertools.combinations((left, right)[side], 2):
        if _value(case, row) == _value(case, second):
            groups.append(([], [row, second]) if side else ([row, second], []))
    return _merged(groups)


def _value(case: Case, row: Row) -> Any:
    assert case.contained is not None
    text, *others = case.key(row)
    return (case.contained.form(text), *others)


def _are_alike(case: Case, side: int, left: list[Row], right: list[Row]) -> bool:
    """Whether the records of a side have the same value, or texts with the same values."""
    if case.contained is None:
        return True
    if side == case.contained.side:
        return len({_value(case, row) for row in (left, right)[side]}) == 1
    return all(_linked(case, ours, theirs) for ours, theirs in itertools.product(left, right))


def _key(case: Case, row: Row) -> Any:
    """The key; where money is added up, with its currency."""
    return (case.key(row), row["currency"]) if _adds_currency(case) else case.key(row)


def _adds_currency(case: Case) -> bool:
    return bool(case.money and (case.totals or case.search))


def _lacks(case: Case, row: Row, side: int) -> str | None:
    if row.get("unlike"):
        return str(row["unlike"])
    key = next((key for key in (each.key(row) for each in case.every_key) if key is not None), None)
    if key is None or (case.totals and None in key) or (_adds_currency(case) and row["currency"] is None):
        return "no key"
    if not case.totals and not any(_has_key(each, side, row) for each in case.every_key):
        return "key too short"
    if case.totals:
        return None
    if case.date and row[case.date] is None:
        return "no date"
    return "no amount" if case.amounts and row["amount"] is None else None


def _of_key(case: Case, given: Answer, left: list[Row], right: list[Row]) -> None:
    if case.totals:
        _sums(case, given, left, right)
    elif case.is_assigned:
        _assigned(case, given, left, right)
    elif case.search is not None:
        _searched(case, given, left, right)
    else:
        _bundled(case, given, left, right)


def _alone(case: Case, given: Answer, side: int, rows: list[Row], reason: str | None = None) -> None:
    is_due = any(_is_due(case, side, row) for row in rows)
    is_whole = (reason or "") not in _INCOMPLETE and not (reason or "").startswith("records of one")
    if (len(rows) == 1 and is_whole) or reason == "no records add up to it":
        given.alone.append(Alone(side, rows[0], is_due, reason))
    else:
        _tell_alone(given, side, rows, reason, is_due=is_due)


_INCOMPLETE = ("no key", "key too short", "no date", "no amount")


def _tell_alone(given: Answer, side: int, rows: list[Row], reason: str | None, *, is_due: bool) -> None:
    if is_due:
        given.add(("left_only", "right_only")[side], *_sided(side, rows), reason)
    else:
        given.waiting += _records(rows)


def _near_misses(case: Case, rule: Case, given: Answer, complete: Sequence[Sequence[Row]]) -> None:
    """Pair records without a partner that agree in all but one thing, step by step; `complete` are all that can."""
    for test in _steps(case, complete):
        has_key = [each for each in given.alone if _has_key(case, each.side, each.row)]
        lefts, rights = ([each for each in has_key if each.side == side] for side in (0, 1))
        possible = [
            (ours, theirs)
            for ours, theirs in itertools.product(lefts, rights)
            if (ours.is_due or theirs.is_due) and _may_pair(case, ours.row, theirs.row) and test(ours.row, theirs.row)
        ]
        for ours, theirs in possible:
            if sum(ours in pair for pair in possible) == 1 and sum(theirs in pair for pair in possible) == 1:
                given.add("near_miss", [ours.row], [theirs.row], _what_is_the_same(rule, ours.row, theirs.row))
                given.alone = [each for each in given.alone if each is not ours and each is not theirs]


Test = Callable[[Row, Row], bool]


def _steps(case: Case, complete: Sequence[Sequence[Row]]) -> Iterator[Test]:
    if case.is_assigned or case.search is not None:
        yield from _same_key(case, complete)
    names = _names(case)
    for part, name in enumerate(names):
        others = [n for n in range(len(names)) if n != part]
        counted = [n for n in others if not (case.money and names[n] == "currency")]
        agreeing = len(counted) + bool(case.date) + (case.amounts or case.money)
        test = _other_parts(case, others, with_currency=name != "currency")
        if agreeing >= 2:
            yield test
        elif agreeing and name == "amount" and not (case.amounts or case.money):
            yield _both(test, _within_a_tenth)
        elif agreeing and name == "day" and not case.date:
            yield _both(test, lambda left, right: abs((left["day"] - right["day"]).days) <= 31)


def _same_key(case: Case, complete: Sequence[Sequence[Row]]) -> Iterator[Test]:
    every = range(len(_names(case)))
    lefts, rights = complete
    if case.contained is None:
        counts = [Counter(_key(case, row) for row in rows) for rows in complete]
        yield (
            lambda left, right: (
                _key(case, left) == _key(case, right) and [each[_key(case, left)] for each in counts] == [1, 1]
            )
        )
    else:
        yield (
            lambda left, right: (
                _linked(case, left, right)
                and sum(_linked(case, left, each) for each in rights) == 1
                and sum(_linked(case, each, right) for each in lefts) == 1
            )
        )
    if case.date:
        yield (
            lambda left, right: (
                _agree(case, left, right, every)
                and _amounts_agree(case, left, right)
                and abs((_day(case, 1, right) - _day(case, 0, left)).days) <= 31
            )
        )
    if case.amounts:
        yield (
            lambda left, right: (
                _agree(case, left, right, every) and _near(case, left, right) and _within_a_tenth(left, right)
            )
        )


def _other_parts(case: Case, others: Sequence[int], *, with_currency: bool) -> Test:
    return lambda left, right: (
        _agree(case, left, right, others, with_currency=with_currency)
        and _near(case, left, right)
        and _amounts_agree(case, left, right)
    )


def _both(first: Test, second: Test) -> Test:
    return lambda left, right: first(left, right) and second(left, right)


def _agree(case: Case, left: Row, right: Row, parts: Iterable[int], *, with_currency: bool = True) -> bool:
    ours, theirs = _parts(case, left), _parts(case, right)
    same_currency = not case.money or not with_currency or left["currency"] == right["currency"]
    return same_currency and all(_part_agrees(case, n, ours[n], theirs[n]) for n in parts)


def _part_agrees(case: Case, part: int, left: Any, right: Any) -> bool:
    return case.contained.between(left, right) if case.contained and part == 0 else bool(left == right)


def _amounts_agree(case: Case, left: Row, right: Row) -> bool:
    if case.amounts:
        return _close(case, left["amount"], right["amount"])
    return not case.money or (left["amount"] is not None and left["amount"] == right["amount"])


def _within_a_tenth(left: Row, right: Row) -> bool:
    larger = max(abs(left["amount"]), abs(right["amount"]))
    return bool(abs(left["amount"] - right["amount"]) * 10 <= larger)


def _names(case: Case) -> tuple[str, ...]:
    adds_currency = case.money and case.search is not None and "currency" not in case.parts
    return (*case.parts, *(["currency"] if adds_currency else []))


def _parts(case: Case, row: Row) -> tuple[Any, ...]:
    key = case.key(row)
    return key if len(_names(case)) == len(key) else (*key, row["currency"])


def _what_is_the_same(rule: Case, left: Row, right: Row) -> str | None:
    """By the key that both records have and of which the fewest parts differ."""
    had = [case for case in rule.every_key if _has_key(case, 0, left) and _has_key(case, 1, right)]
    return min((_same_by(case, left, right) for case in had), key=lambda answer: answer[0])[1]


def _same_by(case: Case, left: Row, right: Row) -> tuple[int, str | None]:
    parts = [*zip(_names(case), _parts(case, left), _parts(case, right), strict=True)]
    same = [name for n, (name, ours, theirs) in enumerate(parts) if _part_agrees(case, n, ours, theirs)]
    differing = len(parts) - len(same)
    same += [case.date] if case.date and _day(case, 0, left) == _day(case, 1, right) else []
    same += ["amount"] if case.amounts and left["amount"] == right["amount"] else []
    return differing, f"same {' and '.join(same)}" if same else None


def _sided(side: int, rows: list[Row]) -> tuple[list[Row], list[Row]]:
    return (rows, []) if side == 0 else ([], rows)


def _is_due(case: Case, side: int, row: Row) -> bool:
    grace = case.grace.get(("left", "right")[side])
    moment = row["waits"] if "waits" in row else row["at"]
    return grace is None or moment is None or bool(moment + grace <= case.slot)


def _day(case: Case, side: int, row: Row) -> dt.date:
    value = row[case.date or ""]
    if isinstance(value, dt.datetime):
        return value.astimezone(ZoneInfo(case.zones[side])).date()
    assert isinstance(value, dt.date)
    return value


def _rank(case: Case, side: int, row: Row) -> int:
    day = _day(case, side, row)
    if not case.business:
        return day.toordinal()
    first = dt.date(2026, 1, 1)
    return sum((first + dt.timedelta(days=n)).weekday() < 5 for n in range((day - first).days))


def _apart(case: Case, left: Row, right: Row) -> int:
    return _rank(case, 1, right) - _rank(case, 0, left) if case.date else 0


def _near(case: Case, left: Row, right: Row) -> bool:
    earlier, later = case.window
    return not case.date or -earlier <= _apart(case, left, right) <= later


def _close(case: Case, left: Decimal, right: Decimal) -> bool:
    distance = abs(left - right)
    if case.by is None and case.percent is None:
        return distance == 0
    limits = [] if case.by is None else [distance <= case.by]
    limits += [] if case.percent is None else [distance * 100 <= case.percent * max(abs(left), abs(right))]
    return any(limits) if case.is_either else all(limits)


def _differing(case: Case, left: Row, right: Row) -> list[str]:
    names = [*case.compare]
    if case.money:
        names += ["currency"]
        if not case.amounts and case.many == (False, False):
            names += ["amount"]
    return [name for name in names if not _values_agree(name, left, right)]


def _values_agree(name: str, left: Row, right: Row) -> bool:
    """Whether each value of one agrees with each of the other, or the values of both can be paired."""
    if name == "amount":
        return bool(left[name] == right[name])
    ours, theirs = (row["all"][name] if "all" in row else [row[name]] for row in (left, right))
    return len({*ours, *theirs}) == 1 or Counter(ours) == Counter(theirs)


def _same(case: Case, left: Row, right: Row) -> bool:
    return _like(case, 0, left, 1, right)


def _assigned(case: Case, given: Answer, left: list[Row], right: list[Row]) -> None:
    free_right = list(right)
    free_left, twins = list(left) if case.differ or case.contained else [], []
    for row in left if not (case.differ or case.contained) else ():
        partner = next((each for each in free_right if _same(case, row, each)), None)
        if partner is None:
            free_left.append(row)
        else:
            free_right.remove(partner)
            twins.append((row, partner))
    pairs, groups = _best(case, free_left, free_right)
    open_rows = [
        [row for row in free_left if all(row is not pair[0] for pair in pairs)],
        [row for row in free_right if all(row is not pair[1] for pair in pairs)],
    ]
    groups += [([row], []) for row in open_rows[0] if any(_like(case, 0, row, 0, pair[0]) for pair in twins)]
    groups += [([], [row]) for row in open_rows[1] if any(_like(case, 1, row, 1, pair[1]) for pair in twins)]
    merged = _merged([_with_twins(case, group, left, right, twins) for group in groups])
    for lefts, rights in merged:
        longer = [
            (side, rows) for side, rows in enumerate((lefts, rights)) if len(rows) == max(len(lefts), len(rights))
        ]
        if any(_is_due(case, side, row) for side, rows in longer for row in rows):
            given.add("ambiguous", lefts, rights)
        else:
            given.waiting += _records([*lefts, *rights])
    inside = {id(row) for group in merged for rows in group for row in rows}
    for side, rows in enumerate(open_rows):
        for row in rows:
            if id(row) not in inside:
                _alone(case, given, side, [row])
    given.matched += len(pairs) + sum(id(pair[0]) not in inside for pair in twins)
    for ours, theirs in pairs:
        if _differing(case, ours, theirs):
            given.add("mismatch", [ours], [theirs])


def _may_pair(case: Case, left: Row, right: Row) -> bool:
    values = [(_alike(left, name), _alike(right, name)) for name in case.differ]
    return all(None not in both and both[0] != both[1] for both in values)


def _like(case: Case, side: int, row: Row, other_side: int, other_row: Row) -> bool:
    """Whether two records do not differ at all; of one side, or of both."""
    same_day = not case.date or _day(case, side, row) == _day(case, other_side, other_row)
    same_amount = not case.amounts or row["amount"] == other_row["amount"]
    return (
        same_day
        and same_amount
        and not _differing(case, row, other_row)
        and _wanted(case, row) == _wanted(case, other_row)
    )


def _wanted(case: Case, row: Row) -> list[Any]:
    return [_alike(row, name) for name in case.prefer]


def _missed(case: Case, left: Row, right: Row) -> list[int]:
    """For each column that decides between partners, whether the two do not agree in it: an empty value never does."""
    values = [(_alike(left, name), _alike(right, name)) for name in case.prefer]
    return [int(ours is None or ours != theirs) for ours, theirs in values]


Group = tuple[list[Row], list[Row]]


def _with_twins(case: Case, group: Group, left: list[Row], right: list[Row], twins: list[tuple[Row, Row]]) -> Group:
    """The records of a group, and all that do not differ from one of it, if some of these paired off."""
    lefts, rights = list(group[0]), list(group[1])
    for ours, _ in twins:
        members = [(0, row) for row in group[0]] + [(1, row) for row in group[1]]
        if any(_like(case, side, row, 0, ours) for side, row in members):
            lefts += [row for row in left if _like(case, 0, row, 0, ours)]
            rights += [row for row in right if _like(case, 1, row, 0, ours)]
    return _unique(lefts), _unique(rights)


def _unique(rows: list[Row]) -> list[Row]:
    return sorted({id(row): row for row in rows}.values(), key=lambda row: row["id"])


def _merged(groups: list[Group]) -> list[Group]:
    merged: list[Group] = []
    for group in groups:
        ids = {id(row) for rows in group for row in rows}
        touching = [each for each in merged if ids & {id(row) for rows in each for row in rows}]
        merged = [each for each in merged if each not in touching]
        lefts = [row for each in (*touching, group) for row in each[0]]
        rights = [row for each in (*touching, group) for row in each[1]]
        merged.append((_unique(lefts), _unique(rights)))
    return merged


def _best(case: Case, left: list[Row], right: list[Row]) -> tuple[list[tuple[Row, Row]], list[Group]]:
    """The pairs of the best assignment, and the groups of which it is open who stays without a partner."""
    costs = {}
    for (i, ours), (j, theirs) in itertools.product(enumerate(left), enumerate(right)):
        if not _may_pair(case, ours, theirs) or not _linked(case, ours, theirs):
            continue
        if _near(case, ours, theirs) and (not case.amounts or _close(case, ours["amount"], theirs["amount"])):
            money = abs(ours["amount"] - theirs["amount"]) if case.amounts else Decimal(0)
            apart = abs(_apart(case, ours, theirs))
            costs[i, j] = (*_missed(case, ours, theirs), apart, money, len(_differing(case, ours, theirs)))

    def rank(chosen: frozenset[tuple[int, int]]) -> tuple[Any, ...]:
        numbers = range(len(case.prefer) + 3)
        return (-len(chosen), *(sum((costs[pair][n] for pair in chosen), Decimal(0)) for n in numbers))

    every = list(assignments(costs))
    least = min(map(rank, every))
    optimal = [chosen for chosen in every if rank(chosen) == least]
    pairs, groups = [], []
    for cluster in _clusters(set().union(*optimal)):
        variants = {tuple(sorted(chosen & cluster)) for chosen in optimal}
        partners = [{("l", i) for i, _ in v} | {("r", j) for _, j in v} for v in variants]
        if all(each == partners[0] for each in partners):
            pairs += [(left[i], right[j]) for i, j in min(variants)]
        else:
            groups.append(([left[i] for i in {i for i, _ in cluster}], [right[j] for j in {j for _, j in cluster}]))
    return pairs, groups


def _bundled(case: Case, given: Answer, left: list[Row], right: list[Row]) -> None:
    if not left or not right:
        side, rows = (0, left) if left else (1, right)
        for bundle in [rows] if case.many[side] else [[row] for row in rows]:
            _alone(case, given, side, bundle)
        return
    repeats = [len(rows) > 1 and not many for rows, many in zip((left, right), case.many, strict=True)]
    if any(of_side and not _are_alike(case, side, left, right) for side, of_side in enumerate(repeats)):
        given.add("ambiguous", left, right)
    elif all(repeats):
        form = "duplicate_right" if len(right) > len(left) else "duplicate_left"
        given.add(form, left, right, "the key repeats on both sides")
    elif any(repeats):
        given.add("duplicate_left" if repeats[0] else "duplicate_right", left, right)
    elif case.amounts and not _close(case, *(sum((r["amount"] for r in rows), Decimal(0)) for rows in (left, right))):
        given.add("unbalanced", left, right)
    else:
        pairs = list(itertools.product(left, right))
        given.matched += 1
        fields = {name for pair in pairs for name in _differing(case, *pair)}
        if any(not _paired_off(name, left, right) for name in fields) or not any(_near(case, *pair) for pair in pairs):
            given.add("mismatch", left, right)


def _paired_off(name: str, left: list[Row], right: list[Row]) -> bool:
    return max(len(left), len(right)) > 1 and Counter(row[name] for row in left) == Counter(row[name] for row in right)


def _searched(case: Case, given: Answer, left: list[Row], right: list[Row]) -> None:
    side = 1 if case.many[0] else 0
    wholes, pieces = (right, left) if side else (left, right)
    free = list(pieces)
    waiting = list(wholes)
    while True:
        bundles_by_row = {row["id"]: _bundles(case, side, row, free) for row in waiting}
        only = {
            name: options[0] for name, options in bundles_by_row.items() if options is not None and len(options) == 1
        }
        used = [id(piece) for bundle in only.values() for piece in bundle]
        taken = {name: b for name, b in only.items() if all(used.count(id(piece)) == 1 for piece in b)}
        needed = _needed(bundles_by_row, {id(piece) for bundle in taken.values() for piece in bundle})
        taken = {name: b for name, b in taken.items() if not any(id(piece) in needed for piece in b)}
        if not taken:
            break
        for name, bundle in taken.items():
            whole = next(row for row in waiting if row["id"] == name)
            free = [piece for piece in free if all(piece is not each for each in bundle)]
            waiting = [row for row in waiting if row is not whole]
            given.matched += 1
            pairs = [(piece, whole) if side else (whole, piece) for piece in bundle]
            if any(_differing(case, *pair) for pair in pairs):
                given.add("mismatch", *_halves(side, [whole], bundle))
    _unsolved(case, given, side, {row["id"]: (row, bundles_by_row[row["id"]]) for row in waiting}, (pieces, free))


def _needed(options: Mapping[int, list[list[Row]] | None], used: set[int]) -> set[int]:
    """The pieces of records that have several bundles and would have none."""
    needed: set[int] = set()
    for bundles in options.values():
        pieces = [{id(piece) for piece in bundle} for bundle in bundles or ()]
        if len(pieces) > 1 and all(bundle & used for bundle in pieces):
            needed |= set().union(*pieces)
    return needed


def _unsolved(
    case: Case,
    given: Answer,
    side: int,
    waiting: Mapping[int, tuple[Row, list[list[Row]] | None]],
    records: tuple[list[Row], list[Row]],
) -> None:
    """Records without a bundle of their own, and the pieces that no bundle took."""
    pieces, free = records
    undecided: list[Group] = []
    for row, options in waiting.values():
        if options:
            undecided.append(_halves(side, [row], [piece for bundle in options for piece in bundle]))
        else:
            reason = f"more than {case.search} records to search" if options is None else "no records add up to it"
            _alone(case, given, side, [row], reason if pieces else None)
    for lefts, rights in _merged(undecided):
        if any(_is_due(case, side, row) for row in (lefts, rights)[side]):
            given.add("ambiguous", lefts, rights)
        else:
            given.waiting += len(lefts) + len(rights)
    inside = {id(row) for group in undecided for rows in group for row in rows}
    for piece in free:
        if id(piece) not in inside:
            _alone(case, given, 1 - side, [piece])


def _halves(side: int, wholes: list[Row], pieces: list[Row]) -> Group:
    return (pieces, wholes) if side else (wholes, pieces)


def _bundles(case: Case, side: int, whole: Row, free: list[Row]) -> list[list[Row]] | None:
    """All subsets that add up to a record; None if there are too many records to search."""
    near = [piece for piece in free if _near(case, *((piece, whole) if side else (whole, piece)))]
    if len(near) > (case.search or 0):
        return None
    subsets = itertools.chain.from_iterable(itertools.combinations(near, n) for n in range(1, len(near) + 1))
    by = case.by or Decimal(0)
    return [list(s) for s in subsets if abs(sum((p["amount"] for p in s), Decimal(0)) - whole["amount"]) <= by]


def _sums(case: Case, given: Answer, left: list[Row], right: list[Row]) -> None:
    sums = [sum((row["amount"] or Decimal(0) for row in rows), Decimal(0)) for rows in (left, right)]
    if _close(case, *sums):
        given.matched += 1
    else:
        given.add("unbalanced", left, right)


def balance(rows: Sequence[Row], where: Callable[[Row], bool | None]) -> Mapping[str, Decimal]:
    """The sum of the amounts of one side, by currency."""
    total: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if where(row) is True and row["amount"] is not None and row["currency"] is not None:
            total[row["currency"]] += row["amount"]
    return total


def ids(findings: Sequence[Finding]) -> Iterator[int]:
    for _, left, right, _ in findings:
        yield from (*left, *right)
