"""Source `workbook`: the sheets of one xlsx, ods or xls file, typed as their cells are.

A child process with limits reads the sheets of a dataset into Arrow, which is cached until the file changes. `_row` is
the row number that a spreadsheet shows, `_file` the file's name, `_sheet` the sheet's if a dataset may have several.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from connectors.base import DatasetSettings, Declaration, Scan, SourceSettings, UnreadableCells
from connectors.declared import Declared, Notation, declared
from connectors.disk.opened_file import OpenedFile, digest, open_beneath
from connectors.disk.paths import looking, patterns, state
from connectors.disk.scratch import Scratch
from connectors.errors import (
    ConnectorError,
    DatasetMissing,
    FileRefused,
    FileUnreadable,
    ReadStopped,
)
from connectors.headers import OURS
from connectors.underway import Read, Underway
from connectors.workbook import isolated
from connectors.workbook.declaring import LOOKED_AT, MOST_BELOW, header_row, totals
from connectors.workbook.guard import WorkbookLimits, kind_of
from connectors.workbook.refusals import refusal

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.workbook.sheet import Sheet

ALL = "all"
SUFFIXES = (".xlsx", ".xlsm", ".ods", ".xls")
WAITING = 4
"""The factor from a reader's processor time to its allowed time, on a busy machine."""


class WorkbookSettings(SourceSettings):
    """`path` is relative to the configuration file. The limits protect against hostile or broken files."""

    type: Literal["workbook"]
    path: str
    max_unpacked: int = Field(default=2_000_000_000, ge=1)
    max_memory: int = Field(default=4_000_000_000, ge=500_000_000)
    max_seconds: int = Field(default=300, ge=1)
    max_repeated: int | None = Field(default=None, ge=1)


class WorkbookDataset(DatasetSettings):
    """`sheet` is optional if only one sheet is visible; `header_row`, counted from 1, defaults to the first filled row.

    `sheet` may be `all`, a pattern (`2026-*`), or a list of names and patterns: these sheets are one dataset.
    `skip_footer` is the number of filled rows at the end of each to leave out. `fill` are columns whose empty cells
    take the value above them, as merged cells look.
    """

    sheet: str | tuple[str, ...] | None = None
    header_row: int | None = Field(default=None, ge=1)
    skip_footer: int = Field(default=0, ge=0, le=1_000)
    fill: tuple[str, ...] = ()

    @field_validator("sheet")
    @classmethod
    def _names_sheets(cls, sheet: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if sheet == ():
            raise ValueError("name a sheet, or write `all`")
        return sheet

    @property
    def is_several(self) -> bool:
        """Return True if `sheet` may choose several sheets."""
        sheet = self.sheet
        return sheet is not None and (not isinstance(sheet, str) or sheet == ALL or bool(set(sheet) & set("*?[")))


class WorkbookSource:
    """The sheets of one workbook. Reads never change it; it may be open in another program."""

    Settings: ClassVar[type[SourceSettings]] = WorkbookSettings
    Dataset: ClassVar[type[DatasetSettings]] = WorkbookDataset

    def __init__(self, name: str, settings: WorkbookSettings, directory: Path) -> None:
        self.name = name
        self.path = directory / settings.path
        self._limits = WorkbookLimits(
            settings.max_unpacked, settings.max_memory, settings.max_seconds, settings.max_repeated
        )
        self._scratch: Scratch | None = None
        self._read: dict[str, Sheet] = {}
        self._current: tuple[str, subprocess.Popen[str], Read] | None = None
        self._underway = Underway()

    def datasets(self) -> Sequence[str]:
        names: list[str] = self._ask({"list": True}, self._opened())["sheets"]
        return names

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        is_workbook = path.suffix.lower() in SUFFIXES and path.is_file()
        return {"type": "workbook", "path": str(path)} if is_workbook else None

    def candidates(self) -> Sequence[str]:
        """Sheets; those whose names differ only in digits, and that have the same header, are one pattern."""
        return patterns(self.datasets(), self._header)

    def declaration(self, candidate: str) -> Declaration:
        """Propose the sheet, its header's row if the first filled row is a title, and the totals to leave out."""
        dataset, settings = WorkbookDataset(sheet=candidate), dict[str, Any](sheet=candidate)
        names = [name for name in self.describe(dataset).names if name not in OURS]
        first, last = self._ends(dataset, ["_row", *names])
        row = header_row(names, [(number, rest) for number, *rest in first])
        reasons: dict[str, str] = {}
        if row is not None:
            settings["header_row"], reasons["header_row"] = row, "the rows above it look like a title"
        if below := totals([cells[1:] for cells in first], [cells[1:] for cells in last]):
            settings["skip_footer"], reasons["skip_footer"] = below, "the last rows are totals"
        return Declaration(settings, reasons)

    def _header(self, sheet: str) -> tuple[str, ...]:
        """The columns of a sheet; its name alone if it cannot be read."""
        try:
            return tuple(self.describe(WorkbookDataset(sheet=sheet)).names)
        except ConnectorError:
            return (sheet,)

    def _ends(self, dataset: WorkbookDataset, columns: Sequence[str]) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the cells of the first and of the last rows."""
        first: list[list[Any]] = []
        last: list[list[Any]] = []
        scan = self.scan(dataset, columns)
        try:
            for batch in scan.reader:
                if not first:
                    first = [list(row.values()) for row in batch.slice(0, LOOKED_AT).to_pylist()]
                ends = batch.slice(max(0, len(batch) - MOST_BELOW)).to_pylist()
                last = [*last, *(list(row.values()) for row in ends)][-MOST_BELOW:]
        finally:
            scan.close()
        return first, last

    def keys(self, dataset: WorkbookDataset) -> Sequence[tuple[str, ...]]:  # noqa: ARG002 - a sheet keeps nothing unique
        return ()

    def begin(self, dataset: WorkbookDataset) -> None:
        key, order, file = self._order(dataset)
        if key not in self._read:
            self._start(order, file, key)

    def describe(self, dataset: WorkbookDataset) -> pa.Schema:
        return self._sheet(dataset).described(_kinds(dataset), _notation(dataset))

    def scan(self, dataset: WorkbookDataset, columns: Sequence[str]) -> Scan:
        return self._sheet(dataset).scan(columns, _kinds(dataset), _notation(dataset))

    def warnings(self, dataset: WorkbookDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        return self._sheet(dataset).warnings(columns)

    def state(self, dataset: WorkbookDataset) -> str | None:  # noqa: ARG002 - the port's signature
        """The state of the whole workbook: only reading it shows which sheet changed."""
        return state(self.name, self.path.parent, self.path.name)

    def content(self, dataset: WorkbookDataset, progress: Callable[[int], None]) -> str:  # noqa: ARG002 - the port's signature
        """A digest of the whole workbook; see connectors.base.ContentHashed."""
        return digest([self._opened()], progress)

    def stop(self) -> None:
        """Kill the child that reads the sheet. A sheet it has already read streams from a file and is not stopped."""
        self._underway.stop()

    def close(self) -> None:
        self._leave()
        self._read.clear()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def _sheet(self, dataset: WorkbookDataset) -> Sheet:
        key, order, file = self._order(dataset)
        if key not in self._read:
            self._start(order, file, key)
            from connectors.filled import confirm_columns  # noqa: PLC0415 - as below
            from connectors.workbook.sheet import Sheet  # noqa: PLC0415 - the child works while this is loaded

            answer = self._ask(order, file, key)
            rounded = {name: (count, tuple(place)) for name, (count, place) in answer["rounded"].items()}
            columns, header = tuple(answer["columns"]), tuple(answer["header"])
            confirm_columns(self.path.name, dataset.fill, columns)
            self._read[key] = Sheet(
                Path(order["target"]),
                self.path.name,
                columns,
                rounded,
                header,
                tuple(answer["repeated"]),
                dataset.is_several,
            )
        return self._read[key]

    def _order(self, dataset: WorkbookDataset) -> tuple[str, dict[str, Any], OpenedFile]:
        """A key that is unique for the order and the state of the file; the order; the file."""
        wishes = {name: _wish(kind, _notation(dataset).mark) for name, kind in _kinds(dataset).items()}
        names = [dataset.sheet] if isinstance(dataset.sheet, str) else dataset.sheet
        order = {
            "list": False,
            "sheets": ["*"] if dataset.sheet == ALL else names,
            "several": dataset.is_several,
            "all": ALL if dataset.sheet == ALL else None,
            "header_row": dataset.header_row,
            "skip_footer": dataset.skip_footer,
            "fill": dataset.fill,
            "nulls": dataset.null_values,
            "wishes": wishes,
        }
        file = self._opened()
        key = json.dumps([order, *file.stamp])
        return key, {**order, "target": str(self._folder() / f"{len(self._read)}.arrow")}, file

    def _folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.path

    def _opened(self) -> OpenedFile:
        with looking(self.name, self.path):
            if not self.path.exists() and not self.path.is_symlink():
                near = [path.name for path in self.path.parent.glob("*") if path.suffix in SUFFIXES]
                raise DatasetMissing(self.name, f"file {self.path.name}", [name for name in near if name[:2] != "~$"])
        return open_beneath(self.path.parent, self.path.name)

    def _ask(self, order: dict[str, Any], file: OpenedFile, key: str = "") -> dict[str, Any]:
        """The answer of the child, which may have begun. Raises a ConnectorError."""
        child, read = self._start(order, file, key)
        with child:
            try:
                output, complained = child.communicate(timeout=self._limits.seconds * WAITING)
            except subprocess.TimeoutExpired:
                raise self._too_much() from None
            finally:
                self._leave()
        if read.ended:
            raise ReadStopped(self.name)
        if child.returncode != 0:
            raise self._broken(child.returncode, complained)
        answer: dict[str, Any] = json.loads(output)
        if "refused" in answer:
            raise refusal(answer, order, self.name, self.path.name, self._limits)
        return answer

    def _start(self, order: dict[str, Any], file: OpenedFile, key: str) -> tuple[subprocess.Popen[str], Read]:
        """The child that works on that order; it inherits the descriptor of the file."""
        if self._current is not None and self._current[0] == key:
            return self._current[1:]
        self._leave()
        kind = kind_of(file, self._limits)
        path = self._linked(file, kind)
        repeated, characters = self._limits.may_repeat(file.size)
        limits = dataclasses.asdict(self._limits) | {"repeated": repeated, "characters": characters}
        stops = self._underway.stops
        child = subprocess.Popen(  # noqa: S603 - ourselves
            isolated.program("from connectors.workbook.child import main; main()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=isolated.environment(),
            pass_fds=[file.descriptor],
            cwd="/",
        )
        self._current = key, child, (read := self._underway.begin(child.kill))
        if self._underway.stops != stops:  # stopped before the child was registered
            read.end()
        assert child.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(BrokenPipeError), child.stdin:  # its exit code says why
            child.stdin.write(json.dumps({**order, **limits, "path": str(path), "kind": kind}))
        child.stdin = None  # else `communicate` would write the rest
        return self._current[1:]

    def _linked(self, file: OpenedFile, kind: str) -> Path:
        """A path to the opened file with the suffix that readers of workbooks expect."""
        link = self._folder() / f"{file.descriptor}.{kind}"
        link.unlink(missing_ok=True)
        link.symlink_to(file.path)
        return link

    def _leave(self) -> None:
        """End the current child, if any."""
        if self._current is not None:
            _, child, read = self._current
            with child:
                child.kill()
            read.over()
            self._current = None

    def _broken(self, code: int, complained: str) -> ConnectorError:
        if code < 0 or "MemoryError" in complained or "ArrowMemory" in complained:
            return self._too_much()
        if "No module named" in complained:
            remedy = "pip install 'reconcile-runner[workbook]'"
            return FileRefused(self.path.name, "the packages for workbooks are missing", remedy)
        reason = "the workbook is truncated or damaged, or a program wrote it in an unusual form"
        return FileUnreadable(self.path.name, reason, "open it and save it again, or fetch it again")

    def _too_much(self) -> FileRefused:
        return FileRefused(
            self.path.name,
            f"reading it takes more than {self._limits.memory:,} bytes of memory or {self._limits.seconds} seconds",
            "split it, or raise `max_memory` or `max_seconds`",
        )


def _kinds(dataset: WorkbookDataset) -> dict[str, Declared]:
    return {name: declared(name, word) for name, word in dataset.columns.items()}


def _notation(dataset: WorkbookDataset) -> Notation:
    return Notation(dataset.decimal, dataset.null_values, dataset.timezone)


def _wish(kind: Declared, mark: str) -> dict[str, Any]:
    """The form of the cells of a declared column with mixed kinds, so that its text can be read as declared."""
    number = kind.word in ("integer", "decimal", "float") or kind.epoch is not None
    form = kind.formats[0] if kind.formats and "%z" not in kind.formats[0] else None
    return {
        "force": kind.word == "text",
        "approximate": kind.word == "float",
        "mark": mark if number else ".",
        "form": form,
    }
