"""Which record each field of a merged record comes from: survivorship field by field, total and repeatable.

Records come keeper first, then as `keep` orders them: that order ends every tie. Nulls lose everywhere but in `keep`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rules.document.mistakes import listed, short, suggestion
from rules.models import Strict
from rules.values import Schema, Type, Value, canonical, order_key, sameness

WORDS = ("keep", "longest", "most_frequent", "union")
BY_COLUMN = ("first", "last", "max", "min")
SEPARATOR = ", "
_NAMED = (Type.TEXT, Type.INTEGER, Type.BOOLEAN)


class Strategy(Strict):
    """How one field survives: `longest`, `{last: updated_at}`, `{prefer: {source: [crm, shop]}}`, `{union: ";"}`."""

    how: Literal["keep", "longest", "most_frequent", "union", "first", "last", "max", "min", "prefer"] = "keep"
    column: str | None = None
    prefer: tuple[str, ...] = ()
    separator: str = SEPARATOR


KEEP = Strategy()


def parse_strategy(value: Any) -> Any:
    """A strategy as people write it; raises ValueError naming the ways there are."""
    if isinstance(value, Strategy):
        return value
    if value in WORDS:
        return {"how": value}
    if isinstance(value, dict) and len(value) == 1:
        [(how, what)] = value.items()
        if how in BY_COLUMN and isinstance(what, str):
            return {"how": how, "column": what}
        if how == "union" and isinstance(what, str) and what:
            return {"how": how, "separator": what}
        if how == "prefer" and isinstance(what, dict) and len(what) == 1:
            [(column, order)] = what.items()
            return {"how": how, "column": column, "prefer": order if isinstance(order, (list, tuple)) else [order]}
    said = f"`{short(value)}` is no way to choose a value; " if isinstance(value, str) else ""
    raise ValueError(
        f"{said}write {', '.join(WORDS)}, {{first: column}}, {{last: column}}, {{max: column}}, {{min: column}}, "
        '{prefer: {column: [best, next]}} or {union: ";"}'
    )


STRATEGY_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "enum": list(WORDS)},
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {how: {"type": "string"} for how in (*BY_COLUMN, "union")}
            | {"prefer": {"type": "object", "minProperties": 1, "maxProperties": 1}},
        },
    ]
}


class Source(Protocol):
    """A record that fields can come from."""

    @property
    def values(self) -> Mapping[str, Value]: ...


@dataclass(frozen=True)
class Chosen:
    """Where the fields of `columns` come from: the records at `origins`, by position; `united` is a value put together.

    One origin, whose cells are taken as they are; none where every record has null there; several of a union.
    """

    columns: tuple[str, ...]
    origins: tuple[int, ...]
    united: str | None = None


def check_fields(
    fields: Mapping[str, Strategy], linked: Sequence[Sequence[str]], schema: Schema, texts: frozenset[str]
) -> list[str]:
    """What keeps these strategies from working, one sentence each. `texts` are columns that hold plain text."""
    wrong = []
    for field, strategy in fields.items():
        if strategy.column is not None and strategy.column not in schema:
            near = suggestion(strategy.column, schema.names)
            wrong.append(f"`{field}` is chosen by `{strategy.column}`, and there is no such column; {near}")
        elif strategy.column is not None:
            wrong += _unordered(field, strategy, schema[strategy.column].type)
        if strategy.how in ("union", "longest") and field not in texts:
            wrong.append(f"`{field}` holds no plain text, so `{strategy.how}` cannot be said of it")
    for group in linked:
        of_group = {fields[name] for name in group if name in fields}
        if len(of_group) > 1:
            wrong.append(f"{listed(group)} come from one record, so they take one strategy; keep one of theirs")
        if any(one.how == "union" for one in of_group):
            wrong.append(f"{listed(group)} come from one record, and `union` takes from several; choose another one")
    return wrong


def _unordered(field: str, strategy: Strategy, kind: Type) -> list[str]:
    if strategy.how in BY_COLUMN and kind in (Type.BOOLEAN, Type.BYTES):
        return [f"`{field}` cannot be chosen by `{strategy.column}`: values of type {kind.value} have no order"]
    if strategy.how == "prefer" and kind not in _NAMED:
        return [f"`{field}` cannot prefer values of `{strategy.column}`, which is of type {kind.value}"]
    return []


def choose(
    records: Sequence[Source], fields: Mapping[str, Strategy], linked: Sequence[Sequence[str]]
) -> tuple[Chosen, ...]:
    """Where every named field comes from; the columns of a linked group together. The first record is the keeper."""
    grouped = [tuple(group) for group in linked]
    inside = {name for group in grouped for name in group}
    choices = [_group(records, group, _of_group(fields, group)) for group in grouped]
    choices += [_single(records, name, strategy) for name, strategy in fields.items() if name not in inside]
    return tuple(sorted(choices, key=lambda one: one.columns))


def _of_group(fields: Mapping[str, Strategy], group: Sequence[str]) -> Strategy:
    return next((fields[name] for name in group if name in fields), KEEP)


def _single(records: Sequence[Source], name: str, strategy: Strategy) -> Chosen:
    if strategy.how == "union":
        return _united(records, name, strategy.separator)
    if strategy.how == "keep":
        return Chosen((name,), (0,))
    having = [n for n, one in enumerate(records) if one.values[name] is not None]
    return Chosen((name,), _best(records, having, (name,), strategy))


def _group(records: Sequence[Source], group: tuple[str, ...], strategy: Strategy) -> Chosen:
    """The record that has most of the group's values, all of them if any has; among those, by the strategy."""
    if strategy.how == "keep":
        return Chosen(group, (0,))
    filled = [sum(one.values[name] is not None for name in group) for one in records]
    most = max(filled)
    return Chosen(group, _best(records, [n for n, many in enumerate(filled) if many == most and most], group, strategy))


def _best(
    records: Sequence[Source], having: list[int], columns: tuple[str, ...], strategy: Strategy
) -> tuple[int, ...]:
    """The position of the best of these records, if there is any; the first one where several are as good."""
    if not having:
        return ()
    ranks: dict[str, Callable[[int], Any]] = {
        "longest": lambda n: -sum(len(str(records[n].values[c])) for c in columns if records[n].values[c] is not None),
        "most_frequent": _rarity(records, having, columns),
        "prefer": lambda n: _preference(records[n], strategy),
    }
    if strategy.how in ranks:
        return (min(having, key=ranks[strategy.how]),)
    assert strategy.column is not None  # noqa: S101 - what orders by a column has one
    known = [n for n in having if records[n].values[strategy.column] is not None]
    if not known:
        return (having[0],)
    keyed = [(order_key(records[n].values[strategy.column]), n) for n in known]
    best = (max if strategy.how in ("last", "max") else min)(key for key, _ in keyed)
    return (next(n for key, n in keyed if key == best),)


def _rarity(records: Sequence[Source], having: list[int], columns: tuple[str, ...]) -> Callable[[int], int]:
    same = {n: sameness([records[n].values[c] for c in columns]) for n in having}
    met = Counter(same.values())
    return lambda n: -met[same[n]]


def _preference(record: Source, strategy: Strategy) -> tuple[bool, int]:
    value = record.values[strategy.column or ""]
    tagged = canonical(value)
    rank = strategy.prefer.index(tagged[1]) if tagged and tagged[1] in strategy.prefer else len(strategy.prefer)
    return tagged is None, rank


def _united(records: Sequence[Source], name: str, separator: str) -> Chosen:
    """Every part that any record has, trimmed, each once: the keeper's first, in the order they stand in."""
    mark = separator.strip() or separator
    found: dict[str, int] = {}
    of_keeper: set[str] = set()
    for n, record in enumerate(records):
        value = record.values[name]
        for part in map(str.strip, str(value).split(mark) if value is not None else ()):
            if part:
                found.setdefault(part, n)
                of_keeper |= {part} if n == 0 else set()
    if not found.keys() - of_keeper:
        return Chosen((name,), (0,))
    origins = tuple(sorted(set(found.values())))
    return Chosen((name,), origins, separator.join(found))
