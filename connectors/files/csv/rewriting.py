"""The next version of a CSV file: some records changed, removed or put back, and all other bytes as they were."""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from connectors.disk.cleaning.contents import Edits, FormerPlace, Unwritable
from connectors.errors import ConnectorError
from connectors.files.csv.content import CsvContent, as_read
from connectors.files.csv.fields import ENDS, field_spans
from connectors.target import Cell, Cells

_LAST = 1 << 60


@dataclass(frozen=True)
class Rewritten:
    """The new bytes and their number of lines; the places of removed records; the texts that must be read.

    `at` of a place is the line of the new content before which the record was, `tail` what followed its last field.
    """

    data: bytes
    lines: int
    removed: tuple[FormerPlace, ...]
    texts: pa.Table


@dataclass(frozen=True)
class _Edit:
    """A change of one record, or a new record without `number`; `order` sorts those before one line."""

    line: int
    order: int
    cells: Cells | None
    number: int | None = None
    former: FormerPlace | None = None


_Step = tuple[tuple[int, int], FormerPlace | _Edit, int]


def rewritten(content: CsvContent, changes: Edits) -> Rewritten:
    """Make the next version. Raises Unwritable."""
    edits = [
        *(_Edit(content.firsts[number], _LAST, cells, number) for number, cells in changes.changed.items()),
        *_additions(content, changes.added, changes.removed),
    ]
    edits.sort(key=lambda edit: (edit.line, edit.order))
    parts, at, more = [], 0, []
    for edit in edits:
        begin, end, text, lines = _written(content, edit)
        parts += [content.data[at:begin], _encoded(content, text)]
        at = end
        more.append(lines)
    data = b"".join([*parts, content.data[at:]])
    places = tuple(_moved(changes.removed, edits, more, content, changes.row_of))
    return Rewritten(data, len(content.lines) + sum(more), places, _texts(content, edits))


def confirm(version: Rewritten, now: CsvContent, columns: Sequence[str]) -> None:
    """Compare the next version with what every reader of it reads. Raises Unwritable."""
    import pyarrow.compute as pc  # noqa: PLC0415 - makes hundreds of functions, which only a change needs

    if now.columns != tuple(columns) or not now.texts.equals(version.texts):
        raise Unwritable("it would be read differently afterwards: its delimiter, encoding or header would change")
    if len(now.lines) != version.lines:
        raise Unwritable("two kinds of line ends would become one; save it with one kind of line end")
    try:
        as_scanned = pa.Table.from_batches(as_read(now), schema=now.texts.schema)
    except ConnectorError as error:
        raise Unwritable("it could not be read afterwards") from error
    for name in columns:
        texts = now.texts.column(name)
        nulls = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        if not as_scanned.column(name).equals(nulls):
            raise Unwritable("a value would be read differently afterwards")


def _additions(
    content: CsvContent, added: Sequence[tuple[Cells, str]], removed: Sequence[FormerPlace]
) -> Iterator[_Edit]:
    free = {place.row: number for number, place in enumerate(removed)}
    for number, (cells, row) in enumerate(added):
        order = free.pop(row, None)
        if order is None:
            yield _Edit(len(content.lines), _LAST + 1 + number, cells)
        else:
            yield _Edit(_between_records(content, removed[order].at), order, cells, None, removed[order])


def _between_records(content: CsvContent, line: int) -> int:
    """The nearest line above at which a record can be inserted."""
    line = min(max(line, content.first_line), len(content.lines))
    above = bisect.bisect_left(content.firsts, line) - 1
    return content.firsts[above] if above >= 0 and line < content.ends[above] else line


def _written(content: CsvContent, edit: _Edit) -> tuple[int, int, str, int]:
    """The bytes to replace, the new text, and how many lines there are more than before."""
    if edit.number is None:
        offset, text = content.starts[edit.line], _new_text(content, edit)
        is_open = edit.line > 0 and content.lines[edit.line - 1][-1:] not in ENDS
        return offset, offset, f"{content.line_end(edit.line) if is_open else ''}{text}", _lines(text)
    first, after = content.firsts[edit.number], content.ends[edit.number]
    begin, end = content.starts[first], content.starts[after]
    text = "" if edit.cells is None else _changed_text(content, edit.number, edit.cells, content.data[begin:end])
    return begin, end, text, _lines(text) - (after - first)


def _lines(text: str) -> int:
    return len(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")) if text else 0


def _changed_text(content: CsvContent, number: int, cells: Cells, data: bytes) -> str:
    text, form = content.text(number), content.form
    if _encoded(content, text) != data:
        raise Unwritable(f"a line has characters that {content.codec} writes in several ways; save the file as UTF-8")
    parts, at = [], 0
    for name, span in zip(content.columns, field_spans(text, form.delimiter, form.quote), strict=False):
        parts += [text[at : span.begin], form.write(cells[name])]
        at = span.end
    return "".join([*parts, text[at:]])


def _new_text(content: CsvContent, edit: _Edit) -> str:
    """A whole line, or several."""
    assert edit.cells is not None  # noqa: S101 - a record is added
    line_end, form = content.line_end(edit.line), content.form
    written = form.delimiter.join(form.write(edit.cells.get(name)) for name in content.columns)
    tail = line_end if edit.former is None else edit.former.tail
    if edit.line < len(content.lines) and tail[-1:] not in ("\n", "\r"):
        tail += line_end
    return f"{written}{tail}"


def _encoded(content: CsvContent, text: str) -> bytes:
    try:
        return content.encoded(text)
    except UnicodeEncodeError as error:
        raise Unwritable(f"{content.codec} has no character for a value") from error


def _moved(
    removed: Sequence[FormerPlace],
    edits: Sequence[_Edit],
    more: Sequence[int],
    content: CsvContent,
    row_of: Mapping[int, str],
) -> Iterator[FormerPlace]:
    """The places of removed records after these edits, in the order of the file.

    `more` has the number of lines that each edit adds.
    """
    back = {id(edit.former) for edit in edits if edit.former is not None}
    former: list[_Step] = [((place.at, order), place, 0) for order, place in enumerate(removed)]
    edited: list[_Step] = [((edit.line, edit.order), edit, lines) for edit, lines in zip(edits, more, strict=True)]
    shift = 0
    for (line, _), item, lines in heapq.merge(former, edited, key=lambda entry: entry[0]):
        if isinstance(item, FormerPlace):
            if id(item) not in back:
                yield replace(item, at=line + shift)
        elif item.number is not None and item.cells is None:
            yield FormerPlace(line + shift, content.tail(item.number), row_of[item.number])
        shift += lines


def _texts(content: CsvContent, edits: Sequence[_Edit]) -> pa.Table:
    """The texts of the next version: those of the present one, without the edited records, and the new ones."""
    by_number = {edit.number: edit for edit in edits if edit.number is not None}
    new = [edit for edit in edits if edit.cells is not None]
    rows = {id(edit): len(content.firsts) + n for n, edit in enumerate(new)}
    lines = iter([*(edit for edit in edits if edit.number is None), None])
    added, take = next(lines), []
    for number, first in enumerate(content.firsts):
        while added is not None and added.line <= first:
            take.append(rows[id(added)])
            added = next(lines)
        edit = by_number.get(number)
        if edit is None:
            take.append(number)
        elif edit.cells is not None:
            take.append(rows[id(edit)])
    take += [
        rows[id(edit)] for edit in itertools.takewhile(lambda edit: edit is not None, itertools.chain([added], lines))
    ]
    columns = [pa.array([_text((edit.cells or {}).get(name)) for edit in new], pa.string()) for name in content.columns]
    extra = pa.Table.from_arrays(columns, schema=content.texts.schema)
    return pa.concat_tables([content.texts, extra]).take(pa.array(take, pa.int64()))


def _text(cell: Cell) -> str:
    return "" if cell is None else cell[1]
