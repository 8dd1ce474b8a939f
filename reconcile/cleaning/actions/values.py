"""Values that a configuration gives to columns: literal ones, and cells of the keeper or of the record itself.

`{{ keeper.column }}` and `{{ record.column }}` are all there is: no filters, no functions, no time. So the same group
gets the same values in every process, and a plan can be approved by its hash.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from connectors.target import Cell, Cells
from reconcile.cleaning.actions.base import Place, Record
from reconcile.findings.identity import public
from rules.document.mistakes import short, suggestion
from rules.values import Type, Value, canonical

_FIELD = re.compile(r"\{\{\s*(keeper|record)\.([^{}|]*?[^{}|\s])\s*\}\}")
_TRUE, _FALSE = ("true", "t", "1", "yes", "on"), ("false", "f", "0", "no", "off")
_SAID = ("true", "false")


@dataclass(frozen=True)
class Field:
    """A place that a column of one of the two records fills."""

    of: Literal["keeper", "record"]
    column: str


def parts(text: str) -> tuple[str | Field, ...]:
    """A value as it is written, taken apart; raises ValueError for braces that are no field."""
    found: list[str | Field] = []
    end = 0
    for match in _FIELD.finditer(text):
        found += [text[end : match.start()], Field(match[1], match[2])]  # type: ignore[arg-type] # one of the two
        end = match.end()
    found.append(text[end:])
    if any(isinstance(one, str) and ("{{" in one or "{%" in one or "}}" in one) for one in found):
        raise ValueError(f"`{short(text)}` can hold {{{{ keeper.column }}}} and {{{{ record.column }}}}, nothing else")
    return tuple(one for one in found if one != "")


def parse_values(value: Any) -> Any:
    """Columns and what they are set to: a text, or null."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a mapping of columns to values, like {status: duplicate}")
    for column, said in value.items():
        if not isinstance(said, (str, type(None))):
            raise ValueError(  # noqa: TRY004 - what validators raise
                f"`{short(str(column))}` must be one value, like duplicate or {{{{ keeper.id }}}}"
            )
        parts(said or "")
    return dict(value)


Values = Annotated[
    Mapping[str, str | None],
    BeforeValidator(parse_values),
    WithJsonSchema(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }
    ),
]


def mistakes(values: Mapping[str, str | None], place: Place, setting: str) -> Iterator[str]:
    """What of these values does not fit the table, one sentence each."""
    yield from unwritable(values, place, setting)
    known = {one.name for one in place.table.columns} | set(place.schema.names)
    for column, text in values.items():
        for part in parts(text or ""):
            if isinstance(part, Field) and part.column not in known:
                near = suggestion(part.column, known)
                yield f"`{setting}` sets `{column}` from `{part.of}.{part.column}`, and there is no such column; {near}"
        if text is None and (facts := place.column(column)) and not facts.nullable:
            yield f"`{setting}` sets `{column}` to null, which the table does not allow"


def columns_of(values: Mapping[str, str | None]) -> Iterator[str]:
    """The columns of either record that these values hold."""
    for text in values.values():
        yield from (part.column for part in parts(text or "") if isinstance(part, Field))


def unwritable(columns: Iterable[str], place: Place, setting: str) -> Iterator[str]:
    """Columns that are not there, that name the record, or that the database computes."""
    known = [one.name for one in place.table.columns]
    for column in columns:
        facts = place.column(column)
        if facts is None:
            yield f"`{setting}` names `{column}`, but the table has no such column; {suggestion(column, known)}"
        elif column in place.table.primary_key or column in place.id:
            yield f"`{setting}` names `{column}`, which is what records are known by; it never changes"
        elif facts.generated:
            yield f"`{setting}` names `{column}`, which the database computes itself; leave it out"


def cells(values: Mapping[str, str | None], record: Record, keeper: Record, place: Place) -> dict[str, Cell]:
    """What these columns of the record come to hold."""
    return {column: _cell(column, text, record, keeper, place) for column, text in sorted(values.items())}


def news(wanted: Cells, record: Record) -> dict[str, Cell]:
    """Those of these cells that the record does not have yet."""
    return {column: cell for column, cell in wanted.items() if not _has(record, column, cell)}


def _cell(column: str, text: str | None, record: Record, keeper: Record, place: Place) -> Cell:
    if text is None:
        return None
    if column in place.schema and place.schema[column].type is Type.BOOLEAN and text.lower() in _SAID:
        return "t", "1" if text.lower() == "true" else "0"  # which every database reads as a boolean
    written = parts(text)
    if len(written) == 1 and isinstance(written[0], Field):
        whose = keeper if written[0].of == "keeper" else record
        return copied(whose, written[0].column, column, place)
    return "t", "".join(one if isinstance(one, str) else _text(one, record, keeper) or "" for one in written)


def copied(whose: Record, source: str, column: str, place: Place) -> Cell:
    """A record's cell for another column: itself where both are declared alike, else its text for the database."""
    cell = whose.row.cells.get(source)
    one, other = place.column(source), place.column(column)
    if cell is not None and one is not None and other is not None and one.type == other.type:
        return cell
    text = _written(whose, source)
    return None if text is None else ("t", text)


def _text(field: Field, record: Record, keeper: Record) -> str | None:
    return _written(keeper if field.of == "keeper" else record, field.column)


def _written(whose: Record, column: str) -> str | None:
    """A value as a text that a database reads."""
    if column not in whose.values:
        cell = whose.row.cells[column]
        return None if cell is None else cell[1]
    value = whose.values[column]
    if value is None:
        return None
    return ("true" if value else "false") if isinstance(value, bool) else str(public(value))


def _has(record: Record, column: str, cell: Cell) -> bool:
    have = record.row.cells.get(column)
    if cell is None or have is None:
        return cell is have
    value = record.values.get(column, have[1])
    if have == cell or cell[0] != "t":
        return have == cell
    return _means(value, cell[1]) or (isinstance(value, dt.datetime) and _is_moment(have[1], cell[1]))


def _is_moment(one: str, other: str) -> bool:
    """Whether two texts of a column with times say the same: those without an offset are read as UTC, or as they are,
    which comes to the same for two of them."""
    try:
        first, second = dt.datetime.fromisoformat(one), dt.datetime.fromisoformat(other)
    except ValueError:
        return False
    return (first if first.tzinfo else first.replace(tzinfo=dt.UTC)) == (
        second if second.tzinfo else second.replace(tzinfo=dt.UTC)
    )


def _means(value: Value, text: str) -> bool:
    """Whether a database would read the text as this value; False where that is not known."""
    try:
        match value:
            case str():
                return value == text
            case bool():
                return text.strip().lower() in (_TRUE if value else _FALSE)
            case int() | float() | Decimal():
                return canonical(Decimal(text)) == canonical(value)
            case dt.datetime():
                moment = dt.datetime.fromisoformat(text)
                return moment.tzinfo is not None and moment == value
            case dt.date():
                return dt.date.fromisoformat(text) == value
    except (ValueError, InvalidOperation):
        pass  # the database says what it is, and it is written again
    return False
