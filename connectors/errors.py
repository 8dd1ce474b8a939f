"""What can go wrong with a source, each error with its own sentence and the way to react."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Iterable


class Reaction(enum.Enum):
    """What a caller does about an error."""

    RETRY = "transient"
    ASK = "pause"
    STOP = "terminal"


class ConnectorError(Exception):
    """A source could not be read. The message is one sentence for people; it never holds a secret."""

    reaction = Reaction.STOP


class SourceUnreachable(ConnectorError):
    """The source did not answer; nothing was read or changed."""

    reaction = Reaction.RETRY

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"Source {source!r} did not answer at {where}: {reason}. Nothing was changed; run it again when it is up, "
            f"or try by hand: reconcile check --source {source}"
        )


class AccessDenied(ConnectorError):
    """The source answered and refused us; a person has to give access. Nothing was read."""

    reaction = Reaction.ASK

    def __init__(self, source: str, where: str, reason: str) -> None:
        super().__init__(
            f"Source {source!r} refused access at {where}: {reason}. Nothing was read; check the user, the password "
            f"and what that user may read"
        )


class SourceMissing(ConnectorError):
    """There is nothing where the configuration says the source is; nothing was created."""

    def __init__(self, source: str, where: str, reason: str = "there is no such file") -> None:
        super().__init__(f"Source {source!r} is not at {where}: {reason}. Nothing was created; correct the source")


class SourceBusy(ConnectorError):
    """Somebody else holds the source for writing; nothing was read and a later try can succeed."""

    reaction = Reaction.RETRY

    def __init__(self, source: str, where: str) -> None:
        super().__init__(
            f"Source {source!r} is busy: another program holds {where} locked for writing. Nothing was changed; "
            f"let that program finish or close it, then run again"
        )


class DriverMissing(ConnectorError):
    """The program is installed without what this source needs."""

    def __init__(self, source: str, needs: str, install: str) -> None:
        super().__init__(f"Source {source!r} needs {needs}, which is not installed: pip install {install!r}")


class ValueDoesNotFit(ConnectorError):
    """A value cannot be held by the column's type without changing it; it is never rounded or cut."""

    def __init__(self, source: str, column: str, reason: str, remedy: str) -> None:
        super().__init__(f"Column {column!r} of source {source!r} {reason}; {remedy}")
        self.column = column


class QueryRefused(ConnectorError):
    """The database did not run a statement; the reason is its own first line."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"Source {source!r} refused the query: {reason}. Nothing was changed; correct the dataset")


class StatementTimeout(ConnectorError):
    """The statement ran longer than `statement_timeout` and was stopped; nothing was changed."""

    reaction = Reaction.RETRY

    def __init__(self, source: str, limit: str) -> None:
        super().__init__(
            f"Source {source!r} was stopped after {limit}: the statement ran longer than its statement_timeout. "
            f"Nothing was changed; raise statement_timeout, or help the database with an index or a narrower query"
        )


class ReadStopped(ConnectorError):
    """A read was ended because somebody asked for it; nothing of it is used."""

    reaction = Reaction.RETRY

    def __init__(self, source: str) -> None:
        super().__init__(f"The read of source {source!r} was stopped half-way. Nothing was changed; run it again")


class NotReadOnly(ConnectorError):
    """A dataset's `query` is not one select; it was not sent."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(
            f"The query of source {source!r} was not sent: {reason}. A dataset is one read-only select, without a "
            f"second statement"
        )


class ColumnTypeUnknown(ConnectorError):
    """A value of `columns:` is not a type; the configuration is wrong and nothing was read."""

    def __init__(self, column: str, said: str) -> None:
        super().__init__(
            f"columns: {column}: {said!r} is not a type; write text, integer, decimal, decimal(p,s), float, boolean, "
            f"date or instant, the last two also with strptime formats like 'date %d.%m.%Y' (%z only in an instant)"
        )


def nearest(wanted: str, known: Iterable[str]) -> str:
    """The end of a sentence: names that look like the wanted one, else the first few there are."""
    names = list(known)
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there is {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}" if names else "there is none"


class DatasetMissing(ConnectorError):
    """What a dataset points to is not in the source."""

    def __init__(self, source: str, what: str, known: Iterable[str]) -> None:
        super().__init__(f"Source {source!r} has no {what}; {nearest(what, known)}")


class ColumnMissing(ConnectorError):
    """A column that was asked for or declared is not in the dataset."""

    def __init__(self, where: str, column: str, known: Iterable[str]) -> None:
        names = list(known)
        unnamed = sum(re.fullmatch(r"column_[0-9]+", name) is not None for name in names)
        where_else = ". Most columns have no heading: where it stands further down, say `skip`, the lines above it"
        said = f"{where} has no column {column!r}; {nearest(column, names)}"
        super().__init__(said + (where_else if 2 * unnamed >= len(names) > 1 else ""))


class FileRefused(ConnectorError):
    """A file that must not be read: outside its root, not a regular file, or larger than its limits."""

    def __init__(self, path: str, reason: str, remedy: str) -> None:
        super().__init__(f"{path} is not read: {reason}; {remedy}")


class FileUnreadable(ConnectorError):
    """A file that does not hold what its format asks for; nothing of the dataset is used."""

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        super().__init__(f"{place}: {reason}; {remedy}")
        self.place, self.reason = place, reason


class RecordsLost(ConnectorError):
    """A reader returned other records than stand in a file; nothing of the dataset is used."""

    def __init__(self, place: str, counted: int, returned: int) -> None:
        super().__init__(
            f"{place} holds {counted:,} records, but {returned:,} were read; nothing of it was used. Read it again; "
            "if that does not help, save it anew with one kind of line end"
        )


class HeadersDiffer(ConnectorError):
    """Files of one dataset have different columns."""

    def __init__(self, path: str, column: str, other: str) -> None:
        super().__init__(
            f"{path} has a column {column!r} that {other} does not have; files of one dataset have the same columns: "
            f"narrow `path` or make two datasets"
        )


def is_of_the_source(error: ConnectorError) -> bool:
    """Whether nothing of the source can be read now; else one dataset is not as the configuration says."""
    return error.reaction is not Reaction.STOP or isinstance(error, (SourceMissing, DriverMissing))
