"""The `files` and `workbook` connectors keep every promise of the port, whatever the format."""

import csv
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from connectors.conformance import source
from connectors.conformance.source import Stored
from connectors.files.source import FilesDataset, FilesSettings, FilesSource
from connectors.workbook.source import WorkbookDataset, WorkbookSettings, WorkbookSource

pytestmark = pytest.mark.slow

WORDS = ((pa.types.is_int64, "integer"), (pa.types.is_decimal, "decimal(20,4)"), (pa.types.is_boolean, "boolean"),
         (pa.types.is_date, "date"), (pa.types.is_timestamp, "instant"))  # fmt: skip


def declared(table):
    return {f.name: word for f in table.schema for check, word in WORDS if check(f.type)}


def texts(table):
    """Every cell as a person would write it; None for null."""
    columns = []
    for column in table.columns:
        plain = [
            None if item is None else item.isoformat() if hasattr(item, "isoformat") else str(item)
            for item in column.to_pylist()
        ]
        columns.append(plain)
    return list(zip(*columns, strict=True)) if table.num_rows else []


class FilesKit:
    secret = None

    def __init__(self, directory, suffix, encoding="utf-8"):
        self.settings = {"type": "files", "root": "."}
        self.empty_is_null = suffix != "parquet"
        self._directory, self._suffix, self._encoding = Path(directory), suffix, encoding

    def store(self, table):
        path = self._directory / f"charges.{self._suffix}"
        if self._suffix == "parquet":
            pq.write_table(table, path)
        elif self._suffix in ("json", "jsonl"):
            rows = [dict(zip(table.column_names, row, strict=True)) for row in texts(table)]
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            path.write_text(lines if self._suffix == "jsonl" else json.dumps(rows))
        else:
            with path.open("w", newline="", encoding=self._encoding) as file:
                csv.writer(file, delimiter=";").writerows([table.column_names, *texts(table)])
        columns = {} if self._suffix == "parquet" else declared(table)
        if self._suffix in ("json", "jsonl"):
            columns = {name: columns.get(name, "text") for name in table.column_names}
        return Stored(
            FilesSource("bank", FilesSettings(**self.settings), self._directory),
            FilesDataset(path=path.name, columns=columns),
            FilesDataset(path="chargs." + self._suffix),
            path.name,
            lambda: hashlib.sha256(path.read_bytes()).hexdigest(),
        )


class WorkbookKit:
    secret = None
    empty_is_null = True

    def __init__(self, directory):
        self.settings = {"type": "workbook", "path": "charges.xlsx"}
        self._directory = Path(directory)

    def store(self, table):
        path = self._directory / "charges.xlsx"
        with xlsxwriter.Workbook(path) as workbook:
            page = workbook.add_worksheet("Charges")
            for r, row in enumerate([table.column_names, *texts(table)]):
                for c, cell in enumerate(row):
                    if cell is not None:
                        page.write_string(r, c, cell)
        return Stored(
            WorkbookSource("crm", WorkbookSettings(**self.settings), self._directory),
            WorkbookDataset(sheet="Charges", columns=declared(table)),
            WorkbookDataset(sheet="Chargs"),
            "Charges",
            lambda: hashlib.sha256(path.read_bytes()).hexdigest(),
        )


@pytest.mark.parametrize("check", source.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet"])
def test_files_conform(check, suffix, tmp_path):
    check(FilesKit(tmp_path, suffix))


@pytest.mark.parametrize("check", source.CHECKS, ids=lambda check: check.__name__)
def test_files_in_another_encoding_conform(check, tmp_path):
    check(FilesKit(tmp_path, "csv", "utf-16"))


@pytest.mark.parametrize("check", source.CHECKS, ids=lambda check: check.__name__)
def test_workbooks_conform(check, tmp_path):
    check(WorkbookKit(tmp_path))
