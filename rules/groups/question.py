"""Equal keys of one dataset as one question for an engine in its dialect, and the counts of its answer in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from rules.engines.base import Key, Near, RecordCounts, Repeats, Skipped
from rules.engines.compile import Compiler, unused
from rules.engines.pushdown import Marked, mark
from rules.groups import consecutive
from rules.groups.settings import AskedSettings, KeyedRule
from rules.values import Type

PLACES = ("place", "second_place")
POSITION = "position"
OUTSIDE, OUTSIDE_UNKNOWN, EXCLUDED, EXCLUDED_UNKNOWN, _FIRST_PART = 1, 2, 3, 4, 5


def question(
    bound: AskedSettings, table: sa.FromClause, dialect: str, slot: dt.datetime, ascii_only: tuple[str, ...] = ()
) -> Repeats:
    """Compile the rule for one dialect; with `ascii_only`, only for records whose named columns are ASCII."""
    relation = bound.relation
    compiler = Compiler(bound.columns, table, dialect, slot, relation.timezone)
    keyed, c = computed_columns(bound, compiler, ascii_only)
    return Repeats(
        keyed=keyed,
        columns=(*bound.needed, bound.position) if bound.rule.consecutive else bound.needed,
        key=tuple(c[f"key_{n}"] for n in bound.equal_parts),
        takes_part=takes_part(bound, c),
        state=state(bound, c),
        minimum=2 if bound.joins else bound.minimum,
        id=relation.id if set(relation.id).isdisjoint(relation.derived) else (),
        ids=bound.ids(compiler) if relation.id else None,
        outside=(OUTSIDE, OUTSIDE_UNKNOWN) if relation.where is not None else (),
        near=near(bound.rule, compiler, c),
        differ=None if bound.joins else c.get("differing"),
        keys=_keys(bound, c) if bound.joins else (),
        # MariaDB compares the beginning of a long text, so other texts would count too.
        most=bound.rule.max_shared if bound.joins and dialect not in ("mysql", "mariadb") else None,
        plain=bound.plain,
        # Without the others, records would have other positions.
        over=None if bound.rule.consecutive else lambda narrowed: question(bound, narrowed, dialect, slot, ascii_only),
        python=compiler.python,
    )


def computed_columns(
    bound: AskedSettings, compiler: Compiler, ascii_only: tuple[str, ...] = ()
) -> tuple[sa.Subquery, dict[str, sa.ColumnElement[Any]]]:
    """Select the records with everything that is computed for each, and return those columns by what they hold."""
    table = compiler.table
    computed = _computed(bound, compiler)
    if bound.rule.differing and bound.columns.schema[bound.rule.differing].type not in (Type.BOOLEAN, Type.BYTES):
        computed["differing"] = compiler.whole(bound.rule.differing)
    names = unused(computed, (*bound.needed, bound.position))
    read = sa.select(
        *(table.c[name] for name in bound.needed), *(column.label(names[name]) for name, column in computed.items())
    )
    if ascii_only:
        read = read.where(compiler.ascii_only(ascii_only))
    if compiler.dialect == "postgresql":
        # A fence: without it PostgreSQL copies each expression to every use of its name and computes it again.
        read = read.offset(sa.literal_column("0"))
    return _keyed(bound, compiler, read.subquery("computed"), names)


def marked(
    bound: AskedSettings, table: sa.FromClause, dialect: str, slot: dt.datetime, guard: tuple[str, ...]
) -> Marked | None:
    """Compile the rule to marks, for records whose `guard` columns are ASCII; None if marks are not possible."""
    if dialect != "postgresql" or bound.joins:
        return None
    compiler = Compiler(bound.columns, table, dialect, slot, bound.relation.timezone)
    hashes = [_hash(bound, compiler, n) for n in bound.equal_parts]
    if not hashes or any(hashed is None for hashed in hashes):
        return None
    # No step in between like `_keyed`: PostgreSQL would use only one processor, or compute named expressions twice.
    c = _computed(bound, compiler)
    for n, part in enumerate(bound.parts):
        if part.column in table.c:
            c[f"given_{n}"] = compiler.given(part.column, table.c[part.column])
        c[f"key_{n}"] = compiler.comparable(part, c[f"key_{n}"])
    in_part = sa.and_(sa.true(), *(c[name] for name in ("in_dataset", "in_rule") if name in c))
    in_part = sa.and_(in_part, *_has_place(bound, c))
    others = sa.not_(compiler.ascii_only(guard)) if guard else sa.false()
    reasons = _reasons(bound, c)
    reason = sa.case(*reasons, else_=_number(0)) if reasons else _number(0)
    return Marked(table, mark(in_part, [hashed for hashed in hashes if hashed is not None], others, reason))


def marked_keys(bound: AskedSettings, table: sa.FromClause, dialect: str, slot: dt.datetime) -> tuple[Marked, ...]:
    """Compile the marks of each of several keys; none if they are not possible."""
    if dialect != "postgresql" or not bound.joins:
        return ()
    compiler = Compiler(bound.columns, table, dialect, slot, bound.relation.timezone)
    takes_part = sa.and_(sa.true(), *map(compiler.condition, bound.filters.values()))
    marks = []
    for parts in bound.keys:
        hashes = [hashed for n in parts if (hashed := _hash(bound, compiler, n)) is not None]
        if len(hashes) < len(parts):
            return ()
        marks.append(Marked(table, mark(takes_part, hashes, sa.false(), _number(0))))
    return tuple(marks)


def _hash(bound: AskedSettings, compiler: Compiler, n: int) -> sa.ColumnElement[int] | None:
    """Hash one part of the key; null if a null excludes the record. Seeded, so that equal parts do not cancel out."""
    part = bound.parts[n]
    hashed = compiler.hashed(part, n + 1)
    return hashed if hashed is None or not bound.matches_null(part) else sa.func.coalesce(hashed, _number(n))


def _computed(bound: AskedSettings, compiler: Compiler) -> dict[str, sa.ColumnElement[Any]]:
    """Expressions computed for every record: its key, the result of each condition, and its place."""
    computed: dict[str, sa.ColumnElement[Any]] = {}
    for n, part in enumerate(bound.parts):
        if part.column not in bound.needed:
            computed[f"given_{n}"] = compiler.column(part.column)
        computed[f"key_{n}"] = compiler.key(part)
    computed |= {name: compiler.condition(condition) for name, condition in bound.filters.items()}
    if bound.rule.repeats is not None:
        computed["numbered_in"] = compiler.whole(bound.rule.repeats)
    if bound.rule.consecutive is not None:
        computed |= {f"id_{n}": compiler.whole(name) for n, name in enumerate(bound.relation.id)}
    return computed | {name: compiler.place(column) for name, column in zip(PLACES, bound.span_columns, strict=False)}


def _has_place(bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions that `gap`, `window`, `overlap` or `repeats` has for a record, in the order of the rule's
    `place_reasons`."""
    overlap = bound.rule.overlap
    if overlap is None:
        yield from (c[name].is_not(None) for name in (*PLACES, "numbered_in") if name in c)
        return
    begin, end = (c[name] for name in PLACES)
    are_instants = bound.columns.schema[overlap.begin].type is Type.INSTANT
    yield begin.is_not(None)
    yield sa.or_(end.is_(None), begin <= end if overlap.includes_ends(are_instants=are_instants) else begin < end)


def near(rule: KeyedRule, compiler: Compiler, c: Mapping[str, sa.ColumnElement[Any]]) -> Near | None:
    """Return which records of a key are near each other by `gap`, `window`, `overlap` or `consecutive`, if the rule has
    one of them."""
    if rule.consecutive is not None:
        return Near(c[POSITION], lambda earlier, later: later - earlier <= _number(1))
    if rule.overlap is not None:
        return Near(c["place"], lambda reach, begin: begin <= reach, c["second_place"])
    span = rule.gap or rule.window
    return None if span is None else Near(c["place"], compiler.within(span.column, span.by))


def _keyed(
    bound: AskedSettings, compiler: Compiler, computed: sa.Subquery, names: Mapping[str, str]
) -> tuple[sa.Subquery, dict[str, sa.ColumnElement[Any]]]:
    """Select the records with comparable keys; a second step, so that no SQL is written twice."""
    columns: list[sa.ColumnElement[Any]] = [computed.c[name] for name in bound.needed]
    for name, label in names.items():
        column: sa.ColumnElement[Any] = computed.c[label]
        if name.startswith("key_"):
            part = bound.parts[int(name.removeprefix("key_"))]
            column = compiler.comparable(part, column)
        columns.append(column.label(label))
    keyed = sa.select(*columns).subquery("keyed")
    c = _by_content(bound, compiler, keyed, names)
    if bound.rule.consecutive is None:
        return keyed, c
    position = consecutive.position(bound, bound.rule.consecutive, keyed, c, takes_part(bound, c))
    in_order = sa.select(*keyed.c, position.label(bound.position)).subquery("in_order")
    return in_order, _by_content(bound, compiler, in_order, names) | {POSITION: in_order.c[bound.position]}


def _by_content(
    bound: AskedSettings, compiler: Compiler, keyed: sa.Subquery, names: Mapping[str, str]
) -> dict[str, sa.ColumnElement[Any]]:
    """Return the columns by what they hold, among them each value of the key as it was given."""
    c: dict[str, sa.ColumnElement[Any]] = {name: keyed.c[label] for name, label in names.items()}
    for n, part in enumerate(bound.parts):
        if part.column in bound.needed:
            c[f"given_{n}"] = compiler.given(part.column, keyed.c[part.column])
    return c


def _keys(bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]) -> tuple[Key, ...]:
    return tuple(
        Key(tuple(c[f"key_{n}"] for n in parts), is_complete(bound, parts, c), column)
        for parts, column in zip(bound.keys, bound.shared_columns, strict=True)
    )


def is_complete(
    bound: AskedSettings, parts: Iterable[int], c: Mapping[str, sa.ColumnElement[Any]]
) -> sa.ColumnElement[bool]:
    """Return the condition for records that one of several keys can join."""
    return sa.and_(*_required(bound, c), _has_values(bound, parts, c))


def takes_part(bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]) -> sa.ColumnElement[bool]:
    """Return the condition for records whose group the rule looks for."""
    return sa.and_(*_required(bound, c), sa.or_(*(_has_values(bound, parts, c) for parts in bound.keys)))


def _required(bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]) -> list[sa.ColumnElement[bool]]:
    return [sa.true(), *(c[name] for name in ("in_dataset", "in_rule") if name in c), *_has_place(bound, c)]


def _has_values(
    bound: AskedSettings, parts: Iterable[int], c: Mapping[str, sa.ColumnElement[Any]]
) -> sa.ColumnElement[bool]:
    values = (c[f"key_{n}"].is_not(None) for n in parts if not bound.matches_null(bound.parts[n]))
    return sa.and_(sa.true(), *values)


def state(bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]) -> sa.ColumnElement[int]:
    """0, or the first reason why a record takes no part; each record counts once."""
    taking_part = (takes_part(bound, c), _number(0))  # for nearly all records no other case is evaluated
    return sa.case(taking_part, *_reasons(bound, c), else_=_number(0))


def _reasons(
    bound: AskedSettings, c: Mapping[str, sa.ColumnElement[Any]]
) -> list[tuple[sa.ColumnElement[bool], sa.ColumnElement[int]]]:
    """The reasons why a record takes no part, in the order of checking."""
    whens: list[tuple[sa.ColumnElement[bool], int]] = []
    for name, unknown, outside in (
        ("in_dataset", OUTSIDE_UNKNOWN, OUTSIDE),
        ("in_rule", EXCLUDED_UNKNOWN, EXCLUDED),
    ):
        if name in c:
            whens += [(c[name].is_(None), unknown), (sa.not_(c[name]), outside)]
    for n, part in enumerate(bound.parts):
        if not bound.matches_null(part):
            whens.append((c[f"given_{n}"].is_(None), _FIRST_PART + 2 * n))
            whens.append((c[f"key_{n}"].is_(None), _FIRST_PART + 2 * n + 1))
    first_check = _FIRST_PART + 2 * len(bound.parts)
    whens += [(sa.not_(passes), first_check + n) for n, passes in enumerate(_has_place(bound, c))]
    return [(when, _number(n)) for when, n in whens]


def _number(value: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(value), sa.Integer())


def states(bound: AskedSettings) -> int:
    """Return a number that is larger than every state."""
    return _FIRST_PART + 2 * len(bound.parts) + 2


def scanned(tally: RecordCounts) -> int:
    """Return the number of records that pass the filters of the dataset and of the rule."""
    left_out = (OUTSIDE, OUTSIDE_UNKNOWN, EXCLUDED, EXCLUDED_UNKNOWN)
    return sum(records for number, records in tally.states.items() if number not in left_out)


def taking_part(tally: RecordCounts) -> int:
    """Return the number of records whose group the rule looks for."""
    return tally.states.get(0, 0)


def skipped(bound: AskedSettings, tally: RecordCounts) -> tuple[Skipped, ...]:
    reasons = {
        OUTSIDE_UNKNOWN: ("where", "the dataset's condition is unknown: a value in it is null"),
        EXCLUDED_UNKNOWN: ("where", "the condition is unknown: a value in it is null"),
    }
    for n, reason in enumerate(bound.rule.place_reasons):
        reasons[_FIRST_PART + 2 * len(bound.parts) + n] = reason
    for n, part in enumerate(bound.parts):
        names = (part.column, "null"), (part.column, "empty after normalising")
        if len(bound.keys) > 1:
            names = (("key", f"incomplete: each of the {len(bound.keys)} keys lacks a value"),) * 2
        reasons[_FIRST_PART + 2 * n], reasons[_FIRST_PART + 2 * n + 1] = names
    counted: dict[tuple[str, str, bool], int] = {}
    for number in sorted(tally.states):
        if number in reasons and tally.states[number]:
            where = (*reasons[number], number not in (OUTSIDE_UNKNOWN, EXCLUDED_UNKNOWN))
            counted[where] = counted.get(where, 0) + tally.states[number]
    return tuple(Skipped(column, why, records, passes) for (column, why, passes), records in counted.items())
