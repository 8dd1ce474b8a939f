"""The errors of sources, each with its own sentence and reaction."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar


class Reaction(enum.Enum):
    RETRY = "transient"
    ASK = "pause"
    STOP = "terminal"


class ConnectorError(Exception):
    """A source could not be read. The message is one sentence for people; it never holds a secret.

    `exit_code` is that of a command that ends with it, as docs/cli.md lists them.
    """

    exit_code: ClassVar[int] = 3
    reaction = Reaction.STOP


class SourceUnavailable(ConnectorError):
    """Nothing of the source can be read now; any other error concerns one dataset."""

    reaction = Reaction.RETRY

    def __init__(self, source: str, sentence: str) -> None:
        super().__init__(sentence)
        self.source = source


class SourceUnreachable(SourceUnavailable):
    """The source did not answer; nothing was read or changed."""

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} did not answer at {where}: {reason}. Nothing was changed. "
            f"To test the source: reconcile check --source {source}",
        )


class AccessDenied(SourceUnavailable):
    """The source answered and refused us; a person has to give access. Nothing was read."""

    reaction = Reaction.ASK

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} refused access at {where}: {reason}. Nothing was read; check the user, its password "
            f"and its rights",
        )


class SourceMissing(SourceUnavailable):
    """The source does not exist at its configured address; nothing was created."""

    reaction = Reaction.STOP

    def __init__(self, source: str, where: str, reason: str = "file not found") -> None:
        super().__init__(
            source, f"Source {source!r} cannot be opened at {where}: {reason}. Nothing was created; correct the source"
        )


class SourceBusy(SourceUnavailable):
    """Another program has locked the source for writing; nothing was read and a later try can succeed."""

    def __init__(self, source: str, where: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} is busy: another program has locked {where} for writing. Nothing was changed; "
            f"let that program finish, or close it",
        )


class SourceChanged(SourceUnavailable):
    """Another program wrote to the file while it was read; nothing of it is used and a later try can succeed."""

    def __init__(self, source: str, where: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} changed while it was read: another program wrote to {where}. None of it was used",
        )


class DriverMissing(SourceUnavailable):
    """A package that this source needs is not installed."""

    reaction = Reaction.STOP

    def __init__(self, source: str, needs: str, install: str) -> None:
        super().__init__(source, f"Source {source!r} needs {needs}, which is not installed: pip install {install!r}")


class ValueDoesNotFit(ConnectorError):
    """The column's type cannot hold a value exactly; values are never rounded or cut."""

    def __init__(self, source: str, column: str, reason: str, remedy: str) -> None:
        super().__init__(f"Column {column!r} of source {source!r} {reason}; {remedy}")
        self.column = column


class QueryRefused(ConnectorError):
    """The database did not run a statement; the reason is its own first line."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"Source {source!r} refused the query: {reason}. Nothing was changed; correct the dataset")


class StatementTimeout(SourceUnavailable):
    """The statement ran longer than `statement_timeout` and was stopped; nothing was changed."""

    def __init__(self, source: str, limit: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was stopped after {limit}: the statement ran longer than its statement_timeout. "
            f"Nothing was changed; raise statement_timeout, or help the database with an index or a narrower query",
        )


class ReplicaBehind(SourceUnavailable):
    """The replica has not repeated what its primary had committed; nothing was read and a later try can succeed."""

    def __init__(self, source: str, where: str, lag: str, waited: float) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: after {waited:g} s of waiting, its replica at {where} is still {lag} "
            f"behind its primary. Nothing was changed; try again later. If it lags for long, check the replication, or "
            f"remove `replica`",
        )


class ReplicaRefused(SourceUnavailable):
    """The server at `replica` is no replica of the source's primary; nothing was read there."""

    reaction = Reaction.STOP

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: its `replica` at {where} {reason}. Nothing was changed; correct "
            f"`replica`, or remove it",
        )


class PrimaryRefused(SourceUnavailable):
    """The server at `url` cannot tell if a replica is up to date; nothing was read."""

    reaction = Reaction.STOP

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read from its replica: its `url` at {where} {reason}. Nothing was changed; "
            f"correct `url`, or remove `replica`",
        )


class ReplicaConflict(SourceUnavailable):
    """A standby stopped a query that was in the way of its recovery; nothing of it is used."""

    def __init__(self, source: str, where: str) -> None:
        super().__init__(
            source,
            f"Source {source!r} was not read: the standby at {where} cancelled the query, because it conflicts with "
            f"recovery. Nothing was changed; try again. If it happens often, set hot_standby_feedback = on there",
        )


class ReadStopped(SourceUnavailable):
    """A read was stopped on request; nothing of it is used."""

    def __init__(self, source: str) -> None:
        super().__init__(source, f"The read of source {source!r} was stopped half-way. Nothing was changed")


class NotReadOnly(ConnectorError):
    """A dataset's `query` is not a single select; it was not sent."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"The query of source {source!r} was not sent: {reason}. Write a single read-only select")


class ColumnTypeUnknown(ConnectorError):
    """A value of `columns:` is not a type; the configuration is wrong and nothing was read."""

    def __init__(self, column: str, text: str) -> None:
        super().__init__(
            f"columns: {column}: {text!r} is not a type; write text, integer, decimal, decimal(p,s), float, boolean, "
            "date or instant, the last two also with strptime formats like 'date %d.%m.%Y' (%z only in an instant), or "
            "'instant epoch s' for seconds since 1970 (or ms, us)"
        )


def nearest(name: str, existing: Iterable[str]) -> str:
    """The end of a sentence: similar existing names, else the first few.

    The word table, file or sheet before a name makes it no more similar.
    """
    names = list(existing)
    by_bare = {_bare(existing_name): existing_name for existing_name in names}
    close = [by_bare[bare] for bare in difflib.get_close_matches(_bare(name), by_bare, n=3, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there is {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}" if names else "there are no others"


def _bare(name: str) -> str:
    return re.sub("^(table|file|sheet) ", "", name).casefold()


class DatasetMissing(ConnectorError):
    """The table, query, file or sheet of a dataset is not in the source. `remedy` is a sentence."""

    def __init__(self, source: str, missing: str, existing: Iterable[str], remedy: str = "") -> None:
        advice = nearest(missing, existing)
        advice += f"{'' if advice.endswith('?') else '.'} {remedy}" if remedy else ""
        super().__init__(f"Source {source!r} has no {missing}; {advice}")


RENAMED = "If it was renamed, give it its former name again: plans and undos find it by its name"
"""The remedy for a table or sheet of a plan or undo that is missing."""


class SheetsMissing(ConnectorError):
    """No visible sheet of a workbook matches the pattern of a dataset."""

    def __init__(self, path: str, pattern: str, existing: Sequence[str]) -> None:
        more = f" and {len(existing) - _NAMED} more" if len(existing) > _NAMED else ""
        names = f"its visible sheets are {', '.join(existing[:_NAMED])}{more}" if existing else "all sheets are hidden"
        super().__init__(f"{path} has no sheet that matches {pattern!r}: {names}; correct `sheet`")


_NAMED = 20
"""The most sheets that an error names."""


class ColumnMissing(ConnectorError):
    """A requested or declared column is not in the dataset."""

    def __init__(self, where: str, column: str, existing: Iterable[str]) -> None:
        names = list(existing)
        unnamed = sum(re.fullmatch(r"column_[0-9]+", name) is not None for name in names)
        where_else = ". Most columns have no heading: if it is further down, set `skip` to the lines above it"
        sentence = f"{where} has no column {column!r}; {nearest(column, names)}"
        super().__init__(sentence + (where_else if 2 * unnamed >= len(names) > 1 else ""))


class FileRefused(ConnectorError):
    """A file that must not be read: outside its root, not a regular file, or larger than its limits."""

    def __init__(self, path: str, reason: str, remedy: str) -> None:
        super().__init__(f"{path} is not read: {reason}; {remedy}")
        self.place, self.reason = path, reason


class FileUnreadable(ConnectorError):
    """A file whose content does not match its format; nothing of the dataset is used."""

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        super().__init__(f"{place}: {reason}; {remedy}")
        self.place, self.reason = place, reason


class RecordsLost(ConnectorError):
    """A reader returned a different number of records than the file holds; nothing of the dataset is used."""

    def __init__(self, place: str, counted: int, returned: int) -> None:
        super().__init__(
            f"{place} holds {counted:,} records, but {returned:,} were read; none of it was used. Read it again; "
            "if that does not help, save it with only one kind of line ending"
        )


WORKBOOKS = "path of the source"
"""The setting that chooses the workbooks of a dataset."""


class HeadersDiffer(ConnectorError):
    """Files, workbooks or sheets of one dataset have different columns; `setting` chooses them."""

    def __init__(self, path: str, column: str, without: str, setting: str = "path") -> None:
        super().__init__(f"{path} has a column {column!r} that {without} does not have; {_same_columns(setting)}")


class TypesDiffer(ConnectorError):
    """A column has different types in the files of one dataset."""

    def __init__(self, path: str, column: str, kind: str, there: str, kind_there: str) -> None:
        super().__init__(f"Column {column!r} is {kind} in {path} and {kind_there} in {there}; {_same_columns('path')}")


def _same_columns(setting: str) -> str:
    parts, declare = {
        "path": ("files of one dataset", "two datasets"),
        "sheet": ("sheets of one dataset", "two datasets"),
        WORKBOOKS: ("workbooks of one dataset", "two sources"),
    }[setting]
    narrow = "`path` of its source" if setting == WORKBOOKS else f"`{setting}`"
    return f"{parts} must have the same columns and types: narrow {narrow}, or declare {declare}"
