"""Transactions of the store: whole or not at all, on the store's clock, and errors in words."""

import datetime as dt
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from reconcile.store import Store, Transaction, columns, errors, runs, tables
from tests.support.servers import STATE
from tests.support.store import NOON, FixedClock, Program, in_parallel

SECOND = dt.timedelta(seconds=1)


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    with Store.open(url, tmp_path, patience=SECOND) as store:
        yield store


def add_release(tx: Transaction, name: str, **values: object) -> None:
    row = {"hash": name, "config": {}, "first_seen": tx.now} | values
    tx.connection.execute(sa.insert(tables.releases).values(row))


def releases(store: Store) -> list[str]:
    with store.read() as tx:
        return list(tx.connection.execute(sa.select(tables.releases.c.hash).order_by(tables.releases.c.hash)).scalars())


def test_a_transaction_is_kept_whole_or_not_at_all(store: Store) -> None:
    with store.begin() as tx:
        add_release(tx, "a")
    with pytest.raises(sa.exc.IntegrityError):
        _add_twice(store)

    assert releases(store) == ["a"]


def _add_twice(store: Store) -> None:
    with store.begin() as tx:
        add_release(tx, "b")
        add_release(tx, "a")


def test_a_file_that_is_not_the_one_that_was_opened_takes_nothing_more(tmp_path: Path) -> None:
    with Store.open(STATE, tmp_path) as store:
        file = tmp_path / "reconcile.db"
        file.rename(tmp_path / "moved.db")
        with pytest.raises(errors.StoreGone, match="Put it back"):
            releases(store)
        assert not file.exists()

        with Store.open(STATE, tmp_path, key=store.key), pytest.raises(errors.StoreGone), store.begin() as tx:
            add_release(tx, "a")


def test_the_clock_is_the_stores_and_stands_still_inside_a_transaction(store: Store) -> None:
    before = dt.datetime.now(dt.UTC)

    with store.begin() as tx:
        first, second = tx.now, tx.now

    assert first is second
    assert first.tzinfo is dt.UTC
    assert abs(first - before) < dt.timedelta(seconds=5)


def test_an_injected_clock_replaces_the_stores(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path, clock=FixedClock()) as store, store.begin() as tx:
        assert tx.now == NOON


@pytest.mark.slow
def test_the_time_is_read_after_the_wait_for_another_writer(tmp_path: Path) -> None:
    """On SQLite writers queue: what the second one stores must not be older than what the first one stored."""
    with Store.open(STATE, tmp_path) as store:
        inside, seen = threading.Event(), []

        def second() -> None:
            inside.wait()
            with store.begin() as tx:
                seen.append(tx.now)

        thread = threading.Thread(target=second)
        thread.start()
        with store.begin():
            inside.set()
            thread.join(0.2)
            end = dt.datetime.now(dt.UTC)
        thread.join()

    assert seen[0] >= end


def test_a_reader_sees_one_state_and_holds_up_no_writer(store: Store) -> None:
    count = sa.select(sa.func.count()).select_from(tables.releases)
    with store.read() as reader:
        before = reader.connection.execute(count).scalar_one()
        with store.begin() as tx:
            add_release(tx, "a")
        after = reader.connection.execute(count).scalar_one()

    assert (before, after, releases(store)) == (0, 0, ["a"])


@pytest.mark.server
def test_a_read_cannot_write_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    with Store.open(postgres_url, tmp_path) as store:
        with pytest.raises(errors.StoreNotWritable), store.read() as tx:
            add_release(tx, "a")

        with store.begin() as tx:
            add_release(tx, "b")
        assert releases(store) == ["b"]


def test_a_row_that_refers_to_nothing_is_refused(store: Store) -> None:
    with pytest.raises(sa.exc.IntegrityError), store.begin() as tx:
        tx.connection.execute(sa.insert(tables.finding_aliases).values(fingerprint="x", finding="F-none", since=tx.now))


class Tail:
    ran: list[str]

    def __init__(self) -> None:
        self.ran = []

    def finish(self, tx: Transaction) -> None:
        self.ran.append("finish")
        add_release(tx, "last")


def test_a_finisher_runs_once_at_the_end_of_what_is_kept(store: Store) -> None:
    with store.begin() as tx:
        tail = tx.finisher(Tail)
        assert tx.finisher(Tail) is tail
        add_release(tx, "first")

    assert tail.ran == ["finish"]
    assert releases(store) == ["first", "last"]


def test_a_writer_killed_inside_a_transaction_leaves_nothing_of_it(url: str, store: Store, tmp_path: Path) -> None:
    code = """
    with Store.open(url, root) as store, store.begin() as tx:
        tx.connection.execute(sa.insert(tables.releases).values(hash="half", config={}, first_seen=tx.now))
        print("written")
        wait()
    """
    program = Program(code, url, tmp_path).ready().go()
    assert program.line() == "written"

    program.kill()

    assert releases(store) == []
    with store.begin() as tx:
        add_release(tx, "half")


@pytest.mark.slow
def test_processes_that_count_together_lose_no_count(url: str, store: Store, tmp_path: Path) -> None:
    code = """
    with Store.open(url, root, patience=dt.timedelta(seconds=30)) as store:
        for _ in range(25):
            with store.begin() as tx:
                number = tx.connection.execute(sa.select(tables.audit_head.c.seq).with_for_update()).scalar_one()
                tx.connection.execute(sa.update(tables.audit_head).values(seq=number + 1))
    """

    in_parallel(4, code, url, tmp_path)

    with store.read() as tx:
        assert tx.connection.execute(sa.select(tables.audit_head.c.seq)).scalar_one() == 100


@pytest.mark.server
def test_a_connection_cut_by_the_server_is_told_and_the_next_transaction_works(
    postgres_url: str, tmp_path: Path
) -> None:
    with Store.open(postgres_url, tmp_path) as store:
        with pytest.raises(errors.StoreUnreachable, match="Run it again when it is up"):
            _write_on_a_cut_connection(store, postgres_url)

        with store.begin() as tx:
            add_release(tx, "after")
        assert releases(store) == ["after"]


def _write_on_a_cut_connection(store: Store, url: str) -> None:
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with store.begin() as tx:
        backend = tx.connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        with admin.connect() as connection:
            connection.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": backend})
        admin.dispose()
        add_release(tx, "lost")


@pytest.mark.server
def test_a_connection_cut_while_committing_leaves_a_doubt_and_says_so(postgres_url: str, tmp_path: Path) -> None:
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")

    class Cut:
        def finish(self, tx: Transaction) -> None:
            backend = tx.connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
            with admin.connect() as connection:
                connection.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": backend})

    with Store.open(postgres_url, tmp_path) as store:
        with (
            pytest.raises(errors.CommitUnknown, match="It is unknown whether that step was saved"),
            store.begin() as tx,
        ):
            tx.finisher(Cut)
        assert releases(store) == []
    admin.dispose()


@given(st.datetimes(timezones=st.timezones()).filter(lambda value: 2 < value.year < 9998))
def test_an_instant_is_exact_to_the_microsecond_and_sorts_as_text(value: dt.datetime) -> None:
    kind = columns.Instant()
    dialect = sa.create_engine("sqlite://").dialect
    text = kind.process_bind_param(value, dialect)
    later = kind.process_bind_param(value.astimezone(dt.UTC) + dt.timedelta(microseconds=1), dialect)

    assert text is not None
    assert later is not None
    assert len(text) == 27
    assert text < later
    assert kind.process_result_value(text, dialect) == value.astimezone(dt.UTC)


def test_a_naive_time_is_not_stored(store: Store) -> None:
    with pytest.raises(sa.exc.StatementError, match="naive"), store.begin() as tx:
        add_release(tx, "a", first_seen=dt.datetime(2026, 1, 1))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize("value", [[], {}, "", 0, False, "\x00", "\ud800", {"b": 1, "a": [None, 1e-7, 10**30]}])
def test_json_comes_back_as_it_went_in_on_both_databases(value: object, store: Store) -> None:
    with store.begin() as tx:
        add_release(tx, "a", config=value)

    with store.read() as tx:
        result = tx.connection.execute(sa.select(tables.releases.c.config)).scalar_one()
    assert result == value
    assert type(result) is type(value)


def test_words_sort_by_code_point_on_both_databases(store: Store) -> None:
    words = ["a", "B", "ä", "Z", "_", "a b", "ab", "a-b", "Ａ"]
    with store.begin() as tx:
        for word in words:
            add_release(tx, word)

    assert releases(store) == sorted(words)


# Errors in words


def sqlite_error(name: str) -> sa.exc.DBAPIError:
    cause = sqlite3.OperationalError("said by the driver")
    cause.sqlite_errorname = name
    return sa.exc.OperationalError("SELECT 1", {}, cause)


def postgres_error(state: str | None) -> sa.exc.DBAPIError:
    cause = psycopg.OperationalError("said by\n  the driver")
    cause.sqlstate = state
    return sa.exc.OperationalError("SELECT 1", {}, cause)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SQLITE_BUSY", errors.StoreLocked),
        ("SQLITE_BUSY_SNAPSHOT", errors.StoreLocked),
        ("SQLITE_BUSY_RECOVERY", errors.StoreLocked),
        ("SQLITE_LOCKED", errors.StoreLocked),
        ("SQLITE_READONLY", errors.StoreNotWritable),
        ("SQLITE_READONLY_DIRECTORY", errors.StoreNotWritable),
        ("SQLITE_CANTOPEN", errors.StoreNotWritable),
        ("SQLITE_FULL", errors.StoreFull),
        ("SQLITE_IOERR_WRITE", errors.StoreFull),
        ("SQLITE_CORRUPT", errors.StoreUnreadable),
        ("SQLITE_NOTADB", errors.StoreUnreadable),
        ("SQLITE_CONSTRAINT_UNIQUE", None),
        ("SQLITE_ERROR", None),
    ],
)
def test_each_sqlite_error_is_told_in_its_words(name: str, expected: type[errors.StoreError] | None) -> None:
    result = errors.in_words(sqlite_error(name), "here", SECOND)

    assert (None if result is None else type(result)) is expected


@pytest.mark.parametrize(
    ("state", "running", "committing"),
    [
        ("40001", errors.StoreLocked, errors.StoreLocked),
        ("40P01", errors.StoreLocked, errors.StoreLocked),
        ("55P03", errors.StoreLocked, errors.StoreLocked),
        ("57014", errors.StoreLocked, errors.StoreLocked),
        ("25006", errors.StoreNotWritable, errors.StoreNotWritable),
        ("42501", errors.StoreNotWritable, errors.StoreNotWritable),
        ("53100", errors.StoreFull, errors.StoreFull),
        ("53300", errors.StoreUnreachable, errors.StoreUnreachable),
        ("57P01", errors.StoreUnreachable, errors.CommitUnknown),
        ("57P03", errors.StoreUnreachable, errors.CommitUnknown),
        ("08006", errors.StoreUnreachable, errors.CommitUnknown),
        ("25P03", errors.StoreUnreachable, errors.StoreUnreachable),
        ("28P01", errors.StoreUnreachable, errors.StoreUnreachable),
        ("3D000", errors.StoreUnreachable, errors.StoreUnreachable),
        ("40003", errors.CommitUnknown, errors.CommitUnknown),
        (None, errors.StoreUnreachable, errors.CommitUnknown),
        ("23505", None, None),
        ("42601", None, None),
    ],
)
def test_each_postgresql_error_is_told_in_its_words(
    state: str | None, running: type[errors.StoreError] | None, committing: type[errors.StoreError] | None
) -> None:
    collected = [errors.in_words(postgres_error(state), "here", SECOND, committing=when) for when in (False, True)]

    assert [None if item is None else type(item) for item in collected] == [running, committing]
    assert all("\n" not in str(item) for item in collected)


@pytest.mark.parametrize("job", [None, "nightly"])
def test_the_newest_runs_are_found_by_an_index_and_not_among_all_summaries(tmp_path: Path, job: str | None) -> None:
    asked: list[tuple[str, object]] = []
    with Store.open(STATE, tmp_path) as store:
        sa.event.listen(store._engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))
        with store.read() as tx:
            runs.listed(tx, job, 20)
        [(statement, parameters)] = [query for query in asked if "FROM runs" in query[0]]
        with store.read() as tx:
            plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()  # type: ignore[call-overload]

    index = "ix_runs_started" if job is None else "ix_runs_job_started"
    assert index in plan[0][3]
