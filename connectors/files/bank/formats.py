"""The formats of statements by name, each loaded when a dataset has such a file."""

from __future__ import annotations

import functools

from connectors.disk.opened_file import OpenedFile
from connectors.errors import DriverMissing
from connectors.files.bank.statement import BankFile

FORMATS = ("camt", "camt053", "mt940")
"""`camt` and `camt053` are the same: statements, reports and notifications."""


def opened(source: str, file: OpenedFile, kind: str, *, encoding: str | None, split: bool) -> BankFile:
    """Return the file as statements of that format; `split` the batches of CAMT. Raises DriverMissing."""
    if kind in ("camt", "camt053"):
        try:
            from connectors.files.bank import camt  # noqa: PLC0415 - needs an extra
        except ImportError as error:
            raise DriverMissing(source, "the reader of CAMT", "reconcile-runner[bank]") from error
        return BankFile(file, functools.partial(camt.read, batches=split), camt.count, is_split=split)
    from connectors.files.bank import mt940  # noqa: PLC0415 - most datasets need no reader of it

    return BankFile(file, functools.partial(mt940.read, encoding=encoding), mt940.count)
