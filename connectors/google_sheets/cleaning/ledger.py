"""The hidden sheet `_reconcile`: owner, receipts, and the rows of a change that is not verified yet.

Its first row has the state as JSON. Each further row has a kind and its JSON: `r` a receipt; `u` and `a` one of a
change of which only a person can tell if it was made, before and after that was said; `w` a row of the change that is
being verified, followed by a copy of that row as it was when the change was made.

Beside the state are three cells in which the creation of the sheet tried what Google's documentation leaves open.

Every write of ours takes a turn: it creates developer metadata with the id of the next turn. Ids are unique in a
spreadsheet, so of two writes that read the same turn the second one is refused as a whole, however late it arrives.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from connectors.google_sheets.grid import DATE, NUMBER, TEXT, SheetFacts, result_of
from connectors.target import Cell, Receipt, TargetRefused

LEDGER = "_reconcile"
LEDGER_ID = 1_919_247_209
"""The id of its sheet, the same in each spreadsheet, so that it is created once and found under any name."""
COPY = 2
"""The first column of a copied row."""
ROWS, COLUMNS = 200, 40
"""The size of a new ledger; it grows."""
LONGEST = 45_000
"""The most characters of a row of ours; a cell holds 50,000."""
EXACTLY = {"matchCase": True, "matchEntireCell": True, "includeFormulas": False}
"""How a cell is found by its whole content."""
_FILLED = "filled"
_TURNS = 1_700_000_000
_KEPT_TURNS = 250
"""Former turns whose ids stay taken, so that a write that arrives late is still refused: Google gives up a request
after 180 seconds, and takes 60 writes a minute. Their texts are a tenth of the 30,000 characters that Google allows."""
_KEY = "reconcile"
_VERSION = 1
_REMEMBERED = 40
Owner = tuple[str, int, int]
Request = dict[str, Any]


@dataclass(frozen=True)
class Skills:
    """What `findReplace` did when the ledger was created: it found an `empty` cell by a regular expression, and a
    number (`numbers`), and what it wrote was read as if it was typed (`typed`), so that digits are a number again."""

    empty: bool
    numbers: bool
    typed: bool


@dataclass(frozen=True)
class Write:
    """A cell to replace: its column, its content before, and the content that it gets."""

    column: int
    old: Cell
    new: Cell


@dataclass(frozen=True)
class Entry:
    """A row of a change: its sheet and place, its key by column, a digest of its cells, and the cells to replace.

    `digest` is empty for a row of which only the key matters. `copy` is the row as it was when the change was made.
    """

    sheet: int
    row: int
    width: int
    key: tuple[tuple[int, Cell], ...]
    digest: str
    writes: tuple[Write, ...]
    copy: tuple[Cell, ...] = ()

    @property
    def copied_key(self) -> tuple[tuple[int, Cell], ...]:
        return tuple((column, self.copied(column)) for column, _ in self.key)

    def copied(self, column: int) -> Cell:
        return self.copy[column] if column < len(self.copy) else None

    def is_of_key(self) -> bool:
        """Return True if the row that was changed is the one that was meant."""
        return [untyped(cell) for _, cell in self.copied_key] == [untyped(cell) for _, cell in self.key]

    def to_json(self) -> str:
        content = {
            "s": self.sheet,
            "r": self.row,
            "w": self.width,
            "k": self.key,
            "d": self.digest,
            "c": [[write.column, write.old, write.new] for write in self.writes],
        }
        return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True)
class Pending:
    """The change that is being verified (`apply`) or taken back (`back`): the rows of its entries and receipts."""

    nonce: str
    phase: str
    entries: tuple[int, int]
    receipts: tuple[int, int]


@dataclass(frozen=True)
class Ledger:
    """The content of the sheet. `settled` are the last changes by their nonce: True made, False not, None unknown."""

    facts: SheetFacts
    turn: int
    nonce: str
    salt: str
    owner: Owner | None = None
    pending: Pending | None = None
    settled: tuple[tuple[str, bool | None], ...] = ()
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    unknown: Mapping[str, tuple[int, bool]] = field(default_factory=dict)
    """Keys of receipts of unknown changes: their row, and True once a person was told."""
    entries: tuple[Entry, ...] = ()
    end: int = 1
    """The first row without content."""
    turns: frozenset[int] = frozenset()
    """The ids of the metadata of former turns."""
    skills: Skills = field(default_factory=lambda: Skills(empty=False, numbers=False, typed=False))

    @staticmethod
    def read(source: str, facts: SheetFacts, grid: Sequence[Sequence[Mapping[str, Any]]], metadata: set[int]) -> Ledger:
        """The content of a grid. Raises TargetRefused for one that we did not write."""
        rows = [[result_of(cell) for cell in row] for row in grid]
        try:
            state = json.loads(_text(rows[0], 1))
            if _text(rows[0], 0) != _KEY or state["version"] != _VERSION:
                raise ValueError(_KEY)  # noqa: TRY301 - told with the other mistakes
            ledger = _ledger(facts, state, rows)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise TargetRefused(
                f"The hidden sheet {LEDGER!r} of source {source!r} was changed by somebody: it cannot be read. Restore "
                "it from the version history of the spreadsheet"
            ) from error
        return replace(ledger, turns=frozenset(metadata))

    def next(self, nonce: str, **changes: Any) -> Ledger:
        """The ledger after the next write, which has this nonce."""
        return replace(self, turn=self.turn + 1, nonce=nonce, **changes)

    def with_settled(self, nonce: str, *, was_made: bool | None) -> Ledger:
        return replace(self, settled=(*self.settled, (nonce, was_made))[-_REMEMBERED:], pending=None)

    def state(self) -> str:
        return json.dumps(
            {
                "version": _VERSION,
                "turn": self.turn,
                "nonce": self.nonce,
                "salt": self.salt,
                "owner": self.owner,
                "pending": None if self.pending is None else asdict(self.pending),
                "settled": self.settled,
                "datasets": self.datasets,
            },
            separators=(",", ":"),
        )

    def digest(self, cells: Sequence[Cell]) -> str:
        """A salted digest of the cells of a row, which a copy without formats has, too."""
        content = [untyped(cell) for cell in cells]
        while content and content[-1] is None:
            content.pop()
        return hashlib.sha256(f"{self.salt}{json.dumps(content)}".encode()).hexdigest()[:32]


def untyped(cell: Cell) -> Cell:
    """The cell without its format: a date is a number."""
    return (NUMBER, cell[1]) if cell is not None and cell[0] == DATE else cell


def new(width: int, height: int) -> Ledger:
    """A ledger that does not exist yet."""
    facts = SheetFacts(LEDGER_ID, LEDGER, max(height, ROWS), max(width, COLUMNS), hidden=True, is_grid=True)
    return Ledger(facts, 0, "", secrets.token_hex(16))


def metadata_of(answer: Mapping[str, Any]) -> set[int]:
    return {int(entry["metadataId"]) for entry in answer.get("developerMetadata", []) if "metadataId" in entry}


def creation(ledger: Ledger) -> list[Request]:
    """The requests that create the sheet: refused as a whole if it exists."""
    size = {"rowCount": ledger.facts.rows, "columnCount": ledger.facts.columns}
    sheet = {"sheetId": LEDGER_ID, "title": LEDGER, "hidden": True, "gridProperties": size}
    return [
        {"addSheet": {"properties": sheet}},
        *_turn(ledger.turn),
        text_rows(0, [(_KEY, ledger.state())]),
        *_trials(),
    ]


def _trials() -> list[Request]:
    """Try in three cells of our own what `findReplace` finds, and how it reads what it writes."""
    cells = [{}, {"userEnteredValue": {"numberValue": 5}}, {"userEnteredValue": {"stringValue": "five"}}]
    start = {"sheetId": LEDGER_ID, "rowIndex": 0, "columnIndex": COPY}
    searches: list[Request] = [
        {"find": "^$", "searchByRegex": True, "replacement": _FILLED},
        {"find": "5", "searchByRegex": False, "replacement": "8"},
        {"find": "five", "searchByRegex": False, "replacement": "8"},
    ]
    return [
        {"updateCells": {"start": start, "rows": [{"values": cells}], "fields": "userEnteredValue"}},
        *(
            {"findReplace": {**search, **EXACTLY, "range": one_row(LEDGER_ID, 0, COPY + n, COPY + n + 1)}}
            for n, search in enumerate(searches)
        ),
    ]


def _skills(row: Sequence[Cell]) -> Skills:
    empty, number, text = ([*row, *[None] * (COPY + 3)])[COPY : COPY + 3]
    return Skills(empty=empty == (TEXT, _FILLED), numbers=number == (NUMBER, "8"), typed=text == (NUMBER, "8"))


def one_row(sheet: int, row: int, left: int, right: int) -> dict[str, int]:
    """A part of one row as Google names it."""
    return {
        "sheetId": sheet,
        "startRowIndex": row,
        "endRowIndex": row + 1,
        "startColumnIndex": left,
        "endColumnIndex": right,
    }


def turn_taken(before: Ledger, after: Ledger) -> list[Request]:
    """The first requests of each write: they are refused if another write of ours was made since `before`."""
    oldest = _TURNS + after.turn - _KEPT_TURNS
    leave: list[Request] = []
    if oldest in before.turns:
        lookup = {"developerMetadataLookup": {"metadataId": oldest}}
        leave = [{"deleteDeveloperMetadata": {"dataFilter": lookup}}]
    return [*_turn(after.turn), *leave, text_rows(0, [(_KEY, after.state())])]


def _turn(number: int) -> list[Request]:
    metadata = {
        "metadataId": _TURNS + number,
        "metadataKey": _KEY,
        "location": {"spreadsheet": True},
        "visibility": "DOCUMENT",
    }
    return [{"createDeveloperMetadata": {"developerMetadata": metadata}}]


def room(ledger: Ledger, rows: int, columns: int) -> list[Request]:
    """The requests that make the sheet large enough."""
    grow = {"ROWS": rows - ledger.facts.rows, "COLUMNS": columns - ledger.facts.columns}
    return [
        {"appendDimension": {"sheetId": LEDGER_ID, "dimension": dimension, "length": max(length, ROWS)}}
        for dimension, length in grow.items()
        if length > 0
    ]


def text_rows(first: int, rows: Iterable[tuple[str, str]]) -> Request:
    """The request that writes texts into the first two columns."""
    content = [{"values": [{"userEnteredValue": {"stringValue": text}} for text in texts]} for texts in rows]
    start = {"sheetId": LEDGER_ID, "rowIndex": first, "columnIndex": 0}
    return {"updateCells": {"start": start, "rows": content, "fields": "userEnteredValue"}}


def emptied(ledger: Ledger, rows: tuple[int, int]) -> list[Request]:
    """The request that empties rows, the second one excluded."""
    if rows[0] >= rows[1]:
        return []
    where = {
        "sheetId": LEDGER_ID,
        "startRowIndex": rows[0],
        "endRowIndex": rows[1],
        "startColumnIndex": 0,
        "endColumnIndex": ledger.facts.columns,
    }
    return [{"updateCells": {"range": where, "rows": [], "fields": "userEnteredValue"}}]


def receipt_row(receipt: Receipt, kind: str = "r") -> tuple[str, str]:
    return kind, json.dumps({**asdict(receipt)}, separators=(",", ":"))


def _ledger(facts: SheetFacts, state: Mapping[str, Any], rows: Sequence[Sequence[Cell]]) -> Ledger:
    receipts: dict[str, Receipt] = {}
    unknown: dict[str, tuple[int, bool]] = {}
    entries: list[Entry] = []
    pending = state["pending"]
    for number, row in enumerate(rows[1:], 1):
        kind = _text(row, 0) if row else ""
        if not kind:
            continue
        content = json.loads(_text(row, 1))
        if kind == "w":
            entries.append(_entry(content, row))
        elif kind == "r":
            receipts[content["key"]] = Receipt(**content)
        else:
            unknown[content["key"]] = number, kind == "a"
    owner = state["owner"]
    return Ledger(
        facts=facts,
        turn=int(state["turn"]),
        nonce=str(state["nonce"]),
        salt=str(state["salt"]),
        owner=None if owner is None else (str(owner[0]), int(owner[1]), int(owner[2])),
        pending=None
        if pending is None
        else Pending(pending["nonce"], pending["phase"], _pair(pending["entries"]), _pair(pending["receipts"])),
        settled=tuple((str(nonce), was_made) for nonce, was_made in state["settled"]),
        datasets=state["datasets"],
        receipts=receipts,
        unknown=unknown,
        entries=tuple(entries),
        end=len(rows),
        skills=_skills(rows[0]),
    )


def _entry(content: Mapping[str, Any], row: Sequence[Cell]) -> Entry:
    return Entry(
        sheet=int(content["s"]),
        row=int(content["r"]),
        width=int(content["w"]),
        key=tuple((int(column), _cell(cell)) for column, cell in content["k"]),
        digest=str(content["d"]),
        writes=tuple(Write(int(column), _cell(old), _cell(new)) for column, old, new in content["c"]),
        copy=tuple(row[COPY:]),
    )


def _cell(content: Sequence[str] | None) -> Cell:
    return None if content is None else (str(content[0]), str(content[1]))


def _pair(content: Sequence[int]) -> tuple[int, int]:
    return int(content[0]), int(content[1])


def _text(row: Sequence[Cell], column: int) -> str:
    cell = row[column] if column < len(row) else None
    return "" if cell is None else cell[1]
