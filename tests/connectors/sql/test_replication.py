"""What servers say about how far they are, and what follows from it; no server is needed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from connectors.errors import Reaction, ReplicaConflict, SourceBusy
from connectors.sql import replication
from connectors.sql.errors import ErrorContext, translated
from connectors.sql.settings import SqlSettings
from connectors.sql.source import SqlSource

PAGE, FILE = 8192, 16 * 1024 * 1024
SHOP = ErrorContext("shop", "db/shop", "postgresql", "1h")


def answers(*row: Any) -> replication.Ask:
    def ask(statement: str) -> Sequence[Any]:
        return row

    return ask


def postgresql(follows: bool, position: int) -> int:
    standing = replication.postgresql(answers(follows, "7", "shop", "public", position, PAGE, FILE))
    assert (standing.follows, standing.leads) == (follows, not follows)
    return standing.position["log"][1]


@pytest.mark.parametrize(
    ("inserted", "end"),
    [
        (5 * FILE + 3 * PAGE + 24, 5 * FILE + 3 * PAGE),  # the last record filled its page
        (5 * FILE + 40, 5 * FILE),  # or its file, or a new file was asked for
        (5 * FILE + 24, 5 * FILE + 24),
        (5 * FILE + 3 * PAGE + 40, 5 * FILE + 3 * PAGE + 40),
        (5 * FILE + 3 * PAGE + 32, 5 * FILE + 3 * PAGE + 32),
    ],
)
def test_the_header_of_an_empty_page_is_nothing_to_wait_for(inserted: int, end: int) -> None:
    assert postgresql(follows=False, position=inserted) == end
    assert postgresql(follows=True, position=inserted) == inserted


def test_a_mariadb_with_changes_of_its_own_says_so() -> None:
    follower = replication.mariadb(answers("0-1-57,1-9-3", "1-9-3,0-1-57", "shop", 0, 1))
    errant = replication.mariadb(answers("0-2-58", "0-1-57", "shop", 1, 1))
    primary = replication.mariadb(answers("0-1-57", "", "shop", 1, 0))

    assert (follower.follows, follower.leads, follower.has_own_changes) == (True, False, False)
    assert follower.position == {"0": ("1", 57), "1": ("9", 3)}
    assert (errant.follows, errant.has_own_changes) == (True, True)
    assert (primary.follows, primary.leads, primary.has_own_changes) == (False, True, False)
    assert replication.mariadb(answers("", "", "shop", 1, 0)).position == {}


def test_what_is_lacking_is_counted_in_every_stream() -> None:
    goal = {"0": ("1", 57), "1": ("9", 3)}

    assert replication.lacking({"0": ("1", 57), "1": ("9", 4), "2": ("5", 1)}, goal) == 0
    assert replication.lacking({"0": ("1", 50)}, goal) == 7 + 3


@pytest.mark.parametrize(
    ("there", "diverges"),
    [
        ({"0": ("1", 57)}, False),
        ({"0": ("1", 58)}, False),
        ({"0": ("1", 58), "4": ("7", 900)}, False),
        ({"0": ("1", 60)}, True),
        ({"0": ("2", 59)}, True),
        ({"0": ("2", 57)}, True),
    ],
)
def test_no_replica_is_further_than_its_primary(there: replication.Position, diverges: bool) -> None:
    assert replication.diverges(there, {"0": ("1", 57)}, {"0": ("1", 59)}) is diverges


@pytest.mark.parametrize(
    ("dialect", "lag", "words"),
    [
        ("postgresql", 1, "1 byte of the log"),
        ("postgresql", 184, "184 bytes of the log"),
        ("postgresql", 1_500, "1.5 kB of the log"),
        ("postgresql", 3_240_000, "3.2 MB of the log"),
        ("postgresql", 1_234_500_000_000, "1,234.5 GB of the log"),
        ("mysql", 1, "1 transaction"),
        ("mysql", 12_000, "12,000 transactions"),
    ],
)
def test_a_lag_is_told_in_the_units_of_the_database(dialect: str, lag: int, words: str) -> None:
    assert replication.lag_in_words(ErrorContext("shop", "db/shop", dialect, "1h"), lag) == words


class _ServerError(Exception):
    sqlstate = "40001"


def test_a_conflict_with_recovery_is_no_lock_of_a_program() -> None:
    """In the middle of a stream it has no state, and a server may speak another language."""
    english = "ERROR:  canceling statement due to conflict with recovery"
    at_replica = ErrorContext("shop", "db/shop", "postgresql", "1h", is_replica=True)

    assert isinstance(translated(Exception(english), SHOP, 0), ReplicaConflict)
    assert isinstance(translated(_ServerError(english), SHOP, 0), ReplicaConflict)
    conflict = translated(_ServerError("FEHLER:  storniere Anfrage"), at_replica, 0)
    assert (type(conflict), conflict.reaction) == (ReplicaConflict, Reaction.RETRY)
    assert isinstance(translated(_ServerError("ERROR:  could not serialize access"), SHOP, 0), SourceBusy)


@pytest.mark.parametrize(
    ("url", "replica", "sentence"),
    [
        (
            "sqlite:///shop.db",
            "sqlite:///copy.db",
            "only PostgreSQL and MariaDB can be read from a replica, not sqlite",
        ),
        (
            "mssql+pymssql://db/shop",
            "mssql+pymssql://copy/shop",
            "only PostgreSQL and MariaDB can be read from a replica",
        ),
        (
            "postgresql://db/shop",
            "mysql://a:canary@copy/shop",
            "`url` names postgresql, but `replica` names mysql; name a replica",
        ),
        ("mariadb://db/shop", "sqlite:///copy.db", "`url` names mysql, but `replica` names sqlite"),
        ("postgresql://db/shop", "copy:canary", "this is not a database URL"),
    ],
)
def test_a_replica_of_another_kind_is_a_mistake(url: str, replica: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        SqlSettings.model_validate({"type": "sql", "url": url, "replica": replica})

    assert sentence in str(wrong.value)
    assert "canary" not in str(wrong.value)


def test_mariadb_and_mysql_are_one_kind_and_no_password_is_shown() -> None:
    settings = SqlSettings(
        type="sql", url=SecretStr("mariadb://ada:canary@db/shop"), replica=SecretStr("mysql://ada:canary@copy/shop")
    )
    shop = SqlSource("shop", settings, Path())

    assert (shop.replica, shop.primary().replica) == ("copy/shop", None)
    assert "canary" not in f"{settings!r} {settings.model_dump(mode='json')} {shop!r} {shop.primary()!r}"
