"""The connector `files` as a configuration needs it: its settings, without the readers of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from connectors.base import DatasetSettings, SourceSettings
from connectors.disk.paths import WILDCARDS, format_of, state
from connectors.files.csv.fields import DUCKDB_LINE
from connectors.files.preamble import SkipTo

if TYPE_CHECKING:
    from connectors.files.source import FilesSource


class FilesSettings(SourceSettings):
    """`root` is relative to the configuration file; nothing outside it is read, links followed.

    `max_unpacked` limits each compressed file, in bytes; default: `opened_file.unpacked_limit`.
    """

    type: Literal["files"]
    root: str = "."
    max_unpacked: int | None = Field(default=None, ge=1)

    @field_validator("root")
    @classmethod
    def _is_folder(cls, root: str) -> str:
        if "://" in root:
            scheme = root.partition("//")[0]
            raise ValueError(f"files are read from folders, not from '{scheme}'; copy them into a folder, or mount it")
        return root


class FilesDataset(DatasetSettings):
    """`path` is a file or a pattern (`bank-*.csv`) below the root; the file decides all settings not given here.

    `header` is true, false (columns are column_1, column_2, …) or a list of names for a file without header. `skip` is
    the number of physical lines before the header, or `{to: TEXT}` with one of its fields. `skip_footer` is the number
    of lines at the end, blank ones not counted; `max_line` is in bytes. With `partitions`, folders like year=2026 are
    columns. `batches: split` makes a record of each transaction that a bank booked in one sum (CAMT), or of each split
    (QIF). `date_order` is that of days in QIF. The format `camt053` is `camt`. `records` is the path to the array of a
    JSON document, `explode` that of a list in each record, whose elements become records. `fill` are columns of CSV
    whose empty cells take the value above them, in the same file.
    """

    path: str
    format: Literal["csv", "tsv", "json", "jsonl", "parquet", "camt", "camt053", "mt940", "ofx", "qif"] | None = None
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    quote: str = Field(default='"', min_length=1, max_length=1)
    encoding: str | None = None
    header: bool | tuple[str, ...] = True
    skip: Annotated[int, Field(ge=0)] | SkipTo = 0
    skip_footer: int = Field(default=0, ge=0, le=1_000)
    malformed: Literal["refuse", "skip"] = "refuse"
    max_line: int = Field(default=DUCKDB_LINE, ge=1_000, le=1_000_000_000)
    partitions: bool = False
    batches: Literal["whole", "split"] = "whole"
    date_order: Literal["dmy", "mdy", "ymd"] | None = None
    records: str | None = Field(default=None, min_length=1)
    explode: str | None = Field(default=None, min_length=1)
    fill: tuple[str, ...] = ()

    @field_validator("explode", mode="before")
    @classmethod
    def _is_one_list(cls, explode: Any) -> Any:
        if isinstance(explode, list | tuple):
            raise ValueError("only one list can be exploded; declare a dataset for each list")  # noqa: TRY004 - pydantic's
        return explode


class FilesConnector:
    """The base class of FilesSource. It loads no reader: most commands read a configuration, but no records."""

    Settings: ClassVar[type[SourceSettings]] = FilesSettings
    Dataset: ClassVar[type[DatasetSettings]] = FilesDataset

    def __init__(self, name: str, settings: FilesSettings, directory: Path) -> None:
        self.name = name
        self.root = directory / settings.root

    @staticmethod
    def open(name: str, settings: FilesSettings, directory: Path) -> FilesSource:
        """Return the source, which reads."""
        from connectors.files.source import FilesSource  # noqa: PLC0415 - see above

        return FilesSource(name, settings, directory)

    @staticmethod
    def obstacle(settings: FilesSettings | None, dataset: FilesDataset) -> str | None:
        """The reason why no record of the dataset can ever be changed; see connectors.target.Cleanable."""
        del settings
        path = Path(dataset.path)
        if not WILDCARDS.isdisjoint(dataset.path):
            return "its `path` is a pattern, and only one file with a fixed name can be changed"
        if path.suffix == ".gz":
            return "it is compressed, and only plain CSV files can be changed"
        if (dataset.format or format_of(path)) not in ("csv", "tsv"):
            return "of files, only CSV and TSV can be changed"
        settings_of_others = {"fill": dataset.fill, "partitions": dataset.partitions}
        name = next((name for name, value in settings_of_others.items() if value), None)
        return None if name is None else f"`{name}` gives its records values that are not in their lines"

    @staticmethod
    def file(settings: FilesSettings, root: Path) -> Path | None:
        del settings, root
        return None

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        if path.is_dir():
            return {"type": "files", "root": str(path)}
        return {"type": "files", "root": str(path.parent)} if format_of(path) else None

    def state(self, dataset: FilesDataset) -> str | None:
        return state(self.name, self.root, [dataset.path])
