"""The port of a target: a source whose records can be changed, each change once and with an undo.

A value of a row is a *cell*: a tag and a text that hold the target's value exactly, so that a row can be compared
byte for byte, stored as JSON and written back. Only the connector that made a cell understands its text; other code
compares cells and passes them on. Rules use the row's `values`, which have the types of a scan.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from connectors.errors import ConnectorError

Cell = tuple[str, str] | None
"""(tag, text), or None for NULL. The tag `t` with a text fits any column: the target casts it."""
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
    """The planned change of one row.

    `before` are all its cells at the time of the plan; None: the row is new and is inserted. `after` are the cells to
    set (all cells of a new row); None: the row is deleted; empty: it must stay unchanged, or none of the plan is done.
    `unsure` are columns of `after` that the target may also write, for example by a trigger: they need not hold the
    value afterwards.
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
        """Return True for the copy of a row that moves here from another table."""
        return self.role == "moved" and self.before is None


@dataclass(frozen=True)
class Image:
    """A completed change: all cells of the row before and after it; None if there was no row."""

    change: Change
    before: Cells | None
    after: Cells | None


@dataclass(frozen=True)
class Violation:
    """A rule of its table that a row violates already, so that the row could not be restored after a change.

    `rule` names it, without values. Not `is_certain`: this user cannot tell. `sentence` says it in a target that has no
    rules, but cannot write back each value.
    """

    row: RowName
    rule: str
    is_certain: bool = True
    sentence: str = ""


@dataclass(frozen=True)
class Unplanned:
    """Rows that a transaction changed beyond the plan, as the target itself counts them.

    `table` is empty if the target does not name it, `rows` None if it does not count them. `related`: they are in a
    table of the plan, or in one that refers to it, directly or not. `hints`: their possible tables if `table` is empty.
    """

    table: str
    rows: int | None
    related: bool
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """Columns of a table that refer to rows of another: a foreign key, or a declared soft link (`soft`).

    `key` are the columns that identify a referring row, declared for targets without primary keys.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    on_delete: str = "NO ACTION"  # NO ACTION | RESTRICT | CASCADE | SET NULL | SET DEFAULT, as the catalogue says
    on_update: str = "NO ACTION"
    soft: bool = False
    deferrable: bool = False
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnLimits:
    """The values that the declared type of a column can hold.

    `least` and `greatest` bound numbers; `digits` are all digits of a number and those behind its point; `length` is
    the most characters of a text; `labels` are the only texts.
    """

    kind: Literal["integer", "number", "boolean", "text", "label", "time", "uuid", "json"]
    least: int | None = None
    greatest: int | None = None
    digits: tuple[int, int] | None = None
    length: int | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnFacts:
    """A column as the target declares it. `generated`: the target computes it; `identity`: it numbers rows.

    `fixed` is the reason, as a clause, why no value can be written to it; empty if one can. `limits` are None if the
    type is unknown, or holds any text.
    """

    name: str
    type: str
    nullable: bool = True
    generated: bool = False
    identity: bool = False
    default: bool = False
    limits: ColumnLimits | None = None
    fixed: str = ""


@dataclass(frozen=True)
class TableFacts:
    """A table as the target's own catalogue describes it. `refused` is the reason to clean nothing in it, if any.

    `primary_key` identifies a row: the primary key or, without one, a unique key without nulls. `uniques` are the other
    keys whose columns alone decide if two rows collide; `unclear` names the unique indexes that only the target can
    check (partial, over an expression, ...). `triggers` are the triggers that fire, and rules. `hides_rows` is the
    reason why this user may not see all rows, so that references stay unknown. `unchecked` names constraints that new
    rows must fulfil but existing ones may violate. `kind` is the word for it. `undeletable` is the reason, as a
    sentence, why no row is deleted, moved or added.
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
    kind: Literal["table", "sheet", "file"] = "table"
    undeletable: str = ""


@dataclass(frozen=True)
class Catalogue:
    """A table and all that refers to it, through cascades too: all tables by name, all references to any of them.

    `digest` changes with any of it. `remarks` are sentences that a person should know before cleaning. `stamps` by
    table are for comparison with `Work.hold`. `schema` is the schema of `table`, even if its name omits it.
    """

    table: str
    tables: Mapping[str, TableFacts]
    references: tuple[Reference, ...]
    digest: str
    remarks: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict, compare=False)
    schema: str = ""


@dataclass(frozen=True)
class Receipt:
    """The target's record of a completed effect: `fingerprint` of the effect, its store and its fence.

    `after` is a digest of the rows after the effect.
    """

    key: str
    fingerprint: str
    store: str
    epoch: int
    fence: int
    plan: str
    after: str = ""
    table: str = field(default="", compare=False)
    """The table of the record, as in RowName: the receipt is in the same schema. Empty: the default one."""


@dataclass(frozen=True)
class Owned:
    """The owner of a table: `owner` is (store id, epoch, ratchet) of the store that cleans it; None if none ever did.

    `place` names the schema, database or file of that owner, the same by any address or default schema. `before` is its
    name in an older version, if that was the last to clean the target.
    """

    place: str
    owner: tuple[str, int, int] | None
    before: str | None = None


class TransactionOutcome(enum.Enum):
    """The outcome of a transaction that ended with an error; it decides the next step."""

    NOT_DONE = "not_done"  # for certain; the whole transaction may be retried
    UNKNOWN = "unknown"  # the connection broke in COMMIT: check the target
    PAUSE = "pause"  # not done, and a person has to change something first: rights, space, read-only
    CONFLICT = "conflict"  # not done: the data differs from the plan (a constraint); plan again once, then a person
    TERMINAL = "terminal"  # not done, and it never will be: the plan itself is wrong


class TargetError(ConnectorError):
    """The target did not make the change, or its outcome is unknown: see `outcome`. The message holds no values."""

    def __init__(self, sentence: str, outcome: TransactionOutcome, code: str = "") -> None:
        super().__init__(sentence)
        self.outcome = outcome
        self.code = code


class Undecided(TargetError):
    """Only a person can tell if an earlier attempt was done: asking again gives no other answer."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, TransactionOutcome.UNKNOWN)


class TargetRefused(ConnectorError):
    """The rows can never be changed: a view, an engine without transactions, the store itself."""

    exit_code = 4


class NotATable(TargetRefused):
    """The name is that of a view or similar, which stores no rows."""


class ReceiptStands(Exception):
    """Receipts of this plan already exist; nothing of this transaction is kept."""

    def __init__(self, found: Mapping[str, Receipt]) -> None:
        super().__init__(f"{len(found)} receipts already exist in the target")
        self.found = found


class RowsDiffer(Exception):
    """A change did not meet exactly one row; nothing of this plan is kept."""

    def __init__(self, row: RowName, found: int) -> None:
        super().__init__(f"a change of one row of {row.table} met {found}")
        self.row = row
        self.found = found


class Witness(Protocol):
    """The target's own count of a transaction's changes, from a given moment."""

    def unplanned(self, images: Sequence[Image]) -> list[Unplanned]:
        """The changes beyond these planned ones, if any. Raises a TargetError."""


class Work(Protocol):
    """One transaction of the target, READ COMMITTED, with its own time limits. Not kept unless `commit` returned.

    Every method raises a TargetError. A CONFLICT or TERMINAL one ends its savepoint; after any other error, and after
    any error outside a savepoint, the transaction is over and every method raises.
    """

    @property
    def transaction(self) -> str | None:
        """The target's name for this transaction, known before COMMIT, for targets without receipts; see
        `Target.happened`. None if the target has no such name."""

    def hold(self, tables: Sequence[str]) -> dict[str, str]:
        """Block new references to these tables and new triggers until the transaction ends; return their stamps.

        A stamp that differs from the Catalogue's means that one was added since. Call it after `lock`.
        """

    def lock(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        """The current rows among these, locked in the order of (table, key)."""

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]], *, lock: bool) -> list[Row]:
        """The rows that refer to any of these cells of `to_columns`, named by their primary key, in a fixed order.

        Raises TargetRefused if the referring table has no primary key.
        """

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        """As `Target.violations`. Call it after `lock`."""

    def receive(self, receipts: Sequence[Receipt]) -> None:
        """Insert these receipts, before anything else of their plan; raises ReceiptStands. Waits, for a limited time,
        for a transaction that is inserting the same ones.

        Raises Undecided, once, for receipts of an attempt of which only a person can tell if it was done."""

    def apply(self, change: Change) -> None:
        """Make the change; raises RowsDiffer unless it met one row, by its key. A guard does nothing."""

    def apply_all(self, changes: Sequence[Change]) -> None:
        """The same as `apply` for each, in this order; one statement for neighbours of the same table and kind.

        Raises RowsDiffer, for the first of such neighbours and with the number of rows met, unless each met one.
        """

    def witness(self, changes: Sequence[Change], *, related: Sequence[str] = (), triggers: bool = False) -> Witness:
        """Begin to count, after `lock` and before the first of these changes. `triggers`: some are known to fire.

        `related` are more tables in which only these changes may happen: the dataset's own, and those that refer to it
        by declared links, which the target does not know.

        Raises a TargetError that is PAUSE if the target does not count.
        """

    def unheld(self, images: Sequence[Image]) -> list[tuple[Image, tuple[str, ...]]]:
        """The changes whose row does not hold the written values, and the columns: something else wrote there, too.

        A value counts as held if it is the planned one after the target's conversion to the column's type.
        """

    def seal(self, receipts: Sequence[Receipt]) -> None:
        """Write the `after` of receipts that this transaction inserted."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo the changes of the block if it raises; the transaction goes on."""

    def commit(self) -> None:
        """Commit. Raises a TargetError, which is NOT_DONE only if the target said so."""


@dataclass(frozen=True)
class Promises:
    """The promises of a target about changes. A database keeps all of them; a sheet or a service may promise less.

    `all_or_nothing`: the changes of a transaction are made together or not at all. Without it, that is promised of
    `rows_together` rows of one table with their receipts only: no plan changes more, and each plan has a transaction of
    its own. `compare_and_set`: `Work.lock` keeps a row as it is until the transaction ends, or `Work.commit` finds out
    what each change replaced, and takes it back if that was not the row as it was locked. Without it nothing is
    cleaned, because a change could meet a row that somebody edited since. Whether receipts can be kept is asked table
    by table: `Target.remembers`. `writes_all`: each transaction writes the whole file anew, so that many plans are
    better executed in one.
    """

    all_or_nothing: bool = True
    compare_and_set: bool = True
    rows_together: int = 1
    writes_all: bool = False


class Cleanable(Protocol):
    """The class of a source whose records can be changed: facts that need no connection."""

    @staticmethod
    def obstacle(settings: Any, dataset: Any) -> str | None:
        """The reason why no record of the dataset can ever be changed, as a clause; None if it can."""

    @staticmethod
    def file(settings: Any, root: Path) -> Path | None:
        """The file with the records, if any; a relative path begins at `root`."""


@runtime_checkable
class Foreseeing(Protocol):
    """A target that tells, when changes are planned, which of them it could never make."""

    def impossible(self, dataset: Any, changes: Sequence[Change]) -> dict[RowName, str]:
        """Why rows of the dataset cannot be changed so, as a sentence each. Raises a ConnectorError."""


@dataclass(frozen=True)
class KeptVersions:
    """Former versions of files that a target keeps for people: their number, and their size in bytes."""

    number: int = 0
    size: int = 0


@runtime_checkable
class KeepsVersions(Protocol):
    """A target that keeps the versions of its files from before its changes. No undo needs them.

    The files are those of the datasets, and those that changed together with them.
    """

    def kept_versions(self, datasets: Sequence[Any]) -> KeptVersions:
        """Count the versions that are kept. Raises a ConnectorError."""

    def release_versions(
        self, datasets: Sequence[Any], until: dt.datetime | None, *, dry_run: bool = False
    ) -> KeptVersions:
        """Delete those that a change until then replaced, or with None all, and return what was deleted.

        `dry_run` only counts them. Raises a ConnectorError.
        """

    def forget_rows(self, datasets: Sequence[Any], rows: Sequence[tuple[str, Cells]]) -> int:
        """Delete what is noted about these removed rows, by table, and return the number. They can not be put back in
        their former places then. Raises a ConnectorError."""


@runtime_checkable
class Target(Protocol):
    """A source whose records can be changed. A `table` is named as its rows are; empty: any of the default schema."""

    name: str
    promises: Promises

    def identity(self) -> str:
        """A name of the target that is the same by any address and differs from all others. Holds no secret."""

    def catalogue(
        self, dataset: Any, soft: Sequence[Reference] = (), *, table: str | None = None, key: Sequence[str] = ()
    ) -> Catalogue:
        """The dataset's table, or another one of that name beside it, and what refers to it; `soft`: declared links.

        `key` are the columns that identify a row of that other table, for targets without primary keys. Raises
        TargetRefused, DatasetMissing.
        """

    def rows(self, dataset: Any, key: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> list[Row | None]:
        """The current records with these ids (values of the columns `key`), without locks; None for a missing one."""

    def referring(self, reference: Reference, to: Sequence[tuple[Cell, ...]]) -> list[Row]:
        """As `Work.referring`, without locks."""

    def violations(self, changes: Sequence[Change]) -> list[Violation]:
        """The rules that would refuse the rows of these changes if they were restored as they are now."""

    def table(self, dataset: Any) -> str:
        """The dataset's table, as its rows are named. Raises TargetRefused, DatasetMissing."""

    def remembers(self, table: str = "") -> bool:
        """Return True if receipts of this table's records can be kept; creates our tables if necessary.

        Raises TargetRefused if a table has the name of ours but is not as we create it.
        """

    def receipts(self, keys: Sequence[str], table: str = "") -> dict[str, Receipt]:
        """The existing ones among these receipts of this table's records."""

    def happened(self, transaction: str) -> bool | None:
        """Return True if the transaction of that name was committed; None if the target does not know (any more)."""

    def work(self, seconds: float) -> AbstractContextManager[Work]:
        """Open a transaction that the target itself ends after so many seconds, even if this process dies."""

    def owned(self, table: str) -> Owned:
        """The owner of the table, found by the table and never by a session's default schema. Changes nothing."""

    def adopt(
        self, store: str, epoch: int, ratchet: int, instead_of: tuple[str, int, int] | None, table: str = ""
    ) -> bool:
        """Make that store the table's owner if `instead_of` still is; False if another store was first."""
