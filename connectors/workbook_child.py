"""Reads one sheet in a process of its own, with limits on memory and time, into an Arrow file.

Started as `python -m connectors.workbook_child`; the order comes as JSON on standard input, a refusal goes as JSON to
standard output. A hostile workbook can then only end this process.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from connectors.workbook_blocks import NOTHING, Block, Impure, blocks

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
    resource.setrlimit(resource.RLIMIT_AS, (order["memory"], order["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (order["seconds"], order["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        print(json.dumps(_obey(order)))  # noqa: T201 - the answer to the parent
    except Refused as refused:
        print(json.dumps({"refused": refused.what, "known": refused.known}))  # noqa: T201 - the answer to the parent
    sys.stdout.flush()
    os._exit(0)  # at once: taking a million cells apart takes time


def _obey(order: dict[str, Any]) -> dict[str, Any]:
    path = Path(order["path"])
    if order["kind"] == "ods":
        from connectors import workbook_ods  # noqa: PLC0415 - only what the order needs is loaded

        names, hidden = workbook_ods.sheets(path), set[str]()
        if order["list"]:
            return {"sheets": names}
        return _written(order, blocks(workbook_ods.rows(path, _chosen(order["sheet"], names, hidden))))
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum  # noqa: PLC0415

    book = CalamineWorkbook.from_path(str(path))
    known = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    names = [one.name for one in known]
    hidden = {one.name for one in known if one.visible != SheetVisibleEnum.Visible}
    if order["list"]:
        return {"sheets": [one for one in names if one not in hidden]}
    sheet = _chosen(order["sheet"], names, hidden)
    if order["kind"] == "xls":
        return _written(order, blocks(book.get_sheet_by_name(sheet).iter_rows()))
    try:
        return _pure(order, path, sheet)
    except Impure:
        pass
    from connectors import workbook_xlsx  # noqa: PLC0415

    try:
        return _written(order, workbook_xlsx.in_slabs(path, sheet))
    except workbook_xlsx.Indivisible:
        return _written(order, workbook_xlsx.whole(path, book, sheet))


def _pure(order: dict[str, Any], path: Path, sheet: str) -> dict[str, Any]:
    from connectors import workbook_pure  # noqa: PLC0415

    found = workbook_pure.read(path, sheet, order)
    from connectors.workbook_table import write_pure  # noqa: PLC0415

    return write_pure(order, found)


def _chosen(asked: str | None, names: list[str], hidden: set[str]) -> str:
    visible = [one for one in names if one not in hidden]
    if asked is None and len(visible) == 1:
        return visible[0]
    if asked in names:
        return str(asked)
    raise Refused("sheet", visible)


def _written(order: dict[str, Any], arriving: Iterator[Block]) -> dict[str, Any]:
    """Type the columns and write them; columns with errors get a boolean column beside them, named by their place."""
    first = next(arriving, NOTHING)  # now that threads parse, there is time to load what types the columns
    from connectors.workbook_table import HeaderMissing, write  # noqa: PLC0415

    try:
        return write(order, chain([first], arriving))
    except HeaderMissing:
        raise Refused("header", []) from None


if __name__ == "__main__":
    main()
