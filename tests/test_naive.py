"""Each naive design of cleaning, and the test that catches it.

NAIVE names them all, with the tests that would fail if we did it so; they are wherever they belong. Those that concern
the whole way from the configuration to the row are here.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from chaos_support import Places, hold_everything, warmed
from naive_support import DAY, Desk, rule

from reconcile.findings.states import BundleState
from reconcile.store import tables
from reconcile.testing.fork import Warm
from reconcile.testing.points import Fault

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent

NAIVE: Mapping[str, tuple[str, ...]] = {
    "look up the key, then insert it": (
        "test_effects_races::test_look_up_the_key_then_insert_it",
        "test_effects_races::test_one_key_wanted_by_32_plans_at_once_is_sent_by_one",
        "test_chaos_races::test_32_processes_that_race_for_many_keys_make_one_effect_of_each",
    ),
    "mark done after the call, or before it": (
        "test_chaos_crash::test_killed_at_any_named_place_it_is_finished_once",
        "test_chaos_kill::test_workers_killed_at_random_do_every_effect_once",
    ),
    "delete the key on an exception": (
        "test_chaos_network::test_when_the_reply_to_a_commit_of_the_target_is_lost_the_receipt_says_it_was_done",
    ),
    "lease without a fence; lease NULL": (
        "test_naive::test_a_worker_that_is_stopped_past_its_lease_does_nothing_when_it_wakes_up",
        "test_effects_races::test_a_stolen_plan_is_written_by_the_thief_alone",
        "test_lease::test_a_lease_cannot_be_without_a_deadline",
    ),
    "rescue by age alone": (
        "test_naive::test_a_worker_that_takes_long_but_lives_is_left_alone",
        "test_lease::test_a_live_owner_keeps_its_lease",
    ),
    "local clocks": (
        "test_lease::test_a_wall_clock_set_forward_takes_no_lease_on_sqlite",
        "test_lease::test_on_postgresql_the_deadline_goes_by_the_databases_clock",
    ),
    "a failed COMMIT means not done": (
        "test_effects_model::test_a_failed_commit_means_not_done",
        "test_connectors_target_errors::test_a_commit_whose_answer_is_lost_is_ambiguous_and_the_receipt_tells",
        "test_chaos_network::test_when_the_reply_to_any_commit_of_the_store_is_lost_nothing_is_done_twice",
    ),
    "a new key per attempt; run id in the key": (
        "test_naive::test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew",
        "test_effects::test_a_key_is_the_same_over_fifty_attempts_restarts_and_runs",
    ),
    "a key per group": ("test_naive::test_a_group_that_grows_never_repeats_the_effects_already_made",),
    "rule revision in the key": ("test_naive::test_editing_a_rule_in_what_it_does_not_do_repeats_no_effect",),
    "key expiry shorter than look-back": ("test_naive::test_a_cleaning_of_months_ago_is_not_done_again",),
    "same key, other payload": (
        "test_effects::test_another_payload_under_a_key_that_may_have_been_used_is_quarantined",
        "test_clean_execute::test_the_same_key_for_something_else_does_nothing",
    ),
    "float, locale, Unicode in the key": (
        "test_keys::test_one_number_is_one_key_however_the_source_types_it",
        "test_keys::test_keys_are_equal_exactly_where_the_ids_are",
        "test_keys::test_a_key_is_the_same_in_every_process_whatever_its_hash_seed_and_locale",
    ),
    "retries at three layers": (
        "test_effects::test_a_budget_of_attempts_ends_and_frees_the_key",
        "test_clean_execute::test_a_target_that_is_gone_is_said_of_every_bundle_and_nothing_is_tried_for_ever",
    ),
    "random jitter or breaker in memory": (
        "test_retry::test_a_delay_is_the_same_after_a_restart",
        "test_effects_races::test_breaker_in_memory",
        "test_breaker::test_twenty_restarts_of_four_workers_send_one_probe_a_cool_down",
    ),
    "Retry-After ignored, negative, a date, 10⁹": (
        "test_notifications_webhook::test_retry_after_is_seconds_or_a_date_and_bounded",
    ),
    "scheduler in two processes; cron in local time": (
        "test_scheduler::test_a_second_scheduler_adds_nothing_and_takes_over_when_the_first_stops",
        "test_schedule::test_wall_times_that_the_clock_skips_are_one_slot_at_the_first_instant_after",
    ),
    "default misfire; catch-up without a cap": (
        "test_scheduler::test_a_pause_of_seconds_over_a_slot_loses_nothing",
        "test_scheduler::test_a_clock_thirty_days_ahead_catches_up_nothing_until_a_person_says_so",
    ),
    "approval not bound to content; button replay": (
        "test_naive::test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed",
        "test_naive::test_an_approval_is_void_once_the_rule_does_something_else",
        "test_naive::test_an_approval_pressed_many_times_at_one_moment_acts_once",
        "test_naive::test_an_approval_expires",
        "test_approvals::test_a_yes_to_another_plan_counts_for_nothing",
    ),
    "restore the before-image blindly; compensation retried": (
        "test_naive::test_an_undo_leaves_alone_what_somebody_edited_since",
        "test_naive::test_an_undo_gives_back_every_row_as_it_was_and_once",
        "test_clean_undo::test_an_undo_that_is_killed_anywhere_is_finished_once",
        "test_clean_undo::test_undo_of_apply_restores_every_field_nobody_touched_and_reports_every_other",
    ),
    "deletes all twins": (
        "test_clean_plan_any::test_whatever_plans_of_two_rules_and_edits_of_others_meet_somebody_survives_and_nothing_dangles",
        "test_chaos_model::test_whatever_happens_what_must_hold_holds",
    ),
    "chain without an anchor": (
        "test_audit_tamper::test_who_also_has_the_stores_key_is_named_by_the_anchor",
        "test_audit_tamper::test_the_whole_file_rolled_back_is_named_by_the_anchor",
        "test_audit::test_every_way_of_tampering_is_named_at_the_right_entry",
    ),
    "poison record": ("test_naive::test_one_record_the_database_does_not_let_go_does_not_block_the_others",),
    "config strings in `text()`": ("test_connectors_target::test_any_name_of_a_table_or_a_column_is_only_a_name",),
    "mass match after a schema change": ("test_clean_shape::test_mass_match_after_a_schema_change",),
    "guard on the victim alone": (
        "test_effects_races::test_guard_on_the_victim_alone",
        "test_clean_execute::test_opposite_keepers_leave_a_survivor",
        "test_chaos_races::test_rules_that_keep_opposite_records_leave_one_of_each_group",
    ),
    "cascade not captured": (
        "test_clean_references::test_cascade_not_captured",
        "test_clean_references::test_what_a_cascade_would_delete_is_captured_to_the_last_grandchild",
    ),
    "statement-only rollback; MyISAM": (
        "test_connectors_target_errors::test_after_the_time_out_of_a_lock_nothing_of_the_transaction_is_kept",
        "test_connectors_target::test_a_table_without_transactions_is_read_and_never_changed",
        "test_connectors_catalogue::test_of_mariadb_is_refused",
    ),
    "collation or `= NULL` in the guard": (
        "test_clean_execute::test_whatever_differs_from_the_plan_by_a_byte_leaves_everything_as_it_is",
        "test_connectors_target::test_databases_keep_the_promises_of_every_target",
    ),
    "keys kept over a restore of the store": (
        "test_ownership::test_a_store_that_was_restored_knows_less_than_its_target",
        "test_ownership::test_a_target_that_was_restored_knows_less_than_the_store",
    ),
    "two stores, one target; URL changed after approval": (
        "test_naive::test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner",
        "test_naive::test_a_plan_approved_for_one_database_is_not_carried_out_in_another",
        "test_ownership::test_two_stores_that_take_a_free_target_at_once_do_not_both_get_it",
    ),
    "a key for ever per id": (
        "test_naive::test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons",
        "test_effects::test_a_record_that_comes_back_lives_again_under_another_key",
    ),
    "merge keyed by the keeper": ("test_naive::test_a_merge_into_the_keeper_of_an_earlier_merge_is_one_of_its_own",),
    "limits per run only": (
        "test_naive::test_limits_hold_over_many_runs_of_a_day",
        "test_effects_races::test_limits_per_run_only",
        "test_cleaning_limits::test_the_last_24_hours_count_not_the_day",
    ),
    "forward clock jump": ("test_scheduler::test_a_clock_thirty_days_ahead_catches_up_nothing_until_a_person_says_so",),
    "heartbeat without progress": ("test_lease::test_work_without_progress_loses_its_heartbeat",),
    "undo under a later operation": (
        "test_naive::test_an_undo_under_a_later_cleaning_is_refused_and_names_it",
        "test_clean_undo::test_a_later_cleaning_of_the_same_rows_is_named_and_taken_back_first",
    ),
}
"""What would be naive, and the tests (`module::test`) that would fail."""

CODE = Path(__file__).resolve().parents[1]


@cache
def _tests_of(module: str) -> frozenset[str]:
    text = (TESTS / f"{module}.py").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("design", NAIVE)
def test_each_naive_design_has_a_test(design: str) -> None:
    assert NAIVE[design], "no test is named"
    for named in NAIVE[design]:
        module, _, name = named.partition("::")
        assert module.startswith("test_"), named
        assert name in _tests_of(module), f"{named} is not there"


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with warmed() as server:
        yield server


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path)
    yield made
    made.close()


def _desk(places: Places, warm: Warm, rules: Mapping[str, Any], kind: str = "sqlite") -> Desk:
    """A world with this rule which ran once, over empty tables."""
    desk = Desk(places.world(kind, kind, rules=rules), warm)
    desk.run()
    return desk


@pytest.fixture
def desk(places: Places, warm: Warm) -> Desk:
    """Events with the same code are deleted but for the first, nobody is asked."""
    return _desk(places, warm, rule("copies"))


# Keys


def test_each_mutant_changes_a_text_that_the_code_has_once() -> None:
    spec = importlib.util.spec_from_file_location("mutants_of_naive", CODE / "tests" / "mutants" / "naive.py")
    assert spec is not None
    assert spec.loader is not None
    mutants = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = mutants
    spec.loader.exec_module(mutants)

    texts = [(CODE / file, text) for mutant in mutants.MUTANTS for file, text, _ in mutant.edits]

    assert len(mutants.MUTANTS) >= 16
    assert [(file.name, text) for file, text in texts if file.read_text("utf-8").count(text) != 1] == []


def test_a_group_that_grows_never_repeats_the_effects_already_made(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(2):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.edit(where=None)
    desk.run()
    desk.run()
    assert desk.effects == 1

    desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    desk.run()

    assert desk.effects == 2
    hold_everything(desk.world)


def test_editing_a_rule_in_what_it_does_not_do_repeats_no_effect(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(3):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    done = desk.effects

    for severity in ("low", "critical"):
        desk.edit(severity=severity, owner="somebody")
        desk.run()
    desk.edit(where=None)
    desk.run()
    desk.run()

    assert done == 2
    assert desk.effects == done


def test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew(desk: Desk) -> None:
    desk.twice(times=4)
    keys = set()
    for number in range(12):
        label = ("store.sent.committed", "target.received", "target.before_commit")[number % 3]
        desk.run(faults=(Fault(label),))
        with desk.world.opened() as store, store.read() as tx:
            keys |= set(tx.connection.execute(sa.select(tables.effects.c.key)).scalars())
    desk.world.settle(desk.warm, desk.world.all_rows())

    with sqlite3.connect(desk.world.target.removeprefix("sqlite:///")) as target:
        receipts = {key for (key,) in target.execute("select key from reconcile_receipts")}
    target.close()
    assert len(keys) == 3
    assert receipts == keys
    hold_everything(desk.world)


def test_a_cleaning_of_months_ago_is_not_done_again(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(3):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    assert desk.effects == 2

    for days in (31, 90, 400):
        desk.ahead = days * DAY
        desk.edit(where=None)
        desk.run()

    assert desk.effects == 2


def test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons(desk: Desk) -> None:
    first, second = desk.twice("a")
    desk.run()
    assert desk.effects == 1

    desk.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    desk.world.insert({"events": [{"id": second - 100, "code": "b", "body": "newer"}]})
    desk.run()
    assert desk.world.rows("events").keys() == {first, second - 100}
    assert desk.effects == 2

    desk.world.insert({"events": [{"id": second, "code": "b", "body": "new"}]})
    desk.run()
    assert desk.effects == 2, "what somebody restored was deleted again without a question"
    assert second in desk.world.rows("events")


def test_a_merge_into_the_keeper_of_an_earlier_merge_is_one_of_its_own(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    for phone in ("1", "22", None):
        desk.world.add("customers", email="a@x.example", phone=phone, city="here")
    desk.run()
    for phone in ("333", "4444", "55555"):
        desk.world.add("customers", email="a@x.example", phone=phone, city="there")
        desk.ahead += 31 * DAY
        desk.run()

    [left] = desk.world.rows("customers").values()
    assert (left["id"], left["phone"]) == (1, "55555")
    hold_everything(desk.world)


# Leases


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def test_a_worker_that_is_stopped_past_its_lease_does_nothing_when_it_wakes_up(
    places: Places, warm: Warm, kind: str
) -> None:
    desk = _desk(places, warm, rule("copies"), kind)
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    desk.leases_end()
    desk.run()
    desk.run()
    assert desk.effects == 2
    slow.go_on()
    slow.wait()

    assert desk.effects == 2
    hold_everything(desk.world)


@pytest.mark.server
def test_a_worker_that_is_stopped_inside_its_transaction_is_ended_before_another_goes_on(
    places: Places, warm: Warm
) -> None:
    desk = _desk(places, warm, rule("copies"), "postgres")
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("target.before_commit", how="stop"),))
    slow.stopped()

    desk.leases_end()
    desk.run()
    desk.ahead = 3600
    desk.run()

    assert desk.effects == 2
    assert not slow.is_alive(), "it could still commit"
    slow.wait()
    hold_everything(desk.world)


def test_a_worker_that_takes_long_but_lives_is_left_alone(desk: Desk) -> None:
    desk.twice(times=3)
    slow = desk.begin("run", "nightly", faults=(Fault("store.sent.committed", how="stop"),))
    slow.stopped()

    other = desk.run(codes=(0, 1, 3, 4))

    assert desk.effects == 0, other.out
    slow.go_on()
    assert slow.wait().code in (0, 1)
    assert desk.effects == 2
    hold_everything(desk.world)


# Approval


@pytest.fixture
def asked(places: Places, warm: Warm) -> Desk:
    """Two events with one code, found; the rule asks before it deletes."""
    desk = _desk(places, warm, rule("copies", approval="required"))
    desk.twice()
    desk.run()
    assert len(desk.ids("awaiting_approval")) == 1
    assert desk.effects == 0
    return desk


def test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed(asked: Desk) -> None:
    asked.world.alter("events", 2, body="changed since")

    asked.command("approve", *asked.ids("awaiting_approval"))
    asked.run()

    assert asked.effects == 0
    assert asked.world.rows("events")[2]["body"] == "changed since"


def test_an_approval_is_void_once_the_rule_does_something_else(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    asked.edit(approval="required", keep=[{"last": "id"}])

    asked.run()
    asked.run()

    assert asked.effects == 0
    assert asked.ids("awaiting_approval") != []


def test_an_approval_pressed_many_times_at_one_moment_acts_once(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")

    together = [asked.begin("approve", waiting) for _ in range(8)]
    codes = [one.wait().code for one in together]
    late = asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert 70 not in codes, codes
    assert asked.effects == 1, late.err
    hold_everything(asked.world)


def test_an_approval_expires(asked: Desk) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.ahead = 8 * DAY

    asked.command("approve", waiting, codes=(0, 1, 2, 3, 4))

    assert asked.effects == 0


def test_a_plan_approved_for_one_database_is_not_carried_out_in_another(asked: Desk, tmp_path: Path) -> None:
    [waiting] = asked.ids("awaiting_approval")
    asked.command("approve", waiting, "--later")
    production = tmp_path / "production.db"
    production.write_bytes(Path(asked.world.target.removeprefix("sqlite:///")).read_bytes())
    asked.world.config["sources"]["shop"]["url"] = f"sqlite:///{production}"
    asked.world.write()

    asked.run(codes=(0, 1, 3, 4))

    with sqlite3.connect(production) as other:
        assert other.execute("select count(*) from events").fetchone() == (2,)
    other.close()
    assert asked.effects == 0


def test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner(desk: Desk, places: Places, warm: Warm) -> None:
    desk.twice("a")
    desk.run()
    assert desk.effects == 1
    folder = places.folder()
    folder.mkdir()
    config = desk.world.config | {"state": "sqlite:///another.db"}
    (folder / "reconcile.yaml").write_text(json.dumps(config))
    assert warm.cli("run", "nightly", cwd=folder).wait().code == 0

    desk.twice("b")
    ended = warm.cli("run", "nightly", cwd=folder).wait()

    assert desk.effects == 1
    assert ended.code == 4, ended.out


# Limits


def test_limits_hold_over_many_runs_of_a_day(places: Places, warm: Warm) -> None:
    limits = {"records": 3, "share": "100%", "group": 10}
    desk = _desk(places, warm, rule("copies", limits=limits))
    for number in range(6):
        desk.twice(f"code {number}")
        desk.ahead += 600
        desk.run()
    assert desk.effects <= 3

    before = desk.effects
    desk.ahead += 2 * DAY
    desk.twice("another day")
    desk.run()
    assert desk.effects <= before + 3


# One bad record


def test_one_record_the_database_does_not_let_go_does_not_block_the_others(desk: Desk) -> None:
    desk.world.sql(
        "create trigger stays before delete on events when old.body = 'stays' "
        "begin select raise(abort, 'it stays'); end"
    )
    desk.world.add("events", code="poison", body="keeper")
    desk.world.add("events", code="poison", body="stays")
    for number in range(30):
        desk.twice(f"code {number}")

    desk.run()
    desk.ahead += DAY
    desk.run()

    left = desk.world.rows("events").values()
    assert len(left) == 32
    assert [one["body"] for one in left if one["code"] == "poison"] == ["keeper", "stays"]
    assert desk.effects == 30
    hold_everything(desk.world)


# Undo


def test_an_undo_leaves_alone_what_somebody_edited_since(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("doubles"))
    for _ in range(2):
        desk.world.add("orders", ref="A-17", status="ok", amount=1)
    desk.run()
    [cleaned] = desk.ids("cleaned")
    desk.world.alter("orders", 2, status="by hand")

    ended = desk.command("undo", cleaned, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert desk.world.rows("orders")[2]["status"] == "by hand"
    assert desk.effects == 1


def test_an_undo_gives_back_every_row_as_it_was_and_once(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    ids = [desk.world.add("customers", email="a@x.example", phone=phone, city="c") for phone in ("1", "22", "333")]
    for number in ids:
        desk.world.add("notes", customer_id=number, body="n")
    for number in range(10):
        desk.world.add("customers", email=f"{number}@x.example", phone=None, city="c")
    before = desk.world.all_rows()
    desk.run()
    [cleaned] = desk.ids("cleaned")

    desk.command("undo", cleaned)
    done = desk.effects
    desk.command("undo", cleaned, codes=(0, 1, 2, 3, 4))
    desk.run()

    assert desk.world.all_rows() == before
    assert desk.effects == done
    hold_everything(desk.world)


def test_an_undo_under_a_later_cleaning_is_refused_and_names_it(places: Places, warm: Warm) -> None:
    desk = _desk(places, warm, rule("twins"))
    for phone in ("1", "22"):
        desk.world.add("customers", email="a@x.example", phone=phone, city="c")
    desk.run()
    first = desk.bundles(BundleState.SUCCEEDED)[0]
    desk.world.add("customers", email="a@x.example", phone="333", city="c")
    desk.run()
    assert [one["phone"] for one in desk.world.rows("customers").values()] == ["333"]
    done = desk.effects

    ended = desk.command("undo", "--bundle", first.id, codes=(0, 1, 2, 3, 4))

    assert ended.code not in (0,), ended.out
    assert desk.effects == done
    assert [one["phone"] for one in desk.world.rows("customers").values()] == ["333"]
