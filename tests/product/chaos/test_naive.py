"""Naive designs of cleaning that concern the whole way from the configuration to the row: each is caught here."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.findings.states import PlanState
from reconcile.store import tables
from tests.product.chaos.naive import DAY, Decisions, rule
from tests.product.chaos.watched_world import Places, cleaned, hold_everything, places, warm
from tests.support.crash_points import Fault
from tests.support.fork_server import Warm

__all__ = ["places", "warm"]

pytestmark = pytest.mark.slow


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
