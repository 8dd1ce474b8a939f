"""The real servers that tests make databases on, and where real data is."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

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
