"""Values that a configuration sets in columns: literals, and cells of the keeper or the record itself.

Only `{{ keeper.column }}` and `{{ record.column }}` exist: no filters, functions or time. So the same group gets the
same values in every process, and a plan can be approved by its hash.
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
from reconcile.cleaning.actions.base import ActionTable, AsksPerson, CurrentRecord
from reconcile.cleaning.actions.constants import unfit
from reconcile.findings.identity import public
from rules.document.mistakes import listed, short, suggestion
from rules.values import Type, Value, canonical

_FIELD = re.compile(r"\{\{\s*(keeper|record)\.([^{}|]*?[^{}|\s])\s*\}\}")
_TRUE, _FALSE = ("true", "t", "1", "yes", "on"), ("false", "f", "0", "no", "off")
_SAID = ("true", "false")


@dataclass(frozen=True)
class FieldPlaceholder:
    """A placeholder for a column of one of the two records."""

    of: Literal["keeper", "record"]
    column: str


def parts(text: str) -> tuple[str | FieldPlaceholder, ...]:
    """Split a value into texts and fields; raises ValueError for other braces."""
    pieces: list[str | FieldPlaceholder] = []
    end = 0
    for match in _FIELD.finditer(text):
        pieces += [text[end : match.start()], FieldPlaceholder(match[1], match[2])]  # type: ignore[arg-type] # one of the two
        end = match.end()
    pieces.append(text[end:])
    if any(isinstance(piece, str) and ("{{" in piece or "{%" in piece or "}}" in piece) for piece in pieces):
        raise ValueError(f"`{short(text)}` may contain only {{{{ keeper.column }}}} and {{{{ record.column }}}}")
    return tuple(piece for piece in pieces if piece != "")


def parse_values(value: Any) -> Any:
    """Validate columns and their new values: texts or null."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a mapping of columns to values, like {status: duplicate}")
    for column, text in value.items():
        if not isinstance(text, (str, type(None))):
            raise ValueError(  # noqa: TRY004 - what validators raise
                f"`{short(str(column))}` must be one value, like duplicate or {{{{ keeper.id }}}}"
            )
        parts(text or "")
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


def mistakes(values: Mapping[str, str | None], place: ActionTable, setting: str) -> Iterator[str]:
    """Yield why these values do not fit the table, one sentence each."""
    yield from unwritable(values, place, setting)
    known_columns = {column_facts.name for column_facts in place.table.columns} | set(place.schema.names)
    for column, text in values.items():
        written = parts(text or "")
        for part in written:
            if isinstance(part, FieldPlaceholder) and part.column not in known_columns:
                near = suggestion(part.column, known_columns)
                yield f"`{setting}` sets `{column}` from `{part.of}.{part.column}`, which is not a column; {near}"
        if (facts := place.column(column)) is None:
            continue
        if text is None and not facts.nullable:
            yield f"`{setting}` sets `{column}` to null, which the table does not allow; write a value"
        if text is not None and not _is_boolean(column, text, place):
            constant = "".join(part for part in written if isinstance(part, str))
            is_whole = not any(isinstance(part, FieldPlaceholder) for part in written)
            if reason := unfit(constant, facts, is_whole=is_whole):
                yield f"`{setting}` sets `{column}` {reason}"


def columns_of(values: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the columns that these values read from either record."""
    for text in values.values():
        yield from (part.column for part in parts(text or "") if isinstance(part, FieldPlaceholder))


def keeper_columns(values: Mapping[str, str | None]) -> list[str]:
    """Return the columns that these values read from the keeper."""
    fields = (part for text in values.values() for part in parts(text or "") if isinstance(part, FieldPlaceholder))
    return [field.column for field in fields if field.of == "keeper"]


def unwritable(columns: Iterable[str], place: ActionTable, setting: str) -> Iterator[str]:
    """Yield why columns cannot be written: missing, part of the id or key, or computed by the database."""
    table_columns = [column.name for column in place.table.columns]
    for column in columns:
        facts = place.column(column)
        if facts is None:
            yield f"`{setting}` names `{column}`, but the table has no such column; {suggestion(column, table_columns)}"
        elif column in place.table.primary_key or column in place.id:
            yield f"`{setting}` names `{column}`, which identifies records and cannot change"
        elif facts.generated:
            yield f"`{setting}` names `{column}`, which the database computes itself; remove it"
        elif facts.fixed:
            yield f"`{setting}` names `{column}`, which {facts.fixed}; remove it"


def cells(
    values: Mapping[str, str | None], record: CurrentRecord, keeper: CurrentRecord | None, place: ActionTable
) -> dict[str, Cell]:
    """Return the new cells of these columns of the record. Without a keeper, no value may read one.

    Raises AsksPerson if the record and its keeper would point at each other.
    """
    _check_pointers(values, record, keeper, place)
    return {column: _cell(column, text, record, keeper, place) for column, text in sorted(values.items())}


def _check_pointers(
    values: Mapping[str, str | None], record: CurrentRecord, keeper: CurrentRecord | None, place: ActionTable
) -> None:
    """Raise AsksPerson if these values make the record point at the keeper, and the keeper points at the record."""
    pointers = {column: field.column for column, text in values.items() if (field := _id_of_keeper(text, place))}
    if keeper is None or not pointers or set(pointers.values()) not in (set(place.id), set(place.table.primary_key)):
        return
    if all(_is_equal(keeper.row.cells.get(column), record.row.cells.get(id_)) for column, id_ in pointers.items()):
        raise AsksPerson(
            f"The keeper already points at a surplus record by {listed(sorted(pointers))}, so they would point at each "
            "other; clear it there, or keep the other record."
        )


def _id_of_keeper(text: str | None, place: ActionTable) -> FieldPlaceholder | None:
    """Return the placeholder that is the whole value, if it is a column of the keeper's id."""
    match parts(text or ""):
        case (FieldPlaceholder("keeper", column) as field,) if column in (*place.id, *place.table.primary_key):
            return field
    return None


def _is_equal(pointer: Cell, id_: Cell) -> bool:
    return pointer is not None and id_ is not None and pointer[1] == id_[1]


def news(new_values: Cells, record: CurrentRecord) -> dict[str, Cell]:
    """Return the cells that the record does not have yet."""
    return {column: cell for column, cell in new_values.items() if not _has(record, column, cell)}


def _cell(
    column: str, text: str | None, record: CurrentRecord, keeper: CurrentRecord | None, place: ActionTable
) -> Cell:
    if text is None:
        return None
    if _is_boolean(column, text, place):
        return "t", "1" if text.lower() == "true" else "0"  # every database reads it as a boolean
    written = parts(text)
    if len(written) == 1 and isinstance(written[0], FieldPlaceholder):
        return copied(_owner(written[0], record, keeper), written[0].column, column, place)
    return "t", "".join(piece if isinstance(piece, str) else _text(piece, record, keeper) or "" for piece in written)


def _is_boolean(column: str, text: str, place: ActionTable) -> bool:
    """Return True for `true` or `false` in a column that rules see as a boolean, whatever its database calls it."""
    return column in place.schema and place.schema[column].type is Type.BOOLEAN and text.lower() in _SAID


def copied(owner: CurrentRecord, source: str, column: str, place: ActionTable) -> Cell:
    """Convert a record's cell for another column: unchanged if both have the same type, else as text."""
    cell = owner.row.cells.get(source)
    origin, destination = place.column(source), place.column(column)
    if cell is not None and origin is not None and destination is not None and origin.type == destination.type:
        return cell
    text = _written(owner, source)
    return None if text is None else ("t", text)


def _text(field: FieldPlaceholder, record: CurrentRecord, keeper: CurrentRecord | None) -> str | None:
    return _written(_owner(field, record, keeper), field.column)


def _owner(field: FieldPlaceholder, record: CurrentRecord, keeper: CurrentRecord | None) -> CurrentRecord:
    if field.of == "record":
        return record
    assert keeper is not None  # noqa: S101 - refused with the settings
    return keeper


def _written(owner: CurrentRecord, column: str) -> str | None:
    """Return a value as text for a database."""
    if column not in owner.values:
        cell = owner.row.cells[column]
        return None if cell is None else cell[1]
    value = owner.values[column]
    if value is None:
        return None
    return ("true" if value else "false") if isinstance(value, bool) else str(public(value))


def _has(record: CurrentRecord, column: str, cell: Cell) -> bool:
    have = record.row.cells.get(column)
    if cell is None or have is None:
        return cell is have
    value = record.values.get(column, have[1])
    if have == cell or cell[0] != "t":
        return have == cell
    return _means(value, cell[1]) or (isinstance(value, dt.datetime) and _is_moment(have[1], cell[1]))


def _is_moment(left: str, right: str) -> bool:
    """Return True if two texts are the same moment; texts without an offset count as UTC."""
    try:
        left_time, right_time = dt.datetime.fromisoformat(left), dt.datetime.fromisoformat(right)
    except ValueError:
        return False
    return (left_time if left_time.tzinfo else left_time.replace(tzinfo=dt.UTC)) == (
        right_time if right_time.tzinfo else right_time.replace(tzinfo=dt.UTC)
    )


def _means(value: Value, text: str) -> bool:
    """Return True if a database would read the text as this value; False if that is unknown."""
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
        pass  # unknown, so the value is written again
    return False
