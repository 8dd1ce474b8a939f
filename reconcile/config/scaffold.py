"""The small project that `reconcile init` writes: sample data with duplicates in it, and two rules that find them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from reconcile.config.schema import json_schema
from reconcile.errors import Wrong

CONFIG = """\
# yaml-language-server: $schema=reconcile.schema.json
version: 1

sources:
  samples: {type: files, root: data}      # CSV, TSV, JSON lines or Parquet in a folder; also sql and workbook

datasets:
  customers: {source: samples, path: customers.csv, id: id, pii: [name, email]}
  payments:
    source: samples
    path: payments.csv
    id: id
    columns: {amount: decimal, paid_at: instant}      # undeclared columns are text
    money: {amount: amount, currency: currency}       # lets findings say how much is at risk

rules:
  # One person with two records: the same mailbox, however it is written.
  twin-customer:
    kind: duplicates
    dataset: customers
    key: [{email: [mailbox]}]

  # One order paid twice within a quarter of an hour.
  double-payment:
    kind: duplicates
    dataset: payments
    where: status = 'succeeded'
    key: [order_id, amount, currency]
    window: {paid_at: 15m}
    keep: [{first: paid_at}]
    severity: high                        # info < low < medium < high < critical
"""

CUSTOMERS = """\
id,name,email
C-1,Ada Lovelace,ada@example.com
C-2,Grace Hopper,grace@example.com
C-3,A. Lovelace,Ada+shop@Example.com
C-4,Alan Turing,alan@example.com
C-5,Grace Hopper,"Grace Hopper <grace@example.com>"
C-6,Radia Perlman,radia@example.com
"""

PAYMENTS = """\
id,order_id,amount,currency,paid_at,status
P-1,A-17,20.00,EUR,2026-03-01T10:00:00Z,succeeded
P-2,A-17,20.00,EUR,2026-03-01T10:00:30Z,succeeded
P-3,A-18,35.50,EUR,2026-03-01T10:05:00Z,succeeded
P-4,A-19,12.00,USD,2026-03-01T11:00:00Z,failed
P-5,A-19,12.00,USD,2026-03-01T11:00:10Z,succeeded
P-6,A-20,80.00,EUR,2026-03-02T09:00:00Z,succeeded
P-7,A-20,80.00,EUR,2026-03-02T09:01:00Z,succeeded
P-8,A-20,80.00,EUR,2026-03-02T09:02:00Z,succeeded
P-9,A-18,35.50,EUR,2026-04-01T10:05:00Z,succeeded
"""


class AlreadyThere(Wrong):
    """A file of the sample project exists; nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} already exists, so nothing was written; name an empty folder: reconcile init FOLDER")
        self.path = path


class FolderNotEmpty(Wrong):
    """The folder of the demo is not empty; the demo would overwrite files."""

    def __init__(self, directory: Path) -> None:
        super().__init__(f"{directory} is not empty, so nothing was written; name an empty folder: --in FOLDER")


class FolderRefused(Wrong):
    """The folder cannot be created or written to."""

    def __init__(self, directory: Path, error: OSError) -> None:
        super().__init__(f"{directory} cannot be used: {error.strerror}; name a folder you may write to")


def empty_folder(directory: Path) -> None:
    """Create the folder unless it exists. Raises FolderNotEmpty, FolderRefused."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise FolderNotEmpty(directory)
    except OSError as error:
        raise FolderRefused(directory, error) from error


def write_project(directory: Path) -> list[Path]:
    """Write the sample project and return its files. Raises AlreadyThere, before anything is written; FolderRefused."""
    schema = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    files = {
        directory / "reconcile.yaml": CONFIG,
        directory / "data" / "customers.csv": CUSTOMERS,
        directory / "data" / "payments.csv": PAYMENTS,
        directory / "reconcile.schema.json": schema,
    }
    try:
        _write(files)
    except OSError as error:
        raise FolderRefused(directory, error) from error
    return list(files)


def _write(files: Mapping[Path, str]) -> None:
    for path in files:
        if path.exists() or path.is_symlink():
            raise AlreadyThere(path)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
