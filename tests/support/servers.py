"""The real servers that tests make databases on, and where real data is."""

import os
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

POSTGRES = os.environ.get("RECONCILE_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/postgres")
MARIADB = os.environ.get("RECONCILE_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/?charset=utf8mb4")
STATE = "sqlite:///reconcile.db"


def _letters(count: int) -> str:
    """A random name without digits and a to f: a test that looks for a number or a word in a message never meets it."""
    return "".join(secrets.choice("ghjkmpqrstvwxyz") for _ in range(count))


def scratch_database(server: str) -> Iterator[str]:
    """A database of its own on that server, dropped afterwards. No server: a skip here, a failure in CI."""
    engine = sa.create_engine(
        server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool, connect_args={"connect_timeout": 5}
    )
    name = f"reconcile_{_letters(12)}"
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"create database {name}"))
    except sa.exc.OperationalError as error:
        message = f"no database server at {engine.url.render_as_string()}: {error.orig}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    try:
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        force = " with (force)" if engine.dialect.name == "postgresql" else ""
        with engine.connect() as connection:
            connection.execute(sa.text(f"drop database {name}{force}"))


# Databases for the suites of the `sql` connector: made once for a module, emptied before each test.


def emptied(url: str) -> str:
    """The same database with nothing in it and nobody else connected: making a new one costs servers a second."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        if engine.dialect.name == "mysql":
            name = sa.make_url(url).database
            connection.exec_driver_sql(f"drop database {name}")
            connection.exec_driver_sql(f"create database {name}")
            return url
        connection.exec_driver_sql(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        for schema in sa.inspect(connection).get_schema_names():
            if schema != "information_schema":
                connection.exec_driver_sql(f'drop schema "{schema}" cascade')
        connection.exec_driver_sql("create schema public")
        connection.exec_driver_sql("grant usage on schema public to public")
    return url


def insert(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    """Plain INSERTs; many rows, which are of numbers and text then, by the fastest road of the driver."""
    if len(rows) < 1000:
        connection.execute(table.insert(), rows)
        return
    names, values = ", ".join(rows[0]), [tuple(row.values()) for row in rows]
    if connection.dialect.name == "postgresql":
        raw: Any = connection.connection.dbapi_connection
        with raw.cursor() as cursor, cursor.copy(f"copy {table.name} ({names}) from stdin") as copy:
            copy.write("".join("\t".join(map(str, row)) + "\n" for row in values))
        return
    mark = "%s" if connection.dialect.name == "mysql" else "?"
    marks = ", ".join([mark] * len(rows[0]))
    connection.exec_driver_sql(f"insert into {table.name} ({names}) values ({marks})", values)


def execute(url: str, *statements: str) -> None:
    """Run statements in one transaction, as another program would."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%") if engine.dialect.name != "sqlite" else statement)


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty PostgreSQL database."""
    return emptied(postgres_server)


@pytest.fixture
def mariadb_url(mariadb_server: str) -> str:
    """An empty MariaDB database."""
    return emptied(mariadb_server)
