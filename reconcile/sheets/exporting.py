"""Export findings to a new file: whole, or not at all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from connectors.disk.scratch import Scratch
from reconcile.app import Application
from reconcile.cleaning.chunks import in_chunks
from reconcile.decisions.selection import fitting
from reconcile.errors import Failed, Wrong
from reconcile.sheets.formats import FORMATS, Format, RecordsFormat
from reconcile.sheets.rows import SheetRows, columns
from reconcile.store import Transaction, private_files
from reconcile.store import findings as stored
from reconcile.store import plans as stored_plans
from reconcile.store.findings import FindingFilter

_CHUNK = 500


def _estimates(application: Application) -> bool:
    """Return True if a rule estimates how probable it is that its records are the same."""
    return any(rule.learns for rule in application.project.rules.values())


class FormatUnknown(Wrong):
    """The suffix of the file is not a format of an export."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} has no known ending; use {', '.join(FORMATS)}. No file was written")


class RecordsHaveASheet(Wrong):
    """A row for each record was asked for in a workbook."""

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"{file} is a workbook, which has the records in its sheet `records`; leave out --records, or use .csv or "
            ".parquet. No file was written"
        )


class FileExists(Wrong):
    """The file exists; an export overwrites it only if asked to."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} already exists and was not changed; choose another name, or add --overwrite")


class FileNotWritten(Failed):
    """The file could not be written."""

    def __init__(self, file: Path, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        super().__init__(f"{file} could not be written: {reason}. No part of it was kept")


@dataclass(frozen=True)
class Export:
    """The findings to export; `show` masks nothing. `by_record`: a row for each record, not for each finding."""

    criteria: FindingFilter
    where: str | None = None
    show: bool = False
    by_record: bool = False


@dataclass(frozen=True)
class SheetExport:
    """The number of exported findings, and True if personal data may be masked in them."""

    findings: int
    is_masked: bool


def export(
    application: Application, file: Path, order: Export, *, overwrite: bool, watch: Callable[[int], None]
) -> SheetExport:
    """Write the findings to a file that only its owner can read. `watch` gets the number of findings so far.

    Raises FormatUnknown, RecordsHaveASheet, FileExists, FileNotWritten, TooManyRows, PackageMissing,
    ConditionRefused, StoreError.
    """
    if file.suffix.lower() not in FORMATS:
        raise FormatUnknown(file)
    if order.by_record and file.suffix.lower() == ".xlsx":
        raise RecordsHaveASheet(file)
    if not overwrite and os.path.lexists(file):
        raise FileExists(file)
    try:
        with Scratch(file.parent, hidden=True) as scratch:
            part = scratch / f"export{file.suffix.lower()}"
            with private_files.create(part) as out:
                exported = write(application, out, part.suffix, order, scratch=scratch, watch=watch)
                out.flush()
                os.fsync(out.fileno())
            _keep(part, file, overwrite=overwrite)
    except FileExistsError:
        raise FileExists(file) from None
    except OSError as error:
        raise FileNotWritten(file, error) from error
    return exported


def _keep(part: Path, file: Path, *, overwrite: bool) -> None:
    if overwrite:
        part.replace(file)
    else:
        private_files.keep(part, file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write(
    application: Application,
    out: BinaryIO,
    suffix: str,
    order: Export,
    *,
    scratch: Path,
    watch: Callable[[int], None] = lambda _done: None,
) -> SheetExport:
    """Write the findings in the format of the suffix, as they are at one moment."""
    with application.memory.read() as tx:
        names, currencies = _chosen(application, tx, order)
        rows = SheetRows(application, columns(currencies, probability=_estimates(application)), order.show)
        timezone = application.project.timezone
        file: Format = (
            RecordsFormat(out, suffix, timezone, scratch)
            if order.by_record
            else FORMATS[suffix](out, rows.columns, timezone, scratch)
        )
        exported = SheetExport(0, is_masked=False)
        for chunk in in_chunks(names, _CHUNK):
            watch(exported.findings)
            exported = _add(tx, rows, file, chunk, exported)
    file.finish()
    return exported


def _chosen(application: Application, tx: Transaction, order: Export) -> tuple[list[str], Counter[str]]:
    """Return the ids of the findings, the worst first, and the currencies of their money."""
    if order.where is None:
        chosen = stored.currencies(tx, order.criteria)
    else:
        findings = fitting(tx, order.criteria, order.where, application.project.timezone)
        chosen = [(finding.id, tuple(finding.money)) for finding in findings]
    return [name for name, _ in chosen], Counter(currency for _, money in chosen for currency in money)


def _add(tx: Transaction, rows: SheetRows, file: Format, chunk: Sequence[str], before: SheetExport) -> SheetExport:
    plans, is_masked = stored_plans.awaiting(tx, chunk), before.is_masked
    findings = stored.some(tx, chunk)
    for finding, view in zip(findings, rows.views(tx, findings), strict=True):
        file.add(rows.finding(finding, view, plans.get(finding.id)), rows.records(finding, view))
        is_masked = is_masked or view.is_masked
    return SheetExport(before.findings + len(findings), is_masked)
