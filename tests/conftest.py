"""What every suite shares: the real servers, and real data where it is present."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings

POSTGRES = os.environ.get("RECONCILE_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/postgres")
MARIADB = os.environ.get("RECONCILE_TEST_MARIADB", "mysql+pymysql://root@127.0.0.1:3306/?charset=utf8mb4")
SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"

settings.register_profile(
    "reconcile",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("reconcile")


SLOW = {
    "test_cli_bad_input",
    "test_examples",
    "test_naive",
    "test_runs_messages",
    "test_runs_races",
    "test_runs_undelivered",
    "test_schedule_zones",
    "test_security_canaries",
    "test_what_a_csv_writer_wrote_comes_back_both_ways",
    "test_whatever_is_in_a_notice_its_message_is_valid",
    "test_ten_thousand_new_findings_are_recorded_in_three_seconds",
    "test_plain_keys_agree_with_groupby",
    "test_sql_of_text_says_the_same_for_every_text_where_it_claims_so",
    "test_sql_says_the_same_for_every_record_where_it_claims_so",
    "test_sql_of_any_condition_says_the_same_where_it_claims_so",
    "test_a_large_dataset_is_grouped_in_little_memory",
    "test_mass_match_after_a_schema_change",
    "test_workbooks_conform",
}
"""Suites and tests that take longest; `make quick` leaves them to `make test`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {item.path.stem, getattr(item, "originalname", item.name)} & SLOW:
            item.add_marker(pytest.mark.slow)


def _scratch_database(server: str) -> Iterator[str]:
    """A database of its own on that server, dropped afterwards. No server: a skip here, a failure in CI."""
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 5})
    name = f"reconcile_{uuid.uuid4().hex[:12]}"
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"create database {name}"))
    except sa.exc.OperationalError as error:
        message = f"no database server at {engine.url.render_as_string()}: {error.orig}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    force = " with (force)" if engine.dialect.name == "postgresql" else ""
    with engine.connect() as connection:
        connection.execute(sa.text(f"drop database {name}{force}"))
    engine.dispose()


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A fresh PostgreSQL database."""
    yield from _scratch_database(POSTGRES)


@pytest.fixture
def mariadb_url() -> Iterator[str]:
    """A fresh MariaDB database with the server's default collation."""
    yield from _scratch_database(MARIADB)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real, labelled data that is not part of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return SHARED
