"""Runs that read only what changed find what runs find that read all, and say so where they cannot."""

import datetime as dt
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from connectors.sql.changes import postgresql
from reconcile.decisions import decide
from reconcile.findings.states import State
from reconcile.runs.history import is_due
from tests.reconcile.detection.changing_table import DAY, DIALECTS, FIRST, OLD, RULE, ChangingTable

pytestmark = pytest.mark.server


@pytest.fixture
def url(postgres_server: str) -> str:
    """A database without tables."""
    ChangingTable(postgres_server, Path()).sql("drop schema public cascade; create schema public")
    return postgres_server


@pytest.fixture
def table(url: str, tmp_path: Path) -> ChangingTable:
    """Two groups and a record alone, which a full run has read."""
    table = ChangingTable(url, tmp_path / "incremental").create()
    table.add((1, 1, "a@x", 5), (2, 1, "A@x ", 6), (3, 2, "b@x", 7), (4, 3, "c@x", 8), (5, 3, "C@X", 9), at=OLD)
    outcome = table.run()
    assert (outcome.mode, outcome.mode_reason) == ("full", "it is the rule's first")
    return table


def test_a_run_reads_what_changed_and_the_records_of_the_same_key(table: ChangingTable) -> None:
    table.add((6, 2, " B@X", 1))

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason) == ("incremental", "1 record touched since the last run")
    assert (outcome.groups, outcome.findings.new, outcome.findings.known) == (3, 1, 2)
    assert outcome.money == {"EUR": 16}
    assert outcome.read == 1 + 4 + 2  # the touched one, those of open findings, those of its key


def test_a_record_that_moves_leaves_one_group_and_joins_another(table: ChangingTable) -> None:
    table.sql("update charges set customer = 2, email = 'b@x', updated_at = clock_timestamp() where id = 2")

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new, outcome.findings.resolved) == ("incremental", 1, 1)


@pytest.mark.parametrize("change", ["delete from charges where id = 5", "update charges set customer = 9 where id = 5"])
def test_an_open_finding_is_verified_by_its_records(table: ChangingTable, change: str) -> None:
    table.sql(change)  # without a time of change

    outcome = table.run()

    assert (outcome.mode, outcome.findings.resolved, outcome.groups) == ("incremental", 1, 1)


@pytest.mark.parametrize("span", [{"gap": {"minute": 5}}, {"overlap": {"from": "minute", "to": "until"}}])
def test_a_record_between_two_groups_merges_them_and_its_loss_splits_them(
    table: ChangingTable, span: dict[str, Any]
) -> None:
    table.sql("alter table charges add until bigint")
    table.rule = RULE | span
    for number, minute in ((10, 0), (11, 2), (12, 10), (13, 12)):
        table.add((number, 9, "z@x", 1), minute=minute)
    table.sql("update charges set until = minute + 3")
    assert table.run().groups == 4
    table.sql("insert into charges values (14, 9, 'z@x', 1, 'ok', clock_timestamp(), 5, 10)")

    joined = table.run()
    table.sql("delete from charges where id = 14")
    split = table.run()

    assert (joined.mode, joined.groups, joined.findings.merged) == ("incremental", 3, 1)
    assert (split.mode, split.groups, split.findings.new) == ("incremental", 4, 1)


@pytest.mark.parametrize("span", [{"gap": {"minute": 5}}, {"window": {"minute": 5}}])
@pytest.mark.parametrize("where", [{}, {"where": "status = 'ok'"}])
def test_a_record_without_a_place_in_the_order_takes_no_part(
    table: ChangingTable, span: dict[str, Any], where: dict[str, Any]
) -> None:
    table.rule = {name: value for name, value in RULE.items() if name != "where"} | span | where
    table.add((6, 1, "a@x", 5), at=OLD, minute=None)
    assert table.run().groups == 2

    table.add((7, 1, "a@x", 5), minute=2)
    outcome = table.run()

    assert (outcome.mode, outcome.groups) == ("incremental", 2)
    assert sorted(member.id for member in table.only("customer", 1).members) == [(1,), (2,), (7,)]


def test_a_snooze_ends_although_nothing_changed(table: ChangingTable) -> None:
    with table.application() as application:
        finding = table.only("customer", 3)
        until = dt.datetime.now(dt.UTC) + dt.timedelta(milliseconds=300)
        decide.snooze(application.store, finding.id, actor="ann", until=until)
    table.sql("select pg_sleep(0.3)")

    outcome = table.run()

    assert (outcome.mode, outcome.findings.reopened) == ("incremental", 1)
    assert table.only("customer", 3).state.value == "open"


def test_a_late_commit_of_an_open_transaction_is_found_by_the_next_run(table: ChangingTable) -> None:
    """Its row carries a time from long before the run that could not see it; the row is a subtransaction's."""
    with table.engine.connect() as writer, writer.begin():
        writer.execute(sa.text("insert into charges values (90, 90, 'z@x', 1, 'ok', now())"))
        with writer.begin_nested():
            writer.execute(sa.text(f"insert into charges values (6, 2, 'b@x', 1, 'ok', {OLD})"))
        assert table.run().findings.new == 0

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)


def test_a_transaction_that_only_began_before_the_run_holds_the_watermark_back(table: ChangingTable) -> None:
    """`now()` is the time at which a transaction began: longer ago than the overlap when it writes."""
    table.incremental = {"by": "updated_at", "overlap": "0s"}
    table.run()
    with table.engine.connect() as writer, writer.begin():
        writer.execute(sa.text("select 1"))
        table.sql("select pg_sleep(0.01)")
        table.run()
        writer.execute(sa.text("insert into charges values (6, 2, 'b@x', 1, 'ok', now())"))

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)


def test_a_row_without_a_time_is_read_in_every_run(table: ChangingTable) -> None:
    table.add((6, 2, "b@x", 1), at="null")

    outcome = table.run()

    assert outcome.mode_reason == "1 record touched since the last run, 1 of them without `updated_at`"
    assert outcome.findings.new == 1


def test_a_time_in_the_future_hides_no_later_row(table: ChangingTable) -> None:
    table.add((6, 4, "d@x", 1), at="clock_timestamp() + interval '1 year'")
    table.run()
    table.add((7, 2, "b@x", 1))

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rule": RULE | {"severity": "high"}}, "the rule or its dataset changed"),
        ({"rule": RULE | {"key": ["customer"]}}, "the rule or its dataset changed"),
        ({"incremental": {"by": "updated_at", "overlap": "2h"}}, "the rule or its dataset changed"),
        ({"rule": RULE | {"having": "sum(amount) > 9"}}, "a deleted record can let a group meet `having`"),
        (
            {"rule": RULE | {"window": {"minute": 5}, "distinct": "amount"}},
            "with `window` and `distinct`, a deleted record",
        ),
        ({"rule": RULE | {"key": {"any": [["customer"], ["email"]]}}}, "with several keys, one record can change"),
        ({"rule": RULE | {"clean": {"action": "delete"}}}, "it cleans, and its limits count all records"),
        ({"rule": RULE | {"where": "updated_at > slot() - 90d"}}, "`slot()` in a condition changes which records"),
        ({"rule": RULE | {"key": [{"email": ["lower"]}]}}, "no part of its key is a plain column"),
        ({"rule": RULE | {"engine": "embedded"}}, "it sets `engine: embedded`"),
        ({"dataset": {"table": None, "query": "select * from charges"}}, "it is a `query`, and only a `table`"),
        ({"dataset": {"table": "old_charges"}}, "old_charges is not a table: a view does not report"),
    ],
)
def test_a_run_is_full_where_only_that_is_exact(table: ChangingTable, change: dict[str, Any], reason: str) -> None:
    table.sql("create view old_charges as select * from charges")
    for name, value in change.items():
        setattr(table, name, value)

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason[: len(reason)]) == ("full", reason)
    assert table.run().mode == ("incremental" if "changed" in reason.split() else "full")


ALTERED = (
    """alter table charges rename status to other; alter table charges rename email to status;
    alter table charges rename other to email""",
    "alter table charges add other text default 'x'",
    "alter table charges drop status; alter table charges add status text default 'void'",
)
"""Statements after which rows hold other values, although PostgreSQL writes none of them."""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "drop index charges_updated_at_idx",
            "no index begins with `updated_at`; create index on charges (updated_at)",
        ),
        (
            "drop index charges_customer_idx",
            "no index begins with a part of its key such as `customer`; create index on charges (customer)",
        ),
        ("alter table charges drop constraint charges_pkey", "no index begins with `id`; create index on charges (id)"),
        (
            "truncate charges; insert into charges values (1, 1, 'a', 1, 'ok', now())",
            "the table or one of its partitions was added, replaced or emptied",
        ),
        *((change, "a column of the table, or the labels of its type, was altered since") for change in ALTERED),
    ],
)
def test_a_run_is_full_where_the_database_cannot_find_what_changed(
    table: ChangingTable, change: str, reason: str
) -> None:
    table.sql(change)

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason[: len(reason)]) == ("full", reason)


def test_a_full_run_can_be_asked_for_and_finds_what_was_written_with_an_old_time(table: ChangingTable) -> None:
    table.sql(f"insert into charges values (91, 1, 'restored', 1, 'ok', {OLD}), (92, 1, 'restored', 1, 'ok', {OLD})")
    assert (outcome := table.run()).mode == "incremental"
    assert outcome.findings.new == 0

    with table.application() as application:
        report = application.run("default", slot=table.slot + dt.timedelta(minutes=1), full=True)

    [outcome] = report.rules
    assert (outcome.mode, outcome.mode_reason, outcome.missed, outcome.findings.new) == (
        "full",
        "it was asked for",
        1,
        1,
    )
    assert table.run(table.slot + dt.timedelta(minutes=2)).mode == "incremental"


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_run_is_full_after_the_label_of_a_value_was_renamed(table: ChangingTable, depth: int) -> None:
    """A domain can be of a domain of the type."""
    types = ["progress", *(f"domain_{n}" for n in range(depth))]
    table.sql("create type progress as enum ('ok', 'void')")
    for base, domain in itertools.pairwise(types):
        table.sql(f"create domain {domain} as {base}")
    table.sql(
        f"alter table charges alter status drop default, alter status type {types[-1]} using cast(status as progress)",
    )
    assert [table.run().mode for _ in range(2)] == ["full", "incremental"]

    table.sql("alter type progress rename value 'void' to 'refunded'")

    assert table.run().mode_reason == "a column of the table, or the labels of its type, was altered since"
    assert table.run().mode == "incremental"


def test_a_database_that_does_not_answer_questions_about_changes_is_read_whole(
    table: ChangingTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "_MARK", sa.text("select no_such_function(:name)"))

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason) == ("full", "its database refused the query for changed records")


def test_a_part_of_the_key_that_most_records_share_is_no_way_to_look_them_up(table: ChangingTable) -> None:
    table.sql(f"insert into charges select n, 7, 'x' || n, 1, 'ok', {OLD} from generate_series(100, 9000) n")
    table.sql("analyze charges")

    outcome = table.run()

    assert outcome.mode_reason.endswith("share a value of `customer`, which is too many to look up")


def test_a_loss_of_most_known_records_is_left_to_a_full_run(table: ChangingTable) -> None:
    """An emptied table is a failure, and no reason to resolve every finding."""
    table.add(*((n, 100 + n // 2, "x", 1) for n in range(100, 130)))
    table.run()
    table.sql("delete from charges where id >= 105")

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason) == ("full", "25 of 34 known records are gone")


def test_a_loss_of_most_keys_is_left_to_a_full_run(table: ChangingTable) -> None:
    table.add(*((n, 100 + n // 2, "x", 1) for n in range(100, 160)))
    table.run()
    table.sql("update charges set customer = null, updated_at = clock_timestamp() where id between 100 and 130")

    with pytest.raises(AssertionError, match=r"can't compare 31 of 65 records .* but only 0 of 5 in its previous run"):
        table.run()
    assert len(table.every(states=(State.OPEN,))) == 32


def test_groups_that_may_hold_too_many_records_are_left_to_a_full_run(table: ChangingTable) -> None:
    table.sql(f"insert into charges select n, n, 'x', 1, 'ok', {OLD} from generate_series(100, 21000) n")
    table.sql("analyze charges")
    table.run(table.slot + DAY * 7)
    table.sql(
        "update charges set customer = 30 + id % 30, updated_at = clock_timestamp() where id between 100 and 12000"
    )

    with pytest.raises(AssertionError, match=r"Rule 'twice' was stopped: its groups would hold more than 10,"):
        table.run()


def test_one_instant_of_a_naive_key_is_two_wall_times(url: str, tmp_path: Path) -> None:
    """The clock of New York is put back at two: a value from before that is read as the instant of its first hour."""
    table = ChangingTable(url, tmp_path / "naive", rule=RULE | {"key": ["booked"]}).create()
    table.dataset = {"timezone": "America/New_York"}
    table.sql("alter table charges add booked timestamp; create index on charges (booked)")
    table.add((1, 1, "a", 5), (2, 1, "a", 6))
    table.sql("update charges set booked = '2026-11-01 01:30'")
    table.run()

    outcome = table.run()

    assert (outcome.mode, outcome.findings.known) == ("full", 1)
    assert outcome.mode_reason == "the database cannot look up any part of its key in the form in which it is read"


def test_an_attached_partition_is_read(url: str, tmp_path: Path) -> None:
    """Its records carry the times of their changes elsewhere."""
    table = ChangingTable(url, tmp_path / "parted")
    columns = DIALECTS["postgresql"].table.partition("(")[2].partition(");")[0]
    table.sql(f"create table charges ({columns}) partition by range (id)")
    table.sql("create index on charges (updated_at); create index on charges (customer)")
    table.sql("create table early partition of charges for values from (0) to (10)")
    table.sql("create table late (like charges including all)")
    table.add((1, 1, "a", 5), (2, 2, "b", 6))
    table.sql(f"insert into late values (11, 1, 'a', 5, 'ok', {OLD})")
    table.run()
    table.sql("alter table charges attach partition late for values from (10) to (20)")

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("full", 1)
    assert table.run().mode == "incremental"

    table.sql("alter table charges detach partition late")
    table.sql(f"insert into late values (12, 2, 'b', 6, 'ok', {OLD})")
    table.sql("alter table charges attach partition late for values from (10) to (20)")
    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("full", 1)


def test_a_table_with_row_level_security_is_read_as_a_whole(table: ChangingTable) -> None:
    """What a policy shows can change without a change of the record; a superuser sees every row."""
    table.sql("drop role if exists reconcile_guarded; create role reconcile_guarded login")
    table.sql("grant usage on schema public to reconcile_guarded; grant select on charges to reconcile_guarded")
    table.sql("alter table charges enable row level security")
    table.sql("create policy mine on charges using (id < 9)")
    guarded = replace(table, url=table.url.replace("root@", "reconcile_guarded@"), folder=table.folder / "guarded")
    try:
        assert table.run().mode == "incremental"
        assert guarded.run().mode_reason.startswith("row-level security decides which records are visible")
    finally:
        table.sql("drop owned by reconcile_guarded; drop role reconcile_guarded")


def test_check_and_doctor_say_which_index_to_create(table: ChangingTable) -> None:
    table.sql("drop index charges_updated_at_idx")
    reason = "every run is full, because no index begins with `updated_at`; create index on charges (updated_at)"

    assert f"pushdown, because source 'shop' compares these columns exactly as DuckDB does; {reason}" in (
        table.command("check").out
    )
    assert f"warning  rule twice: {reason}" in table.command("doctor").out.replace("\n", " ")
    assert reason in " ".join(table.command("explain", "twice").out.split())


def test_a_column_that_holds_no_times_is_a_mistake(table: ChangingTable) -> None:
    table.incremental = {"by": "amount"}

    assert "`incremental.by` names `amount`, which holds no times" in table.command("check").out


def test_the_full_run_that_is_due_reports_what_incremental_runs_missed(table: ChangingTable) -> None:
    table.add((6, 2, "b@x", 1), at=OLD)  # as a copy from another system: no time of change
    assert table.run().groups == 2
    table.add((7, 4, "d@x", 1), (8, 4, "d@x", 1))

    outcome = table.run(FIRST + 7 * DAY)

    assert (outcome.mode, outcome.mode_reason) == ("full", "a full run is due (weekly)")
    assert (outcome.findings.new, outcome.missed) == (2, 1)
    assert "it found 1 finding that incremental runs had missed" in str(outcome.mode_sentence)
    assert "found 1 finding that incremental runs had missed" in table.command("doctor").out.replace("\n", " ")
    assert table.run().mode == "incremental"


@pytest.mark.parametrize(
    ("edit", "missed"),
    [({"severity": "high"}, 1), ({"where": "status <> 'void'"}, 0)],
)
def test_a_full_run_after_an_edit_counts_what_was_missed_unless_it_finds_something_else(
    table: ChangingTable, edit: dict[str, Any], missed: int
) -> None:
    table.add((6, 2, "b@x", 1), at=OLD)
    assert table.run().groups == 2
    table.rule = RULE | edit

    outcome = table.run()

    assert (outcome.mode_reason, outcome.findings.new) == ("the rule or its dataset changed", 1)
    assert outcome.missed == missed


@pytest.mark.parametrize(
    ("full", "last", "slot", "due"),
    [
        ("weekly", FIRST, FIRST + 6 * DAY, False),
        ("weekly", FIRST + 6 * DAY, FIRST + 7 * DAY, True),
        ("weekly", FIRST + 7 * DAY, FIRST, False),
        ("weekly", dt.datetime(2026, 12, 31, 12, tzinfo=dt.UTC), dt.datetime(2027, 1, 3, 12, tzinfo=dt.UTC), False),
        ("daily", FIRST, FIRST + dt.timedelta(hours=17, minutes=59), True),  # it is tomorrow in Tokyo
        ("daily", FIRST, FIRST + dt.timedelta(hours=8, minutes=59), False),
        ("36h", FIRST, FIRST + dt.timedelta(hours=36), True),
        ("36h", FIRST, FIRST + dt.timedelta(hours=35), False),
    ],
)
def test_when_a_full_run_is_due(full: str, last: dt.datetime, slot: dt.datetime, due: bool) -> None:
    from reconcile.config.settings import IncrementalEntry  # noqa: PLC0415

    entry = IncrementalEntry.model_validate({"by": "updated_at", "full": full})

    assert is_due(entry, last, slot, "Asia/Tokyo" if full == "daily" else "UTC") is due


def test_a_uuid_and_an_id_of_two_columns_are_looked_up(url: str, tmp_path: Path) -> None:
    table = ChangingTable(url, tmp_path / "incremental")
    table.sql(
        "create table charges (tenant int, id numeric(10, 2), customer uuid, email text, amount numeric(12, 2), "
        "status text default 'ok', updated_at timestamp, primary key (tenant, id))"
    )
    table.sql("create index on charges (updated_at)")
    table.sql("create index on charges (customer)")
    table.dataset = {"id": ["tenant", "id"]}
    insert = "insert into charges values (:t, :id, cast(:c as uuid), 'a', 1, 'ok', clock_timestamp())"
    customers = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2)]
    for tenant, number, customer in ((1, 1, 0), (1, "2.5", 0), (2, 1, 1)):
        table.sql(insert, t=tenant, id=number, c=customers[customer])
    table.run()
    table.sql(insert, t=2, id=2, c=customers[1])
    table.sql("delete from charges where id = 2.5")

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new, outcome.findings.resolved) == ("incremental", 1, 1)


def test_a_run_that_is_killed_leaves_what_the_next_run_needs(table: ChangingTable, tmp_path: Path) -> None:
    table.add((6, 2, "b@x", 1))
    table.sql("update charges set email = 'd@x', updated_at = clock_timestamp() where id = 1")
    table.sql("delete from charges where id = 5")
    expected = ChangingTable(table.url, tmp_path / "expected", incremental=None)
    expected.run()
    wanted = expected.findings()
    whole = table.copied(tmp_path / "whole")
    command = whole.held_run()
    command.end()

    kills = [command.statements * n // 8 for n in range(2, 8)]
    for dies_at in kills:
        killed = table.copied(tmp_path / f"killed-{dies_at}")
        killed.held_run(dies_at=dies_at).process.join(60)
        outcome = killed.run(table.slot + 2 * DAY)

        assert outcome.mode == "incremental"
        assert [finding for finding in killed.findings() if finding[0] == "open"] == wanted, dies_at
        assert [finding[:2] for finding in killed.findings()] == [finding[:2] for finding in whole.findings()]


def test_a_run_that_another_overtakes_leaves_no_watermark(table: ChangingTable) -> None:
    """Its findings may be older than those of the other, so the next run reads everything."""
    overtakers: list[str] = []

    def overtake(_rule: str, _read: int) -> None:
        if not overtakers:
            overtakers.append("second")
            with table.application() as application:
                [report] = application.run_all(("second",), (), slot=table.slot.isoformat())
                assert report.checked[0].mode == "incremental"

    assert table.run(watch=overtake).mode == "incremental"
    assert overtakers

    outcome = table.run()

    assert (outcome.mode, outcome.mode_reason) == ("full", "the last run could not save its position")
    assert table.run().mode == "incremental"


def test_partitions_and_names_that_need_quotes(url: str, tmp_path: Path) -> None:
    table = ChangingTable(url, tmp_path / "incremental")
    table.sql('create schema "My Shop"')
    columns = "id bigint, customer bigint, email text, \"Changed At\" timestamptz, status text default 'ok'"
    table.sql(f'create table "My Shop"."Charges" ({columns}, primary key (id)) partition by range (id)')
    for begin in (0, 100):
        bounds = f"for values from ({begin}) to ({begin + 100})"
        table.sql(f'create table part_{begin} partition of "My Shop"."Charges" {bounds}')
    table.incremental = {"by": "Changed At", "overlap": "1s"}
    table.dataset = {"table": "My Shop.Charges", "money": None}
    reason = 'no index begins with `Changed At`; create index on "My Shop"."Charges" ("Changed At")'
    assert table.run().mode_reason == reason
    table.sql('create index on "My Shop"."Charges" ("Changed At")')
    table.sql('create index on "My Shop"."Charges" (customer)')
    table.run()
    with table.engine.connect() as writer, writer.begin():
        for number in (1, 101):
            insert = f'insert into "My Shop"."Charges" values ({number}, 5, \'e@x\', {OLD})'
            writer.execute(sa.text(insert))
        assert table.run().groups == 0

    outcome = table.run()

    assert (outcome.mode, outcome.findings.new) == ("incremental", 1)
