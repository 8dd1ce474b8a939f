"""Read sheets of workbooks in a process of its own, with limits on memory and time, into one Arrow file.

The process is isolated, without an environment (see connectors.workbook.isolated). The order is JSON on standard input,
the answer JSON on standard output; standard error has a line for each workbook as its reading begins. A hostile
workbook can only end this process.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from connectors.workbook.blocks import BEGUN, NOTHING, NeedsCellReader, NotInWorkbook, RowBlock, TooMuch, blocks

TURN = 0.0005
"""Seconds a thread runs before another may: a parser that waits for its turn leaves a processor idle."""

PATTERN = frozenset("*?[")


class _Alone:
    """Hides pandas and numpy, which pyarrow would load only to check the type of a list.

    Measured over 20 runs each, alternating: a run over a small workbook needs 1.79 s of processor time, not 2.16 s.
    """

    @staticmethod
    def find_spec(fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname in ("pandas", "numpy"):
            raise ModuleNotFoundError(fullname, name=fullname)


Sheets = Iterator[tuple[str, Iterator[RowBlock]]]
"""Sheets in the order of the workbook, by name; those without cells may be left out. Each is read before the next."""


@dataclass(frozen=True)
class Book:
    """An opened workbook: the names of its sheets of cells, those of the hidden ones, and a reader of chosen ones."""

    names: Sequence[str]
    hidden: set[str]
    read: Callable[[Sequence[str]], Sheets]

    @property
    def visible(self) -> list[str]:
        return [name for name in self.names if name not in self.hidden]


def main() -> None:
    sys.meta_path.insert(0, _Alone)
    sys.setswitchinterval(TURN)
    gc.disable()  # cells make no cycles, and the search for them takes a fifth of the time
    order = json.loads(sys.stdin.read())
    _limit(resource.RLIMIT_AS, order["memory"])
    _limit(resource.RLIMIT_CPU, order["seconds"])
    _limit(resource.RLIMIT_FSIZE, order["unpacked"])
    _limit(resource.RLIMIT_CORE, 0)
    try:
        print(json.dumps(_obey(order)))  # noqa: T201 - the answer to the parent
    except NotInWorkbook as refused:
        answer = {"refused": refused.what, "known": refused.existing, "wanted": refused.wanted}
        print(json.dumps(answer))  # noqa: T201 - the answer to the parent
    except TooMuch as refused:
        print(json.dumps({"refused": refused.what}))  # noqa: T201 - the answer to the parent
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        print(json.dumps({"refused": "written"}))  # noqa: T201 - the answer to the parent
    sys.stdout.flush()
    os._exit(0)  # at once: taking a million cells apart takes time


def _limit(resource_id: int, most: int) -> None:
    """Limit the resource to that, or to the limit of the parent if that is lower."""
    _, hard = resource.getrlimit(resource_id)
    most = min(most, sys.maxsize if hard == resource.RLIM_INFINITY else hard)
    resource.setrlimit(resource_id, (most, most))


def _obey(order: dict[str, Any]) -> dict[str, Any]:
    if order["list"]:
        return {"sheets": _in_all([_opened(file).visible for file in _begun(order)])}
    try:
        if all(file["kind"] == "xlsx" for file in order["files"]):
            return _pure(order)
    except NeedsCellReader:
        pass  # some column holds several kinds of cells: the reader of single cells takes it
    return _written(order)


def _begun(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The workbooks of an order, one after the other."""
    for position, file in enumerate(order["files"]):
        print(f"{BEGUN}{position}", file=sys.stderr, flush=True)  # noqa: T201 - for the parent
        yield file


def _in_all(names: Sequence[Sequence[str]]) -> list[str]:
    """The sheets that every workbook has, in the order of the first."""
    return [name for name in names[0] if all(name in each for each in names)]


def _opened(file: dict[str, Any]) -> Book:
    return {"ods": _open_document, "xls": _old, "xlsx": _excel}[file["kind"]](file, Path(file["path"]))


def _open_document(file: dict[str, Any], path: Path) -> Book:
    from connectors.workbook import ods  # noqa: PLC0415 - only what the order needs is loaded

    def read(chosen: Sequence[str]) -> Sheets:
        repeats = ods.RepeatAllowance(file["repeated"], file["characters"])
        for sheet, rows in groupby(ods.rows(path, chosen, repeats), itemgetter(0)):
            yield sheet, blocks(map(itemgetter(1), rows))

    return Book(*ods.sheets(path), read)


def _excel(file: dict[str, Any], path: Path) -> Book:  # noqa: ARG001 - as the others
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    book = CalamineWorkbook.from_path(str(path))
    worksheets = [worksheet for worksheet in book.sheets_metadata if worksheet.typ == SheetTypeEnum.WorkSheet]
    hidden = {worksheet.name for worksheet in worksheets if worksheet.visible != SheetVisibleEnum.Visible}

    def read(chosen: Sequence[str]) -> Sheets:
        from connectors.workbook import xlsx  # noqa: PLC0415

        return ((sheet, xlsx.by_cells(path, book, sheet)) for sheet in chosen)

    return Book([worksheet.name for worksheet in worksheets], hidden, read)


def _old(file: dict[str, Any], path: Path) -> Book:  # noqa: ARG001 - as the others
    from connectors.workbook import xls  # noqa: PLC0415

    try:
        book = xls.opened(path)
    except xls.Locked:
        raise NotInWorkbook("locked", []) from None
    except LookupError:
        raise NotInWorkbook("code page", []) from None
    return Book(
        book.sheet_names(),
        xls.hidden(book),
        lambda chosen: ((sheet, blocks(xls.rows(book, sheet))) for sheet in chosen),
    )


def _pure(order: dict[str, Any]) -> dict[str, Any]:
    if order["skip_footer"]:
        raise NeedsCellReader  # that reader types whole columns at once, including a footer
    from connectors.workbook import xlsx  # noqa: PLC0415

    tables: list[Any] = []
    for file in _begun(order):
        arriving = xlsx.read(Path(file["path"]), _chosen(order, _opened(file)), order)
        first = list(islice(arriving, 1))  # while it parses, it loads modules that type the columns
        from connectors.workbook.table import typed_tables, write  # noqa: PLC0415

        tables += typed_tables(order, file["name"], chain(first, arriving))
    return write(order, tables, are_pure=True)


def _written(order: dict[str, Any]) -> dict[str, Any]:
    """Type the columns and write them; a column with errors gets a boolean column beside it."""
    tables: list[Any] = []
    for file in _begun(order):
        book = _opened(file)
        sheets = book.read(_chosen(order, book))
        first = [(sheet, chain([next(rows, NOTHING)], rows)) for sheet, rows in islice(sheets, 1)]
        # while threads parse, load the modules that type the columns
        from connectors.workbook.table import tables_of, write  # noqa: PLC0415

        tables += tables_of(order, file["name"], chain(first, sheets))
    return write(order, tables)


def _chosen(order: dict[str, Any], book: Book) -> list[str]:
    """The names of the sheets to read, in the order of the workbook. A pattern matches visible sheets only."""
    if not book.names:
        raise NotInWorkbook("no sheet", [])
    if order["sheets"] is None:
        if len(book.visible) != 1:
            raise NotInWorkbook("unnamed", book.visible)
        return book.visible
    if order["all"] in book.names:
        raise NotInWorkbook("all", [])
    wanted: set[str] = set()
    for pattern in order["sheets"]:
        is_pattern = order["several"] and (pattern not in book.names or order["all"] is not None)
        matches = [name for name in book.visible if fnmatchcase(name, pattern)] if is_pattern else [pattern]
        if not matches or matches[0] not in book.names:
            is_missing = not is_pattern or PATTERN.isdisjoint(pattern)
            raise NotInWorkbook("sheet" if is_missing else "pattern", book.visible, pattern)
        wanted.update(matches)
    return [name for name in dict.fromkeys(book.names) if name in wanted]
