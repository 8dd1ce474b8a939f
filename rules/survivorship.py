"""The choice of the keeper: the `keep:` lines in order, then the id, so the choice is total and repeatable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rules.document.mistakes import suggestion
from rules.errors import RuleError
from rules.models import Keep
from rules.values import RecordId, Schema, Type, Value, canonical, order_key

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
