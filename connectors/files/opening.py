"""Open a file of a dataset in its format: one reader for each, prepared once as long as the file is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from connectors.disk.opened_file import OpenedFile, unpacked_limit
from connectors.disk.paths import folder_columns, format_of
from connectors.errors import FileRefused
from connectors.files.bank import formats as bank
from connectors.files.bank.statement import BankFile
from connectors.files.connector import FilesDataset
from connectors.files.csv import reader as csv_files
from connectors.files.csv.dialect import CsvOptions
from connectors.files.csv.reader import CsvFile
from connectors.files.json.document import JsonDocument
from connectors.files.json.lines import JsonLines
from connectors.files.json.reader import JsonFile
from connectors.files.left_out import without_footer
from connectors.files.parquet import ParquetFile
from connectors.files.preamble import SkipTo, lines_above

OneFile = CsvFile | JsonFile | ParquetFile | BankFile
_NAMES = {"parquet": "Parquet", "json": "a JSON document", "camt": "CAMT", "camt053": "CAMT", "mt940": "MT940"}
_NAMES |= {"ofx": "OFX", "qif": "QIF"}
_FORMATS = "csv, tsv, json, jsonl, parquet, camt, mt940, ofx or qif"
_TEXT_ONLY = "`malformed` and `skip_footer` work only with CSV, TSV and JSON Lines: leave them out"


class Opening:
    """Opens the files of one source. `max_unpacked` limits what each compressed file unpacks to, in bytes."""

    def __init__(self, source: str, max_unpacked: int | None) -> None:
        self._source, self._max_unpacked = source, max_unpacked
        self._prepared: dict[tuple[Any, ...], tuple[object, OneFile]] = {}

    def limit(self, file: OpenedFile, path: Path) -> int:
        """The number of bytes that the file may unpack to; it is set in a compressed file."""
        most = self._max_unpacked or unpacked_limit(file.size)
        if path.suffix == ".gz":
            file.limit = most
        return most

    def opened(self, file: OpenedFile, path: Path, dataset: FilesDataset) -> OneFile:
        """Raises FileRefused and FileUnreadable."""
        kind = dataset.format or format_of(path)
        limit = self.limit(file, path)
        if kind is None:
            raise FileRefused(file.name, "its name does not show its format", f"set `format` to {_FORMATS}")
        _refuse_settings(file.name, kind, dataset)
        if kind in bank.FORMATS:
            return bank.opened(self._source, file, kind, dataset)
        if kind == "parquet":
            parquet = ParquetFile(file)
            parquet.weigh(limit)
            return parquet
        return self._json(file, kind, dataset) if kind in ("json", "jsonl") else self._csv(file, kind, dataset)

    def close(self) -> None:
        """Forget prepared files."""
        self._prepared.clear()

    def _csv(self, file: OpenedFile, kind: str, dataset: FilesDataset) -> OneFile:
        delimiter = dataset.delimiter or ("\t" if kind == "tsv" else None)
        above = dataset.skip
        if isinstance(above, SkipTo):
            above = lines_above(file, above.to, dataset.quote, delimiter, dataset.encoding)
        skips = dataset.malformed == "skip"
        options = CsvOptions(delimiter, dataset.quote, above, dataset.header, dataset.skip_footer, skips)
        return self._kept(
            (file.name, options, dataset.encoding, dataset.max_line),
            file,
            lambda: csv_files.prepared(file, options, encoding=dataset.encoding, max_line=dataset.max_line),
        )

    def _json(self, file: OpenedFile, kind: str, dataset: FilesDataset) -> OneFile:
        folders = folder_columns(file.name) if dataset.partitions else {}
        declared = tuple(name for name in dataset.columns if name not in folders)
        shape = (kind, dataset.records, dataset.encoding, dataset.malformed, dataset.skip_footer, dataset.max_line)
        return self._kept(
            (file.name, shape, declared, dataset.explode),
            file,
            lambda: JsonFile(_layout(file, kind, dataset), declared, dataset.explode),
        )

    def _kept(self, key: tuple[Any, ...], file: OpenedFile, prepare: Callable[[], OneFile]) -> OneFile:
        """The prepared file if it has not changed since, else the one that `prepare` returns."""
        stamp = file.stamp
        before, prepared = self._prepared.get(key, (None, None))
        if prepared is None or before != stamp:
            prepared = prepare()
            self._prepared[key] = stamp, prepared
        return prepared


def _layout(file: OpenedFile, kind: str, dataset: FilesDataset) -> JsonLines | JsonDocument:
    if kind == "json":
        return JsonDocument(file, dataset.max_line, dataset.records, dataset.encoding)
    text = without_footer(file, dataset.skip_footer) if dataset.skip_footer else file
    lines = JsonLines(text, dataset.max_line)
    return lines.without_malformed() if dataset.malformed == "skip" else lines


def _refuse_settings(name: str, kind: str, dataset: FilesDataset) -> None:
    """Raise FileRefused for settings that have no meaning in a format."""
    if kind in _NAMES and (dataset.malformed == "skip" or dataset.skip_footer):
        raise FileRefused(name, f"{_NAMES[kind]} has no malformed records and no footer", _TEXT_ONLY)
    if dataset.records is not None and kind != "json":
        raise FileRefused(name, "`records` is for JSON documents", "set `format: json`, or leave it out")
    if dataset.explode is not None and kind not in ("json", "jsonl"):
        raise FileRefused(name, "`explode` is for JSON documents and JSON Lines", "leave it out")
    if dataset.fill and kind not in ("csv", "tsv"):
        raise FileRefused(name, "`fill` is for CSV and TSV", "leave it out")
    if dataset.fill and dataset.malformed == "skip":
        reason = "`fill` needs every record, but `malformed: skip` may leave out the record with a block's value"
        raise FileRefused(name, reason, "use one of them")
