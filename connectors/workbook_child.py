"""Reads one sheet in a process of its own, with limits on memory and time, into an Arrow file.

Started as `python -m connectors.workbook_child`; the order comes as JSON on standard input, a refusal goes as JSON to
standard output. A hostile workbook can then only end this process.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import MetaPathFinder
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.headers import stable_names
from connectors.workbook_cells import EXACT, ColumnOfCells, Wish
from connectors.workbook_ods import ERROR

ROWS = 10_000
BLANK = ("", None)
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class _WithoutPandas(MetaPathFinder):
    """Pyarrow would load pandas, half a second, only to ask whether a list is one of its arrays."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - a port
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)


class Refused(Exception):
    """What the order asks for is not in the workbook; `what` is the word the parent knows it by."""

    def __init__(self, what: str, known: Iterable[str]) -> None:
        super().__init__(what)
        self.what, self.known = what, list(known)


def main() -> None:
    sys.meta_path.insert(0, _WithoutPandas())
    gc.disable()  # cells make no cycles, and looking for them takes a fifth of the time
    order = json.loads(sys.stdin.read())
    resource.setrlimit(resource.RLIMIT_AS, (order["memory"], order["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (order["seconds"], order["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        print(json.dumps(_obey(order)))  # noqa: T201 - the answer to the parent
    except Refused as refused:
        print(json.dumps({"refused": refused.what, "known": refused.known}))  # noqa: T201 - the answer to the parent


def _obey(order: dict[str, Any]) -> dict[str, Any]:
    path = Path(order["path"])
    if order["kind"] == "ods":
        from connectors import workbook_ods  # noqa: PLC0415 - only what the order needs is loaded

        names, hidden = workbook_ods.sheets(path), set[str]()
        if order["list"]:
            return {"sheets": names}
        sheet = _chosen(order["sheet"], names, hidden)
        return _written(order, workbook_ods.rows(path, sheet), set())
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    book = CalamineWorkbook.from_path(str(path))
    known = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in known]
    hidden = {one.name for one in known if one.visible != SheetVisibleEnum.Visible}
    if order["list"]:
        return {"sheets": [one for one in names if one not in hidden]}
    sheet = _chosen(order["sheet"], names, hidden)
    with ThreadPoolExecutor(1) as beside:
        failed = beside.submit(_errors, path, sheet) if order["kind"] == "xlsx" else None
        cells = book.get_sheet_by_name(sheet)
        left = (cells.start or (0, 0))[1]
        errors = {(row, column - left) for row, column in failed.result()} if failed else set()
    return _written(order, cells.iter_rows(), errors)


def _chosen(asked: str | None, names: list[str], hidden: set[str]) -> str:
    visible = [one for one in names if one not in hidden]
    if asked is None and len(visible) == 1:
        return visible[0]
    if asked in names:
        return str(asked)
    raise Refused("sheet", visible)


def _errors(path: Path, sheet: str) -> set[tuple[int, int]]:
    """(row, column) of cells with an error, counted from 0; calamine gives such a cell as an empty one."""
    with zipfile.ZipFile(path) as archive:
        part = _part(archive, sheet)
        if part is None or not _mentions(archive, part):
            return set()
        return set(_error_cells(archive, part))


def _part(archive: zipfile.ZipFile, sheet: str) -> str | None:
    from lxml import etree  # noqa: PLC0415 - only what the order needs is loaded

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    book = etree.fromstring(archive.read("xl/workbook.xml"), parser)
    target = next((one.get(RELATION) for one in book.iter("{*}sheet") if one.get("name") == sheet), None)
    links = etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"), parser)
    found = next((one.get("Target") for one in links if one.get("Id") == target), None)
    if found is None:
        return None
    part = found.lstrip("/") if found.startswith("/") else f"xl/{found}"
    return part if part in archive.namelist() else None


def _mentions(archive: zipfile.ZipFile, part: str) -> bool:
    tail = b""
    with archive.open(part) as file:
        while chunk := file.read(1 << 20):
            if b't="e"' in chunk or b"t='e'" in chunk or b't="e"' in tail + chunk[:8] or b"t='e'" in tail + chunk[:8]:
                return True
            tail = chunk[-8:]
    return False


def _error_cells(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[int, int]]:
    from lxml import etree  # noqa: PLC0415 - only what the order needs is loaded

    row = -1
    with archive.open(part) as file:
        events = etree.iterparse(
            file, events=("start", "end"), tag=("{*}row",), resolve_entities=False, no_network=True, load_dtd=False
        )
        for event, one in events:
            if event == "start":
                row = int(one.get("r") or row + 2) - 1
                continue
            column = -1
            for cell in one:
                column = _letters(cell.get("r")) if cell.get("r") else column + 1
                if cell.get("t") == "e":
                    yield row, column
            one.clear()


def _letters(place: str) -> int:
    found = 0
    for char in place:
        if not char.isalpha():
            break
        found = found * 26 + ord(char.upper()) - 64
    return found - 1


def _written(order: dict[str, Any], rows: Iterator[list[Any]], errors: set[tuple[int, int]]) -> dict[str, Any]:
    """Type the columns and write them; columns with errors get a boolean column beside them, named by their place."""
    numbered = enumerate(rows, 1)
    header = _header(order["header_row"], numbered)
    wishes = {name: Wish(**wish) for name, wish in order["wishes"].items()}
    table = _Table(header, wishes, errors)
    while batch := list(islice(numbered, ROWS)):
        table.add(batch)
    schema, arrays = table.finished()
    with pa.OSFile(order["target"], "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema), ROWS * 4)
    return {"columns": table.names, "rounded": table.rounded}


def _header(wanted: int | None, numbered: Iterator[tuple[int, list[Any]]]) -> list[Any]:
    for row, cells in numbered:
        if row == wanted or (wanted is None and _filled(cells)):
            return cells
    raise Refused("header", [])


def _filled(cells: list[Any]) -> bool:
    return bool(cells) and (cells[0] not in BLANK or any(one not in BLANK for one in cells))


class _Table:
    def __init__(self, header: list[Any], wishes: dict[str, Wish], errors: set[tuple[int, int]]) -> None:
        self._header = ["" if one is None or one is ERROR else str(one) for one in header]
        self._wishes = wishes
        self._touched: dict[int, list[int]] = {}
        for row, column in errors:
            self._touched.setdefault(row + 1, []).append(column)
        self._columns: list[ColumnOfCells] = []
        self._wrong: dict[int, set[int]] = {}
        self._rows: list[int] = []
        self._named: list[str] = []
        self.names: list[str] = []
        self.rounded: dict[str, tuple[int, int]] = {}

    def add(self, batch: list[tuple[int, list[Any]]]) -> None:
        kept = [one for one in batch if _filled(one[1]) or one[0] in self._touched]
        if not kept:
            return
        start, rows = len(self._rows), [cells for _, cells in kept]
        widths = set(map(len, rows))
        width = max(len(self._header), *widths)
        if widths != {width}:
            rows = [[*cells, *[None] * (width - len(cells))] for cells in rows]
        self._grow(width, start)
        for place, cells in enumerate(zip(*rows, strict=True)):
            self._columns[place].add(self._without_errors(place, cells, start))
        self._rows += [n for n, _ in kept]
        if self._touched:
            for position, (n, _) in enumerate(kept, start):
                for column in self._touched.get(n, ()):
                    self._wrong.setdefault(column, set()).add(position)

    def _without_errors(self, place: int, cells: tuple[Any, ...], start: int) -> tuple[Any, ...] | list[Any]:
        if ERROR not in cells:
            return cells
        self._wrong.setdefault(place, set()).update(i for i, one in enumerate(cells, start) if one is ERROR)
        return [None if one is ERROR else one for one in cells]

    def _grow(self, width: int, before: int) -> None:
        self._header += [""] * (width - len(self._header))
        self._named = list(stable_names(self._header))
        for name in self._named[len(self._columns) :]:
            column = ColumnOfCells(self._wishes.get(name, Wish()))
            if before:
                column.add([None] * before)
            self._columns.append(column)

    def finished(self) -> tuple[pa.Schema, list[Any]]:
        self._grow(len(self._header), len(self._rows))
        fields: list[tuple[str, pa.DataType]] = [("_row", pa.int64())]
        arrays: list[Any] = [pa.array(self._rows, pa.int64())]
        for place, (name, column) in enumerate(zip(self._named, self._columns, strict=True)):
            wrong = self._wrong.get(place, set())
            if not self._header[place].strip() and not column.kinds and not wrong:
                continue  # formatted, never filled
            self.names.append(name)
            self._round(name, column)
            fields += [(f"={name}", (cells := column.finished()).type)]
            arrays.append(cells)
            if wrong:
                fields.append((f"!{name}", pa.bool_()))
                arrays.append(pa.array([i in wrong for i in range(len(self._rows))], pa.bool_()))
        return pa.schema(fields), arrays

    def _round(self, name: str, column: ColumnOfCells) -> None:
        count, first, start = 0, 0, 0
        for kind, part in column.parts:
            size = part if kind == "" else len(part)
            if kind in ("number", "mixed"):
                for i, one in enumerate(part if isinstance(part, list) else _large(part), start):
                    if isinstance(one, float) and abs(one) >= EXACT:
                        count, first = count + 1, first or self._rows[i]
            start += size
        if count:
            self.rounded[name] = (count, first)


def _large(part: Any) -> list[float | None]:
    import pyarrow.compute as pc  # noqa: PLC0415 - only what the order needs is loaded

    highest = pc.max(pc.abs(part)).as_py()
    return part.to_pylist() if highest is not None and highest >= EXACT else []


if __name__ == "__main__":
    main()
