"""Each naive design of cleaning, and the test that catches it.

NAIVE names them all, with the tests that would fail if we did it so; they are wherever they belong. Those that concern
the whole way from the configuration to the row are here.
"""

import importlib.util
import json
import re
import sqlite3
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store import tables
from tests.product.chaos.naive import DAY, Decisions, rule
from tests.product.chaos.watched_world import Places, cleaned, hold_everything, places, warm
from tests.support.crash_points import Fault
from tests.support.folders import ROOT
from tests.support.fork_server import Warm

__all__ = ["places", "warm"]

pytestmark = pytest.mark.slow


NAIVE: Mapping[str, tuple[str, ...]] = {
    "look up the key, then insert it": (
        "reconcile/journal/test_effects_races::test_look_up_the_key_then_insert_it",
        "reconcile/journal/test_effects_races::test_one_key_wanted_by_32_plans_at_once_is_sent_by_one",
        "product/chaos/test_races::test_processes_that_race_for_many_keys_make_one_effect_of_each",
    ),
    "mark done after the call, or before it": (
        "product/chaos/test_crash::test_killed_at_any_named_place_it_is_finished_once",
        "product/chaos/test_kill::test_workers_killed_at_random_do_every_effect_once",
    ),
    "delete the key on an exception": (
        "product/chaos/test_network::test_when_the_reply_to_a_commit_of_the_target_is_lost_the_receipt_says_it_was_done",
    ),
    "lease without a fence; lease NULL": (
        "product/chaos/test_naive::test_a_worker_that_is_stopped_past_its_lease_does_nothing_when_it_wakes_up",
        "reconcile/journal/test_effects_races::test_a_stolen_plan_is_written_by_the_thief_alone",
        "reconcile/coordination/test_lease::test_a_lease_cannot_be_without_a_deadline",
    ),
    "rescue by age alone": (
        "product/chaos/test_naive::test_a_worker_that_takes_long_but_lives_is_left_alone",
        "reconcile/coordination/test_lease::test_a_live_owner_keeps_its_lease",
    ),
    "local clocks": (
        "reconcile/coordination/test_lease::test_a_wall_clock_set_forward_takes_no_lease_on_sqlite",
        "reconcile/coordination/test_lease::test_on_postgresql_the_deadline_goes_by_the_databases_clock",
    ),
    "a failed COMMIT means not done": (
        "reconcile/journal/test_effects_model::test_a_failed_commit_means_not_done",
        "connectors/sql/test_target_errors::test_a_commit_whose_answer_is_lost_is_ambiguous_and_the_receipt_tells",
        "product/chaos/test_network::test_when_the_reply_to_any_commit_of_the_store_is_lost_nothing_is_done_twice",
    ),
    "a new key per attempt; run id in the key": (
        "product/chaos/test_naive::test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew",
        "reconcile/journal/test_effects::test_a_key_is_the_same_over_fifty_attempts_restarts_and_runs",
    ),
    "a key per group": ("product/chaos/test_naive::test_a_group_that_grows_never_repeats_the_effects_already_made",),
    "rule revision in the key": (
        "product/chaos/test_naive::test_editing_a_rule_in_what_it_does_not_do_repeats_no_effect",
    ),
    "key expiry shorter than look-back": ("product/chaos/test_naive::test_a_cleaning_of_months_ago_is_not_done_again",),
    "same key, other payload": (
        "reconcile/journal/test_effects::test_another_payload_under_a_key_that_may_have_been_used_is_quarantined",
        "reconcile/cleaning/test_execute::test_the_same_key_for_something_else_does_nothing",
    ),
    "float, locale, Unicode in the key": (
        "reconcile/journal/test_keys::test_one_number_is_one_key_however_the_source_types_it",
        "reconcile/journal/test_keys::test_keys_are_equal_exactly_where_the_ids_are",
        "reconcile/journal/test_keys::test_a_key_is_the_same_in_every_process_whatever_its_hash_seed_and_locale",
    ),
    "retries at three layers": (
        "reconcile/journal/test_effects::test_a_budget_of_attempts_ends_and_frees_the_key",
        "reconcile/cleaning/test_execute::test_a_target_that_is_gone_is_said_of_every_plan_and_nothing_is_tried_for_ever",
    ),
    "random jitter or breaker in memory": (
        "reconcile/schedule/test_retry::test_a_delay_is_the_same_after_a_restart",
        "reconcile/journal/test_effects_races::test_breaker_in_memory",
        "reconcile/journal/test_breaker::test_twenty_restarts_of_four_workers_send_one_probe_a_cool_down",
    ),
    "Retry-After ignored, negative, a date, 10⁹": (
        "notifications/test_webhook::test_retry_after_is_seconds_or_a_date_and_bounded",
    ),
    "scheduler in two processes; cron in local time": (
        "reconcile/service/test_scheduler::test_a_second_scheduler_adds_nothing_and_takes_over_when_the_first_stops",
        "reconcile/schedule/test_schedule::test_wall_times_that_the_clock_skips_are_one_slot_at_the_first_instant_after",
    ),
    "default misfire; catch-up without a cap": (
        "reconcile/service/test_scheduler::test_a_pause_of_seconds_over_a_slot_loses_nothing",
        "reconcile/service/test_scheduler::test_a_clock_thirty_days_ahead_catches_up_nothing_until_a_person_says_so",
    ),
    "approval not bound to content; button replay": (
        "product/chaos/test_naive::test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed",
        "product/chaos/test_naive::test_an_approval_is_void_once_the_rule_does_something_else",
        "product/chaos/test_naive::test_an_approval_pressed_many_times_at_one_moment_acts_once",
        "product/chaos/test_naive::test_an_approval_expires",
        "reconcile/decisions/test_approvals::test_a_yes_to_another_plan_counts_for_nothing",
    ),
    "restore the before-image blindly; compensation retried": (
        "product/chaos/test_naive::test_an_undo_leaves_alone_what_somebody_edited_since",
        "product/chaos/test_naive::test_an_undo_gives_back_every_row_as_it_was_and_once",
        "reconcile/cleaning/test_undo::test_an_undo_that_is_killed_anywhere_is_finished_once",
        "reconcile/cleaning/test_undo::test_undo_of_apply_restores_every_field_nobody_touched_and_reports_every_other",
    ),
    "deletes all twins": (
        "reconcile/cleaning/test_plan_any::test_whatever_plans_of_two_rules_and_edits_of_others_meet_somebody_survives_and_nothing_dangles",
        "product/chaos/test_model::test_whatever_happens_what_must_hold_holds",
    ),
    "chain without an anchor": (
        "reconcile/audit/test_tamper::test_who_also_has_the_stores_key_is_named_by_the_anchor",
        "reconcile/audit/test_tamper::test_the_whole_file_rolled_back_is_named_by_the_anchor",
        "reconcile/audit/test_audit::test_every_way_of_tampering_is_named_at_the_right_entry",
    ),
    "poison record": (
        "product/chaos/test_naive::test_one_record_the_database_does_not_let_go_does_not_block_the_others",
    ),
    "config strings in `text()`": ("connectors/sql/test_target::test_any_name_of_a_table_or_a_column_is_only_a_name",),
    "mass match after a schema change": ("reconcile/cleaning/test_shape::test_mass_match_after_a_schema_change",),
    "guard on the victim alone": (
        "reconcile/journal/test_effects_races::test_guard_on_the_victim_alone",
        "reconcile/cleaning/test_execute::test_opposite_keepers_leave_a_survivor",
        "product/chaos/test_races::test_rules_that_keep_opposite_records_leave_one_of_each_group",
    ),
    "cascade not captured": (
        "reconcile/cleaning/test_references::test_cascade_not_captured",
        "reconcile/cleaning/test_references::test_what_a_cascade_would_delete_is_captured_to_the_last_grandchild",
    ),
    "statement-only rollback; MyISAM": (
        "connectors/sql/test_target_errors::test_after_the_time_out_of_a_lock_nothing_of_the_transaction_is_kept",
        "connectors/sql/test_target::test_a_table_without_transactions_is_read_and_never_changed",
        "connectors/sql/test_catalogue::test_of_mariadb_is_refused",
    ),
    "collation or `= NULL` in the guard": (
        "reconcile/cleaning/test_execute::test_whatever_differs_from_the_plan_by_a_byte_leaves_everything_as_it_is",
        "connectors/sql/test_target::test_databases_keep_the_promises_of_every_target",
    ),
    "keys kept over a restore of the store": (
        "reconcile/journal/test_ownership::test_a_store_that_was_restored_knows_less_than_its_target",
        "reconcile/journal/test_ownership::test_a_target_that_was_restored_knows_less_than_the_store",
    ),
    "two stores, one target; URL changed after approval": (
        "product/chaos/test_naive::test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner",
        "product/chaos/test_naive::test_a_plan_approved_for_one_database_is_not_carried_out_in_another",
        "reconcile/journal/test_ownership::test_two_stores_that_take_a_free_target_at_once_do_not_both_get_it",
    ),
    "a key for ever per id": (
        "product/chaos/test_naive::test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons",
        "reconcile/journal/test_effects::test_a_record_that_comes_back_lives_again_under_another_key",
    ),
    "merge keyed by the keeper": (
        "product/chaos/test_naive::test_a_merge_into_the_keeper_of_an_earlier_merge_is_one_of_its_own",
    ),
    "limits per run only": (
        "product/chaos/test_naive::test_limits_hold_over_many_runs_of_a_day",
        "reconcile/journal/test_effects_races::test_limits_per_run_only",
        "reconcile/cleaning/test_limits::test_the_last_24_hours_count_not_the_day",
    ),
    "forward clock jump": (
        "reconcile/service/test_scheduler::test_a_clock_thirty_days_ahead_catches_up_nothing_until_a_person_says_so",
    ),
    "heartbeat without progress": (
        "reconcile/coordination/test_lease::test_work_without_progress_loses_its_heartbeat",
    ),
    "undo under a later operation": (
        "product/chaos/test_naive::test_an_undo_under_a_later_cleaning_is_refused_and_names_it",
        "reconcile/cleaning/test_undo::test_a_later_cleaning_of_the_same_rows_is_named_and_taken_back_first",
    ),
}
"""What would be naive, and the tests (`folder/module::test`) that would fail."""


@cache
def _tests_of(module: str) -> frozenset[str]:
    text = (ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("design", NAIVE)
def test_each_naive_design_has_a_test(design: str) -> None:
    assert NAIVE[design], "no test is named"
    for named in NAIVE[design]:
        module, _, name = named.partition("::")
        assert name in _tests_of(module), f"{named} is not there"


def _decisions(places: Places, warm: Warm, rules: Mapping[str, Any], kind: str = "sqlite") -> Decisions:
    """A world with this rule which ran once, over empty tables."""
    decisions = Decisions(places.world(kind, kind, rules=rules), warm)
    decisions.run()
    return decisions


@pytest.fixture
def decisions(places: Places, warm: Warm) -> Decisions:
    """Events with the same code are deleted but for the first, nobody is asked."""
    return _decisions(places, warm, rule("copies"))


# Keys


def test_each_mutant_changes_a_text_that_the_code_has_once() -> None:
    spec = importlib.util.spec_from_file_location("mutants_of_naive", ROOT / "tests" / "mutants" / "naive.py")
    assert spec is not None
    assert spec.loader is not None
    mutants = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = mutants
    spec.loader.exec_module(mutants)

    texts = [(ROOT / file, text) for mutant in mutants.MUTANTS for file, text, _ in mutant.edits]

    assert len(mutants.MUTANTS) >= 16
    assert [(file.name, text) for file, text in texts if file.read_text("utf-8").count(text) != 1] == []


def test_a_group_that_grows_never_repeats_the_effects_already_made(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("doubles"))
    for _ in range(2):
        decisions.world.add("orders", ref="A-17", status="ok", amount=1)
    decisions.edit(where=None)
    decisions.run()
    decisions.run()
    assert decisions.effects == 1

    decisions.world.add("orders", ref="A-17", status="ok", amount=1)
    decisions.run()
    decisions.run()

    assert decisions.effects == 2
    hold_everything(decisions.world)


def test_editing_a_rule_in_what_it_does_not_do_repeats_no_effect(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("doubles"))
    for _ in range(3):
        decisions.world.add("orders", ref="A-17", status="ok", amount=1)
    decisions.run()
    done = decisions.effects

    for severity in ("low", "critical"):
        decisions.edit(severity=severity, owner="somebody")
        decisions.run()
    decisions.edit(where=None)
    decisions.run()
    decisions.run()

    assert done == 2
    assert decisions.effects == done


def test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew(decisions: Decisions) -> None:
    decisions.twice(times=4)
    expected = cleaned(decisions.world.all_rows(), ("copies",))
    keys = set()
    for number in range(12):
        label = ("store.sent.committed", "target.received", "target.before_commit")[number % 3]
        decisions.run(faults=(Fault(label),), codes=(0, 1, 3, 4))  # 3: retries of this minute are put off
        with decisions.world.opened() as store, store.read() as tx:
            keys |= set(tx.connection.execute(sa.select(tables.effects.c.key)).scalars())
    decisions.world.settle(decisions.warm, expected)

    with sqlite3.connect(decisions.world.target.removeprefix("sqlite:///")) as target:
        receipts = {key for (key,) in target.execute("select key from reconcile_receipts")}
    target.close()
    assert len(keys) == 3
    assert receipts == keys
    hold_everything(decisions.world)


def test_a_cleaning_of_months_ago_is_not_done_again(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("doubles"))
    for _ in range(3):
        decisions.world.add("orders", ref="A-17", status="ok", amount=1)
    decisions.run()
    assert decisions.effects == 2

    for days in (31, 90, 400):
        decisions.ahead = days * DAY
        decisions.edit(where=None)
        decisions.run()

    assert decisions.effects == 2


def test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons(
    decisions: Decisions,
) -> None:
    first, second = decisions.twice("a")
    decisions.run()
    assert decisions.effects == 1

    decisions.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    decisions.world.insert({"events": [{"id": second - 100, "code": "b", "body": "newer"}]})
    decisions.run()
    assert decisions.world.rows("events").keys() == {first, second - 100}
    assert decisions.effects == 2

    decisions.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    decisions.run()
    assert decisions.effects == 2, "what somebody restored was deleted again without a question"
    assert second in decisions.world.rows("events")


def test_a_merge_into_the_keeper_of_an_earlier_merge_is_one_of_its_own(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("twins"))
    decisions.world.config["undo_window"] = "365d"  # the rows of every plan are counted at the end
    decisions.world.write()
    for phone in ("1", "22", None):
        decisions.world.add("customers", email="a@x.example", phone=phone, city="here")
    decisions.run()
    for phone in ("333", "4444", "55555"):
        decisions.world.add("customers", email="a@x.example", phone=phone, city="there")
        decisions.ahead += 31 * DAY
        decisions.run()

    [left] = decisions.world.rows("customers").values()
    assert (left["id"], left["phone"]) == (1, "55555")
    hold_everything(decisions.world)


# Leases


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def test_a_worker_that_is_stopped_past_its_lease_does_nothing_when_it_wakes_up(
    places: Places, warm: Warm, kind: str
) -> None:
    decisions = _decisions(places, warm, rule("copies"), kind)
    decisions.twice(times=3)
    slow = decisions.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    decisions.leases_end()
    decisions.run()
    decisions.run()
    assert decisions.effects == 2
    slow.go_on()
    slow.wait()

    assert decisions.effects == 2
    hold_everything(decisions.world)


@pytest.mark.server
def test_a_worker_that_is_stopped_inside_its_transaction_is_ended_before_another_goes_on(
    places: Places, warm: Warm
) -> None:
    decisions = _decisions(places, warm, rule("copies"), "postgres")
    decisions.twice(times=3)
    slow = decisions.begin("run", "nightly", faults=(Fault("target.before_commit", how="stop"),))
    slow.stopped()

    decisions.leases_end()
    decisions.run()
    decisions.ahead = 3600
    decisions.run()

    assert decisions.effects == 2
    assert not slow.is_alive(), "it could still commit"
    slow.wait()
    hold_everything(decisions.world)


def test_a_worker_that_takes_long_but_lives_is_left_alone(decisions: Decisions) -> None:
    decisions.twice(times=3)
    slow = decisions.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    report = decisions.run(codes=(0, 1, 3, 4))

    assert decisions.effects == 0, report.out
    slow.go_on()
    assert slow.wait().code in (0, 1)
    assert decisions.effects == 2
    hold_everything(decisions.world)


# Approval


@pytest.fixture
def asked(places: Places, warm: Warm) -> Decisions:
    """Two events with one code, found; the rule asks before it deletes."""
    decisions = _decisions(places, warm, rule("copies", approval="required"))
    decisions.twice()
    decisions.run()
    assert len(decisions.ids("awaiting_approval")) == 1
    assert decisions.effects == 0
    return decisions


def test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed(asked: Decisions) -> None:
    asked.world.alter("events", 2, body="changed since")

    asked.command("approve", *asked.ids("awaiting_approval"))
    asked.run()

    assert asked.effects == 0
    assert asked.world.rows("events")[2]["body"] == "changed since"


def test_an_approval_is_void_once_the_rule_does_something_else(asked: Decisions) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    asked.edit(approval="required", keep=[{"last": "id"}])

    asked.run()
    asked.run()

    assert asked.effects == 0
    assert asked.ids("awaiting_approval") != []


def test_an_approval_pressed_many_times_at_one_moment_acts_once(asked: Decisions) -> None:
    [waiting] = asked.ids("awaiting_approval")

    together = [asked.begin("approve", waiting) for _ in range(8)]
    codes = [item.wait().code for item in together]
    late = asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert 70 not in codes, codes
    assert asked.effects == 1, late.err
    hold_everything(asked.world)


def test_an_approval_expires(asked: Decisions) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.ahead = 8 * DAY

    asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert asked.effects == 0


def test_a_plan_approved_for_one_database_is_not_carried_out_in_another(asked: Decisions, tmp_path: Path) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    production = tmp_path / "production.db"
    production.write_bytes(Path(asked.world.target.removeprefix("sqlite:///")).read_bytes())
    asked.world.config["sources"]["shop"]["url"] = f"sqlite:///{production}"
    asked.world.write()

    asked.run(codes=(0, 1, 3, 4))

    with sqlite3.connect(production) as connection:
        assert connection.execute("select count(*) from events").fetchone() == (2,)
    connection.close()
    assert asked.effects == 0


def test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner(
    decisions: Decisions, places: Places, warm: Warm
) -> None:
    decisions.twice("a")
    decisions.run()
    assert decisions.effects == 1
    folder = places.folder()
    folder.mkdir()
    config = decisions.world.config | {"state": "sqlite:///another.db"}
    (folder / "reconcile.yaml").write_text(json.dumps(config))
    assert warm.cli("run", "nightly", cwd=folder).wait().code == 0

    decisions.twice("b")
    ended = warm.cli("run", "nightly", cwd=folder).wait()

    assert decisions.effects == 1
    assert ended.code == 4, ended.out
    assert "is cleaned by another state" in ended.out


# Limits


def test_limits_hold_over_many_runs_of_a_day(places: Places, warm: Warm) -> None:
    limits = {"records": 3, "share": "100%", "group": 10}
    decisions = _decisions(places, warm, rule("copies", limits=limits))
    for number in range(6):
        decisions.twice(f"code {number}")
        decisions.ahead += 600
        decisions.run()
    assert decisions.effects <= 3

    before = decisions.effects
    decisions.ahead += 2 * DAY
    decisions.twice("another day")
    decisions.run()
    assert decisions.effects <= before + 3


# One bad record


def test_one_record_the_database_does_not_let_go_does_not_block_the_others(decisions: Decisions) -> None:
    decisions.world.sql(
        "create trigger stays before delete on events when old.body = 'stays' "
        "begin select raise(abort, 'it stays'); end"
    )
    decisions.world.add("events", code="poison", body="keeper")
    decisions.world.add("events", code="poison", body="stays")
    for number in range(30):
        decisions.twice(f"code {number}")

    decisions.run()
    decisions.ahead += DAY
    decisions.run()

    left = decisions.world.rows("events").values()
    assert len(left) == 32
    assert [item["body"] for item in left if item["code"] == "poison"] == ["keeper", "stays"]
    assert decisions.effects == 30
    hold_everything(decisions.world)


# Undo


def test_an_undo_leaves_alone_what_somebody_edited_since(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("doubles"))
    for _ in range(2):
        decisions.world.add("orders", ref="A-17", status="ok", amount=1)
    decisions.run()
    [cleaned] = decisions.ids("cleaned")
    decisions.world.alter("orders", 2, status="by hand")

    ended = decisions.command("undo", cleaned, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert decisions.world.rows("orders")[2]["status"] == "by hand"
    assert decisions.effects == 1


def test_an_undo_gives_back_every_row_as_it_was_and_once(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("twins"))
    ids = [decisions.world.add("customers", email="a@x.example", phone=phone, city="c") for phone in ("1", "22", "333")]
    for number in ids:
        decisions.world.add("notes", customer_id=number, body="n")
    for number in range(10):
        decisions.world.add("customers", email=f"{number}@x.example", phone=None, city="c")
    before = decisions.world.all_rows()
    decisions.run()
    [cleaned] = decisions.ids("cleaned")

    decisions.command("undo", cleaned)
    done = decisions.effects
    decisions.command("undo", cleaned, codes=(0, 1, 2, 3, 4))
    decisions.run()

    assert decisions.world.all_rows() == before
    assert decisions.effects == done
    hold_everything(decisions.world)


def test_an_undo_under_a_later_cleaning_is_refused_and_names_it(places: Places, warm: Warm) -> None:
    decisions = _decisions(places, warm, rule("twins"))
    for phone in ("1", "22"):
        decisions.world.add("customers", email="a@x.example", phone=phone, city="c")
    decisions.run()
    first = decisions.plans(PlanState.SUCCEEDED)[0]
    decisions.world.add("customers", email="a@x.example", phone="333", city="c")
    decisions.run()
    assert [row["phone"] for row in decisions.world.rows("customers").values()] == ["333"]
    done = decisions.effects

    ended = decisions.command("undo", "--plan", first.id, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert decisions.effects == done
    assert [row["phone"] for row in decisions.world.rows("customers").values()] == ["333"]
