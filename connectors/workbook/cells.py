"""From cells to typed columns: a column has one type, decided over all its cells.

    whole numbers                     integer
    numbers                           decimal(38,12), more places if a cell has them; float if 38 digits are too few
    true and false                    boolean
    dates; dates and times            date; instant, still naive here, a date being its midnight
    text, times of day, durations     text
    any mixture                       text: 1234.5, true, 2026-03-01, 2026-03-01 10:30:00

Numbers are what spreadsheet programs show: 15 digits of their stored form. Those with more than 15 before the decimal
point are null: the program that wrote them may have rounded them, so that two ids became one. A column declared float
keeps all numbers as they are stored. An empty cell, an empty text and
the texts of `null_values` are null before a column is typed, so that they make no mixture.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.workbook.blocks import NeedsCellReader
from connectors.workbook.digits import ROUNDED, all_shown, shown

PLACES = 12


@dataclass(frozen=True)
class TextForm:
    """The form of a column's cells if it becomes text; `force`: it always does. `approximate`: numbers as stored."""

    force: bool = False
    approximate: bool = False
    mark: str = "."
    form: str | None = None


@dataclass
class ColumnOfCells:
    """One column growing batch by batch, each kept as compactly as its cells allow."""

    text_form: TextForm = field(default_factory=TextForm)
    nulls: frozenset[str] = frozenset()
    kinds: set[str] = field(default_factory=set)
    parts: list[tuple[str, Any]] = field(default_factory=list)

    def add(self, cells: Sequence[Any]) -> None:
        types = set(map(type, cells))
        if types == {str}:
            texts: pa.Array[Any] = pa.array(cells, pa.string())
            empty = pc.is_in(texts, pa.array(["", *self.nulls])) if self.nulls else pc.equal(texts, "")
            if not pc.any(empty).as_py():
                return self._keep("text", texts)
            if not pc.all(empty).as_py():
                return self._keep("text", pc.if_else(empty, None, texts))
        values = [None if _is_empty(cell, self.nulls) else cell for cell in cells] if str in types else list(cells)
        kinds = {_kind(type_of_cell) for type_of_cell in set(map(type, values))} - {""}
        self.kinds |= kinds
        if not kinds:
            self.parts.append(("", len(values)))
        elif len(kinds) == 1:
            kind = kinds.pop()
            self.parts.append((kind, _array(kind, values)))
        else:
            self.parts.append(("mixed", values))
        return None

    def _keep(self, kind: str, array: pa.Array[Any]) -> None:
        self.kinds.add(kind)
        self.parts.append((kind, array))

    def append(self, column: ColumnOfCells) -> None:
        """Add the cells of the same column of another sheet."""
        self.kinds |= column.kinds
        self.parts += column.parts

    def take(self, kind: str, cells: pa.Array[Any]) -> None:
        """Add typed cells of one kind."""
        if cells.null_count == len(cells):
            self.parts.append(("", len(cells)))
        else:
            self._keep(kind, cells)

    def fill_down(self, errors: set[int]) -> None:
        """Put into each empty cell what is above it. Below one of the `errors`, cells are errors too, and are added."""
        cells = [cell for kind, part in self.parts for cell in _cells(kind, part)]
        above, is_wrong = None, False
        for place, cell in enumerate(cells):
            if place in errors:
                is_wrong = True
            elif cell is not None and not (isinstance(cell, str) and (not cell.strip() or cell in self.nulls)):
                above, is_wrong = cell, False
            elif is_wrong:
                cells[place] = None
                errors.add(place)
            else:
                cells[place] = above
        self.parts.clear()
        self.kinds.clear()
        self.add(cells)

    def without_rounded(self) -> list[int]:
        """Make rounded numbers null and return their positions; none if the column may be approximate."""
        positions: list[int] = []
        start = 0
        for place, (kind, part) in enumerate([] if self.text_form.approximate else self.parts):
            if kind in ("number", "mixed") and (rounded := _rounded(part)):
                positions += [start + i for i in rounded]
                values = part if isinstance(part, list) else part.to_pylist()
                kept = [None if i in rounded else value for i, value in enumerate(values)]
                self.parts[place] = kind, kept if isinstance(part, list) else pa.array(kept, part.type)
            start += part if kind == "" else len(part)
        return positions

    def finished(self) -> pa.ChunkedArray[Any]:
        """All cells in the column's one type."""
        kinds = self.kinds
        if self.text_form.force or not kinds or (len(kinds) > 1 and kinds != {"date", "time"}):
            arrow: pa.DataType = pa.string()
            return pa.chunked_array([_as_text(kind, part, self.text_form) for kind, part in self.parts], arrow)
        if kinds == {"number"}:
            return _numbers(self.parts, self.text_form)
        arrow = {"text": pa.string(), "boolean": pa.bool_(), "date": pa.date32()}.get(min(kinds), pa.timestamp("us"))
        if "time" in kinds:
            arrow = pa.timestamp("us")
        return pa.chunked_array([_converted(kind, part, arrow) for kind, part in self.parts], arrow)


def _cells(kind: str, part: Any) -> Sequence[Any]:
    if kind == "":
        return [None] * part
    cells: list[Any] = part if isinstance(part, list) else part.to_pylist()
    return cells


def typed(cells: pa.Array[Any], text_form: TextForm) -> tuple[str, pa.Array[Any]]:
    """The kind of a typed column and its cells in our form. Raises NeedsCellReader.

    Readers disagree about a time of day and about a day outside SURE.
    """
    if pa.types.is_string(cells.type):
        return "text", pc.if_else(pc.equal(cells, ""), None, cells)
    if pa.types.is_boolean(cells.type):
        return "boolean", cells
    if pa.types.is_floating(cells.type):
        return "number", cells
    if pa.types.is_null(cells.type):
        return "", cells
    if not pa.types.is_timestamp(cells.type) or not _is_sure(cells):
        raise NeedsCellReader
    days = cells.cast(pa.date32(), safe=False)
    midnight = pc.equal(days.cast(cells.type), cells)
    if pc.all(midnight).as_py() is not False:
        return "date", days
    if text_form.force and pc.any(midnight).as_py():
        raise NeedsCellReader
    return "time", cells.cast(pa.timestamp("us"))


SURE = (dt.datetime(1904, 1, 2), dt.datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001 - cells have no zone
"""All readers agree on dates between these; before them are a wrong leap day and the first day of another calendar."""


def _is_sure(cells: pa.Array[Any]) -> bool:
    first, last = (pa.scalar(moment, pa.timestamp("us")).cast(cells.type) for moment in SURE)
    outside = pc.or_(pc.less(cells, first), pc.greater(cells, last))
    return not pc.any(outside).as_py()


def _is_empty(cell: Any, nulls: frozenset[str]) -> bool:
    return isinstance(cell, str) and (cell == "" or cell in nulls)


def _kind(type_of_cell: type) -> str:
    if type_of_cell is type(None):
        return ""
    return {
        float: "number",
        int: "number",
        Decimal: "number",
        bool: "boolean",
        dt.date: "date",
        dt.datetime: "time",
    }.get(type_of_cell, "text")


def _array(kind: str, values: list[Any]) -> Any:
    match kind:
        case "text":
            return pa.array(
                [value if value is None or isinstance(value, str) else str(value) for value in values], pa.string()
            )
        case "boolean":
            return pa.array(values, pa.bool_())
        case "date":
            return pa.array(values, pa.date32())
        case "time":
            return pa.array(values, pa.timestamp("us"))
    if any(isinstance(value, Decimal) for value in values):
        return values
    return pa.array(values, pa.float64())


def _rounded(part: Any) -> set[int]:
    """The positions of numbers that the writing program may have rounded."""
    if isinstance(part, list):
        return {i for i, value in enumerate(part) if _is_rounded(value)}
    highest = pc.max(pc.abs(part)).as_py()
    if highest is None or highest < ROUNDED:
        return set()
    return {i for i, value in enumerate(part.to_pylist()) if _is_rounded(value)}


def _is_rounded(value: Any) -> bool:
    """Return True if it has too many digits; an ods text with digits that no float has was not rounded to one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return False
    if -ROUNDED < value < ROUNDED:
        return False
    return not isinstance(value, Decimal) or Decimal(repr(float(value))) == value


def _converted(kind: str, part: Any, arrow: pa.DataType) -> pa.Array[Any]:
    if kind == "":
        return pa.nulls(part, arrow)
    if kind == "mixed":  # dates and times
        return pa.array([dt.datetime.combine(x, dt.time()) if type(x) is dt.date else x for x in part], arrow)
    array: pa.Array[Any] = part.cast(arrow)
    return array


def _numbers(parts: list[tuple[str, Any]], text_form: TextForm) -> pa.ChunkedArray[Any]:
    if all(_is_whole(part) for kind, part in parts if kind):
        return _whole_numbers(parts)
    texts: list[pa.Array[Any]] = []
    for place, (kind, part) in enumerate(parts):
        texts.append(pa.nulls(part, pa.string()) if kind == "" else _digits(part))
        meant = part if kind == "" or text_form.approximate else _as_shown(part, texts[-1])
        if meant is not part:
            parts[place], texts[-1] = (kind, meant), _digits(meant)
    if all(_is_whole(part) for kind, part in parts if kind):
        return _whole_numbers(parts)
    scale = max(PLACES, *(_places(text) for text in texts))
    try:
        arrow = pa.decimal128(38, scale)
        return pa.chunked_array([text.cast(arrow) for text in texts], arrow)
    except (pa.ArrowInvalid, ValueError):
        return pa.chunked_array([text.cast(pa.float64()) for text in texts], pa.float64())


def _whole_numbers(parts: Sequence[tuple[str, Any]]) -> pa.ChunkedArray[Any]:
    return pa.chunked_array([_integers(kind, part) for kind, part in parts], pa.int64())


def _as_shown(part: Any, texts: pa.Array[Any]) -> Any:
    """The numbers as they are shown; the same object if that changes none of them."""
    if not isinstance(part, list):
        return all_shown(part, texts)
    return [None if value is None else shown(value) for value in part]


def _is_whole(part: Any) -> bool:
    if isinstance(part, list):
        return all(value is None or (value == int(value) and abs(value) < 2**63) for value in part)
    is_whole = pc.all(pc.and_(pc.equal(pc.trunc(part), part), pc.less(pc.abs(part), pa.scalar(2.0**63))))
    return is_whole.as_py() is not False


def _integers(kind: str, part: Any) -> pa.Array[Any]:
    if kind == "":
        return pa.nulls(part, pa.int64())
    if isinstance(part, list):
        return pa.array([None if value is None else int(value) for value in part], pa.int64())
    array: pa.Array[Any] = part.cast(pa.int64(), safe=False)
    return array


def _digits(part: Any) -> pa.Array[Any]:
    """Plain digits; Arrow's own text of a float is its shortest, but may have an exponent."""
    if isinstance(part, list):
        return pa.array([None if value is None else number(value) for value in part], pa.string())
    texts: pa.Array[Any] = part.cast(pa.string())
    if pc.any(pc.match_substring(texts, "e")).as_py():
        return pa.array([None if value is None else number(value) for value in part.to_pylist()], pa.string())
    return texts


def _places(texts: pa.Array[Any]) -> int:
    point = pc.find_substring(texts, ".")
    after = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.binary_length(texts), point), 1))
    return min(int(pc.max(after).as_py() or 0), 38)


def number(value: float | Decimal) -> str:
    """A number by its shortest text, in plain digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    text = format(exact, "f")
    plain = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if plain == "-0" else plain


def _as_text(kind: str, part: Any, text_form: TextForm) -> pa.Array[Any]:
    if kind == "":
        return pa.nulls(part, pa.string())
    if kind == "text":
        texts: pa.Array[Any] = part
        return texts
    values = part if isinstance(part, list) else part.to_pylist()
    return pa.array([text_of(value, text_form) for value in values], pa.string())


def text_of(value: Any, text_form: TextForm) -> str | None:
    """A cell as text, in the form of the text_form; None for an empty one."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return number(value if text_form.approximate else shown(value)).replace(".", text_form.mark)
    if isinstance(value, dt.date):
        return (
            value.strftime(text_form.form)
            if text_form.form
            else value.isoformat()
            if type(value) is dt.date
            else str(value)
        )
    return str(value)
