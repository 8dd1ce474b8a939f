"""The source record of each field of a merged record: survivorship field by field, total and repeatable.

Records come keeper first, then as `keep` orders them: that order breaks ties. Nulls lose everywhere but in `keep`.
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


class Source(Protocol):
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
            sentences.append(f"`{field}` holds no plain text, so `{strategy.how}` does not apply")
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
    records: Sequence[Source], fields: Mapping[str, Strategy], linked: Sequence[Sequence[str]]
) -> tuple[Chosen, ...]:
    """Choose the origin of every field; a linked group has one origin. The first record is the keeper."""
    grouped = [tuple(group) for group in linked]
    inside = {name for group in grouped for name in group}
    choices = [_group(records, group, _of_group(fields, group)) for group in grouped]
    choices += [_single(records, name, strategy) for name, strategy in fields.items() if name not in inside]
    return tuple(sorted(choices, key=lambda chosen: chosen.columns))


def _of_group(fields: Mapping[str, Strategy], group: Sequence[str]) -> Strategy:
    return next((fields[name] for name in group if name in fields), KEEP)


def _single(records: Sequence[Source], name: str, strategy: Strategy) -> Chosen:
    if strategy.how == "union":
        return _united(records, name, strategy.separator)
    if strategy.how == "keep":
        return Chosen((name,), (0,))
    having = [n for n, record in enumerate(records) if record.values[name] is not None]
    return Chosen((name,), _best(records, having, (name,), strategy))


def _group(records: Sequence[Source], group: tuple[str, ...], strategy: Strategy) -> Chosen:
    """Choose the record with most of the group's values; break ties by the strategy."""
    if strategy.how == "keep":
        return Chosen(group, (0,))
    filled = [sum(record.values[name] is not None for name in group) for record in records]
    most = max(filled)
    return Chosen(group, _best(records, [n for n, k in enumerate(filled) if k == most and most], group, strategy))


def _best(
    records: Sequence[Source], having: list[int], columns: tuple[str, ...], strategy: Strategy
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


def _rarity(records: Sequence[Source], having: list[int], columns: tuple[str, ...]) -> Callable[[int], int]:
    same = {n: sameness([records[n].values[c] for c in columns]) for n in having}
    counts = Counter(same.values())
    return lambda n: -counts[same[n]]


def _preference(record: Source, strategy: Strategy) -> tuple[bool, int]:
    value = record.values[strategy.column or ""]
    tagged = canonical(value)
    rank = strategy.prefer.index(tagged[1]) if tagged and tagged[1] in strategy.prefer else len(strategy.prefer)
    return tagged is None, rank


def _united(records: Sequence[Source], name: str, separator: str) -> Chosen:
    """Join all parts of all records, trimmed, each once: the keeper's first, in their order."""
    mark = separator.strip() or separator
    origin_of_part: dict[str, int] = {}
    of_keeper: set[str] = set()
    for n, record in enumerate(records):
        value = record.values[name]
        for part in map(str.strip, str(value).split(mark) if value is not None else ()):
            if part:
                origin_of_part.setdefault(part, n)
                of_keeper |= {part} if n == 0 else set()
    if not origin_of_part.keys() - of_keeper:
        return Chosen((name,), (0,))
    origins = tuple(sorted(set(origin_of_part.values())))
    return Chosen((name,), origins, separator.join(origin_of_part))
