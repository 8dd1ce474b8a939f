"""Source `workbook`: the sheets of xlsx, ods or xls files, typed as their cells are.

A child process with limits reads the sheets of a dataset into Arrow, which is cached until a file changes. `_row` is
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
from connectors.disk.changing import ChangingFiles
from connectors.disk.opened_file import OpenedFile, digest, make_room, open_beneath
from connectors.disk.paths import MARKING_OPEN, is_pattern, matching, patterns, rooted, state
from connectors.disk.scratch import Scratch
from connectors.errors import (
    ConnectorError,
    FileRefused,
    FileUnreadable,
    ReadStopped,
)
from connectors.headers import OURS
from connectors.underway import Read, Underway
from connectors.workbook import isolated
from connectors.workbook.blocks import BEGUN
from connectors.workbook.declaring import ends, header_row, totals
from connectors.workbook.forms import kinds_of, notation_of, text_forms
from connectors.workbook.guard import WorkbookLimits, kind_of
from connectors.workbook.refusals import refusal

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.workbook.cleaning.target import WorkbookTarget
    from connectors.workbook.sheet import Sheet

ALL = "all"
SUFFIXES = (".xlsx", ".xlsm", ".ods", ".xls")
CHANGING = (".xlsx", ".xlsm")
"""The kinds of workbooks whose records can be changed."""
WAITING = 4
"""The factor from a reader's processor time to its allowed time, on a busy machine."""


class WorkbookSettings(SourceSettings):
    """`path` is relative to the configuration file: a workbook, a pattern (`statements/*.xlsx`), or a list of both.

    The limits protect against hostile or broken files. `max_memory` is for a whole dataset, the others for each
    workbook.
    """

    type: Literal["workbook"]
    path: str | tuple[str, ...]
    max_unpacked: int = Field(default=2_000_000_000, ge=1)
    max_memory: int = Field(default=4_000_000_000, ge=500_000_000)
    max_seconds: int = Field(default=300, ge=1)
    max_repeated: int | None = Field(default=None, ge=1)

    @field_validator("path")
    @classmethod
    def _names_workbooks(cls, path: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not path or (not isinstance(path, str) and "" in path):
            raise ValueError("name a workbook, or a pattern like statements/*.xlsx")
        return path


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


class WorkbookSource(ChangingFiles["WorkbookTarget"]):
    """The sheets of workbooks. Reads never change them; they may be open in another program.

    It is also a `connectors.target.Target` of one .xlsx or .xlsm workbook: see `connectors.workbook.cleaning`.
    """

    Settings: ClassVar[type[SourceSettings]] = WorkbookSettings
    Dataset: ClassVar[type[DatasetSettings]] = WorkbookDataset

    def __init__(self, name: str, settings: WorkbookSettings, directory: Path) -> None:
        self.name = name
        self._directory, self._settings = directory, settings
        self._paths = [settings.path] if isinstance(settings.path, str) else settings.path
        self._limits = WorkbookLimits(
            settings.max_unpacked, settings.max_memory, settings.max_seconds, settings.max_repeated
        )
        self._scratch: Scratch | None = None
        self._read: dict[str, Sheet] = {}
        self._read_by: dict[str, WorkbookDataset] = {}
        self._current: tuple[str, subprocess.Popen[str], Read] | None = None
        self._underway = Underway()

    def datasets(self) -> Sequence[str]:
        """The visible sheets that every workbook has."""
        names: list[str] = self._ask({"list": True, "several": False}, self._files())["sheets"]
        return names

    @staticmethod
    def of_file(path: Path) -> Mapping[str, Any] | None:
        is_workbook = path.suffix.lower() in SUFFIXES and (path.is_file() or is_pattern(path))
        return {"type": "workbook", "path": str(path)} if is_workbook else None

    @staticmethod
    def obstacle(settings: WorkbookSettings | None, dataset: WorkbookDataset) -> str | None:
        """The reason why no record of the dataset can ever be changed; see connectors.target.Cleanable."""
        path = "" if settings is None else settings.path
        if not isinstance(path, str) or is_pattern(Path(path)):
            return "its source may have several workbooks, and only one with a fixed name can be changed"
        if settings is not None and Path(path).suffix.lower() not in CHANGING:
            return "of workbooks, only .xlsx and .xlsm can be changed; save it as one of these"
        if dataset.is_several:
            return "its `sheet` may name several sheets, and only one with a fixed name can be changed"
        return "`fill` gives its records values that are not in their cells" if dataset.fill else None

    @staticmethod
    def file(settings: WorkbookSettings, root: Path) -> Path | None:
        del settings, root
        return None

    def candidates(self) -> Sequence[str]:
        """Sheets that every workbook has, else all sheets of all workbooks as one dataset.

        Sheets whose names differ only in digits, and that have the same header, are one pattern.
        """
        return patterns(self.datasets(), self._header) or [ALL]

    def declaration(self, candidate: str) -> Declaration:
        """Propose the sheet, its header's row if the first filled row is a title, and the totals to leave out."""
        dataset, settings = WorkbookDataset(sheet=candidate), dict[str, Any](sheet=candidate)
        place = [name for name in OURS if name != "_sheet" or dataset.is_several]
        names = [name for name in self.describe(dataset).names if name not in OURS]
        first, last = ends(self.scan(dataset, [*place, *names]), len(place))
        row = header_row(names, first)
        reasons: dict[str, str] = {}
        if row is not None:
            settings["header_row"], reasons["header_row"] = row, "the rows above it look like a title"
        below = {totals([cells for _, cells in first], cells_of_sheet) for cells_of_sheet in last}
        if len(below) == 1 and (rows := below.pop()):
            settings["skip_footer"], reasons["skip_footer"] = rows, "the last rows are totals"
        return Declaration(settings, reasons)

    def _header(self, sheet: str) -> tuple[str, ...]:
        """The columns of a sheet; its name alone if it cannot be read."""
        try:
            return tuple(self.describe(WorkbookDataset(sheet=sheet)).names)
        except ConnectorError:
            return (sheet,)

    def keys(self, dataset: WorkbookDataset) -> Sequence[tuple[str, ...]]:  # noqa: ARG002 - a sheet keeps nothing unique
        return ()

    def begin(self, dataset: WorkbookDataset) -> None:
        key, order, files = self._order(dataset)
        if key not in self._read:
            self._start(order, files, key)

    def describe(self, dataset: WorkbookDataset) -> pa.Schema:
        return self._sheet(dataset).described(kinds_of(dataset), notation_of(dataset))

    def scan(self, dataset: WorkbookDataset, columns: Sequence[str]) -> Scan:
        return self._sheet(dataset).scan(columns, kinds_of(dataset), notation_of(dataset))

    def warnings(self, dataset: WorkbookDataset, columns: Sequence[str] | None) -> tuple[UnreadableCells, ...]:
        return self._sheet(dataset).warnings(columns)

    def state(self, dataset: WorkbookDataset) -> str | None:  # noqa: ARG002 - the port's signature
        """The state of the whole workbooks: only reading them shows which sheet changed."""
        return state(self.name, *rooted(self._directory, self._paths))

    def content(self, dataset: WorkbookDataset, progress: Callable[[int], None]) -> str:  # noqa: ARG002 - the port's signature
        """A digest of the whole workbooks; see connectors.base.ContentHashed."""
        return digest(self._files(), progress)

    def stop(self) -> None:
        """Kill the child that reads the sheet. A sheet it has already read streams from a file and is not stopped."""
        self._underway.stop()

    def close(self) -> None:
        self._leave()
        self._read.clear()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def _new_target(self) -> WorkbookTarget:
        from connectors.workbook.cleaning.target import WorkbookTarget  # noqa: PLC0415 - only a cleaning needs it

        return WorkbookTarget(self.name, self._settings, self._directory, self._read_by)

    def sheet(self, dataset: WorkbookDataset) -> Sheet:
        """The sheet as it is read once for all that ask. Raises a ConnectorError."""
        return self._sheet(dataset)

    def _sheet(self, dataset: WorkbookDataset) -> Sheet:
        key, order, files = self._order(dataset)
        if key not in self._read:
            self._start(order, files, key)
            from connectors.filled import confirm_columns  # noqa: PLC0415 - as below
            from connectors.workbook.sheet import Sheet, SheetPart  # noqa: PLC0415 - the child works while this is loaded

            answer = self._ask(order, files, key)
            rounded = {name: (count, tuple(place)) for name, (count, place) in answer["rounded"].items()}
            columns, header = tuple(answer["columns"]), tuple(answer["header"])
            confirm_columns(files[0].name, dataset.fill, columns)
            self._read[key] = Sheet(
                Path(order["target"]),
                [SheetPart(*part) for part in answer["parts"]],
                columns,
                rounded,
                header,
                tuple(answer["repeated"]),
                dataset.is_several,
                tuple(answer["positions"]),
            )
            if not dataset.is_several:
                self._read_by[answer["parts"][0][1]] = dataset
        return self._read[key]

    def _order(self, dataset: WorkbookDataset) -> tuple[str, dict[str, Any], list[OpenedFile]]:
        """A key that is unique for the order and the state of the files; the order; the files."""
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
            "text_forms": text_forms(dataset),
        }
        files = self._files()
        key = json.dumps([order, *([file.name, *file.stamp] for file in files)])
        return key, {**order, "target": str(self._folder() / f"{len(self._read)}.arrow")}, files

    def _folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Scratch()
        return self._scratch.path

    def _files(self) -> list[OpenedFile]:
        root, patterns = rooted(self._directory, self._paths)
        paths = matching(self.name, root, patterns, _workbooks)
        make_room(len(paths))
        return [open_beneath(root, path.relative_to(root).as_posix()) for path in paths]

    def _ask(self, order: dict[str, Any], files: Sequence[OpenedFile], key: str = "") -> dict[str, Any]:
        """The answer of the child, which may have begun. Raises a ConnectorError."""
        child, read = self._start(order, files, key)
        with child:
            try:
                output, complained = child.communicate(timeout=self._limits.seconds * len(files) * WAITING)
            except subprocess.TimeoutExpired:
                raise self._too_much(files) from None
            finally:
                self._leave()
        if read.ended:
            raise ReadStopped(self.name)
        if child.returncode != 0:
            raise self._broken(child.returncode, complained, files)
        answer: dict[str, Any] = json.loads(output)
        if "refused" in answer:
            file = self._described(_begun_last(files, complained))
            raise refusal(answer, {**order, "files": files}, self.name, file, self._limits)
        return answer

    def _start(
        self, order: dict[str, Any], files: Sequence[OpenedFile], key: str
    ) -> tuple[subprocess.Popen[str], Read]:
        """The child that works on that order; it inherits the descriptors of the files."""
        if self._current is not None and self._current[0] == key:
            return self._current[1:]
        self._leave()
        described = []
        for file in files:
            kind = kind_of(file, self._limits)
            described.append({**self._described(file), "kind": kind, "path": str(self._linked(file, kind))})
        limits = dataclasses.asdict(self._limits)
        limits |= {name: limits[name] * len(files) for name in ("seconds", "unpacked")}
        stops = self._underway.stops
        child = subprocess.Popen(  # noqa: S603 - ourselves
            isolated.program("from connectors.workbook.child import main; main()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=isolated.environment(),
            pass_fds=[file.descriptor for file in files],
            cwd="/",
        )
        self._current = key, child, (read := self._underway.begin(child.kill))
        if self._underway.stops != stops:  # stopped before the child was registered
            read.end()
        assert child.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(BrokenPipeError), child.stdin:  # its exit code says why
            child.stdin.write(json.dumps({**order, **limits, "files": described}))
        child.stdin = None  # else `communicate` would write the rest
        return self._current[1:]

    def _described(self, file: OpenedFile) -> dict[str, Any]:
        repeated, characters = self._limits.may_repeat(file.size)
        return {"name": file.name, "repeated": repeated, "characters": characters}

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

    def _broken(self, code: int, complained: str, files: Sequence[OpenedFile]) -> ConnectorError:
        if code < 0 or "MemoryError" in complained or "ArrowMemory" in complained:
            return self._too_much(files)
        name = _begun_last(files, complained).name
        if "No module named" in complained:
            remedy = "pip install 'reconcile-runner[workbook]'"
            return FileRefused(name, "the packages for workbooks are missing", remedy)
        reason = "the workbook is truncated or damaged, or a program wrote it in an unusual form"
        return FileUnreadable(name, reason, "open it and save it again, or fetch it again")

    def _too_much(self, files: Sequence[OpenedFile]) -> FileRefused:
        memory, seconds = self._limits.memory, self._limits.seconds
        if len(files) == 1:
            return FileRefused(
                files[0].name,
                f"reading it takes more than {memory:,} bytes of memory or {seconds} seconds",
                "split it, or raise `max_memory` or `max_seconds`",
            )
        return FileRefused(
            ", ".join(self._paths),
            f"reading {len(files)} workbooks takes more than {memory:,} bytes of memory or {seconds} seconds for each",
            "narrow `path`, or raise `max_memory` or `max_seconds`",
        )


def _begun_last(files: Sequence[OpenedFile], complained: str) -> OpenedFile:
    """The file that the child was reading when it ended, by its standard error."""
    begun = [line.removeprefix(BEGUN) for line in complained.splitlines() if line.startswith(BEGUN)]
    return files[int(begun[-1])] if begun else files[0]


def _workbooks(folder: Path) -> list[Path]:
    """Files that may be workbooks directly in the folder, for near names."""
    paths = (path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(path for path in paths if not path.name.startswith(MARKING_OPEN))
