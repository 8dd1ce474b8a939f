"""What a process that cleans a file does. Its module imports little, for each process imports it anew."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from connectors.disk.cleaning import exchange
from connectors.files.connector import FilesDataset, FilesSettings
from connectors.files.source import FilesSource
from connectors.target import Change, Receipt, ReceiptStands
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

DATASETS: dict[str, Any] = {"csv": FilesDataset(path="a.csv"), "xlsx": WorkbookDataset(sheet="Sheet")}


def opened(kind: str, folder: Path) -> Any:
    """The target with the file, as a new process opens it."""
    if kind == "csv":
        return FilesSource("files", FilesSettings(type="files"), folder)
    return WorkbookSource("files", WorkbookSettings(type="workbook", path="a.xlsx"), folder)


def set_name(kind: str, folder: str, identifier: str, name: str, key: str, dies_at: str | None = None) -> None:
    """Clean one record as a process does; `dies_at` is the step of the exchange after which it is killed."""
    if dies_at is not None:
        exchange.armed = lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == dies_at else None
    dataset, target = DATASETS[kind], opened(kind, Path(folder))
    [row] = target.rows(dataset, ["id"], [(identifier,)])
    with target.work(20) as work:
        work.receive([_receipt(target.table(dataset), key)])
        work.lock([row.name])
        work.apply(Change(row.name, row.cells, {"name": ("t", name)}, "surplus"))
        work.commit()


def was_done(kind: str, folder: Path, key: str) -> bool:
    """Ask as recovery does: offer the receipt again, and commit nothing."""
    target = opened(kind, folder)
    try:
        with target.work(20) as work:
            work.receive([_receipt(target.table(DATASETS[kind]), key)])
    except ReceiptStands:
        return True
    return False


def _receipt(table: str, key: str) -> Receipt:
    return Receipt(key, f"of {key}", "st_ours", 1, 3, "P-1", table=table)
