"""Records of a table in a file as rows of a target."""

from __future__ import annotations

from collections.abc import Sequence

from connectors.disk.cleaning.contents import FileTable
from connectors.errors import ColumnMissing
from connectors.target import Cell, Reference, Row, RowName, TargetRefused


def referring(table: FileTable, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[int]:
    """The numbers of the records that refer to any of these cells. Raises TargetRefused."""
    for column in (*reference.columns, *reference.key):
        if column not in table.columns:
            raise ColumnMissing(reference.table, column, table.columns)
    if not reference.key:
        raise TargetRefused(f"A link from {reference.table} needs `id`, because its rows have no primary key")
    wanted = {tuple(map(table.named, cells)): cells for cells in to if None not in cells}
    numbers = []
    for number, texts in enumerate(table.texts(reference.columns)):
        cells = wanted.get(texts)
        if cells is None:
            continue
        own = table.cells(number)
        if not is_any_of([own.get(column) for column in reference.columns], [cells], table):
            raise TargetRefused(
                f"A row of {reference.table} refers to a record of {reference.to_table} by a value of another kind, "
                "such as a text for a number; make them the same kind"
            )
        numbers.append(number)
    return numbers


def is_any_of(cells: Sequence[Cell], to: Sequence[Sequence[Cell]], table: FileTable) -> bool:
    """Return True if these cells of the table refer by the same values as any of the others."""
    return any(all(map(table.is_same, cells, others)) for others in to)


def rows_of(name: str, table: FileTable, key: Sequence[str], numbers: Sequence[int]) -> list[Row]:
    """The records of these numbers; `key` names the columns that identify them."""
    rows = []
    texts = table.texts(key, numbers)
    for number, written, values in zip(numbers, texts, table.typed(table.columns, numbers), strict=True):
        row = RowName(name, tuple((column, ("f", text)) for column, text in zip(key, written, strict=True)))
        values_by_name = dict(zip(table.columns, values, strict=True))
        rows.append(Row(row, table.cells(number), {**values_by_name, **table.places(number)}))
    return rows
