"""Read one sheet in a process of its own, with limits on memory and time, into an Arrow file.

The process is isolated, without an environment (see connectors.workbook.isolated). The order is JSON on standard input,
the answer JSON on standard output. A hostile workbook can only end this process.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from connectors.workbook.blocks import NOTHING, Block, Impure, TooMuch, blocks

TURN = 0.0005
"""Seconds a thread runs before another may: a parser that waits for its turn leaves a processor idle."""


class _Alone:
    """Hides pandas and numpy, which pyarrow would load only to check the type of a list.

    Measured over 20 runs each, alternating: a run over a small workbook needs 1.79 s of processor time, not 2.16 s.
    """

    @staticmethod
    def find_spec(fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname in ("pandas", "numpy"):
            raise ModuleNotFoundError(fullname, name=fullname)


class NotInWorkbook(Exception):
    """Something in the order is not in the workbook; `what` is the parent's word for it."""

    def __init__(self, missing: str, existing: Iterable[str]) -> None:
        super().__init__(missing)
        self.what, self.known = missing, list(existing)


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
        print(json.dumps({"refused": refused.what, "known": refused.known}))  # noqa: T201 - the answer to the parent
    except TooMuch as refused:
        limits = order["repeated"], order["characters"]
        print(json.dumps({"refused": refused.what, "limits": limits}))  # noqa: T201 - the answer to the parent
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
    path = Path(order["path"])
    if order["kind"] == "ods":
        from connectors.workbook import ods  # noqa: PLC0415 - only what the order needs is loaded

        names, hidden = ods.sheets(path), set[str]()
        if order["list"]:
            return {"sheets": names}
        repeats = ods.RepeatAllowance(order["repeated"], order["characters"])
        return _written(order, blocks(ods.rows(path, _chosen(order["sheet"], names, hidden), repeats)))
    if order["kind"] == "xls":
        return _old(order, path)
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    book = CalamineWorkbook.from_path(str(path))
    worksheets = [worksheet for worksheet in book.sheets_metadata if worksheet.typ == SheetTypeEnum.WorkSheet]
    names = [worksheet.name for worksheet in worksheets]
    hidden = {worksheet.name for worksheet in worksheets if worksheet.visible != SheetVisibleEnum.Visible}
    if order["list"]:
        return {"sheets": [name for name in names if name not in hidden]}
    sheet = _chosen(order["sheet"], names, hidden)
    try:
        return _pure(order, path, sheet)
    except Impure:
        pass  # some column holds several kinds of cells: the reader of single cells takes it
    from connectors.workbook import xlsx  # noqa: PLC0415

    return _written(order, xlsx.by_cells(path, book, sheet))


def _old(order: dict[str, Any], path: Path) -> dict[str, Any]:
    from connectors.workbook import xls  # noqa: PLC0415

    try:
        book = xls.opened(path)
    except xls.Locked:
        raise NotInWorkbook("locked", []) from None
    except LookupError:
        raise NotInWorkbook("code page", []) from None
    names, hidden = book.sheet_names(), xls.hidden(book)
    if order["list"]:
        return {"sheets": [name for name in names if name not in hidden]}
    return _written(order, blocks(xls.rows(book, _chosen(order["sheet"], names, hidden))))


def _pure(order: dict[str, Any], path: Path, sheet: str) -> dict[str, Any]:
    if order["skip_footer"]:
        raise Impure  # that reader types whole columns at once, including a footer
    from connectors.workbook import xlsx  # noqa: PLC0415

    sheet_data = xlsx.read(path, sheet, order)
    from connectors.workbook.table import write_pure  # noqa: PLC0415

    return write_pure(order, sheet_data)


def _chosen(requested: str | None, names: list[str], hidden: set[str]) -> str:
    visible = [name for name in names if name not in hidden]
    if not names:
        raise NotInWorkbook("no sheet", [])
    if requested is None and len(visible) == 1:
        return visible[0]
    if requested in names:
        return str(requested)
    raise NotInWorkbook("sheet", visible)


def _written(order: dict[str, Any], arriving: Iterator[Block]) -> dict[str, Any]:
    """Type the columns and write them; a column with errors gets a boolean column beside it."""
    first = next(arriving, NOTHING)  # while threads parse, load the modules that type the columns
    from connectors.workbook.blocks import FooterMissing  # noqa: PLC0415
    from connectors.workbook.table import HeaderMissing, HeaderOfErrors, write  # noqa: PLC0415

    try:
        return write(order, chain([first], arriving))
    except HeaderMissing:
        raise NotInWorkbook("header", []) from None
    except FooterMissing:
        raise NotInWorkbook("footer", []) from None
    except HeaderOfErrors:
        raise NotInWorkbook("errors", []) from None
