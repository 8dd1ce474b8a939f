"""The port of a target: a source whose records can be changed, once and so that it can be undone.

A value of a row is a *cell*: a tag and a text that say exactly what the database holds, so that a row can be compared
byte for byte, stored as JSON and written back. Only the connector that made a cell knows what its text means; everybody
else may compare cells and hand them on. What rules compute with are the row's `values`, typed as a scan gives them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from connectors.errors import ConnectorError

Cell = tuple[str, str] | None
"""(tag, text), or None for NULL. The tag `t` with a text is taken for any column: the database casts it."""
Cells = Mapping[str, Cell]
Role = Literal["keeper", "surplus", "reference", "captured", "moved"]


@dataclass(frozen=True)
class RowName:
    """One row: its table (`schema.table`, or `table` in the default schema) and the cells of a key of that table."""

    table: str
    key: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True)
class Row:
    """A row as it was read: all its cells, and its values as rules see them."""

    name: RowName
    cells: Cells
    values: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Change:
    """What becomes of one row.

    `before` are all cells it had when it was planned; None: there was no such row, and it is inserted. `after` are the
    cells that are set (all that are given, when it is inserted); None: the row is deleted; empty: it stays as it is,
    and the rest is done only while it does. `unsure` are columns of `after` that the database may write by itself, as a
    trigger does: they need not hold the value afterwards.
    """

    row: RowName
    before: Cells | None
    after: Cells | None
    role: Role
    unsure: tuple[str, ...] = ()

    @property
    def is_guard(self) -> bool:
        return self.before is not None and self.after is not None and not self.after

    @property
    def is_arrival(self) -> bool:
        """Whether it is the copy of a row that moves here from another table."""
        return self.role == "moved" and self.before is None


@dataclass(frozen=True)
class Image:
    """One change as it was done: all cells of the row before and after it; None where there was no row."""

    change: Change
    before: Cells | None
    after: Cells | None


@dataclass(frozen=True)
class Unplanned:
    """Rows that a transaction changed beside those of the plan, as the database itself counts them.

    `table` is empty where the database does not say which, `rows` None where it does not say how many. `related`: they
    are in a table of the plan, or in one that refers to it, perhaps through others. `hints` are the tables they may be
    in where `table` is empty.
    """

    table: str
    rows: int | None
    related: bool
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """Columns of a table that name rows of another: a foreign key, or a declared soft link (`soft`)."""

    name: str
    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    on_delete: str = "NO ACTION"  # NO ACTION | RESTRICT | CASCADE | SET NULL | SET DEFAULT, as the catalogue says
    on_update: str = "NO ACTION"
    soft: bool = False
    deferrable: bool = False


@dataclass(frozen=True)
class ColumnFacts:
    """A column as the database declares it. `generated`: the database computes it; `identity`: it numbers rows."""

    name: str
    type: str
    nullable: bool = True
    generated: bool = False
    identity: bool = False
    default: bool = False


@dataclass(frozen=True)
class TableFacts:
    """A table as the database's own catalogue describes it. `refused` is why nothing may be cleaned in it, if so.

    `primary_key` names a row: the primary key or, where there is none, a unique key without nulls. `uniques` are the
    other keys whose columns say by themselves whether a row would be one too many; `unclear` names the unique indexes
    of which only the database can tell (partial, over an expression, ...). `triggers` are those that fire, and rules.
    `hides_rows` is why this user may not see all of its rows, so that nobody can say who refers to what. `unchecked`
    names constraints that rows which are there need not fulfil, but rows that are written must.
    """

    table: str
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...]
    uniques: tuple[tuple[str, ...], ...] = ()
    triggers: tuple[str, ...] = ()
    refused: str | None = None
    unclear: tuple[str, ...] = ()
    hides_rows: str = ""
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """A table and everything that refers to it, cascades followed: all tables by name, all references to any of them.

    `digest` is another one after any of it changed. `told` are sentences that a person should know before cleaning.
    `stamps` by table are what `Work.hold` compares with. `schema` is where `table` is, also where its name does not
    say so.
    """

    table: str
    tables: Mapping[str, TableFacts]
    references: tuple[Reference, ...]
    digest: str
    told: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict, compare=False)
    schema: str = ""


@dataclass(frozen=True)
class Receipt:
    """What stands in the target for an effect that was done: `fingerprint` of what, by which store under which fence.

    `after` is a digest of what the rows looked like in the end.
    """

    key: str
    fingerprint: str
    store: str
    epoch: int
    fence: int
    bundle: str
    after: str = ""
    table: str = field(default="", compare=False)
    """The table of the record, as a RowName has it: the receipt stands in the same schema. Empty: the default one."""


@dataclass(frozen=True)
class Owned:
    """Whose a table is: `owner` is (store id, epoch, ratchet) of the store that cleans it; None where none ever did.

    `place` is the schema, database or file that this is said of, by the same name whatever address or default schema
    it is reached by. `before` is what an older version called it, where the target was last cleaned by one.
    """

    place: str
    owner: tuple[str, int, int] | None
    before: str | None = None


class Outcome(enum.Enum):
    """What an error says about the transaction it ended, and so what may be done next."""

    NOT_DONE = "not_done"  # for certain; the whole transaction may be tried again
    AMBIGUOUS = "ambiguous"  # the connection broke in COMMIT: the target has to be asked
    PAUSE = "pause"  # not done, and it will not work before a person changes something: rights, room, read-only
    CONFLICT = "conflict"  # not done: the data is not as planned (a constraint); plan anew once, then a person
    TERMINAL = "terminal"  # not done, and it would never be: the plan itself is wrong


class TargetError(ConnectorError):
    """The target did not do it, or may have. The message is one sentence without values; `outcome` is what it means."""

    def __init__(self, sentence: str, outcome: Outcome, code: str = "") -> None:
        super().__init__(sentence)
        self.outcome = outcome
        self.code = code


class TargetRefused(ConnectorError):
    """Nothing may be changed there, and never could: a view, an engine without transactions, the store itself."""


class NotATable(TargetRefused):
    """Its name is that of a view or the like: no rows are kept there."""


class ReceiptStands(Exception):
    """Receipts of this bundle are there already; nothing of this transaction is kept."""

    def __init__(self, found: Mapping[str, Receipt]) -> None:
        super().__init__(f"{len(found)} receipts stand in the target already")
        self.found = found


class RowsDiffer(Exception):
    """A change did not meet exactly one row; nothing of this bundle is kept."""

    def __init__(self, row: RowName, found: int) -> None:
        super().__init__(f"a change of one row of {row.table} met {found}")
        self.row = row
        self.found = found


class Witness(Protocol):
    """The database's own count of what a transaction changes, from when it was asked for."""

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        """What changed beside these planned changes; empty where that is nothing. Raises a TargetError."""


class Work(Protocol):
    """One transaction of the target, READ COMMITTED, with time limits of its own. Not kept unless `commit` returned.

    Every method raises a TargetError. One that is CONFLICT or TERMINAL ends the savepoint it happened in; after any
    other, and after any error outside of a savepoint, the transaction is over and every method raises.
    """

    @property
    def transaction(self) -> str | None:
        """What the target calls this transaction, known before COMMIT, for where nothing can be written beside the
        rows; `Target.happened` takes it. None where the target has no such name."""

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        """Nobody comes to refer to these tables, nor gives them a trigger, before the transaction ends; their stamps.

        A stamp that is another one than the Catalogue's says that this happened since. Call it after `lock`.
        """

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        """These rows as they are, locked in the order of (table, key); those that are not there are left out."""

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        """The rows that refer to any of these cells of `to_columns`, named by their primary key, in one order always.

        Raises TargetRefused where the referring table has none.
        """

    def receive(self, receipts: Sequence[Receipt]) -> None:
        """Insert these receipts, before anything else of their bundle; raises ReceiptStands. Waits, bounded, for a
        transaction that is inserting the same ones."""

    def apply(self, change: Change) -> None:
        """Do it; raises RowsDiffer unless it met one row, by its key. A guard does nothing."""

    def apply_all(self, changes: Sequence[Change]) -> None:
        """The same as `apply` for each, in this order, in few statements: neighbours of one table and kind are one.

        Raises RowsDiffer, of the first of such neighbours and how many rows they met, unless each met one.
        """

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> Witness:
        """Begin to count, after `lock` and before the first of these changes. `triggers`: some are known to fire.

        `related` are more tables in which nothing but these changes may happen: the dataset's own, and those that refer
        to it by declared links, which the database does not know.

        Raises a TargetError that is PAUSE where the database does not count.
        """

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        """The changes whose row does not hold what they wrote, and in which columns: something else wrote there too.

        A value counts as held when it is what the database makes of the planned one for that column's type.
        """

    def seal(self, receipts: Sequence[Receipt]) -> None:
        """Write the `after` of receipts that this transaction inserted."""

    def savepoint(self) -> AbstractContextManager[None]:
        """What is done inside is undone when the block raises; the transaction goes on."""

    def commit(self) -> None:
        """Raises a TargetError: NOT_DONE only where the target said so."""


@dataclass(frozen=True)
class Promises:
    """What a target promises of changes. A database promises everything; a sheet or a service may promise less.

    `all_or_nothing`: the changes of a transaction are made together or not at all. Without it, no plan that changes
    more than one row is made. `compare_and_set`: `Work.lock` keeps a row as it is until the transaction ends. Without
    it nothing is cleaned, because a change could meet a row that somebody edited since. Whether receipts can be kept is
    asked table by table: `Target.remembers`.
    """

    all_or_nothing: bool = True
    compare_and_set: bool = True


class Cleanable(Protocol):
    """What the class of a source has whose records can be changed: told before anything is connected to."""

    @staticmethod
    def obstacle(settings: Any, dataset: Any) -> str | None:
        """Why no record of the dataset could ever be changed, as a clause; None where it may be."""

    @staticmethod
    def file(settings: Any, root: Path) -> Path | None:
        """The file that holds the records, where it is one; relative ones begin at `root`."""


@runtime_checkable
class Target(Protocol):
    """A source whose records can be changed. A `table` is named as its rows are; empty: any of the default schema."""

    name: str
    promises: Promises

    def identity(self) -> str:
        """What it is, whatever address it is reached by; another text for another database. Holds no secret."""

    def catalogue(self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None) -> Catalogue:
        """The dataset's table, or another one of that name beside it, and what refers to it; `soft`: declared links.

        Raises TargetRefused, DatasetMissing.
        """

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        """The records with these ids (values of the columns `key`) as they are now, without locks; None where gone."""

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        """As `Work.referring`, as it is now, without locks."""

    def table(self, dataset: Any) -> str:
        """The dataset's table, as its rows are named. Raises TargetRefused, DatasetMissing."""

    def remembers(self, table: str = "") -> bool:
        """Whether receipts of this table's records can be kept: ours is there or may be made. Makes it.

        Raises TargetRefused where a table has the name of ours and is not as we make it.
        """

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        """Those of these receipts of this table's records that stand."""

    def happened(self, transaction: str) -> bool | None:
        """Whether a transaction of that name was committed; None where the target cannot tell (any more)."""

    def work(self, seconds: float) -> AbstractContextManager[Work]:
        """A transaction that the target itself ends after so many seconds, whatever becomes of us."""

    def owned(self, table: str) -> Owned:
        """Whose the table is, found by the table and never by a session's default schema. Changes nothing."""

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        """Make that store the table's owner if `instead_of` still is; False when somebody was first."""
