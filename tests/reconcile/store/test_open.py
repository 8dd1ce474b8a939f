"""Opening a store: what it creates, what it refuses, and how two processes share its birth."""

import datetime as dt
import os
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.store import Store, copying, errors, migrations, tables
from tests.support.folders import ROOT
from tests.support.servers import STATE
from tests.support.store import in_parallel


@pytest.fixture
def engine(url: str, tmp_path: Path) -> Iterator[sa.Engine]:
    """The opened store's database, seen from outside."""
    Store.open(url, tmp_path).close()
    if url == STATE:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/reconcile.db")
    else:
        engine = sa.create_engine(url, connect_args={"options": "-c search_path=reconcile"})
    yield engine
    engine.dispose()


def test_a_new_store_has_an_identity_that_stays(url: str, tmp_path: Path) -> None:
    with Store.open(url, tmp_path) as first:
        pass

    with Store.open(url, tmp_path) as again:
        assert (again.id, again.epoch, again.key) == (first.id, 1, first.key)
    assert first.id.startswith("st_")
    assert len(first.key) == 32


@pytest.fixture
def migrated(url: str, tmp_path: Path) -> Iterator[sa.Connection]:
    """A database that the migrations alone have built, one after the other."""
    if url == STATE:
        engine = sa.create_engine(f"sqlite:///{tmp_path}/migrated.db")
    else:
        engine = sa.create_engine(url, connect_args={"options": "-c search_path=migrated"})
    with engine.begin() as connection:
        if url != STATE:
            connection.execute(sa.text("CREATE SCHEMA migrated"))
        migrations.upgrade(connection, tables.REVISION)
        yield connection
    engine.dispose()


@pytest.mark.slow
def test_the_migrations_build_exactly_the_tables_the_program_uses(migrated: sa.Connection) -> None:
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415 - not needed to open a store
    from alembic.migration import MigrationContext  # noqa: PLC0415

    options = {"compare_type": True, "compare_server_default": True, "include_object": _but_alembics_own}
    context = MigrationContext.configure(migrated, opts=options)
    differences = compare_metadata(context, tables.metadata)
    checks = {
        (table, get_check_constraint["name"], get_check_constraint["sqltext"].strip("()").replace("::text", ""))
        for table in tables.metadata.tables
        for get_check_constraint in sa.inspect(migrated).get_check_constraints(table)
    }

    assert differences == []
    assert checks == {
        (table.name, str(check.name), str(check.sqltext))
        for table in tables.metadata.tables.values()
        for check in table.constraints
        if isinstance(check, sa.CheckConstraint)
    }


@pytest.mark.slow
def test_a_new_store_is_what_the_migrations_build(engine: sa.Engine, migrated: sa.Connection) -> None:
    with engine.connect() as created:
        assert _shape(created) == _shape(migrated)


def _shape(connection: sa.Connection) -> dict[str, list[str]]:
    """Every table with its columns (whose order migrations may change), constraints and indexes, as text."""
    seen = sa.inspect(connection)
    return {
        table: sorted(
            [
                *(f"{get_column | {'type': repr(get_column['type'])}}" for get_column in seen.get_columns(table)),
                *map(str, seen.get_foreign_keys(table)),
                *map(str, seen.get_unique_constraints(table)),
                *map(str, seen.get_check_constraints(table)),
                *(str(index | _condition(index)) for index in seen.get_indexes(table)),
                str(seen.get_pk_constraint(table)),
            ]
        )
        for table in seen.get_table_names()
    }


def _condition(index: Any) -> dict[str, Any]:
    """The options of an index as text: a condition is an object of SQLAlchemy, equal only to itself."""
    return {"dialect_options": {name: str(value) for name, value in index.get("dialect_options", {}).items()}}


def test_a_new_store_can_be_migrated_as_one_that_was_migrated_before(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        before = _shape(connection)

        migrations.upgrade(connection, "head")

        assert _shape(connection) == before


def _but_alembics_own(_item: object, name: str | None, _kind: str, _reflected: object, _other: object) -> bool:
    return name != "alembic_version"


def test_the_program_and_its_migrations_agree_on_the_newest_schema(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        alembic_says = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
        meta_says = connection.execute(sa.select(tables.meta.c.revision)).scalar_one()

    assert migrations.newest() == tables.REVISION == alembic_says == meta_says


@pytest.mark.slow
@pytest.mark.parametrize("new", [True, False], ids=["new", "current"])
def test_opening_a_store_that_needs_no_upgrade_does_not_even_import_alembic(
    url: str, tmp_path: Path, *, new: bool
) -> None:
    if not new:
        Store.open(url, tmp_path).close()
    program = (
        "import sys; from pathlib import Path; from reconcile.store import Store;"
        f"Store.open({url!r}, Path({str(tmp_path)!r})).close(); print('alembic' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_processes_that_open_a_new_store_at_once_all_succeed_and_see_one_store(url: str, tmp_path: Path) -> None:
    answers = in_parallel(6, "store = Store.open(url, root); print(store.id, store.key.hex())", url, tmp_path)

    assert len(set(answers)) == 1


def test_a_creation_that_fails_leaves_an_empty_database(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = copying.create

    def fail(connection: sa.Connection) -> None:
        create(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "create", fail)
    with pytest.raises(KeyboardInterrupt):
        Store.open(url, tmp_path)
    monkeypatch.undo()

    with Store.open(url, tmp_path) as store, store.read() as tx:
        assert tx.connection.execute(sa.select(tables.audit_head.c.seq)).scalar_one() == 0


def test_a_store_upgraded_by_a_newer_version_is_refused_and_left_alone(
    engine: sa.Engine, url: str, tmp_path: Path
) -> None:
    with engine.begin() as connection:
        connection.execute(sa.update(tables.meta).values(revision="0999"))

    with pytest.raises(errors.StoreNewer, match=f"schema 0999; this one supports {tables.REVISION}"):
        Store.open(url, tmp_path)


def test_an_upgrade_under_a_running_process_stops_its_next_transaction(
    engine: sa.Engine, url: str, tmp_path: Path
) -> None:
    with Store.open(url, tmp_path) as store:
        with engine.begin() as connection:
            connection.execute(sa.update(tables.meta).values(revision="0999"))

        with pytest.raises(errors.StoreNewer), store.begin():
            pytest.fail("a transaction began on a store of a newer version")


def test_a_store_without_its_key_file_is_refused(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    (key_file,) = tmp_path.glob("*.key")
    key_file.rename(tmp_path / "elsewhere")

    with pytest.raises(errors.StoreKeyMissing, match="cannot be read"):
        Store.open(url, tmp_path)


def test_the_key_file_of_another_store_is_refused(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path).close()
    (key_file,) = tmp_path.glob("*.key")
    key_file.write_text("ab" * 32)

    with pytest.raises(errors.StoreKeyMissing, match="belongs to another store"):
        Store.open(url, tmp_path)


@pytest.mark.parametrize("content", ["", "zz", "ab" * 31])
def test_a_damaged_key_file_is_refused_without_showing_what_is_in_it(content: str, tmp_path: Path) -> None:
    Store.open(STATE, tmp_path).close()
    (tmp_path / "reconcile.db.key").write_text(content)

    with pytest.raises(errors.StoreKeyMissing, match=r"contains (no|an incomplete) key") as caught:
        Store.open(STATE, tmp_path)
    assert "abab" not in str(caught.value)


def test_a_key_others_can_read_is_refused(tmp_path: Path) -> None:
    Store.open(STATE, tmp_path).close()
    (tmp_path / "reconcile.db.key").chmod(0o640)

    with pytest.raises(errors.StoreKeyMissing, match="can be read by other users"):
        Store.open(STATE, tmp_path)


def test_a_key_given_by_the_caller_needs_no_file(url: str, tmp_path: Path) -> None:
    Store.open(url, tmp_path, key=b"k" * 32).close()

    assert list(tmp_path.glob("*.key")) == []
    with Store.open(url, tmp_path, key=b"k" * 32) as store:
        assert store.key == b"k" * 32
    with pytest.raises(errors.StoreKeyMissing):
        Store.open(url, tmp_path, key=b"x" * 32)


def test_the_files_of_a_store_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    with Store.open(STATE, tmp_path) as store, store.begin() as tx:
        tx.connection.execute(sa.update(tables.meta).values(epoch=1))
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    assert set(modes) == {"reconcile.db", "reconcile.db-wal", "reconcile.db-shm", "reconcile.db.key"}
    assert set(modes.values()) == {0o600}


def test_an_sqlite_store_keeps_what_it_is_told(tmp_path: Path) -> None:
    with Store.open(STATE, tmp_path) as store, store.begin() as tx:
        settings = [
            tx.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]

    assert settings == ["wal", 2, 1]


@pytest.mark.server
def test_a_postgresql_store_keeps_what_it_is_told_on_a_lax_server(postgres_url: str, tmp_path: Path) -> None:
    database = sa.make_url(postgres_url).database
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"ALTER DATABASE {database} SET synchronous_commit = off"))
        connection.execute(sa.text(f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'"))
    admin.dispose()

    with Store.open(postgres_url, tmp_path) as store, store.begin() as tx:
        shown = [
            tx.connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("synchronous_commit", "transaction_isolation", "idle_in_transaction_session_timeout")
        ]

    assert shown == ["on", "read committed", "1min"]


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("mysql+pymysql://me:geheim@db/x", "a `mysql+pymysql` database"),
        ("postgresql+psycopg2://me:geheim@db/x", "a `postgresql+psycopg2` database"),
        ("duckdb:///x.db", "a `duckdb` database"),
        ("reconcile.db geheim", "not a database URL"),
        ("sqlite://", "memory"),
        ("sqlite:///:memory:", "memory"),
        ("sqlite:///file:x.db?mode=memory&uri=true", "memory"),
        ("sqlite:///x.db?timeout=5", "`?` options"),
        ("postgresql://me:geheim@127.0.0.1", "without the name of a database"),
        ("sqlite:///a-folder", "it is not a file"),
    ],
)
def test_any_other_place_for_the_state_is_refused_in_one_sentence(said: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "a-folder").mkdir()

    with pytest.raises(errors.StoreUrlRefused) as caught:
        Store.open(said, tmp_path)
    assert part in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_a_database_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "reconcile.db"
    file.write_text("name,amount\n" * 500)

    with pytest.raises(errors.StoreUnreadable, match="file is not a database"):
        Store.open(STATE, tmp_path)
    assert file.read_text() == "name,amount\n" * 500
    assert [path.name for path in tmp_path.iterdir()] == ["reconcile.db"]


def test_another_programs_sqlite_file_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "reconcile.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE meta (id); CREATE TABLE orders (id); CREATE TABLE a (x); CREATE TABLE b (x)"
        )
    before = file.read_bytes()

    with pytest.raises(errors.StoreForeign, match="has the tables a, b, meta and 1 more"):
        Store.open(STATE, tmp_path)
    assert file.read_bytes() == before


DEVELOPMENT = "UPDATE {meta} SET revision = '0018'"
"""Makes a state one of the last schema whose states do not migrate."""


def test_a_state_of_a_development_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Store.open(STATE, tmp_path).close()
    file = tmp_path / "reconcile.db"
    with sqlite3.connect(file) as earlier:
        earlier.execute(DEVELOPMENT.format(meta="meta"))
    before = file.read_bytes()

    with pytest.raises(errors.StoreUnreleased, match="created by a development version of Reconcile"):
        Store.open(STATE, tmp_path)
    with pytest.raises(errors.StoreUnreleased):
        Store.found_at(STATE, tmp_path)
    assert file.read_bytes() == before


@pytest.mark.server
def test_a_postgresql_state_of_a_development_version_is_refused(postgres_url: str, tmp_path: Path) -> None:
    Store.open(postgres_url, tmp_path).close()
    admin = sa.create_engine(postgres_url)
    with admin.begin() as connection:
        connection.execute(sa.text(DEVELOPMENT.format(meta="reconcile.meta")))
    admin.dispose()

    with pytest.raises(errors.StoreUnreleased):
        Store.open(postgres_url, tmp_path)


@pytest.mark.server
def test_a_postgresql_database_in_use_by_others_gets_our_schema_beside_theirs(
    postgres_url: str, tmp_path: Path
) -> None:
    admin = sa.create_engine(postgres_url)
    with admin.begin() as connection:
        connection.execute(sa.text("CREATE TABLE runs (id int)"))

    with Store.open(postgres_url, tmp_path) as store, store.read() as tx:
        assert tx.connection.execute(sa.select(tables.runs)).all() == []
    admin.dispose()


@pytest.mark.server
def test_a_postgresql_schema_of_another_program_is_refused(postgres_url: str, tmp_path: Path) -> None:
    admin = sa.create_engine(postgres_url)
    with admin.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA reconcile"))
        connection.execute(sa.text("CREATE TABLE reconcile.ledger (id int)"))
    admin.dispose()

    with pytest.raises(errors.StoreForeign, match="the table ledger"):
        Store.open(postgres_url, tmp_path)


def test_a_locked_sqlite_file_is_told_after_the_patience_is_over(tmp_path: Path) -> None:
    Store.open(STATE, tmp_path).close()
    connection = sqlite3.connect(tmp_path / "reconcile.db", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")

    store = Store.open(STATE, tmp_path, patience=dt.timedelta(milliseconds=100))
    with pytest.raises(errors.StoreLocked, match=r"stayed locked by another process for 0\.1 s"), store.begin():
        pytest.fail("two writers at once")
    store.close()
    connection.close()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    before = os.geteuid()

    if before == 0:  # root may write anywhere
        os.seteuid(65534)
    try:
        with pytest.raises(errors.StoreNotWritable, match="Permission denied"):
            Store.open("sqlite:///closed/reconcile.db", tmp_path)
    finally:
        os.seteuid(before)


def test_a_path_below_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")

    with pytest.raises(errors.StoreFolderMissing, match=r"folder .*notes\.txt does not exist\. Correct"):
        Store.open("sqlite:///notes.txt/reconcile.db", tmp_path)


@pytest.mark.server
def test_a_postgresql_role_that_may_not_write_is_told(postgres_url: str, tmp_path: Path) -> None:
    Store.open(postgres_url, tmp_path).close()
    role = f"reader_{uuid.uuid4().hex[:8]}"
    admin = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(sa.text(f"GRANT USAGE ON SCHEMA reconcile TO {role}"))
        connection.execute(sa.text(f"GRANT SELECT ON ALL TABLES IN SCHEMA reconcile TO {role}"))

        store = Store.open(sa.make_url(postgres_url).set(username=role).render_as_string(), tmp_path)
        with pytest.raises(errors.StoreNotWritable, match="permission denied for table meta"), store.begin() as tx:
            tx.connection.execute(sa.update(tables.meta).values(epoch=2))
        store.close()

        connection.execute(sa.text(f"DROP OWNED BY {role}"))
        connection.execute(sa.text(f"DROP ROLE {role}"))
    admin.dispose()


@pytest.mark.server
def test_a_database_that_does_not_exist_or_answer_is_told_without_the_password(
    postgres_url: str, tmp_path: Path
) -> None:
    missing = sa.make_url(postgres_url).set(database="reconcile_no_such", password="geheim")
    silent = sa.make_url(postgres_url).set(port=1, password="geheim")

    for url, part in ((missing, "does not exist"), (silent, "refused")):
        with pytest.raises(errors.StoreUnreachable, match=part) as caught:
            Store.open(url.render_as_string(hide_password=False), tmp_path)
        assert "geheim" not in str(caught.value)
        assert "\n" not in str(caught.value)
