"""What becomes of a change when something goes wrong, provoked on real databases; and the table of what it means."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.cleaning import outcomes as sql_outcomes
from connectors.sql.source import SqlSource
from connectors.target import Change, ReceiptStands, Row, RowName, TargetError, TransactionOutcome, Work
from tests.connectors.sql.shop_kit import Shop, receipt, record
from tests.support.servers import MARIADB, POSTGRES
from tests.support.shop import shop_on
from tests.support.tcp_proxy import TcpProxy

SERVERS = {"postgresql": POSTGRES, "mysql": MARIADB}
ON_SERVERS = [
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from shop_on(POSTGRES, tmp_path_factory.mktemp("errors"))


@pytest.fixture(scope="module")
def mysql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from shop_on(MARIADB, tmp_path_factory.mktemp("errors"))


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from shop_on(None, tmp_path_factory.mktemp("errors"))


def stocked(shop: Shop) -> Shop:
    """Two customers; what their columns allow is what the tests break."""
    shop.close()
    shop.empty()
    shop.sql(
        "create table customers (id integer primary key, name varchar(10) not null, email varchar(40) unique, "
        "age integer check (age < 200))",
        "insert into customers values (1, 'Ann', 'a@x.org', 40), (2, 'Bob', 'b@x.org', 41)",
    )
    return shop


@pytest.fixture(params=["sqlite", *ON_SERVERS])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    shop = stocked(request.getfixturevalue(request.param))
    yield shop
    shop.close()


@pytest.fixture(params=ON_SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Shop]:
    shop = stocked(request.getfixturevalue(request.param))
    yield shop
    shop.close()


def sets(row: Row, **cells: Any) -> Change:
    return Change(
        row.name,
        row.cells,
        {name: ("t", text) if text is not None else None for name, text in cells.items()},
        "surplus",
    )


def in_a_savepoint(work: Work, *changes: Change, received: str = "") -> None:
    with work.savepoint():
        if received:
            work.receive([receipt(received)])
        for change in changes:
            work.apply(change)


def said(error: Any) -> tuple[TransactionOutcome, str]:
    return error.value.outcome, error.value.code


def listed(shop: Shop) -> list[Sequence[Any]]:
    return shop.sql("select id, name, email, age from customers order by id")


# What the data does not allow


@pytest.mark.parametrize(
    ("cells", "outcome", "codes"),
    [
        ({"email": "b@x.org"}, TransactionOutcome.CONFLICT, {"23505", "1062", "SQLITE_CONSTRAINT_UNIQUE"}),
        ({"name": None}, TransactionOutcome.CONFLICT, {"23502", "1048", "SQLITE_CONSTRAINT_NOTNULL"}),
        ({"age": "999"}, TransactionOutcome.CONFLICT, {"23514", "4025", "SQLITE_CONSTRAINT_CHECK"}),
    ],
    ids=["unique", "not null", "check"],
)
def test_a_constraint_is_a_conflict_and_the_transaction_goes_on(
    cells: dict[str, str | None], outcome: TransactionOutcome, codes: set[str], shop: Shop
) -> None:
    """The savepoint is undone with what went before in it; other plans of the same transaction are kept."""
    source = shop.open()
    ann, bob = record(source, "customers", 1), record(source, "customers", 2)

    with source.work(8) as work:
        work.apply(sets(bob, name="kept"))
        with pytest.raises(TargetError) as error:
            in_a_savepoint(work, sets(ann, name="lost"), sets(ann, **cells))
        work.commit()

    assert error.value.outcome is outcome
    assert error.value.code in codes
    assert [row[1] for row in listed(shop)] == ["Ann", "kept"]
    assert all(value not in str(error.value) for value in ("b@x.org", "999", "Ann"))


def test_an_error_that_is_ignored_inside_a_savepoint_undoes_it_all_the_same(shop: Shop) -> None:
    """Half of a plan is never kept."""
    source = shop.open()
    ann, bob = record(source, "customers", 1), record(source, "customers", 2)

    with source.work(8) as work:
        with pytest.raises(TargetError) as error:
            ignoring(work, sets(ann, name="half"), sets(ann, email="b@x.org"))
        work.apply(sets(bob, name="kept"))
        work.commit()

    assert error.value.outcome is TransactionOutcome.CONFLICT
    assert [row[1] for row in listed(shop)] == ["Ann", "kept"]


def ignoring(work: Work, *changes: Change) -> None:
    with work.savepoint():
        for change in changes:
            with suppress(TargetError):
                work.apply(change)


@pytest.mark.parametrize("cells", [{"age": "forty"}, {"age": "99999999999"}, {"name": "x" * 11}], ids=str)
def test_a_value_that_no_column_of_that_type_can_hold_is_terminal(cells: dict[str, str], server: Shop) -> None:
    source = server.open()
    ann = record(source, "customers")

    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(sets(ann, **cells))

    assert error.value.outcome is TransactionOutcome.TERMINAL
    assert next(iter(cells.values())) not in str(error.value)


def test_a_column_that_is_gone_is_a_conflict(shop: Shop) -> None:
    """The table is another one than was planned for."""
    source = shop.open()
    ann = record(source, "customers")

    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(sets(ann, nickname="Annie"))

    assert error.value.outcome is TransactionOutcome.CONFLICT


@pytest.mark.server
def test_a_deferred_constraint_is_a_conflict_found_by_commit(postgresql: Shop) -> None:
    stocked(postgresql).sql(
        "create table notes (id int primary key, customer int references customers deferrable initially deferred)",
        "insert into notes values (1, 1)",
    )
    source = postgresql.open()
    ann = record(source, "customers")

    with source.work(8) as work:
        work.apply(Change(ann.name, ann.cells, None, "surplus"))
        with pytest.raises(TargetError) as error:
            work.commit()

    assert said(error) == (TransactionOutcome.CONFLICT, "23503")
    assert len(listed(postgresql)) == 2


def test_sqlite_finds_a_deferred_constraint_by_commit_too(sqlite: Shop) -> None:
    stocked(sqlite).sql(
        "create table notes (id integer primary key, customer references customers deferrable initially deferred)",
        "insert into notes values (1, 1)",
    )
    source = sqlite.open()
    ann = record(source, "customers")

    with source.work(8) as work:
        work.apply(Change(ann.name, ann.cells, None, "surplus"))
        with pytest.raises(TargetError) as error:
            work.commit()

    assert error.value.outcome is TransactionOutcome.CONFLICT
    assert len(listed(sqlite)) == 2


@pytest.mark.server
def test_what_a_trigger_refuses_is_a_conflict(postgresql: Shop) -> None:
    stocked(postgresql).sql(
        "create or replace function no() returns trigger language plpgsql as $$ begin raise 'not Ann'; end $$",
        "create trigger no before update on customers for each row execute function no()",
    )
    source = postgresql.open()

    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(sets(record(source, "customers"), name="x"))

    assert said(error) == (TransactionOutcome.CONFLICT, "P0001")
    assert "Ann" not in str(error.value)


# Other transactions


def test_two_that_lock_crosswise_end_in_one_deadlock_that_is_not_done(server: Shop) -> None:
    """The victim is told so, and the other goes on."""
    source, second = server.open(), server.open()
    ann, bob = record(source, "customers", 1), record(source, "customers", 2)
    outcomes: list[str] = []

    def crossing(target: SqlSource, first: Row, then: Row, both: threading.Barrier) -> None:
        try:
            with target.work(20) as work:
                work.lock([first.name])
                both.wait(10)
                work.lock([then.name])
                work.commit()
                outcomes.append("committed")
        except TargetError as error:
            outcomes.append(f"{error.outcome.value} {error.code}")

    both = threading.Barrier(2)
    threads = [
        threading.Thread(target=crossing, args=(item, *rows, both))
        for item, rows in ((source, (ann, bob)), (second, (bob, ann)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(outcomes) == ["committed", "not_done 40P01" if server.dialect == "postgresql" else "not_done 1213"]


def test_after_the_time_out_of_a_lock_nothing_of_the_transaction_is_kept(server: Shop) -> None:
    """MariaDB would roll back the statement alone and go on: then COMMIT would keep an effect without its receipt."""
    source = server.open()
    source.remembers()
    ann, bob = record(source, "customers", 1), record(source, "customers", 2)
    with server.engine.connect() as connection:
        connection.exec_driver_sql("begin")
        connection.exec_driver_sql("update customers set age = 50 where id = 1")
        with source.work(5) as work:
            work.apply(sets(bob, name="lost"))
            with pytest.raises(TargetError) as error:
                in_a_savepoint(work, sets(ann, name="lost"), received="k")
            with pytest.raises(TargetError) as again:
                work.commit()
        connection.exec_driver_sql("rollback")

    assert error.value.outcome is again.value.outcome is TransactionOutcome.NOT_DONE
    assert error.value.code == ("55P03" if server.dialect == "postgresql" else "1205")
    assert [row[1] for row in listed(server)] == ["Ann", "Bob"]
    assert source.receipts(["k"]) == {}


@pytest.mark.slow
def test_another_writer_of_a_sqlite_file_is_waited_for_and_then_not_done(sqlite: Shop) -> None:
    source = stocked(sqlite).open()
    with sqlite.engine.connect() as connection:
        connection.exec_driver_sql("begin immediate")

        started = time.monotonic()
        with pytest.raises(TargetError) as error, source.work(2):
            pass

    assert said(error) == (TransactionOutcome.NOT_DONE, "SQLITE_BUSY")
    assert 0.3 < time.monotonic() - started < 5


@pytest.mark.slow
def test_a_reader_of_a_sqlite_file_makes_commit_wait_and_then_not_done(sqlite: Shop) -> None:
    """In a journal that is not WAL a reader keeps the writer from ending; nothing is kept then."""
    source = stocked(sqlite).open()
    ann = record(source, "customers")
    with sqlite.engine.connect() as connection:
        connection.exec_driver_sql("begin")
        connection.exec_driver_sql("select * from customers").all()
        with source.work(2) as work:
            work.apply(sets(ann, name="lost"))
            with pytest.raises(TargetError) as error:
                work.commit()

    assert said(error) == (TransactionOutcome.NOT_DONE, "SQLITE_BUSY")
    assert listed(sqlite)[0][1] == "Ann"


@pytest.mark.server
def test_a_serialization_failure_is_not_done(postgresql: Shop) -> None:
    """We ask for READ COMMITTED, where there is none; a trigger may ask for another."""
    source = stocked(postgresql).open()
    ann = record(source, "customers")
    postgresql.sql(
        "create or replace function no() returns trigger language plpgsql as $$ begin raise sqlstate '40001'; end $$",
        "create trigger no before update on customers for each row execute function no()",
    )

    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(sets(ann, name="x"))

    assert said(error) == (TransactionOutcome.NOT_DONE, "40001")


# Time


def test_the_server_ends_a_session_that_says_nothing(server: Shop) -> None:
    """A process that was stopped while it held locks: they are gone before it wakes, and it cannot commit."""
    source = server.open()
    ann = record(source, "customers")

    with source.work(4) as work:
        work.apply(sets(ann, name="zombie"))
        time.sleep(1.8)
        with pytest.raises(TargetError) as error:
            work.commit()

    assert error.value.outcome in (TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN)
    assert listed(server)[0][1] == "Ann"
    server.sql("update customers set age = 42 where id = 1")  # nobody holds it


@pytest.mark.slow
def test_nothing_is_sent_after_half_of_the_time(shop: Shop) -> None:
    """So that what was sent in time is over, at the target, before all of it has passed."""
    source = shop.open()
    ann = record(source, "customers")

    with source.work(0.4) as work:
        work.apply(sets(ann, name="late"))
        time.sleep(0.25)
        with pytest.raises(TargetError) as error:
            work.commit()

    assert error.value.outcome is TransactionOutcome.NOT_DONE
    assert listed(shop)[0][1] == "Ann"


@pytest.mark.server
def test_a_statement_that_takes_too_long_is_ended_by_the_server(postgresql: Shop) -> None:
    stocked(postgresql).sql(
        "create or replace function no() returns trigger language plpgsql as "
        "$$ begin perform pg_sleep(20); return new; end $$",
        "create trigger no before update on customers for each row execute function no()",
    )
    source = postgresql.open()
    ann = record(source, "customers")

    started = time.monotonic()
    with source.work(2) as work, pytest.raises(TargetError) as error:
        work.apply(sets(ann, name="x"))

    assert said(error) == (TransactionOutcome.NOT_DONE, "57014")
    assert time.monotonic() - started < 5


# Connections


@contextmanager
def proxied(shop: Shop) -> Iterator[tuple[TcpProxy, SqlSource]]:
    url = sa.make_url(shop.url)
    with TcpProxy((str(url.host), int(url.port or 0))) as proxy:
        source = shop.open(shop.through(proxy.host, proxy.port))
        yield proxy, source
        proxy.cut()
        source.close()


def test_a_connection_that_breaks_before_commit_is_not_done(server: Shop) -> None:
    with proxied(server) as (proxy, source):
        ann = record(source, "customers")
        with source.work(20) as work:
            work.apply(sets(ann, name="lost"))
            proxy.cut()
            with pytest.raises(TargetError) as error:
                work.lock([ann.name])
            with pytest.raises(TargetError) as again:
                work.commit()

    assert error.value.outcome is again.value.outcome is TransactionOutcome.NOT_DONE
    assert listed(server)[0][1] == "Ann"


def test_a_commit_whose_answer_is_lost_is_ambiguous_and_the_receipt_tells(server: Shop) -> None:
    """It was done: the same receipt in a new transaction stands."""
    with proxied(server) as (proxy, source):
        source.remembers()
        ann = record(source, "customers")
        with source.work(20) as work:
            work.receive([receipt("answer-lost")])
            work.apply(sets(ann, name="done"))
            work.seal([receipt("answer-lost", after="x")])
            proxy.drop_reply_after(0)
            with pytest.raises(TargetError) as error:
                work.commit()
        proxy.passes()

        assert error.value.outcome is TransactionOutcome.UNKNOWN
        assert wait_for(lambda: listed(server)[0][1] == "done")
        with source.work(20) as work, pytest.raises(ReceiptStands) as raised:
            work.receive([receipt("answer-lost", fence=2)])

    assert raised.value.found["answer-lost"].after == "x"


def test_a_commit_that_never_arrives_is_ambiguous_and_the_receipt_tells(server: Shop) -> None:
    """It was not done: the same receipt can be written."""
    with proxied(server) as (proxy, source):
        source.remembers()
        ann = record(source, "customers")
        with source.work(20) as work:
            work.receive([receipt("never-arrived")])
            work.apply(sets(ann, name="lost"))
            proxy.cut()
            with pytest.raises(TargetError) as error:
                work.commit()
        proxy.passes()

        assert error.value.outcome is TransactionOutcome.UNKNOWN
        with source.work(20) as work:
            work.receive([receipt("never-arrived", fence=2)])
            work.commit()

    assert listed(server)[0][1] == "Ann"


def test_a_server_that_falls_silent_never_holds_us(server: Shop) -> None:
    """It answers neither a change nor the request to cancel it; the connection is cut."""
    with proxied(server) as (proxy, source):
        ann = record(source, "customers")
        started = time.monotonic()
        with source.work(2) as work:
            proxy.silent()
            with pytest.raises(TargetError) as error:
                work.lock([ann.name])

    assert error.value.outcome is TransactionOutcome.NOT_DONE
    assert time.monotonic() - started < 12


@pytest.mark.parametrize("when", ["it connects", "it begins", "it ends"])
def test_a_server_that_is_silent_from_the_first_or_at_the_last_never_holds_us(
    when: str, server: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("mysql", "postgresql"):
        monkeypatch.setattr(f"connectors.sql.cleaning.{kind}.CONNECT_SECONDS", 3)
    with proxied(server) as (proxy, source):
        ann = record(source, "customers")
        if when == "it begins":  # on the connection that is kept
            with source.work(20) as work:
                work.apply(sets(ann, name="kept"))
                work.commit()
        started = time.monotonic()
        if when != "it ends":
            proxy.silent()
        with pytest.raises((TargetError, ZeroDivisionError)) as error:
            left_by_an_error(source, sets(ann, name="lost"), proxy)

    assert time.monotonic() - started < 13
    if when != "it ends":
        assert error.value.outcome is TransactionOutcome.NOT_DONE


def left_by_an_error(source: SqlSource, change: Change, proxy: TcpProxy) -> None:
    with source.work(2) as work:
        work.apply(change)
        proxy.silent()
        raise ZeroDivisionError


@pytest.mark.server
def test_a_commit_that_the_server_answers_with_a_rollback_is_not_done(postgresql: Shop) -> None:
    """PostgreSQL does so without an error when a statement of the transaction had failed."""
    source = stocked(postgresql).open()
    ann = record(source, "customers")

    with source.work(8) as work:
        work.apply(sets(ann, name="lost"))
        with pytest.raises(Exception, match="division"):  # behind the back of the transaction
            work._session.run("select 1 / 0")
        with pytest.raises(TargetError) as error:
            work.commit()

    assert said(error) == (TransactionOutcome.NOT_DONE, "not committed")
    assert listed(postgresql)[0][1] == "Ann"


def test_a_session_that_was_killed_is_not_done_before_commit(server: Shop) -> None:
    source = server.open()
    ann = record(source, "customers")

    with source.work(20) as work:
        work.apply(sets(ann, name="lost"))
        kill(server)
        with pytest.raises(TargetError) as error:
            work.lock([ann.name])

    assert error.value.outcome is TransactionOutcome.NOT_DONE
    assert listed(server)[0][1] == "Ann"


def test_a_kept_connection_that_went_stale_is_replaced(server: Shop) -> None:
    """Between two transactions nobody had asked it anything, so nothing is lost with it."""
    source = server.open()
    ann = record(source, "customers")
    with source.work(20) as work:
        work.apply(sets(ann, name="first"))
        work.commit()
    kill(server)

    with source.work(20) as work:
        work.apply(sets(ann, name="second"))
        work.commit()

    assert listed(server)[0][1] == "second"


def test_a_server_that_is_not_there_is_not_done(server: Shop) -> None:
    source = server.open(server.through("127.0.0.1", 1))

    with pytest.raises(TargetError) as error, source.work(5):
        pass

    assert error.value.outcome is TransactionOutcome.NOT_DONE


def kill(shop: Shop) -> None:
    """End every other session of the database."""
    if shop.dialect == "postgresql":
        shop.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
            "and pid <> pg_backend_pid()"
        )
        return
    name = sa.make_url(shop.url).database
    processes = shop.sql(f"select id from information_schema.processlist where db = '{name}' and id <> connection_id()")
    shop.sql(*(f"kill {process[0]}" for process in processes))


def wait_for(true: Callable[[], bool], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.server
def test_postgresql_tells_of_a_transaction_whether_it_happened(postgresql: Shop) -> None:
    source = stocked(postgresql).open()
    ann = record(source, "customers")

    with source.work(20) as work:
        kept = work.transaction
        work.apply(sets(ann, name="x"))
        work.commit()
    with source.work(20) as work:
        lost = work.transaction
        with pytest.raises(TargetError) as open_still:
            source.happened(str(lost))

    assert source.happened(str(kept)) is True
    assert source.happened(str(lost)) is False
    assert open_still.value.outcome is TransactionOutcome.UNKNOWN
    system, timeline, number = str(kept).split("/")
    assert source.happened(f"{system}/{timeline}/{int(number) + 10**6}") is None
    assert source.happened(f"{system}/0000FFFF/{number}") is None
    assert source.happened(f"1/{timeline}/{number}") is None


# Rights and room


def test_a_disk_that_is_full_pauses_the_target(sqlite: Shop) -> None:
    source = stocked(sqlite).open()
    source.remembers()
    pages = sqlite.sql("pragma page_count")[0][0]
    engine = source._target._engine(8)  # a limit is of one connection: the writing one

    @sa.event.listens_for(engine, "connect")
    def small(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"pragma max_page_count = {pages}")

    source._target.close()
    ann = record(source, "customers")
    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(
            Change(
                RowName("customers", (("id", ("i", "9")),)),
                None,
                {**ann.cells, "id": ("i", "9"), "email": ("t", "x" * 9999)},
                "surplus",
            )
        )

    assert said(error) == (TransactionOutcome.PAUSE, "SQLITE_FULL")
    assert len(listed(sqlite)) == 2


def test_a_file_that_cannot_be_written_pauses_the_target(sqlite: Shop) -> None:
    stocked(sqlite)
    source = sqlite.open(sqlite.url + "?immutable=1&uri=true")
    ann = record(source, "customers")

    with pytest.raises(TargetError) as error, source.work(8) as work:
        work.apply(sets(ann, name="x"))

    assert error.value.outcome is TransactionOutcome.PAUSE


@pytest.fixture
def clerk(server: Shop) -> Iterator[SqlSource]:
    """A user who may read and change customers and make nothing."""
    user = f"clerk_{sa.make_url(server.url).database}"[-32:]
    host = "@'127.0.0.1'" if server.dialect == "mysql" else ""
    login = "" if server.dialect == "mysql" else " login"
    server.sql(f"create user {user}{host}{login}", f"grant select, update on customers to {user}{host}")
    url = sa.make_url(server.url).set(username=user).render_as_string(hide_password=False)
    yield server.open(url)
    server.close()
    if server.dialect == "postgresql":
        server.sql(f"drop owned by {user}")
    server.sql(f"drop user {user}{host}")


def test_a_user_without_the_right_pauses_the_target(clerk: SqlSource) -> None:
    ann = record(clerk, "customers")

    with clerk.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(Change(ann.name, ann.cells, None, "surplus"))

    assert said(error) in ((TransactionOutcome.PAUSE, "42501"), (TransactionOutcome.PAUSE, "1142"))


def test_where_no_table_may_be_made_nothing_is_remembered(clerk: SqlSource, server: Shop) -> None:
    """Changes are still possible; a question for the owner finds none."""
    ann = record(clerk, "customers")

    assert clerk.remembers() is False
    assert clerk.owned("customers").owner is None
    assert clerk.receipts(["k"]) == {}
    with pytest.raises(TargetError) as error:
        clerk.adopt("mine", 1, 0, None)
    assert error.value.outcome is TransactionOutcome.PAUSE
    with clerk.work(8) as work:
        work.apply(sets(ann, name="x"))
        work.commit()
    assert listed(server)[0][1] == "x"


def test_a_user_with_a_wrong_name_pauses_the_target(server: Shop) -> None:
    url = sa.make_url(server.url).set(username="nobody_at_all", password="s3cr3t").render_as_string(hide_password=False)

    with pytest.raises(TargetError) as error, server.open(url).work(8):
        pass

    assert error.value.outcome is TransactionOutcome.PAUSE
    assert "s3cr3t" not in str(error.value)


@pytest.mark.server
def test_a_database_that_is_read_only_pauses_the_target(postgresql: Shop) -> None:
    """As a standby is."""
    source = stocked(postgresql).open()
    ann = record(source, "customers")
    postgresql.sql(
        "create or replace function no() returns trigger language plpgsql as $$ begin raise sqlstate '25006'; end $$",
        "create trigger no before update on customers for each row execute function no()",
    )

    with source.work(8) as work, pytest.raises(TargetError) as error:
        work.apply(sets(ann, name="x"))

    assert said(error) == (TransactionOutcome.PAUSE, "25006")


# The table itself


@pytest.mark.parametrize(
    ("dialect", "code"),
    [(dialect, code) for dialect, rows in sql_outcomes.TABLE.items() for row in rows for code in row.codes],
)
def test_every_code_that_is_listed_finds_its_own_row(dialect: str, code: str) -> None:
    row = sql_outcomes.meaning(dialect, code)

    assert code in row.codes
    assert row.reason


@pytest.mark.parametrize(
    ("dialect", "code", "before", "commit"),
    [
        ("postgresql", "", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("postgresql", "08006", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("postgresql", "57P01", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("postgresql", "57014", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("postgresql", "25P03", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("postgresql", "40001", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("postgresql", "40003", TransactionOutcome.UNKNOWN, TransactionOutcome.UNKNOWN),
        ("postgresql", "23505", TransactionOutcome.CONFLICT, TransactionOutcome.CONFLICT),
        ("postgresql", "53100", TransactionOutcome.PAUSE, TransactionOutcome.PAUSE),
        ("postgresql", "53300", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("postgresql", "28P01", TransactionOutcome.PAUSE, TransactionOutcome.PAUSE),
        ("postgresql", "42501", TransactionOutcome.PAUSE, TransactionOutcome.PAUSE),
        ("postgresql", "42703", TransactionOutcome.TERMINAL, TransactionOutcome.TERMINAL),
        ("postgresql", "22001", TransactionOutcome.TERMINAL, TransactionOutcome.TERMINAL),
        ("postgresql", "XX000", TransactionOutcome.PAUSE, TransactionOutcome.UNKNOWN),
        ("postgresql", "ZZ999", TransactionOutcome.TERMINAL, TransactionOutcome.UNKNOWN),
        ("mysql", "", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("mysql", "2006", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("mysql", "2013", TransactionOutcome.NOT_DONE, TransactionOutcome.UNKNOWN),
        ("mysql", "1205", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("mysql", "1213", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("mysql", "1020", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("mysql", "1290", TransactionOutcome.PAUSE, TransactionOutcome.PAUSE),
        ("mysql", "1062", TransactionOutcome.CONFLICT, TransactionOutcome.CONFLICT),
        ("mysql", "1406", TransactionOutcome.TERMINAL, TransactionOutcome.TERMINAL),
        ("mysql", "10", TransactionOutcome.TERMINAL, TransactionOutcome.UNKNOWN),
        ("sqlite", "SQLITE_BUSY_SNAPSHOT", TransactionOutcome.NOT_DONE, TransactionOutcome.NOT_DONE),
        ("sqlite", "SQLITE_FULL", TransactionOutcome.PAUSE, TransactionOutcome.PAUSE),
        ("sqlite", "SQLITE_IOERR_FSYNC", TransactionOutcome.PAUSE, TransactionOutcome.UNKNOWN),
        ("sqlite", "SQLITE_CONSTRAINT_UNIQUE", TransactionOutcome.CONFLICT, TransactionOutcome.CONFLICT),
        ("sqlite", "OperationalError", TransactionOutcome.TERMINAL, TransactionOutcome.UNKNOWN),
    ],
)
def test_what_a_code_means_depends_on_whether_commit_was_sent(
    dialect: str, code: str, before: TransactionOutcome, commit: TransactionOutcome
) -> None:
    row = sql_outcomes.meaning(dialect, code)

    assert (row.at("before"), row.at("commit")) == (before, commit)


@pytest.mark.slow
def test_no_code_of_commit_that_leaves_doubt_is_called_not_done() -> None:
    """A connection that breaks in COMMIT may have committed."""
    for dialect, codes in (("postgresql", ("", "08003", "08006", "57P02")), ("mysql", ("", "2006", "2013", "2055"))):
        for code in codes:
            assert sql_outcomes.meaning(dialect, code).at("commit") is TransactionOutcome.UNKNOWN
