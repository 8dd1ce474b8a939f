"""The outcome of a transaction that ended with a database error: one table, as data.

An unlisted code is TERMINAL before COMMIT was sent, so that a person sees it, and UNKNOWN afterwards. `GONE` is the
code of a connection that broke without an error.

TargetErrors for failed changes: one sentence without values, and the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from connectors.sql.errors import ErrorContext
from connectors.target import TargetError, TransactionOutcome

Phase = Literal["before", "commit"]
"""`commit`: COMMIT had been sent."""
GONE = ""
NOT_COMMITTED = "not committed"

N, A, P, C, T = (
    TransactionOutcome.NOT_DONE,
    TransactionOutcome.UNKNOWN,
    TransactionOutcome.PAUSE,
    TransactionOutcome.CONFLICT,
    TransactionOutcome.TERMINAL,
)


@dataclass(frozen=True)
class Meaning:
    """Codes of a dialect, their outcomes before COMMIT was sent and after, and the reason in words."""

    codes: tuple[str, ...]
    before: TransactionOutcome
    commit: TransactionOutcome
    reason: str

    def at(self, phase: Phase) -> TransactionOutcome:
        return self.before if phase == "before" else self.commit


# A code of PostgreSQL is a SQLSTATE or its beginning: the longest match counts.
_POSTGRESQL = (
    Meaning(("40001",), N, N, "another transaction changed the same rows"),
    Meaning(("40P01",), N, N, "a deadlock occurred"),
    Meaning(("40002", "23"), C, C, "a constraint of the database does not allow it"),
    Meaning(("40003",), A, A, "the database does not know whether it was completed"),
    Meaning(("55P03",), N, N, "another transaction has locked the rows"),
    Meaning(("55006",), N, N, "an object is in use"),
    Meaning(("57014",), N, N, "a statement was cancelled or took too long"),
    Meaning(("25P03",), N, N, "the database ended the session because it was idle for too long"),
    Meaning(("25P04",), N, N, "the transaction took too long"),
    Meaning(("25P02",), N, N, "the transaction had already failed"),
    Meaning(("53100",), P, P, "its disk is full"),
    Meaning(("53000", "53200", "53300", "53400", "53"), N, N, "it ran out of resources"),
    Meaning(
        ("57P01", "57P02", "57P03", "57P05", "57P"), N, A, "the server is stopping, starting, or ended the session"
    ),
    Meaning(("57P04",), P, P, "the database was dropped"),
    Meaning(("08",), N, A, "the connection broke"),
    Meaning(("28", "3D", "42501"), P, P, "the user lacks the right to do that"),
    Meaning(("25006",), P, P, "it is read-only, or a standby"),
    Meaning(("58", "F0", "XX"), P, A, "the server reported an internal error"),
    Meaning(("P0001", "P0", "09", "27", "38", "39"), C, C, "a trigger or a function of the database refused it"),
    Meaning(("44",), C, C, "a check option of the database does not allow it"),
    Meaning(("22",), T, T, "a value does not fit its column"),
    Meaning(("0A", "21", "25", "26", "2B", "2D", "3F", "42", "54", "55"), T, T, "it does not understand the statement"),
)
_MYSQL = (
    Meaning(("1205",), N, N, "another transaction has locked the rows"),
    Meaning(("1213",), N, N, "a deadlock occurred"),
    Meaning(("1020",), N, N, "another transaction changed the same rows"),
    Meaning(("1180", "1181"), N, A, "the engine could not end the transaction"),
    Meaning(("1040", "1203", "1226", "1135", "1037", "1038", "1041"), N, N, "it ran out of resources"),
    Meaning(("1317", "1969", "3024", "1028"), N, A, "a statement was cancelled or took too long"),
    Meaning(("1053", "1079", "1077", "1927", "4031"), N, A, "the server is stopping, or ended the session"),
    Meaning(
        ("2002", "2003", "2005", "2006", "2013", "2014", "2055", "1152", "1158", "1159", "1160", "1161", "1184"),
        N,
        A,
        "the connection broke",
    ),
    Meaning(
        ("1044", "1045", "1095", "1130", "1142", "1143", "1227", "1370", "1698", "1820", "3118"),
        P,
        P,
        "the user lacks the right to do that",
    ),
    Meaning(("1049",), P, P, "the database was dropped"),
    Meaning(("1021", "1114", "3675"), P, P, "its disk or its table space is full"),
    Meaning(("1290", "1792", "1836", "1223", "1665", "4082"), P, P, "it is read-only, or its settings forbid it"),
    Meaning(("1026", "1030", "1034", "1035", "1194", "1195"), P, A, "its storage engine reported an internal error"),
    Meaning(
        (
            "1022",
            "1048",
            "1062",
            "1169",
            "1216",
            "1217",
            "1364",
            "1451",
            "1452",
            "1557",
            "1586",
            "1761",
            "1762",
            "3819",
        ),
        C,
        C,
        "a constraint of the database does not allow it",
    ),
    Meaning(("4025",), C, C, "a constraint of the database does not allow it"),
    Meaning(("1644", "1336", "1422"), C, C, "a trigger or a function of the database refused it"),
    Meaning(("1442",), T, T, "a trigger changes the table that it fires for, which MariaDB and MySQL forbid"),
    Meaning(("1153", "1301"), T, T, "a value is too large for it"),
    Meaning(
        ("1264", "1265", "1292", "1366", "1367", "1406", "1411", "1416", "1690", "4078", "4079"),
        T,
        T,
        "a value does not fit its column",
    ),
    Meaning(
        ("1054", "1064", "1100", "1109", "1110", "1136", "1146", "1267", "1305", "1906", "3105"),
        T,
        T,
        "it does not understand the statement",
    ),
)
# A code of SQLite is the name of its result: the longest matching beginning counts.
_SQLITE = (
    Meaning(("SQLITE_BUSY", "SQLITE_LOCKED"), N, N, "another program has locked it for writing"),
    Meaning(("SQLITE_INTERRUPT",), N, N, "it took too long"),
    Meaning(("SQLITE_SCHEMA", "SQLITE_ABORT", "SQLITE_PROTOCOL"), N, N, "another program changed it meanwhile"),
    Meaning(("SQLITE_NOMEM",), N, N, "it ran out of memory"),
    Meaning(("SQLITE_FULL",), P, P, "it has no space left"),
    Meaning(("SQLITE_IOERR",), P, A, "its file cannot be written"),
    Meaning(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_CANTOPEN"), P, P, "it is read-only"),
    Meaning(("SQLITE_CORRUPT", "SQLITE_NOTADB"), P, A, "its file is damaged"),
    Meaning(("SQLITE_CONSTRAINT",), C, C, "a constraint of the database does not allow it"),
    Meaning(("SQLITE_MISMATCH", "SQLITE_TOOBIG", "SQLITE_RANGE"), T, T, "a value does not fit its column"),
    Meaning(("SQLITE_ERROR", "SQLITE_MISUSE"), T, T, "it does not understand the statement"),
)
_LOST = Meaning((GONE,), N, A, "the connection broke")
_ROLLED_BACK = Meaning((NOT_COMMITTED,), N, N, "it answered COMMIT with a rollback")
_UNKNOWN = Meaning((), T, A, "it gave an unknown reason")

TABLE: dict[str, tuple[Meaning, ...]] = {
    "postgresql": (*_POSTGRESQL, _LOST, _ROLLED_BACK),
    "mysql": (*_MYSQL, _LOST),
    "sqlite": _SQLITE,
}


def meaning(dialect: str, code: str) -> Meaning:
    """The row for a code: the code itself, else its longest listed beginning. MariaDB's codes match only whole."""
    whole = dialect == "mysql"
    matches = [(len(listed), row) for row in TABLE[dialect] for listed in row.codes if _fits(listed, code, whole=whole)]
    return max(matches, key=lambda pair: pair[0])[1] if matches else _UNKNOWN


def _fits(listed: str, code: str, *, whole: bool) -> bool:
    return listed == code or bool(listed and not whole and code.startswith(listed))


_NO_RIGHT = "42501"
_LEFT = {
    TransactionOutcome.NOT_DONE: "The transaction was rolled back; it can be retried",
    TransactionOutcome.UNKNOWN: "The outcome is unknown; check the target",
    TransactionOutcome.PAUSE: "The transaction was rolled back; a person has to fix the cause first",
    TransactionOutcome.CONFLICT: "The transaction was rolled back; it needs a new plan",
    TransactionOutcome.TERMINAL: "The transaction was rolled back and can never succeed; check the plan",
}


def failed(place: ErrorContext, reason: str, outcome: TransactionOutcome, code: str = "") -> TargetError:
    suffix = f" ({code})" if code else ""
    sentence = f"Source {place.source!r} at {place.where} did not make the change: {reason}{suffix}. {_LEFT[outcome]}"
    return TargetError(sentence, outcome, code)


def target_error(place: ErrorContext, code: str, phase: Phase, error: Exception | None = None) -> TargetError:
    """Create the error for a database code. It names a constraint but omits the database's words: they quote values."""
    row = meaning(place.dialect, code)
    diagnosis = getattr(error, "diag", None)
    object_name = getattr(diagnosis, "constraint_name", None)
    if code == _NO_RIGHT:  # this sentence names objects and never values
        object_name = getattr(diagnosis, "message_primary", None)
    reason = f"{row.reason}: {object_name}" if object_name else row.reason
    return failed(place, reason, row.at(phase), code)


def late(place: ErrorContext) -> TargetError:
    return failed(place, "its time limit passed before it completed", TransactionOutcome.NOT_DONE)


def over(place: ErrorContext, why: str) -> TargetError:
    return failed(place, why, TransactionOutcome.NOT_DONE)


def changed_shape(place: ErrorContext, table: str, column: str) -> TargetError:
    return failed(place, f"table {table} no longer has a column {column!r}", TransactionOutcome.CONFLICT)


def no_table(place: ErrorContext, table: str) -> TargetError:
    return failed(place, f"table {table} no longer exists", TransactionOutcome.CONFLICT)


def unwritable(place: ErrorContext, why: str) -> TargetError:
    return failed(place, f"a value cannot be written ({why})", TransactionOutcome.TERMINAL)
