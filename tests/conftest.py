"""What every suite shares: the real servers, and real data where it is present."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
settings.register_profile("quick", parent=settings.get_profile("reconcile"), max_examples=20)
settings.load_profile("reconcile")


class Compiled(dict[Any, Any]):
    """SQL that was compiled once, for all SQLite engines of this process: tests open many, each with an empty cache."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._known(key), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        super().__setitem__(self._known(key), compiled)

    @staticmethod
    def _known(key: Any) -> Any:
        dialect, *statement = key
        return (type(dialect), *statement)


COMPILED = Compiled()


@sa.event.listens_for(sa.Engine, "engine_connect")
def _compile_once(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.execution_options(compiled_cache=COMPILED)


SLOW = {
    "test_a_cron_job_runs_the_slot_it_was_due_at_once_and_one_made_by_hand_runs_now",
    "test_a_large_dataset_is_grouped_in_little_memory",
    "test_a_large_sheet_that_ends_in_the_middle_is_refused",
    "test_a_line_of_two_gigabytes_is_refused_in_little_memory",
    "test_a_message_cut_at_any_byte_is_completed_by_sending_again",
    "test_a_run_loads_neither_migrations_nor_pandas_nor_channels_it_does_not_use",
    "test_a_sheet_that_is_written_otherwise_is_read_in_one_piece",
    "test_a_slab_may_be_narrower_begin_further_right_or_be_empty",
    "test_an_undo_that_waited_and_cannot_be_done_is_told_once_to_whoever_hears_of_the_rule",
    "test_audit_tamper",
    "test_cli_bad_input",
    "test_commands_print_the_json_that_is_documented",
    "test_consoles_show_what_a_new_user_sees",
    "test_eight_processes_append_at_once_and_the_chain_has_neither_gap_nor_fork",
    "test_every_decimal_comes_back_as_written",
    "test_examples",
    "test_findings_model",
    "test_it_is_read_as_cell_by_cell",
    "test_lines_are_found_again_whatever_stands_before_and_between_them",
    "test_mass_match_after_a_schema_change",
    "test_naive",
    "test_nothing_is_said_when_the_reader_leaves_and_the_exit_code_stays",
    "test_plain_keys_agree_with_groupby",
    "test_processes_under_one_lease_never_write_at_once",
    "test_runs_messages",
    "test_runs_races",
    "test_runs_undelivered",
    "test_schedule_zones",
    "test_security_canaries",
    "test_sql_of_any_condition_says_the_same_where_it_claims_so",
    "test_sql_of_text_says_the_same_for_every_text_where_it_claims_so",
    "test_sql_says_the_same_for_every_record_where_it_claims_so",
    "test_start",
    "test_ten_thousand_new_findings_are_recorded_in_three_seconds",
    "test_the_command_of_a_scheduler_runs_a_slot_once_and_ends_with_the_codes_it_acts_on",
    "test_the_header_may_stand_in_any_slab_or_be_a_row_that_is_not_there",
    "test_the_message_in_the_readme_is_what_the_demo_says",
    "test_the_plans_of_a_dead_worker_are_free_before_they_were_sent_and_in_doubt_after",
    "test_the_project_that_init_writes_runs_and_is_never_overwritten",
    "test_undo_of_apply_restores_every_field_nobody_touched_and_reports_every_other",
    "test_undos_that_had_to_wait_are_carried_out_in_the_order_they_were_planned_in",
    "test_what_a_csv_writer_wrote_comes_back_both_ways",
    "test_whatever_happens_to_workers_and_replies_no_key_is_done_twice_or_lost",
    "test_whatever_is_in_a_notice_its_message_is_valid",
    "test_whatever_plans_of_two_rules_and_edits_of_others_meet_somebody_survives_and_nothing_dangles",
    "test_workbooks_conform",
    "test_files_conform",
    "test_a_life_of_findings_is_the_same_judged_one_by_one_and_all_at_once",
    "test_a_writer_killed_at_any_moment_leaves_a_chain_that_verifies_with_all_it_was_told_is_kept",
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
