"""Records side by side, and plans, in the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reconcile.cli.columns import Cell, Styled, cell_width
from reconcile.cli.output import Output

if TYPE_CHECKING:
    from reconcile.cleaning.shown import ShownRow
    from reconcile.masking.records import RecordView, SideBySide
    from reconcile.views.plans import PlanView

_MOST = 30
"""The most records that are drawn."""
_NARROW = 20
"""The width of a column for a record where not all of them fit."""
_DIFFERS = "bold yellow"
_CHANGES: Mapping[tuple[str, str], str] = {
    ("stay", "keeper"): "kept",
    ("stay", ""): "must not change",
    ("update", "keeper"): "kept, updated",
    ("update", "reference"): "re-pointed",
    ("update", ""): "updated",
    ("delete", "captured"): "also deleted",
    ("delete", ""): "deleted",
    ("insert", ""): "inserted",
}


def draw_records(out: Output, view: SideBySide) -> None:
    """Print the records: as columns if these fit, else as rows if those do, else a few columns at a time.

    A value that differs from the first record's is marked with ≠.
    """
    records = view.records[:_MOST]
    as_columns, as_rows = _as_columns(view.fields, records), _as_rows(view.fields, records)
    if _width(*as_columns) <= out.width:
        out.table(*as_columns, fit=True)
    elif _width(*as_rows) <= out.width:
        out.table(*as_rows, fit=True)
    else:
        label = max(map(cell_width, ("record", *view.fields)))
        at_once = max(1, (out.width - label) // (_NARROW + 2))
        for begin in range(0, len(records), at_once):
            out.table(*_as_columns(view.fields, records[begin : begin + at_once]), fit=True)
    if len(view.records) > len(records):
        out.say(f"… and {len(view.records) - len(records):,} more records; --json shows all")
    for record in records:
        if record.link is not None:
            out.say(f"{record.name}  {record.link}")


def _as_rows(fields: Sequence[str], records: Sequence[RecordView]) -> tuple[list[str], list[list[Cell]]]:
    rows: list[list[Cell]] = [[r.role, r.name, *(_cell(r, name) for name in fields)] for r in records]
    return ["", "record", *fields], rows


def _as_columns(fields: Sequence[str], records: Sequence[RecordView]) -> tuple[list[str], list[list[Cell]]]:
    rows: list[list[Cell]] = [["record", *(record.name for record in records)]]
    rows += [[name, *(_cell(record, name) for record in records)] for name in fields]
    return ["", *(record.role for record in records)], rows


def _cell(record: RecordView, field: str) -> Cell:
    cell = record.cells.get(field)
    if cell is None:
        return ""
    return Styled(f"{cell.text} ≠".lstrip(), _DIFFERS) if cell.differs else cell.text


def _width(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    columns = zip(headings, *rows, strict=True)
    return sum(max(map(cell_width, column)) + 2 for column in columns) - 2


def draw_plan(out: Output, view: PlanView) -> None:
    """Print every row of a plan, each changed field before and after, and what a person should know before."""
    for line in view.lines:
        _draw_row(out, line)
    for sentence in view.remarks:
        out.wrapped(sentence)


def _draw_row(out: Output, line: ShownRow) -> None:
    """Print a row and its changed fields; all fields of an inserted or deleted row, and of a call, on one line."""
    does = line.words or _CHANGES.get((line.does, line.role)) or _CHANGES[line.does, ""]
    out.wrapped(f"{does}  {line.table}  {line.row}", more="    ")
    if line.does in ("delete", "insert", "call"):
        fields = [(name, before if line.does == "delete" else after) for name, before, after, _ in line.fields]
        out.wrapped(", ".join(f"{name} = {_text(value)}" for name, value in fields), indent="  ")
        return
    rows = list(_fields(line))
    widths = [max((cell_width(row[place]) for row in rows), default=0) for place in (0, 1)]
    for name, before, after in rows:
        padding = [" " * (width - cell_width(text)) for width, text in zip(widths, (name, before), strict=True)]
        out.wrapped(f"{name}{padding[0]}  {before}{padding[1]}  →  {after}", indent="  ", more="    ")


def _fields(line: ShownRow) -> Iterator[tuple[str, str, str]]:
    for column, before, after, origins in line.fields:
        yield column, _text(before), _text(after) + (f"  (from {_names(origins)})" if origins else "")


def _text(text: str | None) -> str:
    return "null" if text is None else text or "''"


def _names(records: Sequence[Sequence[Any]]) -> str:
    from reconcile.cleaning.shown import named

    return " and ".join(map(named, records))
