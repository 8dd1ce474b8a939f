"""The formats of statements by name, each loaded when a dataset has such a file."""

from __future__ import annotations

import functools

from connectors.disk.opened_file import OpenedFile
from connectors.errors import DriverMissing
from connectors.files.bank.statement import BankFile

FORMATS = ("camt053", "mt940")


def opened(source: str, file: OpenedFile, kind: str, *, encoding: str | None, split: bool) -> BankFile:
    """Return the file as statements of that format; `split` the batches of CAMT.053. Raises DriverMissing."""
    try:
        if kind == "camt053":
            from connectors.files.bank import camt053  # noqa: PLC0415 - needs an extra

            return BankFile(file, functools.partial(camt053.read, split=split), camt053.count)
        from connectors.files.bank import mt940  # noqa: PLC0415 - needs an extra

        return BankFile(file, functools.partial(mt940.read, encoding=encoding), mt940.count)
    except ImportError as error:
        raise DriverMissing(source, f"the reader of {kind}", "reconcile-runner[bank]") from error
