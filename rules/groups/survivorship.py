"""The choice of the keeper: the `keep:` lines in order, then the id, so the choice is total and repeatable.

The source record of each field of a merged record: survivorship field by field, total and repeatable.

Records come keeper first, then as `keep` orders them: that order breaks ties. Nulls lose everywhere but in `keep`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from rules.document.mistakes import RuleError, listed, short, suggestion
from rules.models import Keep, Strict
from rules.values import RecordId, Schema, Type, Value, canonical, order_key, sameness

_NAMED = (Type.TEXT, Type.INTEGER, Type.BOOLEAN)  # types whose values have one written form


class Keepable(Protocol):
    """A record to choose between: rules.engines.base.Member is one."""

    @property
    def id(self) -> RecordId: ...

    @property
    def values(self) -> Mapping[str, Value]: ...


Record = TypeVar("Record", bound=Keepable)


def check_keep(keep: Sequence[Keep], schema: Schema) -> None:
    """Raise RuleError for a line that names an unknown column or does not fit the column's type."""
    for line in keep:
        if line.column is None:
            continue
        if line.column not in schema:
            raise RuleError(
                f"`keep` names `{line.column}`, which is not a column; {suggestion(line.column, schema.names)}"
            )
        kind = schema[line.column].type
        if line.how in ("first", "last", "max", "min") and kind in (Type.BOOLEAN, Type.BYTES):
            raise RuleError(f"`keep` cannot order by `{line.column}`: values of type {kind.value} have no order.")
        if line.how == "prefer" and kind not in _NAMED:
            raise RuleError(f"`keep` cannot prefer values of `{line.column}`, which is of type {kind.value}.")


def columns_of(keep: Sequence[Keep], schema: Schema) -> tuple[str, ...]:
    """Return the columns that the choice reads: all of them for `most_complete`."""
    if any(line.how == "most_complete" for line in keep):
        return schema.names
    return tuple(dict.fromkeys(line.column for line in keep if line.column is not None))


def id_key(record: Keepable) -> tuple[Any, ...]:
    """The final tie-break: a total order over ids."""
    return tuple(order_key(part) for part in record.id)


def in_order(
    members: Sequence[Record],
    keep: Sequence[Keep],
    considered: Sequence[str],
    place: Callable[[Record], Any] = id_key,
) -> tuple[Record, ...]:
    """Sort the members best first, independent of their input order; the first is the keeper.

    `first` and `min` prefer the smallest value, `last` and `max` the largest, `prefer` the earliest in its list and
    then any other, `most_complete` the most values that are not null among the `considered` columns. Nulls lose.
    Ties after all lines are ordered by `place`, by default the id: numbers by value, then text by code point.
    """
    ordered = sorted(members, key=place)
    for line in reversed(keep):
        ordered = _by(line, ordered, considered)
    return tuple(ordered)


def _by(line: Keep, members: list[Record], considered: Sequence[str]) -> list[Record]:
    """Sort by one line; equal members keep their order."""
    column = line.column
    if column is None:
        return sorted(members, key=lambda m: sum(m.values.get(c) is None for c in considered))
    filled = [m for m in members if m.values[column] is not None]
    nulls = [m for m in members if m.values[column] is None]
    if line.how == "prefer":
        ranks = {text: rank for rank, text in reversed(list(enumerate(line.prefer)))}
        filled.sort(key=lambda m: ranks.get(_as_written(m.values[column]), len(ranks)))
    else:
        filled.sort(key=lambda m: order_key(m.values[column]), reverse=line.how in ("last", "max"))
    return filled + nulls


def _as_written(value: Value) -> str:
    tagged = canonical(value)
    return tagged[1] if tagged else ""


WORDS = ("keep", "longest", "most_frequent", "union")
BY_COLUMN = ("first", "last", "max", "min")
SEPARATOR = ", "


class Strategy(Strict):
    """How one field survives: `longest`, `{last: updated_at}`, `{prefer: {source: [crm, shop]}}`, `{union: ";"}`."""

    how: Literal["keep", "longest", "most_frequent", "union", "first", "last", "max", "min", "prefer"] = "keep"
    column: str | None = None
    prefer: tuple[str, ...] = ()
    separator: str = SEPARATOR


KEEP = Strategy()


def parse_strategy(value: Any) -> Any:
    """Parse a strategy as written in YAML; raises ValueError with the allowed forms."""
    if isinstance(value, Strategy):
        return value
    if value in WORDS:
        return {"how": value}
    if isinstance(value, dict) and len(value) == 1:
        [(how, argument)] = value.items()
        if how in BY_COLUMN and isinstance(argument, str):
            return {"how": how, "column": argument}
        if how == "union" and isinstance(argument, str) and argument:
            return {"how": how, "separator": argument}
        if how == "prefer" and isinstance(argument, dict) and len(argument) == 1:
            [(column, order)] = argument.items()
            return {"how": how, "column": column, "prefer": order if isinstance(order, (list, tuple)) else [order]}
    refusal = f"`{short(value)}` is not a strategy; " if isinstance(value, str) else ""
    raise ValueError(
        f"{refusal}write {', '.join(WORDS)}, {{first: column}}, {{last: column}}, {{max: column}}, {{min: column}}, "
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


class FieldSource(Protocol):
    """A record that fields can come from."""

    @property
    def values(self) -> Mapping[str, Value]: ...


@dataclass(frozen=True)
class Chosen:
    """Where the fields of `columns` come from: the records at `origins`, by position; `united` is the joined value.

    One origin gives its values unchanged; no origin means every record has null there; a union has several.
    """

    columns: tuple[str, ...]
    origins: tuple[int, ...]
    united: str | None = None


def check_fields(
    fields: Mapping[str, Strategy], linked: Sequence[Sequence[str]], schema: Schema, texts: frozenset[str]
) -> list[str]:
    """Return the mistakes in these strategies, one sentence each. `texts` are columns that hold plain text."""
    sentences = []
    for field, strategy in fields.items():
        if strategy.column is not None and strategy.column not in schema:
            advice = suggestion(strategy.column, schema.names)
            sentences.append(f"`{field}` is chosen by `{strategy.column}`, which is not a column; {advice}")
        elif strategy.column is not None:
            sentences += _unordered(field, strategy, schema[strategy.column].type)
        if strategy.how in ("union", "longest") and field not in texts:
            sentences.append(f"`{field}` holds no plain text, so `{strategy.how}` does not apply; use `most_frequent`")
    for group in linked:
        of_group = {fields[name] for name in group if name in fields}
        if len(of_group) > 1:
            sentences.append(f"{listed(group)} come from one record, so they need one strategy; give them the same one")
        if any(chosen.how == "union" for chosen in of_group):
            sentences.append(f"{listed(group)} come from one record, but `union` takes from several; choose another")
    return sentences


def _unordered(field: str, strategy: Strategy, kind: Type) -> list[str]:
    if strategy.how in BY_COLUMN and kind in (Type.BOOLEAN, Type.BYTES):
        return [f"`{field}` cannot be chosen by `{strategy.column}`: values of type {kind.value} have no order"]
    if strategy.how == "prefer" and kind not in _NAMED:
        return [f"`{field}` cannot prefer values of `{strategy.column}`, which is of type {kind.value}"]
    return []


def choose(
    records: Sequence[FieldSource],
    fields: Mapping[str, Strategy],
    linked: Sequence[Sequence[str]],
    given: Mapping[str, int] | None = None,
) -> tuple[Chosen, ...]:
    """Choose the origin of every field; a linked group has one origin. The first record is the keeper.

    `given` are positions of records that a person chose to take fields from; for a linked group, the first field's.
    """
    given = given or {}
    grouped = [tuple(group) for group in linked]
    inside = {name for group in grouped for name in group}
    singles = [(name,) for name in fields if name not in inside]
    choices = [Chosen(columns, (given[columns[0]],)) for columns in (*grouped, *singles) if columns[0] in given]
    choices += [_group(records, group, _of_group(fields, group)) for group in grouped if group[0] not in given]
    choices += [_single(records, name, fields[name]) for (name,) in singles if name not in given]
    return tuple(sorted(choices, key=lambda chosen: chosen.columns))


def _of_group(fields: Mapping[str, Strategy], group: Sequence[str]) -> Strategy:
    return next((fields[name] for name in group if name in fields), KEEP)


def _single(records: Sequence[FieldSource], name: str, strategy: Strategy) -> Chosen:
    if strategy.how == "union":
        return _united(records, name, strategy.separator)
    if strategy.how == "keep":
        return Chosen((name,), (0,))
    having = [n for n, record in enumerate(records) if record.values[name] is not None]
    return Chosen((name,), _best(records, having, (name,), strategy))


def _group(records: Sequence[FieldSource], group: tuple[str, ...], strategy: Strategy) -> Chosen:
    """Choose the record with most of the group's values; break ties by the strategy.

    A record without a value that the keeper has is not chosen: the keeper would lose that value to an empty one.
    """
    if strategy.how == "keep":
        return Chosen(group, (0,))
    of_keeper = [name for name in group if records[0].values[name] is not None]
    filled = [
        sum(record.values[name] is not None for name in group)
        if all(record.values[name] is not None for name in of_keeper)
        else 0
        for record in records
    ]
    most = max(filled)
    return Chosen(group, _best(records, [n for n, k in enumerate(filled) if k == most and most], group, strategy))


def _best(
    records: Sequence[FieldSource], having: list[int], columns: tuple[str, ...], strategy: Strategy
) -> tuple[int, ...]:
    """Return the position of the best of these records, if any; the first where several are equally good."""
    if not having:
        return ()
    ranks: dict[str, Callable[[int], Any]] = {
        "longest": lambda n: -sum(len(str(records[n].values[c])) for c in columns if records[n].values[c] is not None),
        "most_frequent": _rarity(records, having, columns),
        "prefer": lambda n: _preference(records[n], strategy),
    }
    if strategy.how in ranks:
        return (min(having, key=ranks[strategy.how]),)
    assert strategy.column is not None  # noqa: S101 - strategies that order by a column have one
    ordered = [n for n in having if records[n].values[strategy.column] is not None]
    if not ordered:
        return (having[0],)
    keyed = [(order_key(records[n].values[strategy.column]), n) for n in ordered]
    best = (max if strategy.how in ("last", "max") else min)(key for key, _ in keyed)
    return (next(n for key, n in keyed if key == best),)


def _rarity(records: Sequence[FieldSource], having: list[int], columns: tuple[str, ...]) -> Callable[[int], int]:
    same = {n: sameness([records[n].values[c] for c in columns]) for n in having}
    counts = Counter(same.values())
    return lambda n: -counts[same[n]]


def _preference(record: FieldSource, strategy: Strategy) -> tuple[bool, int]:
    value = record.values[strategy.column or ""]
    tagged = canonical(value)
    rank = strategy.prefer.index(tagged[1]) if tagged and tagged[1] in strategy.prefer else len(strategy.prefer)
    return tagged is None, rank


def _united(records: Sequence[FieldSource], name: str, separator: str) -> Chosen:
    """Join all parts of all records, trimmed, each once: the keeper's first, in their order. Lists in JSON, as those of
    Airtable, stay one."""
    texts = [None if record.values[name] is None else str(record.values[name]) for record in records]
    lists = [[] if text is None else _list_in_json(text) for text in texts]
    mark = separator.strip() or separator
    origin_of_part: dict[str, int] = {}
    of_keeper: set[str] = set()
    for n, (text, items) in enumerate(zip(texts, lists, strict=True)):
        parts = map(str.strip, (text or "").split(mark)) if None in lists else items or ()
        for part in filter(None, parts):
            origin_of_part.setdefault(part, n)
            of_keeper |= {part} if n == 0 else set()
    if not origin_of_part.keys() - of_keeper:
        return Chosen((name,), (0,))
    origins = tuple(sorted(set(origin_of_part.values())))
    united = separator.join(origin_of_part)
    if None not in lists:
        united = json.dumps(list(origin_of_part), ensure_ascii=False, separators=(",", ":"))
    return Chosen((name,), origins, united)


def _list_in_json(text: str) -> list[str] | None:
    """The texts of a list in JSON; None for any other text."""
    if not text.startswith("["):
        return None
    try:
        items = json.loads(text)
    except ValueError:
        return None
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else None
