"""Reads one sheet in a process of its own, with limits on memory and time, into an Arrow file.

Started isolated, without an environment (see connectors.workbook.isolated); the order comes as JSON on standard input,
a refusal goes as JSON to standard output. A hostile workbook can then only end this process.
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
"""Seconds a thread computes before another may: a parser that waits for its turn leaves a processor idle."""


class _Alone:
    """Pyarrow would load pandas and numpy, half a second, only to ask whether a list is one of their arrays."""

    @staticmethod
    def find_spec(fullname: str, _path: object = None, _target: object = None) -> None:
        if fullname in ("pandas", "numpy"):
            raise ModuleNotFoundError(fullname, name=fullname)


class Refused(Exception):
    """What the order asks for is not in the workbook; `what` is the word the parent knows it by."""

    def __init__(self, what: str, known: Iterable[str]) -> None:
        super().__init__(what)
        self.what, self.known = what, list(known)


def main() -> None:
    sys.meta_path.insert(0, _Alone)
    sys.setswitchinterval(TURN)
    gc.disable()  # cells make no cycles, and looking for them takes a fifth of the time
    order = json.loads(sys.stdin.read())
    _limit(resource.RLIMIT_AS, order["memory"])
    _limit(resource.RLIMIT_CPU, order["seconds"])
    _limit(resource.RLIMIT_FSIZE, order["unpacked"])
    _limit(resource.RLIMIT_CORE, 0)
    try:
        print(json.dumps(_obey(order)))  # noqa: T201 - the answer to the parent
    except Refused as refused:
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


def _limit(what: int, most: int) -> None:
    """Take no more than that, nor more than whoever started us may take."""
    _, hard = resource.getrlimit(what)
    most = min(most, sys.maxsize if hard == resource.RLIM_INFINITY else hard)
    resource.setrlimit(what, (most, most))


def _obey(order: dict[str, Any]) -> dict[str, Any]:
    path = Path(order["path"])
    if order["kind"] == "ods":
        from connectors.workbook import ods  # noqa: PLC0415 - only what the order needs is loaded

        names, hidden = ods.sheets(path), set[str]()
        if order["list"]:
            return {"sheets": names}
        repeats = ods.Repeats(order["repeated"], order["characters"])
        return _written(order, blocks(ods.rows(path, _chosen(order["sheet"], names, hidden), repeats)))
    if order["kind"] == "xls":
        return _old(order, path)
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    book = CalamineWorkbook.from_path(str(path))
    known = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in known]
    hidden = {one.name for one in known if one.visible != SheetVisibleEnum.Visible}
    if order["list"]:
        return {"sheets": [one for one in names if one not in hidden]}
    sheet = _chosen(order["sheet"], names, hidden)
    try:
        return _pure(order, path, sheet)
    except Impure:
        pass
    from connectors.workbook import xlsx  # noqa: PLC0415

    try:
        return _written(order, xlsx.in_slabs(path, sheet))
    except xlsx.Indivisible:
        return _written(order, xlsx.whole(path, book, sheet))


def _old(order: dict[str, Any], path: Path) -> dict[str, Any]:
    from connectors.workbook import xls  # noqa: PLC0415

    try:
        book = xls.opened(path)
    except xls.Locked:
        raise Refused("locked", []) from None
    except LookupError:
        raise Refused("code page", []) from None
    names, hidden = book.sheet_names(), xls.hidden(book)
    if order["list"]:
        return {"sheets": [name for name in names if name not in hidden]}
    return _written(order, blocks(xls.rows(book, _chosen(order["sheet"], names, hidden))))


def _pure(order: dict[str, Any], path: Path, sheet: str) -> dict[str, Any]:
    if order["skip_footer"]:
        raise Impure  # whole columns are typed at once there, a footer with them
    from connectors.workbook import pure  # noqa: PLC0415

    found = pure.read(path, sheet, order)
    from connectors.workbook.table import write_pure  # noqa: PLC0415

    return write_pure(order, found)


def _chosen(asked: str | None, names: list[str], hidden: set[str]) -> str:
    visible = [one for one in names if one not in hidden]
    if not names:
        raise Refused("no sheet", [])
    if asked is None and len(visible) == 1:
        return visible[0]
    if asked in names:
        return str(asked)
    raise Refused("sheet", visible)


def _written(order: dict[str, Any], arriving: Iterator[Block]) -> dict[str, Any]:
    """Type the columns and write them; columns with errors get a boolean column beside them, named by their place."""
    first = next(arriving, NOTHING)  # now that threads parse, there is time to load what types the columns
    from connectors.workbook.footer import FooterMissing  # noqa: PLC0415
    from connectors.workbook.table import HeaderMissing, HeaderOfErrors, write  # noqa: PLC0415

    try:
        return write(order, chain([first], arriving))
    except HeaderMissing:
        raise Refused("header", []) from None
    except FooterMissing:
        raise Refused("footer", []) from None
    except HeaderOfErrors:
        raise Refused("errors", []) from None
