"""The formats of banks by name, each loaded when a dataset has such a file."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from connectors.disk.opened_file import OpenedFile
from connectors.errors import DriverMissing
from connectors.files.bank.statement import WITH_FITID, WITHOUT_CURRENCY, BankFile

if TYPE_CHECKING:
    from connectors.files.connector import FilesDataset

FORMATS = ("camt", "camt053", "mt940", "ofx", "qif")
"""`camt` and `camt053` are the same: statements, reports and notifications."""
_CONTENT = {
    "camt": re.compile(rb"<(?:[\w.-]+:)?(?:BkToCstmrStmt|BkToCstmrAcctRpt|BkToCstmrDbtCdtNtfctn)"),
    "ofx": re.compile(rb"<OFX>", re.IGNORECASE),
    "qif": re.compile(rb"\A\s*!(?:Type|Account|Option|Clear)\b", re.IGNORECASE),
    "mt940": re.compile(rb"(?:\A|[\r\n])(?:\{.*\{4:)?:20:(?:.|\r|\n)*?[\r\n]:(?:25P?|60[FM]):"),
}
_HEAD = 4_000


def format_in(file: OpenedFile) -> str | None:
    """Return the format that a file's first characters show, for a proposal; None for any other."""
    with file.bytes() as content:
        head = content.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    return next((name for name, pattern in _CONTENT.items() if pattern.search(head)), None)


def key_of(kind: str | None, path: str) -> tuple[str, ...]:
    """Return the columns with which a bank numbers its entries in the files of a path; none for another format."""
    if kind == "qif":  # numbers nothing: an entry has only its place
        return ("_file", "statement", "entry") if set(path) & set("*?[") else ("statement", "entry")
    if kind == "ofx":
        return ("account", "FITID")
    return ("account", "statement", "entry") if kind in FORMATS else ()


def opened(source: str, file: OpenedFile, kind: str, dataset: FilesDataset) -> BankFile:
    """Return the file as statements of that format, read as the dataset says. Raises DriverMissing."""
    encoding, splits = dataset.encoding, dataset.batches == "split"
    if kind == "mt940":
        from connectors.files.bank import mt940  # noqa: PLC0415 - most datasets need no reader of banks

        return BankFile(file, functools.partial(mt940.read, encoding=encoding), mt940.count)
    if kind == "ofx":
        from connectors.files.bank import ofx  # noqa: PLC0415 - see above

        read = functools.partial(ofx.read, encoding=encoding, decimal=dataset.decimal)
        return BankFile(file, read, ofx.count, columns=WITH_FITID)
    if kind == "qif":
        from connectors.files.bank import qif  # noqa: PLC0415 - see above

        options = qif.QifOptions(encoding, dataset.decimal, dataset.date_order)
        return BankFile(
            file, functools.partial(qif.read, batches=splits, options=options), qif.count, columns=WITHOUT_CURRENCY
        )
    try:
        from connectors.files.bank import camt  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise DriverMissing(source, "the reader of CAMT", "reconcile-runner[bank]") from error
    return BankFile(file, functools.partial(camt.read, batches=splits), camt.count, is_split=splits)
