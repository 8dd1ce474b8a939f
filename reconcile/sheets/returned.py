"""The decisions in a returned file: all of them are checked before the first is carried out."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from notifications.wording.words import plural
from reconcile.app import Application
from reconcile.decisions.request import DecisionRequest
from reconcile.decisions.selection import check_number
from reconcile.errors import Wrong
from reconcile.findings.identity import read_id
from reconcile.schedule.slots import SlotRefused, parse_slot
from reconcile.sheets.reading import ReturnedFile, opened
from reconcile.sheets.rows import AS_SEEN, CHOICES, FILLED_IN
from reconcile.store.findings import standing
from rules.document.mistakes import short, suggestion

COLUMNS = ("id", *FILLED_IN, *AS_SEEN)
"""The columns that a returned file must have, in any order and among others."""
_MOST_TOLD = 100
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_VERSION = re.compile(r"[0-9]{1,9}")
_HASH = re.compile(r"[0-9a-fA-F]{64}")
_OF_PLANS = ("approve", "reject")
"""The decisions about a plan; the others are about the finding."""


class SheetRefused(Wrong):
    """The file has mistakes; nothing was decided. `problems` are all of them, one sentence each."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        told = list(mistakes[:_MOST_TOLD])
        if len(mistakes) > _MOST_TOLD:
            told.append(f"{plural(len(mistakes) - _MOST_TOLD, 'more mistake', 'more mistakes')}")
        self.problems = (*told, "Nothing was decided; correct the file, then submit it again")
        super().__init__(". ".join(self.problems))


@dataclass(frozen=True)
class Returned:
    """One decision of a file, with the mark of the finding as it was shown."""

    request: DecisionRequest
    seen: str


@dataclass(frozen=True)
class ReturnedSheet:
    """The decisions of a file by finding, in the order of its rows.

    `undecided` is the number of rows without a decision in which something else is filled in.
    """

    decisions: Mapping[str, Returned]
    undecided: int = 0

    @property
    def requests(self) -> list[DecisionRequest]:
        return [returned.request for returned in self.decisions.values()]

    @property
    def remark(self) -> str | None:
        """Tell the rows that were filled in without a decision; None without any."""
        rows = plural(self.undecided, "row has", "rows have")
        return f"{rows} a note, a time or a person, but no decision: skipped." if self.undecided else None

    def confirm(self, number: int | None) -> list[DecisionRequest]:
        """Return the decisions. Raises NumberNotConfirmed."""
        check_number(len(self.decisions), number)
        return self.requests


def read(application: Application, path: Path, shown: str | None = None) -> ReturnedSheet:
    """Return the decisions of a file; `shown` is its name for people.

    Raises SheetRefused with all mistakes, FileNotReturned, StoreError.
    """
    with application.memory.read() as tx:
        now = tx.now
    with opened(path, application.project.timezone, shown) as file:
        sheet = _Sheet(file, ZoneInfo(application.project.timezone), now)
        sheet.read()
    unknown = [
        f"{place}, column `id`: there is no finding `{short(name)}`" for name, place in _unknown(application, sheet)
    ]
    if mistakes := [*sheet.mistakes, *file.problems, *unknown]:
        raise SheetRefused(mistakes)
    return ReturnedSheet({name: returned for name, (_, returned) in sheet.rows.items()}, sheet.undecided)


def _unknown(application: Application, sheet: _Sheet) -> list[tuple[str, str]]:
    """Return the findings of the rows that do not exist, with their places."""
    with application.memory.read() as tx:
        existing = {finding.id for finding in standing(tx, list(sheet.rows))}
    return [(name, place) for name, (place, _) in sheet.rows.items() if name not in existing]


class _Mistake(Exception):
    """A cell that cannot be meant."""


@dataclass(frozen=True)
class _Context:
    """The context in which cells of a row are read: its decision, the time zone, and the present."""

    decision: str
    zone: ZoneInfo
    now: dt.datetime


class _Sheet:
    """The rows of a file while it is read: those with a decision by finding, and the mistakes."""

    def __init__(self, file: ReturnedFile, zone: ZoneInfo, now: dt.datetime) -> None:
        self._file, self._zone, self._now = file, zone, now
        self.rows: dict[str, tuple[str, Returned]] = {}
        self.mistakes: list[str] = []
        self.undecided = 0

    def read(self) -> None:
        places = [self._column(name) for name in COLUMNS]
        if self.mistakes:
            return
        for number, cells in self._file.rows([place for place in places if place is not None]):
            row = dict(zip(COLUMNS, cells, strict=True))
            if row["decision"]:
                self._decision(self._file.place(number), row)
            elif any(row[name] for name in FILLED_IN):
                self.undecided += 1

    def _column(self, name: str) -> int | None:
        """Return the place of a column, whose name may be written in any case."""
        names = [column.strip().lower() for column in self._file.columns]
        again = re.compile(rf"{name}_[0-9]+")
        if any(map(again.fullmatch, names)):
            self.mistakes.append(f"{self._file.name}: the column `{name}` appears more than once")
        elif name not in names:
            self.mistakes.append(f"{self._file.name}: the column `{name}` is missing")
        return names.index(name) if name in names else None

    def _decision(self, place: str, row: Mapping[str, str]) -> None:
        before, cells = len(self.mistakes), dict[str, Any]()
        context = _Context(row["decision"].lower(), self._zone, self._now)
        for name in COLUMNS if context.decision in CHOICES else ("decision",):
            try:
                cells[name] = _cell(name, row[name], context)
            except _Mistake as mistake:
                self.mistakes.append(f"{place}, column `{name}`: {mistake}")
        if len(self.mistakes) > before:
            return
        decision, seen, finding = cells.pop("decision"), cells.pop("seen"), cells.pop("id")
        if finding in self.rows:
            earlier = self.rows[finding][0]
            self.mistakes.append(f"{place}, column `id`: {finding} has a decision in {earlier} already")
        else:
            self.rows[finding] = place, Returned(DecisionRequest(decision, finding, **cells), seen)


def _cell(name: str, text: str, context: _Context) -> Any:
    """Return the value of a cell. Raises _Mistake."""
    if "\0" in text:
        raise _Mistake("it holds a NUL character")
    return _CELLS[name](text, context)


def _decision(text: str, context: _Context) -> str:
    if context.decision not in CHOICES:
        hint = suggestion(context.decision, CHOICES)
        raise _Mistake(f"`{short(text)}` is not a decision; {hint}")
    return context.decision


def _id(text: str, _context: _Context) -> str:
    if not text:
        raise _Mistake("it is empty; leave it as it was exported")
    return read_id(text)


def _version(text: str, _context: _Context) -> int:
    if not _VERSION.fullmatch(text):
        raise _Mistake(f"`{short(text)}` is not a version; leave it as it was exported")
    return int(text)


def _plan(text: str, context: _Context) -> str | None:
    if context.decision not in _OF_PLANS:
        return None
    if not text:
        raise _Mistake(f"this finding had no plan waiting at the export, so there is nothing to {context.decision}")
    if not _HASH.fullmatch(text):
        raise _Mistake(f"`{short(text)}` is not the hash of a plan; leave it as it was exported")
    return text.lower()


def _seen(text: str, _context: _Context) -> str:
    if not text:
        raise _Mistake("it is empty; leave it as it was exported")
    return text


def _until(text: str, context: _Context) -> dt.datetime | None:
    if not text:
        return None
    if context.decision != "snooze":
        raise _Mistake(f"only `snooze` takes a time, not `{context.decision}`")
    try:
        until = parse_slot(f"{text}T00:00" if _DAY.fullmatch(text) else text, context.zone)
    except SlotRefused:
        raise _Mistake(f"`{short(text)}` is not a day like 2026-12-01 or a time like 2026-12-01T08:00") from None
    if until <= context.now:
        raise _Mistake(f"`{short(text)}` is in the past")
    return until


def _to(text: str, context: _Context) -> str | None:
    if context.decision != "assign" and text:
        raise _Mistake(f"only `assign` takes a person, not `{context.decision}`")
    if context.decision == "assign" and not text:
        raise _Mistake("`assign` needs the name of a person")
    return text or None


_CELLS: Mapping[str, Callable[[str, _Context], Any]] = {
    "decision": _decision,
    "id": _id,
    "note": lambda text, _context: text or None,
    "until": _until,
    "to": _to,
    "version": _version,
    "plan": _plan,
    "seen": _seen,
}
"""How the cells of each column are read; they raise _Mistake."""
